//! Options for opening files.

use std::fs::File;
use std::io::Read;

use crate::buffer::Buffer;
use crate::error::{Advice, Error, Kind, Result, system_text};
use crate::exchange::files::contents::LIMIT;
use crate::exchange::files::format::Format;
use crate::exchange::files::raw::Description;
use crate::memory::{MapOptions, count_copied};

/// How to open a file of arrays.
///
/// ```
/// use crossdock::{Array, element::Value, exchange::files::{self, OpenOptions}};
/// # let path = std::env::temp_dir().join(format!("crossdock-options-{}.npy", std::process::id()));
/// files::save(&path, &Array::from_vec(vec![1u8, 2, 3], [3])?.into())?;
/// OpenOptions::new().writable(true).open(&path)?.set(&[0], &Value::from(9))?;
/// let array = OpenOptions::new().mapped(false).open(&path)?; // memory of its own
/// assert_eq!(Array::<u8, 1>::try_from(array)?.read()?[[0]], 9);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(super) expected: Expected,
    pub(super) name: Option<String>,
    pub(super) verified: bool,
    pub(super) limit: u64,
    writable: bool,
    guarded: bool,
    mapped: bool,
    constant: bool,
}

/// The expected format of a file.
#[derive(Clone, Debug)]
pub(super) enum Expected {
    /// The format that the first bytes indicate.
    Any,
    /// This one.
    Format(Format),
    /// Elements and nothing else.
    Raw(Description),
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            expected: Expected::Any,
            name: None,
            verified: false,
            limit: LIMIT,
            writable: false,
            guarded: false,
            mapped: true,
            constant: false,
        }
    }
}

impl OpenOptions {
    /// Any format that is recognised by its first bytes, mapped, read-only, unguarded and
    /// unverified, with at most 16 GiB for a decoded array.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects this format: a file of another one is refused. [`OpenOptions::raw`] is for files
    /// without a format.
    pub fn format(mut self, format: Format) -> Self {
        self.expected = Expected::Format(format);
        self
    }

    /// Reads the file as elements and nothing else, as described. It replaces
    /// [`OpenOptions::format`].
    ///
    /// ```
    /// use crossdock::{Array, exchange::files::{OpenOptions, SaveOptions}, layout::Order};
    /// # let path = std::env::temp_dir().join(format!("crossdock-raw-{}.raw", std::process::id()));
    /// let array = Array::from_vec(vec![1u16, 2, 3, 4], [2, 2])?;
    /// SaveOptions::new().order(Order::ColumnMajor).save(&path, &array.into())?;
    /// let array = OpenOptions::new().raw("dtype=uint16; shape=2,2; order=F".parse()?).open(&path)?;
    /// assert_eq!(array.get(&[0, 1])?.as_i64(), Some(2));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn raw(mut self, description: Description) -> Self {
        self.expected = Expected::Raw(description);
        self
    }

    /// The name of the array that [`OpenOptions::open`] opens, in a file of several.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Maps the file (the default), or reads all of it into new memory of the default pool, which
    /// counts as copied. That memory belongs to the process: its arrays lend slices and are
    /// writable, and writes do not reach the file.
    pub fn mapped(mut self, mapped: bool) -> Self {
        self.mapped = mapped;
        self
    }

    /// Makes the arrays of a mapped file writable; writes change the file. Formats that compress or
    /// have checksums refuse it.
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Protects against a file that shrinks while it is mapped: see [`MapOptions::guarded`].
    pub fn guarded(mut self, guarded: bool) -> Self {
        self.guarded = guarded;
        self
    }

    /// Takes a mapped file for constant memory, which lends slices and is exported to libraries
    /// that rely on constancy: see [`Buffer::assume_constant`].
    ///
    /// # Safety
    ///
    /// No process writes or truncates the file while it is mapped.
    pub unsafe fn assume_constant(mut self) -> Self {
        self.constant = true;
        self
    }

    /// Compares every array with its checksum as the file is opened: see
    /// [`Entry::verify`](crate::exchange::files::Entry::verify). Reads the whole file, while
    /// opening otherwise reads only headers. Damaged arrays are listed in
    /// [`Contents::refused`](crate::exchange::files::Contents::refused).
    pub fn verified(mut self, verified: bool) -> Self {
        self.verified = verified;
        self
    }

    /// The most bytes that one decoded array may take: a small file can claim a very large one. An
    /// array in place has its size in the file, and no limit.
    pub fn limit(mut self, nbytes: u64) -> Self {
        self.limit = nbytes;
        self
    }

    /// The bytes of a file: one map, so that the offset of an array's descriptor is that in the
    /// file; or a copy.
    pub(super) fn load(&self, mut file: File) -> Result<Buffer> {
        if self.mapped {
            let options = MapOptions::new().writable(self.writable).guarded(self.guarded);
            let map = Buffer::map(file, options)?;
            if !self.constant {
                return Ok(map);
            }
            // SAFETY: `constant` is set by `assume_constant` only, whose caller promises that no
            // party writes the file while it is mapped; `check` refused a writable map.
            return Ok(unsafe { map.assume_constant() });
        }
        let unread = |error: std::io::Error| {
            Error::caused(Kind::Io, format!("it could not be read: {}", system_text(&error)), error)
        };
        let size = file.metadata().map_err(unread)?.len();
        // A file of more bytes than can be addressed fails as out of memory.
        let nbytes = usize::try_from(size).unwrap_or(usize::MAX);
        let mut buffer = Buffer::zeroed(nbytes)?;
        file.read_exact(buffer.as_mut_slice()?).map_err(unread)?;
        count_copied(nbytes);
        Ok(buffer)
    }

    /// Whether the file itself is written.
    pub(super) fn writes_file(&self) -> bool {
        self.writable
    }

    /// Whether the file is mapped, and not copied.
    #[cfg(feature = "arrow-ipc")]
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// Refuses writes to a file through a copy of its bytes.
    pub(super) fn check(&self) -> Result<()> {
        if self.writable && !self.mapped {
            return Err(Error::new(Kind::Unsupported, "a file that is read into memory cannot be opened as writable, since writes would not reach the file")
                .advising(Advice::MapToWrite));
        }
        if self.writable && self.constant {
            return Err(Error::new(Kind::Unsupported, "a file that is opened as writable is not constant"));
        }
        Ok(())
    }
}
