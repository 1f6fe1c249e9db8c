//! Makes a set: describes its arrays, gives them memory, and seals it.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::os::fd::OwnedFd;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Rejected, Result, short};
use crate::exchange::protocol::hold::label::Label;
#[cfg(feature = "arrow-ipc")]
use crate::exchange::protocol::hold::manifest::TableExtent;
use crate::exchange::protocol::hold::manifest::{
    EntryContents, ListedRegion, MAPPED, ManifestContents, SEALED, SetEntry,
};
use crate::exchange::protocol::hold::memory::{self, Identity, SetMemory, SetRegion};
use crate::exchange::protocol::hold::set::Set;
use crate::exchange::protocol::hold::table_memory::TableMemory;
use crate::layout::{Layout, Order};

/// Each array, and each table, begins at a multiple of this many bytes: a cache line.
pub(super) const ALIGN: u64 = 64;

/// Describes the arrays of a set before they have memory. Tables are written into the
/// [`DraftSet`].
///
/// ```
/// use crossdock::element::DType;
/// use crossdock::exchange::protocol::hold::SetBuilder;
///
/// let mut builder = SetBuilder::new();
/// builder.array("wte", DType::F32, &[4, 2])?;
/// builder.alias("lm_head", "wte")?; // shared weights: two names, one range
/// builder.metadata("format", "pt");
/// let draft = builder.allocate(&"tiny@1".parse()?)?;
/// draft.get("wte")?.set(&[3, 1], &0.5.into())?;
/// let set = draft.seal()?.open()?;
/// assert_eq!(set.get("lm_head")?.get(&[3, 1])?.as_f64(), Some(0.5));
/// assert_eq!(set.names().collect::<Result<Vec<_>, _>>()?, ["wte", "lm_head"]);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SetBuilder {
    entries: Vec<SetEntry>,
    /// The index of each name.
    names: HashMap<String, usize>,
    metadata: Vec<(String, String)>,
    /// The bytes of the arrays so far.
    nbytes: u64,
}

impl SetBuilder {
    /// No arrays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row-major array.
    ///
    /// # Errors
    ///
    /// `is_conflict` if the set has this name; `is_overflow`; `is_unsupported` for more than 64
    /// dimensions.
    pub fn array(&mut self, name: &str, dtype: DType, shape: &[usize]) -> Result<&mut Self> {
        let layout = Layout::contiguous(shape, dtype.itemsize(), Order::RowMajor)
            .map_err(|error| error.within(format_args!("array {}", short(name))))?;
        let offset = self.nbytes.next_multiple_of(ALIGN);
        let end = offset.checked_add(layout.nbytes() as u64).filter(|&end| isize::try_from(end).is_ok());
        let Some(end) = end else {
            let text = format!("with {} more bytes, the set exceeds the address space", layout.nbytes());
            return Err(Error::new(Kind::Overflow, text));
        };
        let contents = EntryContents::Array(dtype, layout);
        self.add(SetEntry { name: name.to_owned(), contents, region: 0, offset })?;
        self.nbytes = end;
        Ok(self)
    }

    /// Adds a second name of an array.
    ///
    /// # Errors
    ///
    /// `is_conflict` if the set has the new name, `is_bounds` if it lacks the other one.
    pub fn alias(&mut self, name: &str, of: &str) -> Result<&mut Self> {
        let Some(&index) = self.names.get(of) else {
            let text = format!(
                "the set has no array {}, of which {} should be a second name",
                short(of),
                short(name)
            );
            return Err(Error::new(Kind::Bounds, text));
        };
        let entry = SetEntry { name: name.to_owned(), ..self.entries[index].clone() };
        self.add(entry)?;
        Ok(self)
    }

    /// Adds a text under a key.
    pub fn metadata(&mut self, key: &str, text: &str) -> &mut Self {
        self.metadata.push((key.to_owned(), text.to_owned()));
        self
    }

    fn add(&mut self, entry: SetEntry) -> Result<()> {
        if self.names.contains_key(&entry.name) {
            return Err(entry.taken());
        }
        self.names.insert(entry.name.clone(), self.entries.len());
        self.entries.push(entry);
        Ok(())
    }

    /// Allocates zeroed shared memory for the arrays.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a label without a version; `is_io`.
    pub fn allocate(&self, label: &Label) -> Result<DraftSet> {
        check_version(label)?;
        let nbytes = usize::try_from(self.nbytes).unwrap_or(usize::MAX);
        let memory = memory::allocate(nbytes, label, "region 0")?;
        let buffer = Buffer::map_shared(memory::duplicate(&memory)?, 0, nbytes, true)?;
        Ok(DraftSet { described: Box::new(self.clone()), label: label.clone(), memory, buffer, tables: None })
    }
}

fn check_version(label: &Label) -> Result<()> {
    match label.version() {
        Some(_) => Ok(()),
        None => Err(Error::new(
            Kind::Malformed,
            format!("the set {label} needs a version; write it as {label}@1"),
        )),
    }
}

/// The arrays and tables of a set while they are written.
///
/// The memory is shared, but no other process has its descriptor before it is sealed.
pub struct DraftSet {
    /// In a box, so that the error that returns a draft stays small.
    described: Box<SetBuilder>,
    label: Label,
    memory: OwnedFd,
    buffer: Buffer,
    /// Region 1, if there are tables.
    tables: Option<TableMemory>,
}

impl DraftSet {
    /// An array to be written, in place. Drop it, and every view and export of it, before the set
    /// is sealed.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the set has no entry of this name; `is_unsupported` if it is a table.
    pub fn get(&self, name: &str) -> Result<DArray> {
        let Some(&index) = self.described.names.get(name) else {
            let text = format!("the set {} has no array {}", self.label, short(name));
            return Err(Error::new(Kind::Bounds, text));
        };
        match &self.described.entries[index] {
            SetEntry { contents: EntryContents::Array(dtype, layout), offset, .. } => {
                let buffer = self.buffer.try_clone()?;
                DArray::from_buffer(buffer, dtype.clone(), layout.clone(), *offset as usize)
            }
            _ => {
                let text = format!(
                    "{} of the set {} is a table, which is complete, not an array",
                    short(name),
                    self.label
                );
                Err(Error::new(Kind::Unsupported, text))
            }
        }
    }

    /// Adds a table, whose bytes `write` appends to the memory of tables. `write` returns the rows
    /// and the columns.
    #[cfg(feature = "arrow-ipc")]
    pub(in crate::exchange) fn append_table(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn std::io::Write) -> Result<(usize, usize)>,
    ) -> Result<()> {
        let mut entry = SetEntry {
            name: name.to_owned(),
            contents: EntryContents::Table(TableExtent::default()),
            region: 1,
            offset: 0,
        };
        if self.described.names.contains_key(name) {
            return Err(entry.taken());
        }
        let tables = match &mut self.tables {
            Some(tables) => tables,
            none => none.insert(TableMemory::new(&self.label, 1)?),
        };
        let (offset, nbytes, (rows, columns)) = tables.append(write)?;
        entry.contents = EntryContents::Table(TableExtent { nbytes, rows, columns });
        entry.offset = offset;
        self.described.add(entry)
    }

    /// Adds a second name of an array or a table.
    ///
    /// # Errors
    ///
    /// As [`SetBuilder::alias`].
    #[doc(hidden)]
    pub fn alias(&mut self, name: &str, of: &str) -> Result<()> {
        self.described.alias(name, of).map(drop)
    }

    /// Seals the memory, for ever and for every process. Copies nothing.
    ///
    /// # Errors
    ///
    /// The error returns the draft. `is_conflict` while an array of the draft is held or exported.
    pub fn seal(self) -> Result<SealedSet, Rejected<Self>> {
        let Self { described, label, memory, buffer, tables } = self;
        let buffer = match buffer.into_sealed() {
            Ok(buffer) => buffer,
            Err(Rejected { value: buffer, error }) => {
                return Err(Rejected { value: Self { described, label, memory, buffer, tables }, error });
            }
        };
        let regions = std::iter::once(memory::duplicate(&memory))
            .chain(tables.iter().map(TableMemory::region))
            .collect::<Result<_>>();
        match regions.and_then(|regions| {
            SealedSet::from_regions(&label, regions, &described.entries, &described.metadata)
        }) {
            Ok(set) => Ok(set),
            Err(error) => Err(Rejected { value: Self { described, label, memory, buffer, tables }, error }),
        }
    }
}

impl fmt::Debug for DraftSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { described, label, buffer, .. } = self;
        write!(f, "DraftSet({label}, {} entries, {} bytes)", described.entries.len(), buffer.nbytes())
    }
}

/// A set to be committed, which no process maps yet: in sealed memory, or in files.
#[derive(Debug)]
pub struct SealedSet(pub(super) SetMemory);

impl SealedSet {
    /// Seals the regions, in which the entries lie, and describes them in a manifest.
    pub(in crate::exchange) fn from_regions(
        label: &Label,
        regions: Vec<OwnedFd>,
        entries: &[SetEntry],
        metadata: &[(String, String)],
    ) -> Result<Self> {
        let mut listed = Vec::new();
        for region in &regions {
            // A region that was sealed before accepts no seal any more, and needs none.
            if memory::check_sealed(region).is_err() {
                memory::seal(region)?;
            }
            let Identity { inode, nbytes, .. } = memory::check_sealed(region)?;
            listed.push(ListedRegion { inode, nbytes, kind: SEALED, device: 0 });
        }
        Self::described(label, regions, listed, entries, metadata)
    }

    /// Describes the contents of files in a manifest. The files, which are open for reading only,
    /// stay as they are: each is a region.
    pub(in crate::exchange) fn from_files(
        label: &Label,
        files: Vec<File>,
        entries: &[SetEntry],
        metadata: &[(String, String)],
    ) -> Result<Self> {
        let files: Vec<OwnedFd> = files.into_iter().map(OwnedFd::from).collect();
        let mut listed = Vec::new();
        for file in &files {
            let Identity { device, inode, nbytes } = memory::check_mappable(file)?;
            listed.push(ListedRegion { inode, nbytes, kind: MAPPED, device });
        }
        Self::described(label, files, listed, entries, metadata)
    }

    fn described(
        label: &Label,
        regions: Vec<OwnedFd>,
        listed: Vec<ListedRegion>,
        entries: &[SetEntry],
        metadata: &[(String, String)],
    ) -> Result<Self> {
        check_version(label)?;
        let contents = ManifestContents {
            name: label.name(),
            version: label.number(),
            regions: listed,
            entries,
            metadata,
        };
        let manifest = memory::manifest(&contents, label)?;
        SetMemory::check(manifest, regions)?.for_reading().map(Self)
    }

    /// Memory for a region of a set, not mapped and not sealed yet.
    pub(in crate::exchange) fn region(nbytes: usize, label: &Label, index: usize) -> Result<OwnedFd> {
        check_version(label)?;
        memory::allocate(nbytes, label, &format!("region {index}"))
    }

    /// The name and version.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// The bytes of all memory of the set, its manifest included.
    pub fn nbytes(&self) -> u64 {
        self.0.nbytes
    }

    /// The number of names: of arrays, and of tables.
    pub fn len(&self) -> usize {
        self.0.head.entries
    }

    /// How many of the names are tables.
    #[doc(hidden)]
    pub fn tables(&self) -> usize {
        self.0.head.tables
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the arrays lie in mapped files, which can change: see [`Set::is_mapped`].
    pub fn is_mapped(&self) -> bool {
        self.0.is_mapped()
    }

    /// Maps the set in this process.
    ///
    /// # Errors
    ///
    /// `is_io`, `is_out_of_memory`.
    pub fn open(&self) -> Result<Set> {
        let regions = self.0.regions.iter().map(SetRegion::duplicate).collect::<Result<_>>()?;
        Set::open(memory::duplicate(&self.0.manifest)?, regions, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> SetBuilder {
        let mut builder = SetBuilder::new();
        builder.array("a", DType::U8, &[3]).unwrap().array("b", DType::F64, &[2, 2]).unwrap();
        builder
    }

    #[test]
    fn a_draft_is_sealed_once_its_arrays_are_gone() {
        let draft = builder().allocate(&"m@2".parse().unwrap()).unwrap();
        let array = draft.get("b").unwrap();
        array.set(&[1, 0], &7.5.into()).unwrap();
        let Rejected { value: draft, error } = draft.seal().unwrap_err();
        assert!(error.is_conflict(), "{error}");
        drop(array);
        let sealed = draft.seal().unwrap();
        assert_eq!((sealed.label().to_string(), sealed.len()), ("m@2".to_owned(), 2));
        let array = sealed.open().unwrap().get("b").unwrap();
        assert_eq!(array.get(&[1, 0]).unwrap().as_f64(), Some(7.5));
        assert!(array.set(&[0, 0], &1.0.into()).unwrap_err().is_read_only());
        assert_eq!(array.birth(), crate::memory::Birth::Constant);
    }

    #[test]
    fn names_are_unique_and_labels_have_versions() {
        let mut builder = builder();
        assert!(builder.array("a", DType::U8, &[1]).unwrap_err().is_conflict());
        assert!(builder.alias("a", "b").unwrap_err().is_conflict());
        assert!(builder.alias("c", "d").unwrap_err().is_bounds());
        assert!(builder.array("huge", DType::U8, &[isize::MAX as usize]).unwrap_err().is_overflow());
        assert!(builder.allocate(&"m".parse().unwrap()).unwrap_err().is_malformed());
    }
}
