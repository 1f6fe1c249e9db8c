//! A set that this process has mapped.

use std::fmt;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use crate::array::DArray;
use crate::buffer::{Buffer, ReadGuard};
use crate::element::DType;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::protocol::hold::label::Label;
#[cfg(feature = "arrow-ipc")]
use crate::exchange::protocol::hold::manifest::TableExtent;
use crate::exchange::protocol::hold::manifest::{FoundArray, FoundEntry, FoundTable, Head, Manifest};
use crate::exchange::protocol::hold::memory::{self, SetRegion};
use crate::layout::Layout;
use crate::memory::fork::get_or_make;

/// A set of arrays and tables. Those in sealed memory are constant, so Read and Pin leases of them
/// can be taken. Those in mapped files ([`Set::is_mapped`]) are aliased, as those of an opened
/// file. All of them share one map for each region.
///
/// From a holder, a set is also a lease: the holder keeps the version while this set, or an array
/// or a column of it, lives.
pub struct Set {
    label: Label,
    head: Head,
    manifest: ReadGuard,
    regions: Vec<Buffer>,
    /// The dtypes of the manifest, each parsed once it is needed.
    dtypes: Vec<OnceLock<DType>>,
    nbytes: u64,
    is_mapped: bool,
}

impl Set {
    /// Maps the memory of a set, of which nothing is trusted. What `lease` yields is dropped with
    /// the last array. O(regions).
    pub(super) fn open<T: Send + Sync + 'static>(
        manifest: OwnedFd,
        regions: Vec<OwnedFd>,
        lease: T,
    ) -> Result<Self> {
        let memory::SetMemory { manifest, regions, label, nbytes, head, .. } =
            memory::SetMemory::check(manifest, regions)?;
        let addressable = |nbytes: u64| {
            usize::try_from(nbytes).map_err(|_| {
                Error::new(
                    Kind::Overflow,
                    format!("{nbytes} bytes cannot be mapped: they exceed the address space"),
                )
            })
        };
        // The search after a kill needs all descriptors, which must outlast the set while one
        // array of it lives. The only region has its own.
        let mut twins = vec![memory::duplicate(&manifest)?];
        if regions.len() > 1 {
            for region in &regions {
                twins.push(region.duplicate()?);
            }
        }
        let lease = Arc::new((lease, twins));
        let sealed = |memory: OwnedFd| {
            let nbytes = addressable(memory::identity(&memory)?.nbytes)?;
            Buffer::map_shared_keeping(memory, 0, nbytes, lease.clone())
        };
        let manifest = sealed(manifest)?.slice(..head.nbytes)?.read()?;
        let dtypes =
            std::iter::repeat_with(OnceLock::new).take(Manifest::with_head(head, &manifest).dtypes());
        let dtypes = dtypes.collect();
        let is_mapped = regions.iter().any(SetRegion::is_mapped);
        let regions = regions.into_iter().map(|region| match region {
            SetRegion::Sealed(memory) => sealed(memory),
            SetRegion::Mapped(file, nbytes) => {
                Buffer::map_guarded_keeping(File::from(file), addressable(nbytes)?, lease.clone())
            }
        });
        let regions = regions.collect::<Result<_>>()?;
        Ok(Self { label, head, manifest, regions, dtypes, nbytes, is_mapped })
    }

    fn manifest(&self) -> Manifest<'_> {
        Manifest::with_head(self.head, &self.manifest)
    }

    /// The name and version.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The number of names: of arrays, and of tables.
    pub fn len(&self) -> usize {
        self.head.entries
    }

    /// How many of the names are tables, as the writer said.
    #[doc(hidden)]
    pub fn tables(&self) -> usize {
        self.head.tables
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all memory of the set, its manifest included.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// Whether arrays or tables lie in mapped files, which processes may write and shorten. Then
    /// they are aliased: Share and Pin leases can be taken, Read leases cannot. A guard watches the
    /// files: what a file lost reads as zeros, and [`Buffer::fault`] and each copy report it.
    pub fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// The names, in the order in which the writer added them.
    pub fn names(&self) -> impl ExactSizeIterator<Item = Result<&str>> {
        let manifest = self.manifest();
        (0..self.len()).map(move |index| manifest.entry_name(index))
    }

    /// The name with this number. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_malformed`.
    #[doc(hidden)]
    pub fn nth_name(&self, index: usize) -> Result<&str> {
        self.manifest().entry_name(index)
    }

    /// The texts beside the entries, each under a key.
    ///
    /// # Errors
    ///
    /// `is_malformed`.
    pub fn metadata(&self) -> Result<Vec<(&str, &str)>> {
        self.manifest().metadata().collect()
    }

    /// Whether there is an array or a table of this name.
    ///
    /// # Errors
    ///
    /// `is_malformed`.
    pub fn contains(&self, name: &str) -> Result<bool> {
        self.manifest().find(name).map(|index| index.is_some())
    }

    /// The array of this name, in place. O(rank), whatever the number of arrays.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the set has no array of this name; `is_unsupported` if it is a table, which
    /// `Set::table` opens; `is_malformed` and others for an entry that contradicts itself or the
    /// memory: nothing in the manifest is trusted.
    pub fn get(&self, name: &str) -> Result<DArray> {
        let found = match self.found(name)? {
            FoundEntry::Array(found) => found,
            FoundEntry::Table(FoundTable { extent, .. }) => {
                let text = format!(
                    "{} of {} is a table of {} rows and {} columns, not an array; open it as a table",
                    short(name),
                    self.label,
                    extent.rows,
                    extent.columns
                );
                return Err(Error::new(Kind::Unsupported, text));
            }
        };
        let FoundArray { dtype, shape, strides, region, offset, .. } = &found;
        let opened = self.dtype(*dtype).and_then(|dtype| {
            let layout = Layout::new(shape, strides, dtype.itemsize())?;
            DArray::from_buffer(self.regions[*region].try_clone()?, dtype.clone(), layout, *offset)
        });
        opened.map_err(|error| error.within(format_args!("array {} of {}", short(name), self.label)))
    }

    /// The rows and columns of a table, as its writer says; `None` for an array. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the set has no entry of this name; `is_malformed`, `is_unsupported`.
    #[doc(hidden)]
    pub fn table_shape(&self, name: &str) -> Result<Option<(usize, usize)>> {
        Ok(match self.found(name)? {
            FoundEntry::Array(_) => None,
            FoundEntry::Table(FoundTable { extent, .. }) => Some((extent.rows, extent.columns)),
        })
    }

    /// What the manifest says of a table, and the memory that it names, which is checked.
    ///
    /// # Errors
    ///
    /// As [`Set::get`]; `is_unsupported` for an array.
    #[cfg(feature = "arrow-ipc")]
    pub(in crate::exchange) fn table_bytes(&self, name: &str) -> Result<(TableExtent, Buffer)> {
        let FoundEntry::Table(FoundTable { extent, region, offset }) = self.found(name)? else {
            let text = format!("{} of {} is an array, not a table", short(name), self.label);
            return Err(Error::new(Kind::Unsupported, text));
        };
        let region = &self.regions[region];
        match offset.checked_add(extent.nbytes).filter(|&end| end <= region.nbytes()) {
            Some(end) => Ok((extent, region.slice(offset..end)?)),
            None => Err(Error::new(
                Kind::Bounds,
                format!(
                    "table {} of {} has {} bytes at byte {offset}, beyond the {} bytes of its region",
                    short(name),
                    self.label,
                    extent.nbytes,
                    region.nbytes()
                ),
            )),
        }
    }

    fn found(&self, name: &str) -> Result<FoundEntry> {
        let manifest = self.manifest();
        match manifest.find(name)? {
            Some(index) => manifest.found(index),
            None => Err(self.missing(name)),
        }
    }

    fn dtype(&self, index: usize) -> Result<&DType> {
        if let Some(dtype) = self.dtypes[index].get() {
            return Ok(dtype);
        }
        let dtype = self.manifest().dtype(index)?.parse()?;
        Ok(get_or_make(&self.dtypes[index], || dtype))
    }

    #[cold]
    fn missing(&self, name: &str) -> Error {
        const MOST: usize = 8;
        let names: Vec<String> = self.names().take(MOST).flatten().map(short).collect();
        let more = match self.len() - names.len().min(self.len()) {
            0 => String::new(),
            more => format!(", … ({more} more)"),
        };
        let what = if self.head.tables == 0 { "array" } else { "array or table" };
        let text = format!("{} has no {what} {}; it has {}{more}", self.label, short(name), names.join(", "));
        Error::new(Kind::Bounds, text)
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, regions, nbytes, .. } = self;
        write!(f, "Set({label}, {} entries, {} regions, {nbytes} bytes)", self.len(), regions.len())
    }
}
