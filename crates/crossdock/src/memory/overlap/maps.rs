//! Asks the system which files are mapped at given addresses.
//!
//! Reasons: `DESIGN.md`, "Foreign mappings are looked up late".

use std::fs::File;
use std::io::Read;
use std::ops::Range;

use crate::memory::os::{files, pages};
use crate::memory::overlap::extent::Extent;

/// The most pages that are examined one by one: 16 MiB. Larger memory is looked up in the list of
/// mappings, which takes less time than copying the memory.
const MOST_PAGES: u64 = 4096;

/// Bits of an entry of `/proc/self/pagemap`: the page is in memory; it belongs to a file or to
/// shared memory; no other page table maps it. Pages of a device have none of the last two.
const PRESENT: u64 = 1 << 63;
const OF_A_FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;

/// Whether every page of the addresses is private anonymous memory. `false` if this is unknown, as
/// for a page that was never touched.
pub(super) fn is_private(addresses: Range<u64>) -> bool {
    let page = pages::size() as u64;
    let (mut at, end) = (addresses.start / page, addresses.end.div_ceil(page));
    if end - at > MOST_PAGES {
        return false;
    }
    let Ok(pagemap) = File::open("/proc/self/pagemap") else { return false };
    let mut bytes = [0; 2048];
    while at < end {
        let count = (end - at).min(bytes.len() as u64 / 8);
        let part = &mut bytes[..count as usize * 8];
        // The system returns whole entries, or none.
        if !files::read_at(&pagemap, part, at * 8).is_ok_and(|nbytes| nbytes == part.len()) {
            return false;
        }
        let (entries, _) = part.as_chunks();
        let is_anonymous = |entry: &[u8; 8]| {
            let has = |bit| u64::from_ne_bytes(*entry) & bit != 0;
            has(PRESENT) && has(EXCLUSIVE) && !has(OF_A_FILE)
        };
        if !entries.iter().all(is_anonymous) {
            return false;
        }
        at += count;
    }
    true
}

/// Addresses of an operand: those of its allocation, and those of its bytes.
#[derive(Clone)]
pub(super) struct Asked {
    all: Range<u64>,
    bytes: Range<u64>,
}

impl Asked {
    pub(super) fn new(all: Range<u64>, extent: Extent) -> Self {
        Self { all, bytes: extent.start..extent.end() }
    }
}

/// What the list of mappings contains about an operand.
#[derive(Debug)]
pub(super) struct Found {
    /// Whether all of its allocation is private anonymous memory.
    pub(super) is_private: bool,
    /// The bytes of files that it maps.
    pieces: Vec<Piece>,
    /// Whether `pieces` could not grow.
    is_cut: bool,
}

/// Bytes of a file that lie at an operand's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    file: Inode,
    bytes: Range<u64>,
    is_shared: bool,
}

const MAPS: &str = "/proc/self/maps";

/// Looks both operands up in the list of mappings. `None` if it cannot be read.
pub(super) fn find(asked: [Asked; 2]) -> Option<[Found; 2]> {
    let mut lines = MapsReader::new(File::open(MAPS).ok()?);
    let mut found = [(); 2].map(|()| Found { is_private: true, pieces: Vec::new(), is_cut: false });
    while let Some(line) = lines.next()? {
        // A line that cannot be parsed gives no information about the addresses.
        let mapping = MapsLine::parse(line)?;
        if mapping.is_anonymous() {
            continue;
        }
        for (asked, found) in asked.iter().zip(&mut found) {
            found.is_private &= common(&mapping.addresses, &asked.all).is_empty();
            let here = common(&mapping.addresses, &asked.bytes);
            if here.is_empty() {
                continue;
            }
            let start = mapping.offset.saturating_add(here.start - mapping.addresses.start);
            let bytes = start..start.saturating_add(here.end - here.start);
            match found.pieces.try_reserve(1) {
                Ok(()) => {
                    found.pieces.push(Piece { file: mapping.file, bytes, is_shared: mapping.is_shared })
                }
                Err(_) => found.is_cut = true,
            }
        }
    }
    Some(found)
}

/// Whether the two map a byte of a file in common. Two private mappings do not: what is written to
/// one is visible in neither the file nor the other.
pub(super) fn meet([one, other]: &[Found; 2]) -> bool {
    let meets = |a: &Piece, b: &Piece| {
        a.file == b.file && (a.is_shared || b.is_shared) && !common(&a.bytes, &b.bytes).is_empty()
    };
    one.is_cut
        || other.is_cut
        || one.pieces.iter().any(|piece| other.pieces.iter().any(|other| meets(piece, other)))
}

fn common(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    one.start.max(other.start)..one.end.min(other.end)
}

/// The device, major and minor number, and the inode.
type Inode = (u64, u64, u64);

/// A line of the list: `7f00-7f10 rw-s 00001000 08:01 1234  /path`.
#[derive(Debug, PartialEq, Eq)]
struct MapsLine {
    addresses: Range<u64>,
    is_shared: bool,
    offset: u64,
    file: Inode,
}

impl MapsLine {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut words = line.split(|&byte| byte == b' ').map(|word| std::str::from_utf8(word).ok());
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (start, end) = words.next()??.split_once('-')?;
        let is_shared = words.next()??.as_bytes().get(3) == Some(&b's');
        let offset = number(words.next()??)?;
        let (major, minor) = words.next()??.split_once(':')?;
        let file = (number(major)?, number(minor)?, words.next()??.parse().ok()?);
        Some(Self { addresses: number(start)?..number(end)?, is_shared, offset, file })
    }

    fn is_anonymous(&self) -> bool {
        self.file == (0, 0, 0)
    }
}

/// The kept length of a line: longer than all its numbers.
const MOST_OF_A_LINE: usize = 128;

/// The beginnings of the lines of `/proc/self/maps`, without the paths.
struct MapsReader<R> {
    list: R,
    chunk: [u8; 4096],
    unread: Range<usize>,
    line: [u8; MOST_OF_A_LINE],
}

impl<R: Read> MapsReader<R> {
    fn new(list: R) -> Self {
        Self { list, chunk: [0; 4096], unread: 0..0, line: [0; MOST_OF_A_LINE] }
    }

    /// The next line, or `Some(None)` at the end: every line ends in a newline. `None` for an
    /// error.
    #[expect(clippy::option_option, reason = "an error, the end, and a line")]
    fn next(&mut self) -> Option<Option<&[u8]>> {
        let mut nbytes = 0;
        loop {
            if self.unread.is_empty() {
                let count = self.list.read(&mut self.chunk).ok()?;
                if count == 0 {
                    return Some(None);
                }
                self.unread = 0..count;
            }
            let unread = &self.chunk[self.unread.clone()];
            let end = unread.iter().position(|&byte| byte == b'\n');
            let part = &unread[..end.unwrap_or(unread.len())];
            let kept = part.len().min(MOST_OF_A_LINE - nbytes);
            self.line[nbytes..nbytes + kept].copy_from_slice(&part[..kept]);
            nbytes += kept;
            self.unread.start += part.len() + usize::from(end.is_some());
            if end.is_some() {
                return Some(Some(&self.line[..nbytes]));
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::os::process::TELLS_MAPPINGS;

    #[test]
    fn a_line_of_the_list_is_read_without_its_path() {
        let mapping = MapsLine::parse(b"7f00-7f10 rw-s 00001000 08:01 1234   /a b\xff (deleted)").unwrap();
        assert_eq!(mapping.addresses, 0x7f00..0x7f10);
        assert_eq!((mapping.is_shared, mapping.offset), (true, 0x1000));
        assert_eq!(mapping.file, (8, 1, 1234));
        assert!(MapsLine::parse(b"7f00-7f10 rw-p 00000000 00:00 0 ").unwrap().is_anonymous());
        for line in [&b""[..], b"7f00", b"7f00-7f10 rw-s", b"7f00-7f10 rw-s 0 08:01 x /a"] {
            assert_eq!(MapsLine::parse(line), None);
        }
    }

    #[test]
    fn the_beginning_of_a_long_line_is_kept_however_it_arrives() {
        let path = "x".repeat(300);
        let text = format!("7f00-7f10 rw-s 0 08:01 1 {path}\n7f20-7f30 rw-s 0 08:01 2 {path}\n");
        for first in [1, 20, 127, 128, 129, 200, 325, 326, 327, 400] {
            let (one, other) = text.as_bytes().split_at(first);
            let mut lines = MapsReader::new(one.chain(other));
            for inode in [1, 2] {
                let line = lines.next().unwrap().unwrap();
                assert_eq!(line.len(), 128);
                assert_eq!(MapsLine::parse(line).unwrap().file, (8, 1, inode), "{first} bytes first");
            }
            assert_eq!(lines.next(), Some(None));
        }
    }

    #[test]
    fn what_cannot_be_listed_may_meet_anything() {
        let [listed, cut] =
            [false, true].map(|is_cut| Found { is_private: false, pieces: Vec::new(), is_cut });
        let found = [listed, cut];
        assert!(meet(&found));
        let [listed, cut] = found;
        assert!(meet(&[cut, Found { is_cut: false, ..listed }]));
        let none = || Found { is_private: false, pieces: Vec::new(), is_cut: false };
        assert!(!meet(&[none(), none()]));
    }

    #[test]
    fn all_lines_of_the_list_are_read() {
        if !TELLS_MAPPINGS {
            return crossdock_testkit::not_run("this system has no list of mappings");
        }
        let here = std::ptr::from_ref(&MOST_PAGES).addr() as u64;
        let mut lines = MapsReader::new(File::open(MAPS).unwrap());
        let (mut count, mut is_found) = (0, false);
        while let Some(line) = lines.next().unwrap() {
            let mapping = MapsLine::parse(line).unwrap();
            is_found |= mapping.addresses.contains(&here) && !mapping.is_anonymous();
            count += 1;
        }
        assert!(is_found && count > 5, "{count} mappings");
    }
}
