//! Memory that two importers import, each in its own way, and that is assigned to itself: the
//! result is compared with a copy made before.
//!
//! The memory is an unnamed file, in the format of either importer, and is mapped once more here.
//! While it exists, importers open it in place of a file of their own ([`file_of`]), or import the
//! address at which it is mapped ([`lent`]).

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::memory::MapOptions;
use crossdock::memory::copied_bytes_here;
use crossdock::{Casting, DArray, Error, s};

use crate::classes::{Kind, Specimen};
use crate::files::shared_memory;
use crate::importers::{IMPORTERS, Importer, No, Origin};
use crate::verdict::Verdict;

/// The length of either axis.
const SIDE: usize = 16;

fn specimen() -> Specimen {
    Specimen::new(Kind::Number, &[SIDE, SIDE], &[2 * SIDE as isize, 2], 0)
}

/// What importers on this thread get.
enum Given {
    /// Their usual input.
    Own,
    /// Their usual input, recording what they ask for.
    Noted { image: Option<Vec<u8>>, is_lent: bool },
    /// The common memory.
    Common(Common),
}

struct Common {
    image: Vec<u8>,
    /// Where the elements begin in it.
    position: usize,
    file: File,
    mapped: Buffer,
}

thread_local! {
    static GIVEN: RefCell<Given> = const { RefCell::new(Given::Own) };
}

/// The common memory as a file with these bytes, if there is one.
pub(crate) fn file_of(bytes: &[u8]) -> Option<(PathBuf, File)> {
    GIVEN.with_borrow_mut(|given| match given {
        Given::Own => None,
        Given::Noted { image, .. } => {
            *image = Some(bytes.to_vec());
            None
        }
        Given::Common(common) => {
            assert!(bytes == common.image, "a file of other bytes");
            let path = PathBuf::from(format!("/proc/self/fd/{}", common.file.as_raw_fd()));
            Some((path, common.file.try_clone().unwrap()))
        }
    })
}

/// Where a specimen begins in the common memory, if there is one.
pub(crate) fn lent(specimen: &Specimen) -> Option<*mut u8> {
    GIVEN.with_borrow_mut(|given| match given {
        Given::Own => None,
        Given::Noted { is_lent, .. } => {
            *is_lent = true;
            None
        }
        Given::Common(common) => {
            Some(common.mapped.as_ptr().cast_mut().wrapping_add(common.position - specimen.offset))
        }
    })
}

/// What an importer needs.
struct Wanted {
    /// The file that it opens, and where the elements begin in it.
    image: Option<(Vec<u8>, usize)>,
    /// Why it can share no memory with another importer.
    never: Option<Verdict>,
}

fn wanted(importer: &Importer) -> Wanted {
    let never = |verdict| Wanted { image: None, never: Some(verdict) };
    let column_major = || Specimen::new(Kind::Number, &[SIDE, SIDE], &[2, 2 * SIDE as isize], 0);
    GIVEN.set(Given::Noted { image: None, is_lent: false });
    let brought = (importer.bring)(&specimen()).or_else(|_| (importer.bring)(&column_major()));
    let given = GIVEN.replace(Given::Own);
    let Given::Noted { image, is_lent } = given else { unreachable!("it was noted") };
    match brought {
        Err(No::CannotSay(why)) => never(Verdict::CannotSay(why.to_owned())),
        Err(No::Refused(why)) => never(Verdict::Refused(why).plain()),
        Ok(brought) => match (brought.because, brought.origin, image) {
            (Some(why), ..) => never(Verdict::Copies(why).plain()),
            (None, Origin::Position(_, at), Some(image)) => {
                Wanted { image: Some((image, at as usize)), never: None }
            }
            _ if is_lent => Wanted { image: None, never: None },
            _ => never(Verdict::CannotSay("memory that has no other holder or writer".to_owned())),
        },
    }
}

/// Every pair of importers; the outer index is the importer of the destination.
pub(crate) fn each_with_each() -> Vec<Vec<Verdict>> {
    let wanted: Vec<Wanted> = IMPORTERS.iter().map(wanted).collect();
    let sides = || IMPORTERS.iter().zip(&wanted);
    sides().map(|into| sides().map(|from| both(into, from)).collect()).collect()
}

fn both((into, its): (&Importer, &Wanted), (from, others): (&Importer, &Wanted)) -> Verdict {
    if let Some(why) = its.never.as_ref().or(others.never.as_ref()) {
        return why.clone();
    }
    let (image, position) = match (&its.image, &others.image) {
        (Some(its), Some(others)) if its != others => {
            return Verdict::CannotSay("no file is of both formats".to_owned());
        }
        (Some(image), _) | (None, Some(image)) => image.clone(),
        (None, None) => (specimen().bytes, 0),
    };
    let file = shared_memory(&image, false).unwrap();
    let mapped = Buffer::map(file.try_clone().unwrap(), MapOptions::new().writable(true)).unwrap();
    GIVEN.set(Given::Common(Common { image: image.clone(), position, file, mapped: mapped.clone() }));
    let verdict = OPERATIONS
        .iter()
        .map(|operation| run(operation, (into, from), &mapped, &image, position))
        .find(|verdict| *verdict != Verdict::Assigned)
        .unwrap_or(Verdict::Assigned);
    GIVEN.set(Given::Own);
    verdict
}

/// Assigns one array to the other, and returns the expected numbers, from those before.
struct Operation {
    name: &'static str,
    run: fn(&DArray, &DArray) -> Result<(), Error>,
    model: fn(&[u16]) -> Vec<u16>,
}

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "shifted down",
        run: |into, from| assign(&into.slice(s![1.., ..])?, &from.slice(s![..-1, ..])?),
        model: |old| [&old[..SIDE], &old[..SIDE * (SIDE - 1)]].concat(),
    },
    Operation {
        name: "shifted up",
        run: |into, from| assign(&into.slice(s![..-1, ..])?, &from.slice(s![1.., ..])?),
        model: |old| [&old[SIDE..], &old[SIDE * (SIDE - 1)..]].concat(),
    },
    Operation {
        name: "reversed",
        run: |into, from| assign(into, &from.slice(s![..;-1, ..;-1])?),
        model: |old| old.iter().rev().copied().collect(),
    },
    Operation {
        name: "transposed",
        run: |into, from| assign(into, &from.transpose()?),
        model: |old| (0..SIDE * SIDE).map(|k| old[k % SIDE * SIDE + k / SIDE]).collect(),
    },
    Operation {
        name: "with a conversion",
        run: |into, from| {
            let (buffer, offset) = from.buffer()?;
            let bytes = DArray::from_buffer(buffer, DType::U8, row_major(&[SIDE, SIDE], 1)?, offset)?;
            assign(into, &bytes)
        },
        model: |old| {
            let bytes = old.iter().flat_map(|number| number.to_ne_bytes());
            bytes.take(SIDE * SIDE).map(u16::from).collect()
        },
    },
    Operation {
        name: "with columns that change places",
        run: |into, from| {
            let (into, from) = (records(into)?, records(from)?);
            let (x, y) = (from.field("x")?, from.field("y")?);
            into.assign_columns(&[("x", &y), ("y", &x)], Casting::Checked)
        },
        model: |old| old.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect(),
    },
    Operation {
        name: "what does not meet",
        run: |into, from| {
            let before = copied_bytes_here();
            assign(&into.slice(s![..8, ..])?, &from.slice(s![8.., ..])?)?;
            assert_eq!(copied_bytes_here() - before, (SIDE * SIDE) as u64, "more is copied than must be");
            Ok(())
        },
        model: |old| [&old[SIDE * 8..], &old[SIDE * 8..]].concat(),
    },
    Operation {
        name: "a copy of bytes",
        run: |into, from| {
            let refused = from.buffer()?.0.copy_into(&into.buffer()?.0).unwrap_err();
            if refused.is_bounds() { Ok(()) } else { Err(refused) }
        },
        model: <[u16]>::to_vec,
    },
];

fn assign(into: &DArray, from: &DArray) -> Result<(), Error> {
    into.assign(from, Casting::Checked)
}

fn row_major(shape: &[usize], itemsize: usize) -> Result<crossdock::layout::Layout, Error> {
    crossdock::layout::Layout::contiguous(shape, itemsize, Order::RowMajor)
}

/// The same bytes as records of two numbers.
fn records(array: &DArray) -> Result<DArray, Error> {
    let (buffer, offset) = array.buffer()?;
    let record = DType::packed_record([("x", DType::U16), ("y", DType::U16)])?;
    DArray::from_buffer(buffer, record, row_major(&[SIDE * SIDE / 2], 4)?, offset)
}

fn run(
    operation: &Operation,
    (into, from): (&Importer, &Importer),
    mapped: &Buffer,
    image: &[u8],
    position: usize,
) -> Verdict {
    let way = format!("{}, from {} into {}", operation.name, from.name, into.name);
    let specimen = specimen();
    let bytes = || mapped.pin().unwrap().to_vec();
    mapped.share().unwrap().copy_from_slice(image).unwrap();
    let [into, from] = [into, from].map(|importer| match (importer.bring)(&specimen) {
        Ok(brought) => brought.array,
        Err(No::CannotSay(why)) => panic!("{way}: {why}"),
        Err(No::Refused(why)) => panic!("{way}: {why}"),
    });
    for array in [&into, &from] {
        mapped.share().unwrap().store(position, !image[position]).unwrap();
        let first = array.get(&[0, 0]).unwrap().as_u64().unwrap() as u16;
        mapped.share().unwrap().store(position, image[position]).unwrap();
        if first.to_ne_bytes()[0] == image[position] {
            return Verdict::CannotSay("memory that has no other holder or writer".to_owned());
        }
    }
    let end = position + 2 * SIDE * SIDE;
    let old: Vec<u16> =
        image[position..end].chunks(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
    match (operation.run)(&into, &from) {
        Ok(()) => {}
        Err(error) if error.is_read_only() => {
            assert!(bytes() == image, "{way}: refused, and written all the same");
            return Verdict::Refused(error.to_string()).plain();
        }
        Err(error) => panic!("{way}: {error}"),
    }
    let mut expected = image.to_vec();
    let new = (operation.model)(&old);
    expected[position..end].copy_from_slice(&new.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<_>>());
    assert!(bytes() == expected, "{way}: not what a copy made before would give");
    drop((into, from));
    assert_eq!(specimen.live_exports(), 0, "{way}: what was lent was not given back");
    Verdict::Assigned
}
