//! Writes a manifest.

use std::collections::HashMap;

use crate::element::DType;
use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::protocol::hold::manifest::{
    ARRAY, ENTRIES, HASH_END, HEAD_NBYTES, Head, ListedRegion, MOST_DTYPES, MOST_NBYTES, MOST_REGIONS, Sum,
    TABLE, TEXTS, first_slot,
};
use crate::layout::Layout;

/// One array or table of a set.
#[derive(Clone, Debug)]
pub(crate) struct SetEntry {
    pub(crate) name: String,
    pub(crate) contents: EntryContents,
    /// The region that has the bytes, and the byte where element 0, or the table, begins.
    pub(crate) region: usize,
    pub(crate) offset: u64,
}

/// What an entry of a set is.
#[derive(Clone, Debug)]
pub(crate) enum EntryContents {
    Array(DType, Layout),
    /// An Arrow IPC file, or a stream.
    Table(TableExtent),
}

/// How large a table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableExtent {
    pub(crate) nbytes: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl SetEntry {
    /// The error for a name that the set has.
    #[cold]
    pub(in crate::exchange::protocol::hold) fn taken(&self) -> Error {
        let text = format!("the set already has an entry {}; use another name", short(&self.name));
        Error::new(Kind::Conflict, text)
    }
}

/// What a manifest says.
#[derive(Debug, Default)]
pub(in crate::exchange::protocol::hold) struct ManifestContents<'a> {
    /// The name of the set, and its version.
    pub(in crate::exchange::protocol::hold) name: &'a str,
    pub(in crate::exchange::protocol::hold) version: u64,
    pub(in crate::exchange::protocol::hold) regions: Vec<ListedRegion>,
    pub(in crate::exchange::protocol::hold) entries: &'a [SetEntry],
    pub(in crate::exchange::protocol::hold) metadata: &'a [(String, String)],
}

/// ManifestTexts, in the order in which they are added.
#[derive(Default)]
struct ManifestTexts(Vec<u8>);

impl ManifestTexts {
    /// Where the text begins, and its length.
    fn add(&mut self, text: &str) -> [u8; 8] {
        let (at, nbytes) = (self.0.len() as u32, text.len() as u32);
        self.0.extend(text.as_bytes());
        let [at, nbytes] = [at.to_le_bytes(), nbytes.to_le_bytes()];
        std::array::from_fn(|index| if index < 4 { at[index] } else { nbytes[index - 4] })
    }
}

impl ManifestContents<'_> {
    /// The bytes of the manifest.
    ///
    /// # Errors
    ///
    /// `is_conflict` if two entries have the same name; `is_unsupported` for a dtype without a
    /// text, and for more entries, regions or dtypes than a manifest can list.
    pub(in crate::exchange::protocol::hold) fn to_bytes(&self) -> Result<Vec<u8>> {
        let most = |count: usize, most: usize, what: &str| match count > most {
            true => Err(Error::new(
                Kind::Unsupported,
                format!("a set has at most {most} {what}, and this one has {count}; divide it"),
            )),
            false => Ok(()),
        };
        let mut texts = ManifestTexts::default();
        texts.add(self.name);
        let (mut dtypes, mut known) = (Vec::new(), HashMap::new());
        let (mut entries, mut numbers) = (Vec::new(), Vec::new());
        for entry in self.entries {
            let first = (numbers.len() / 8) as u32;
            let (kind, dtype, rank) = match &entry.contents {
                EntryContents::Array(dtype, layout) => {
                    let spelled = typestr::print_for_crossdock(dtype)
                        .map_err(|error| error.within(format_args!("array {}", short(&entry.name))))?;
                    let dtype = *known.entry(spelled).or_insert_with_key(|spelled| {
                        dtypes.extend(texts.add(spelled));
                        (dtypes.len() / 8 - 1) as u32
                    });
                    numbers.extend(layout.shape().iter().flat_map(|&len| (len as u64).to_le_bytes()));
                    numbers.extend(layout.strides().iter().flat_map(|&step| (step as i64).to_le_bytes()));
                    (ARRAY, dtype, layout.rank() as u32)
                }
                EntryContents::Table(TableExtent { nbytes, rows, columns }) => {
                    let all = [nbytes, rows, columns];
                    numbers.extend(all.into_iter().flat_map(|&number| (number as u64).to_le_bytes()));
                    (TABLE, 0, 0)
                }
            };
            entries.extend(texts.add(&entry.name));
            let words = [kind, dtype, rank, first, entry.region as u32, 0];
            entries.extend(words.into_iter().flat_map(u32::to_le_bytes));
            entries.extend(entry.offset.to_le_bytes());
        }
        let is_table = |entry: &&SetEntry| matches!(entry.contents, EntryContents::Table(_));
        let mut metadata = Vec::new();
        for (key, text) in self.metadata {
            metadata.extend(texts.add(key));
            metadata.extend(texts.add(text));
        }
        let regions: Vec<u8> = self
            .regions
            .iter()
            .flat_map(|region| [region.inode, region.nbytes, region.kind, region.device])
            .flat_map(u64::to_le_bytes)
            .collect();
        most(self.regions.len(), MOST_REGIONS, "regions")?;
        most(dtypes.len() / 8, MOST_DTYPES, "dtypes")?;
        let slots = self.slots()?;
        let sections = [&regions, &dtypes, &metadata, &entries, &numbers, &slots, &texts.0];
        let nbytes = HEAD_NBYTES + sections.iter().map(|section| section.len()).sum::<usize>();
        most(nbytes, MOST_NBYTES, "bytes of names, shapes and texts")?;

        let mut bytes = vec![0; HEAD_NBYTES];
        bytes.reserve_exact(nbytes - HEAD_NBYTES);
        sections.iter().for_each(|section| bytes.extend(*section));
        let mut head = Head {
            nbytes,
            hash: 0,
            version: self.version,
            entries: self.entries.len(),
            regions: self.regions.len(),
            dtypes: dtypes.len() / 8,
            metadata: self.metadata.len(),
            numbers: numbers.len() / 8,
            slots: slots.len() / 4,
            name_nbytes: self.name.len(),
            tables: self.entries.iter().filter(is_table).count(),
        };
        debug_assert_eq!(head.section(TEXTS).start, nbytes - texts.0.len());
        debug_assert_eq!(head.section(ENTRIES).len(), entries.len());
        let room = bytes.first_chunk_mut().expect("the vector began with a head");
        head.write(room);
        let mut sum = Sum::new();
        sum.add(&bytes[HASH_END..]);
        head.hash = sum.value();
        head.write(bytes.first_chunk_mut().expect("the vector began with a head"));
        Ok(bytes)
    }

    /// The table of hashes, at most half full.
    fn slots(&self) -> Result<Vec<u8>> {
        let count = match self.entries.len() {
            0 => 0,
            entries => (2 * entries).next_power_of_two(),
        };
        let mut slots = vec![0u32; count];
        for (index, entry) in self.entries.iter().enumerate() {
            let mut slot = first_slot(entry.name.as_bytes(), count);
            while slots[slot] != 0 {
                if self.entries[slots[slot] as usize - 1].name == entry.name {
                    return Err(entry.taken());
                }
                slot = (slot + 1) & (count - 1);
            }
            slots[slot] = index as u32 + 1;
        }
        Ok(slots.into_iter().flat_map(u32::to_le_bytes).collect())
    }
}
