//! Reads a manifest that another process wrote.

use std::ops::Range;

use crate::error::{Error, Kind, Result, short};
use crate::exchange::protocol::hold::manifest::{
    ARRAY, DTYPES, ENTRIES, ENTRY_NBYTES, Head, ListedRegion, METADATA, NUMBER_NBYTES, NUMBERS,
    REGION_NBYTES, SLOT_NBYTES, SLOTS, Sum, TABLE, TABLE_NUMBERS, TEXT_NBYTES, TEXTS, TableExtent,
    first_slot, u32_at, u64_at,
};
use crate::layout::MAX_RANK;

/// A manifest over its bytes, which do not change any more.
#[derive(Clone, Copy)]
pub(in crate::exchange::protocol::hold) struct Manifest<'a> {
    pub(in crate::exchange::protocol::hold) head: Head,
    bytes: &'a [u8],
}

/// What a manifest says of one entry.
#[derive(Debug)]
pub(in crate::exchange::protocol::hold) enum FoundEntry {
    Array(FoundArray),
    Table(FoundTable),
}

/// What a manifest says of one table. Whether its bytes lie in the region is not checked yet.
#[derive(Debug)]
pub(in crate::exchange::protocol::hold) struct FoundTable {
    pub(in crate::exchange::protocol::hold) extent: TableExtent,
    /// The number of its region, which the manifest has.
    #[cfg_attr(not(feature = "arrow-ipc"), expect(dead_code, reason = "tables are read with the feature"))]
    pub(in crate::exchange::protocol::hold) region: usize,
    #[cfg_attr(not(feature = "arrow-ipc"), expect(dead_code, reason = "tables are read with the feature"))]
    pub(in crate::exchange::protocol::hold) offset: usize,
}

/// What a manifest says of one array. Whether the elements lie in the region is not checked yet.
#[derive(Debug)]
pub(in crate::exchange::protocol::hold) struct FoundArray {
    /// The number of its dtype, which the manifest has.
    pub(in crate::exchange::protocol::hold) dtype: usize,
    pub(in crate::exchange::protocol::hold) shape: Vec<usize>,
    pub(in crate::exchange::protocol::hold) strides: Vec<isize>,
    /// The number of its region, which the manifest has.
    pub(in crate::exchange::protocol::hold) region: usize,
    pub(in crate::exchange::protocol::hold) offset: usize,
}

impl<'a> Manifest<'a> {
    /// The same bytes with a head that was checked before.
    pub(in crate::exchange::protocol::hold) fn with_head(head: Head, bytes: &'a [u8]) -> Self {
        Self { head, bytes }
    }

    /// The regions that a section lists.
    pub(in crate::exchange::protocol::hold) fn regions_of(section: &[u8]) -> Vec<ListedRegion> {
        let region = |bytes: &[u8]| ListedRegion {
            inode: u64_at(bytes, 0),
            nbytes: u64_at(bytes, 8),
            kind: u64_at(bytes, 16),
            device: u64_at(bytes, 24),
        };
        section.chunks_exact(REGION_NBYTES).map(region).collect()
    }

    /// The number of dtypes.
    pub(in crate::exchange::protocol::hold) fn dtypes(&self) -> usize {
        self.head.dtypes
    }

    /// The text of a dtype.
    ///
    /// # Errors
    ///
    /// `is_malformed`.
    pub(in crate::exchange::protocol::hold) fn dtype(&self, index: usize) -> Result<&'a str> {
        self.text_at(self.section(DTYPES), index)
    }

    /// The texts beside the arrays.
    pub(in crate::exchange::protocol::hold) fn metadata(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<(&'a str, &'a str)>> {
        let this = *self;
        (0..self.head.metadata).map(move |index| {
            let texts = this.section(METADATA);
            Ok((this.text_at(texts, 2 * index)?, this.text_at(texts, 2 * index + 1)?))
        })
    }

    /// The number of the entry with this name. O(1): the names that share its hash.
    ///
    /// # Errors
    ///
    /// `is_malformed`, for an entry of the table of hashes that is none.
    pub(in crate::exchange::protocol::hold) fn find(&self, name: &str) -> Result<Option<usize>> {
        let (slots, table) = (self.head.slots, self.section(SLOTS));
        if slots == 0 {
            return Ok(None);
        }
        let mut slot = first_slot(name.as_bytes(), slots);
        // A table without a free slot, which no writer makes, is searched once.
        for _ in 0..slots {
            match u32_at(table, slot * SLOT_NBYTES) as usize {
                0 => return Ok(None),
                number if number > self.head.entries => {
                    let text =
                        format!("names entry {number} of {} in its table of hashes", self.head.entries);
                    return Err(malformed(text));
                }
                number if self.name_bytes(number - 1)? == name.as_bytes() => return Ok(Some(number - 1)),
                _ => slot = (slot + 1) & (slots - 1),
            }
        }
        Ok(None)
    }

    /// The entry with this number.
    ///
    /// # Errors
    ///
    /// `is_malformed` if its name, its dtype, its rank, its numbers or its region do not exist;
    /// `is_unsupported` if it is neither an array nor a table.
    pub(in crate::exchange::protocol::hold) fn found(&self, index: usize) -> Result<FoundEntry> {
        let name = self.entry_name(index)?;
        let entry = self.entry(index)?;
        let kind = u32_at(entry, 8);
        let [dtype, rank, first, region] = [12, 16, 20, 24].map(|at| u32_at(entry, at) as usize);
        let wrong = |what: &str, number: usize, most: usize| {
            malformed(format!("says of entry {} that its {what} is {number} of {most}", short(name)))
        };
        if region >= self.head.regions {
            return Err(wrong("region", region, self.head.regions));
        }
        let count = match kind {
            ARRAY if dtype >= self.head.dtypes => return Err(wrong("dtype", dtype, self.head.dtypes)),
            ARRAY if rank > MAX_RANK => return Err(wrong("rank", rank, MAX_RANK)),
            ARRAY => 2 * rank,
            TABLE => TABLE_NUMBERS,
            other => {
                let text = format!(
                    "entry {} of the set is of kind {other}; {ARRAY} (an array) and {TABLE} (a table) are supported",
                    short(name)
                );
                return Err(Error::new(Kind::Unsupported, text));
            }
        };
        let section = self.section(NUMBERS);
        let Some(numbers) = section
            .get(first.saturating_mul(NUMBER_NBYTES)..)
            .and_then(|rest| rest.get(..count * NUMBER_NBYTES))
        else {
            return Err(wrong("first number", first, self.head.numbers));
        };
        let word = |at: usize| u64_at(numbers, at * NUMBER_NBYTES);
        let narrow = |number: u64| {
            usize::try_from(number).map_err(|_| malformed(format!("says {number} where a length should be")))
        };
        let stride = |number: u64| {
            let stride = number.cast_signed();
            isize::try_from(stride).map_err(|_| malformed(format!("says {stride} where a stride should be")))
        };
        let offset = narrow(u64_at(entry, 32))?;
        if kind == TABLE {
            let [nbytes, rows, columns] = [word(0), word(1), word(2)].map(narrow);
            let extent = TableExtent { nbytes: nbytes?, rows: rows?, columns: columns? };
            return Ok(FoundEntry::Table(FoundTable { extent, region, offset }));
        }
        Ok(FoundEntry::Array(FoundArray {
            dtype,
            shape: (0..rank).map(|axis| narrow(word(axis))).collect::<Result<_>>()?,
            strides: (rank..2 * rank).map(|axis| stride(word(axis))).collect::<Result<_>>()?,
            region,
            offset,
        }))
    }

    /// The name of the entry with this number.
    ///
    /// # Errors
    ///
    /// `is_malformed` if it is not UTF-8; `is_bounds` if there is no such entry.
    pub(in crate::exchange::protocol::hold) fn entry_name(&self, index: usize) -> Result<&'a str> {
        utf8(self.name_bytes(index)?)
    }

    fn name_bytes(&self, index: usize) -> Result<&'a [u8]> {
        let entry = self.entry(index)?;
        self.text_bytes(u32_at(entry, 0) as usize, u32_at(entry, 4) as usize)
    }

    fn entry(&self, index: usize) -> Result<&'a [u8]> {
        if index >= self.head.entries {
            let text = format!("entry {index} was requested, but the set has {}", self.head.entries);
            return Err(Error::new(Kind::Bounds, text));
        }
        Ok(&self.section(ENTRIES)[index * ENTRY_NBYTES..][..ENTRY_NBYTES])
    }

    /// The text that entry `index` of a section of texts names.
    fn text_at(&self, section: &[u8], index: usize) -> Result<&'a str> {
        let at = index * TEXT_NBYTES;
        self.text(u32_at(section, at) as usize, u32_at(section, at + 4) as usize)
    }

    fn text(&self, at: usize, nbytes: usize) -> Result<&'a str> {
        self.text_bytes(at, nbytes).and_then(utf8)
    }

    fn text_bytes(&self, at: usize, nbytes: usize) -> Result<&'a [u8]> {
        let texts = self.section(TEXTS);
        let text = texts.get(at..).and_then(|rest| rest.get(..nbytes));
        text.ok_or_else(|| malformed(format!("has a text of {nbytes} bytes at byte {at} of {}", texts.len())))
    }

    /// A section, which lies within the bytes by the check of the head.
    fn section(&self, index: usize) -> &'a [u8] {
        let range: Range<usize> = self.head.section(index);
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Compares the hash of everything behind the first [`HASH_END`] bytes with the head.
///
/// # Errors
///
/// `is_malformed`.
pub(in crate::exchange::protocol::hold) fn check_hash(head: &Head, sum: Sum) -> Result<()> {
    if sum.value() == head.hash {
        return Ok(());
    }
    Err(malformed(format!("is damaged: its hash is {:016x}, but it says {:016x}", sum.value(), head.hash)))
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(|error| malformed(format!("has a text that is not UTF-8: {error}")))
}

#[cold]
fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, format!("the manifest of the set {text}"))
}
