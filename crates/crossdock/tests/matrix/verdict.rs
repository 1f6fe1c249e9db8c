//! The result of a transfer, by measurement: the position of element 0, and the number of bytes
//! counted as copied.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use crossdock::memory::{LeaseKind, copied_bytes};
use crossdock::view::{CopyPolicy, Request};
use crossdock::{DArray, Rejected};

use crate::classes::{Specimen, addresses, bytes_at, walk};
use crate::exporters::{At, ConsumerView, Exporter, Hand, Inspect, No as Refusal};
use crate::importers::{Brought, Importer, No, Origin};

/// The results, the best first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    InPlace,
    /// Memory that was imported twice was assigned to itself as if the source had been copied
    /// first.
    Assigned,
    Copies(String),
    Refused(String),
    CannotSay(String),
}

impl Verdict {
    /// The result of a whole transfer from those of its halves.
    pub(crate) fn worse(self, other: Self) -> Self {
        let rank = |verdict: &Self| match verdict {
            Self::InPlace | Self::Assigned => 0,
            Self::Copies(_) => 1,
            Self::Refused(_) => 2,
            Self::CannotSay(_) => 3,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// The same without numbers that differ from run to run.
    pub(crate) fn plain(self) -> Self {
        let plain = |text: String| {
            let words = text.split(' ').map(|word| if word.starts_with("0x") { "…" } else { word });
            words.collect::<Vec<_>>().join(" ")
        };
        match self {
            Self::InPlace => Self::InPlace,
            Self::Assigned => Self::Assigned,
            Self::Copies(why) => Self::Copies(plain(why)),
            Self::Refused(why) => Self::Refused(plain(why)),
            Self::CannotSay(why) => Self::CannotSay(why),
        }
    }
}

/// Imports a specimen. An imported array has its elements; a refused specimen is released.
pub(crate) fn bring(importer: &Importer, specimen: &Specimen) -> (Option<Brought>, Verdict) {
    let before = copied_bytes();
    let answer = (importer.bring)(specimen);
    let counted = copied_bytes() - before;
    let brought = match answer {
        Ok(brought) => brought,
        Err(no) => {
            assert_eq!(specimen.live_exports(), 0, "{} keeps what it did not take", importer.name);
            return match no {
                No::CannotSay(what) => (None, Verdict::CannotSay(what.to_owned())),
                No::Refused(why) => (None, Verdict::Refused(why).plain()),
            };
        }
    };
    let Brought { array, origin, because } = &brought;
    assert_eq!((array.dtype(), array.shape()), (&specimen.kind.dtype(), &specimen.shape[..]));
    assert_eq!(elements(array), specimen.expected, "{} brings other elements", importer.name);
    let is_protected = array.is_readonly() || matches!(origin, Origin::Encoded);
    assert!(is_protected || !specimen.is_readonly, "{} lets constant data be written", importer.name);
    let in_place = is_at(origin, &At::Address(first(array)), array.is_empty());
    let verdict = match (in_place, counted, because) {
        (true, 0, None) => Verdict::InPlace,
        (false, 1.., Some(why)) => Verdict::Copies(why.clone()),
        // Copying an empty array copies nothing.
        (false, 0, Some(why)) if array.is_empty() => Verdict::Copies(why.clone()),
        _ => panic!("{}: in place {in_place}, {counted} bytes counted, {because:?}", importer.name),
    };
    (Some(brought), verdict.plain())
}

/// Exports an array, and gets it back unchanged if it was lent or refused: zero-copy, or with the
/// permission to copy after a refusal. Beside the verdict: whether the consumer's element 0 is at
/// the origin.
pub(crate) fn hand(
    exporter: &Exporter,
    array: DArray,
    expected: &[Vec<u8>],
    origin: &Origin,
) -> (Verdict, bool) {
    let watch = Watch::of(exporter.name, &array, expected, origin);
    let lend = match exporter.hand {
        Hand::Lend(lend) => lend,
        Hand::Give(give) => {
            let mut back = None;
            let answer = watch.ask(|look| {
                give(array, look).map_err(|Rejected { value, error }| {
                    back = Some(value);
                    error.into()
                })
            });
            if let Some(array) = back {
                watch.assert_kept(&array);
            }
            return answer;
        }
    };
    let lend = |policy| {
        let answer = watch.ask(|look| lend(&array, policy, look));
        watch.assert_kept(&array);
        answer
    };
    let (strict, is_origin) = lend(CopyPolicy::Never);
    let Verdict::Refused(why) = &strict else { return (strict, is_origin) };
    let (permitted, _) = lend(CopyPolicy::IfNeeded);
    match &permitted {
        Verdict::Copies(because) | Verdict::Refused(because) => assert_eq!(because, why, "{}", exporter.name),
        _ => panic!("{}: in place, but only where a copy is permitted", exporter.name),
    }
    (permitted, false)
}

/// The state of an array before its export.
struct Watch<'a> {
    name: &'static str,
    first: usize,
    nbytes: u64,
    is_empty: bool,
    /// The file and the position in it of element 0.
    position: Option<(File, u64)>,
    leases: [bool; 4],
    expected: &'a [Vec<u8>],
    origin: &'a Origin,
}

impl<'a> Watch<'a> {
    fn of(name: &'static str, array: &DArray, expected: &'a [Vec<u8>], origin: &'a Origin) -> Self {
        let position = array.buffer().ok().and_then(|(buffer, within)| {
            let (fd, start) = buffer.descriptor()?;
            Some((File::from(fd.try_clone_to_owned().unwrap()), start + within as u64))
        });
        Self {
            name,
            first: first(array),
            nbytes: array.nbytes() as u64,
            is_empty: array.is_empty(),
            position,
            leases: leases(array),
            expected,
            origin,
        }
    }

    /// Runs the export, and observes it.
    fn ask(&self, hand: impl FnOnce(Inspect<'_>) -> Result<(), Refusal>) -> (Verdict, bool) {
        let (name, before) = (self.name, copied_bytes());
        let mut seen = None;
        let answer = hand(&mut |lent| seen = Some(self.look(&lent, copied_bytes() - before)));
        let (verdict, is_origin) = match (answer, seen) {
            (Ok(()), Some(seen)) => seen,
            (Err(Refusal(why)), None) => {
                assert_eq!(copied_bytes(), before, "{name} copies what it refuses: {why}");
                (Verdict::Refused(why), false)
            }
            (answer, _) => {
                panic!("{name}: the consumer was not asked once, {:?}", answer.err().map(|no| no.0))
            }
        };
        (verdict.plain(), is_origin)
    }

    fn look(&self, lent: &ConsumerView<'_>, counted: u64) -> (Verdict, bool) {
        let name = self.name;
        let in_place = match &lent.at {
            At::Written => false,
            _ if self.is_empty => lent.because.is_none(),
            At::Address(address) => *address == self.first,
            At::Position(fd, at) => {
                let is_there = |(file, own): &(File, u64)| is_same_file(file.as_fd(), *fd) && own == at;
                self.position.as_ref().is_some_and(is_there)
            }
        };
        let verdict = match (in_place, &lent.because) {
            (true, None) if counted == 0 => Verdict::InPlace,
            (false, Some(why)) if was_counted(&lent.at, counted, self.nbytes) => Verdict::Copies(why.clone()),
            _ => panic!("{name}: in place {in_place}, {counted} bytes counted, {:?}", lent.because),
        };
        assert_eq!((lent.elements)(), self.expected, "{name} hands out other elements");
        // Without elements, only the stated reason distinguishes a copy from the array.
        let is_origin = lent.because.is_none() && is_at(self.origin, &lent.at, self.is_empty);
        (verdict, is_origin)
    }

    fn assert_kept(&self, array: &DArray) {
        assert_eq!(elements(array), self.expected, "{} loses elements", self.name);
        assert_eq!(first(array), self.first, "{} moves what it does not take", self.name);
        assert_eq!(leases(array), self.leases, "{} keeps a lease", self.name);
    }
}

/// A copy counts once. A written file may be reordered on its way, which counts twice, or encoded,
/// which does not count.
fn was_counted(at: &At<'_>, counted: u64, nbytes: u64) -> bool {
    match at {
        At::Written => [0, nbytes, 2 * nbytes].contains(&counted),
        _ => counted == nbytes,
    }
}

/// The leases that an array grants.
fn leases(array: &DArray) -> [bool; 4] {
    let Ok((buffer, _)) = array.buffer() else {
        let requests = [Request::read(), Request::write(), Request::share(), Request::pin()];
        return requests.map(|request| array.export(&request.indirect()).is_ok());
    };
    let kinds = [LeaseKind::Read, LeaseKind::Write, LeaseKind::Share, LeaseKind::Pin];
    kinds.map(|kind| buffer.device_lease(kind).is_ok())
}

/// Every element, by the naive reader.
fn elements(array: &DArray) -> Vec<Vec<u8>> {
    // SAFETY: clauses 1 and 2 of `walk`: the array keeps its pointers and elements, and no code
    // writes them meanwhile.
    unsafe { walk(array.as_ptr(), array.layout()) }
}

/// The address of element 0, or the base of an empty array.
fn first(array: &DArray) -> usize {
    // SAFETY: the array keeps the pointers that its layout follows.
    let addresses = unsafe { addresses(array.as_ptr(), array.layout()) };
    addresses.first().copied().unwrap_or(array.as_ptr()).addr()
}

/// Whether both positions are the same memory rather than a copy.
fn is_at(origin: &Origin, at: &At<'_>, is_empty: bool) -> bool {
    match (origin, at) {
        (Origin::Encoded, _) | (_, At::Written) => false,
        _ if is_empty => true,
        (Origin::Address(origin), At::Address(at)) => origin == at,
        (Origin::Position(file, origin), At::Address(at)) => is_mapped_at(file, *origin, *at),
        (Origin::Position(file, origin), At::Position(fd, at)) => {
            is_same_file(file.as_fd(), *fd) && origin == at
        }
        (Origin::Address(_), At::Position(..)) => false,
    }
}

/// Whether a change of a byte in the file is visible at the address; for constant memory, whether
/// the system reports the mapping.
fn is_mapped_at(file: &File, position: u64, address: usize) -> bool {
    // SAFETY: the caller passes the address of an element of a live array, whose first byte is
    // readable.
    let seen = || unsafe { bytes_at(std::ptr::with_exposed_provenance(address), 1) }[0];
    let byte = seen();
    if file.write_at(&[!byte], position).is_err() {
        return mapped(address) == Some((file.metadata().unwrap().ino(), position));
    }
    let follows = seen() == !byte;
    file.write_all_at(&[byte], position).unwrap();
    assert_eq!(seen(), byte);
    follows
}

/// The file, and the position in it, that the system has mapped at an address.
fn mapped(address: usize) -> Option<(u64, u64)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (start, end, address) = (number(start)?, number(end)?, address as u64);
        let (offset, inode) = (number(words.nth(1)?)?, words.nth(1)?.parse().ok()?);
        (start..end).contains(&address).then_some((inode, offset + (address - start)))
    })
}

fn is_same_file(left: BorrowedFd<'_>, right: BorrowedFd<'_>) -> bool {
    let identity = |fd: BorrowedFd<'_>| {
        let metadata = File::from(fd.try_clone_to_owned().unwrap()).metadata().unwrap();
        (metadata.dev(), metadata.ino())
    };
    identity(left) == identity(right)
}
