//! The manifest of a set: which arrays and tables there are, and where their bytes lie. It is
//! sealed memory that each reader maps once; opening an entry looks its name up in a table of
//! hashes there.
//!
//! | section | contents |
//! |---|---|
//! | head, 96 bytes | `XDOCKSET`, version, sizes and counts, the hash of all that follows it |
//! | regions | inode, size, kind and device of each region |
//! | dtypes | a text for each dtype, as a [`Description`] of shared memory spells it |
//! | metadata | two texts for each |
//! | entries | name, kind, dtype, rank, first of the numbers, region, offset of element 0 |
//! | numbers | shape and strides of each array; bytes, rows and columns of each table; 8 bytes each |
//! | slots | a table of hashes with open addressing: the number of an entry plus 1, or 0 |
//! | texts | all texts, UTF-8 |
//!
//! Numbers are little-endian. Sections follow each other without gaps, in this order, so the head's
//! counts alone say where each is. Only the head is checked when a manifest is opened; what an
//! entry says is checked when the entry is used, since another process wrote it.
//!
//! [`Description`]: crate::exchange::protocol::shm::Description

mod read;
mod write;

use std::ops::Range;

use crate::error::{Error, Kind, Result};

pub(super) use read::{FoundArray, FoundEntry, FoundTable, Manifest, check_hash};
pub(super) use write::ManifestContents;
pub(in crate::exchange) use write::{EntryContents, SetEntry, TableExtent};

/// The most bytes of a manifest: some million entries.
pub(super) const MOST_NBYTES: usize = 1 << 28;
/// The most regions of a set: they are sent beside the manifest in one message.
pub(in crate::exchange) const MOST_REGIONS: usize = 64;
/// The most different dtypes of a set.
const MOST_DTYPES: usize = 1 << 12;

/// The bytes of the head, and where its hash ends: it covers what follows.
pub(super) const HEAD_NBYTES: usize = 96;
pub(super) const HASH_END: usize = 24;

const MAGIC: [u8; 8] = *b"XDOCKSET";
const VERSION: u32 = 3;

const REGION_NBYTES: usize = 32;
const TEXT_NBYTES: usize = 8;
const ENTRY_NBYTES: usize = 40;
const NUMBER_NBYTES: usize = 8;
const SLOT_NBYTES: usize = 4;

/// What a manifest says of one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedRegion {
    pub(super) inode: u64,
    pub(super) nbytes: u64,
    /// [`SEALED`] or [`MAPPED`], or what a process wrote that breaks the rules.
    pub(super) kind: u64,
    /// The device of a file's inode; 0 for sealed memory.
    pub(super) device: u64,
}

/// The kind of an entry that is an array.
const ARRAY: u32 = 0;
/// The kind of an entry that is a table: an Arrow IPC file, or a stream.
const TABLE: u32 = 1;
/// How many numbers a table has: bytes, rows and columns.
const TABLE_NUMBERS: usize = 3;

/// The kind of a region of sealed memory.
pub(super) const SEALED: u64 = 0;
/// The kind of a region that is a file, which processes may write and shorten.
pub(super) const MAPPED: u64 = 1;

/// The head of a manifest, checked: all sections lie within `nbytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) nbytes: usize,
    pub(super) hash: u64,
    /// The version of the set.
    pub(super) version: u64,
    /// All arrays and tables.
    pub(super) entries: usize,
    pub(super) regions: usize,
    dtypes: usize,
    metadata: usize,
    numbers: usize,
    /// A power of two above the number of entries, or 0.
    slots: usize,
    /// The name of the set: the first of the texts.
    name_nbytes: usize,
    /// How many of the entries are tables, as the writer says.
    pub(super) tables: usize,
}

impl Head {
    /// The sections before the texts, each with its number of bytes.
    fn sizes(&self) -> [Option<usize>; 6] {
        [
            self.regions.checked_mul(REGION_NBYTES),
            self.dtypes.checked_mul(TEXT_NBYTES),
            self.metadata.checked_mul(2 * TEXT_NBYTES),
            self.entries.checked_mul(ENTRY_NBYTES),
            self.numbers.checked_mul(NUMBER_NBYTES),
            self.slots.checked_mul(SLOT_NBYTES),
        ]
    }

    /// Where the section begins that follows `count` others; `None` beyond the address space.
    fn start(&self, count: usize) -> Option<usize> {
        self.sizes()[..count].iter().try_fold(HEAD_NBYTES, |at, size| at.checked_add((*size)?))
    }

    /// Reads the head of a manifest of `nbytes` bytes.
    ///
    /// # Errors
    ///
    /// `is_malformed`; `is_unsupported` for another version of the format.
    pub(super) fn read(head: &[u8], nbytes: usize) -> Result<Self> {
        let malformed = |text: String| Error::new(Kind::Malformed, format!("the manifest of the set {text}"));
        let Some(head) = head.first_chunk::<HEAD_NBYTES>() else {
            return Err(malformed(format!("has {} bytes, fewer than its head", head.len())));
        };
        if head[..8] != MAGIC {
            return Err(malformed(format!("begins with \"{}\"", head[..8].escape_ascii())));
        }
        if u32_at(head, 8) != VERSION {
            let text =
                format!("the set has version {} of the format; only {VERSION} is supported", u32_at(head, 8));
            return Err(Error::new(Kind::Unsupported, text));
        }
        let counts: [usize; 8] = std::array::from_fn(|index| u32_at(head, 48 + 4 * index) as usize);
        let [entries, regions, dtypes, metadata, numbers, slots, name_nbytes, tables] = counts;
        let read = Self {
            nbytes: usize::try_from(u64_at(head, 24)).unwrap_or(usize::MAX),
            hash: u64_at(head, 16),
            version: u64_at(head, 32),
            entries,
            regions,
            dtypes,
            metadata,
            numbers,
            slots,
            name_nbytes,
            tables,
        };
        // The memory has one byte at least, so a manifest never has fewer bytes than its memory.
        if read.nbytes != nbytes || nbytes > MOST_NBYTES {
            return Err(malformed(format!(
                "has {nbytes} bytes, but says {}; at most {MOST_NBYTES} are permitted",
                read.nbytes
            )));
        }
        if regions > MOST_REGIONS || dtypes > MOST_DTYPES {
            return Err(malformed(format!(
                "has {regions} regions and {dtypes} dtypes; at most {MOST_REGIONS} and {MOST_DTYPES} are permitted"
            )));
        }
        let is_table = slots.is_power_of_two() && slots > entries || slots == 0 && entries == 0;
        if !is_table {
            return Err(malformed(format!("has a table of {slots} slots for {entries} entries")));
        }
        if tables > entries {
            return Err(malformed(format!("says that {tables} of its {entries} entries are tables")));
        }
        let end = read.start(6).and_then(|texts| texts.checked_add(name_nbytes));
        if end.is_none_or(|end| end > nbytes) {
            return Err(malformed(format!(
                "has {nbytes} bytes, too few for {entries} entries and {numbers} numbers"
            )));
        }
        Ok(read)
    }

    /// The bytes of the list of regions, which follows the head.
    pub(super) fn regions_nbytes(&self) -> usize {
        self.section(REGIONS).len()
    }

    /// Where the name of the set begins.
    pub(super) fn name_start(&self) -> usize {
        self.section(TEXTS).start
    }

    /// The bytes of the name of the set.
    pub(super) fn name_nbytes(&self) -> usize {
        self.name_nbytes
    }

    fn write(&self, head: &mut [u8; HEAD_NBYTES]) {
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        for (index, number) in [self.hash, self.nbytes as u64, self.version].into_iter().enumerate() {
            head[16 + 8 * index..][..8].copy_from_slice(&number.to_le_bytes());
        }
        let counts = [
            self.entries,
            self.regions,
            self.dtypes,
            self.metadata,
            self.numbers,
            self.slots,
            self.name_nbytes,
            self.tables,
        ];
        for (index, count) in counts.into_iter().enumerate() {
            head[48 + 4 * index..][..4].copy_from_slice(&(count as u32).to_le_bytes());
        }
    }

    /// A section that the head's check found within the manifest.
    fn section(&self, index: usize) -> Range<usize> {
        let start = self.start(index).unwrap_or(self.nbytes);
        let size = self.sizes().get(index).copied().flatten();
        start..size.map_or(self.nbytes, |size| start + size)
    }
}

/// The indices of the sections.
const REGIONS: usize = 0;
const DTYPES: usize = 1;
const METADATA: usize = 2;
const ENTRIES: usize = 3;
const NUMBERS: usize = 4;
const SLOTS: usize = 5;
const TEXTS: usize = 6;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A hash of the bytes of a manifest, which finds damage. It protects against no one.
#[derive(Clone, Copy)]
pub(super) struct Sum(u64);

impl Sum {
    /// The sum of no bytes.
    pub(super) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// Adds bytes: all pieces but the last have a multiple of 8 bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let mixed = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            self.0 = mixed ^ (mixed >> 32);
        }
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }
}

/// The first slot for a name, in a table of this number of slots.
fn first_slot(name: &[u8], slots: usize) -> usize {
    // FNV-1a.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &byte in name {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as usize & (slots - 1)
}
