//! The contents of a file: arrays, in most formats under names.

use std::fmt::{self, Write};

use crate::array::DArray;
use crate::element::DType;
use crate::error::similar::did_you_mean;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::format::Format;

/// The most bytes that one decoded array may take, unless another limit is set: 16 GiB.
pub(super) const LIMIT: u64 = 16 << 30;

/// The contents of a file: arrays, named if the format has names, and the texts beside them. The
/// file is mapped, but nothing is decompressed before [`Entry::open`].
///
/// ```
/// # #[cfg(feature = "npz")] {
/// use crossdock::{Array, exchange::files::{self, SaveOptions}};
/// # let path = std::env::temp_dir().join(format!("crossdock-contents-{}.npz", std::process::id()));
/// let (prices, sizes) = (Array::from_vec(vec![1.5, 2.5], [2])?, Array::from_vec(vec![3u32], [1])?);
/// SaveOptions::new().save_all(&path, &[("prices", prices.into()), ("sizes", sizes.into())])?;
/// let contents = files::open_all(&path)?;
/// assert_eq!(contents.names().collect::<Vec<_>>(), ["prices", "sizes"]);
/// let prices = contents.get("prices")?.open()?; // in place
/// assert_eq!(prices.get(&[1])?.as_f64(), Some(2.5));
/// # std::fs::remove_file(&path)?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Contents {
    format: Format,
    entries: Vec<Entry>,
    refused: Vec<(String, Error)>,
    metadata: Vec<(String, String)>,
    ignored: Vec<(String, u64)>,
    notes: Vec<String>,
}

impl Contents {
    /// For a format with one unnamed array per file, followed by `rest` bytes.
    pub(super) fn of_array(format: Format, array: DArray, rest: usize) -> Self {
        Self {
            format,
            entries: vec![Entry::mapped(String::new(), array)],
            refused: Vec::new(),
            metadata: Vec::new(),
            ignored: if rest > 0 { vec![(String::new(), rest as u64)] } else { Vec::new() },
            notes: Vec::new(),
        }
    }

    pub(super) fn new(format: Format, entries: Vec<Entry>, metadata: Vec<(String, String)>) -> Self {
        Self { format, entries, refused: Vec::new(), metadata, ignored: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn with_refused(self, refused: Vec<(String, Error)>) -> Self {
        Self { refused, ..self }
    }

    #[cfg(feature = "npz")]
    pub(super) fn with_ignored(self, ignored: Vec<(String, u64)>) -> Self {
        Self { ignored, ..self }
    }

    /// Adds a text for people, which tells how the elements differ from the values that they mean.
    pub(super) fn with_note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    pub(super) fn with_metadata(self, metadata: Vec<(String, String)>) -> Self {
        Self { metadata, ..self }
    }

    /// How the elements differ from the values that they mean, for people: each program tells it in
    /// its own way, such as by a warning.
    #[doc(hidden)]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Compares every array with its checksum. Damaged arrays become refused ones.
    pub(super) fn verified(mut self) -> Result<Self> {
        for entry in std::mem::take(&mut self.entries) {
            match entry.verify() {
                Ok(()) => self.entries.push(entry),
                Err(error) if error.is_malformed() => self.refused.push((entry.name, error)),
                Err(error) => return Err(error),
            }
        }
        Ok(self)
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The arrays, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The arrays that cannot be opened, each with its name and the reason: Python objects,
    /// encrypted members of an archive, types that this library does not know. The other arrays of
    /// the file can still be opened.
    pub fn refused(&self) -> impl ExactSizeIterator<Item = (&str, &Error)> {
        self.refused.iter().map(|(name, error)| (name.as_str(), error))
    }

    /// The names of the arrays that can be opened. Empty if the format has one unnamed array.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(Entry::name)
    }

    /// The texts beside the arrays, each under a name: those of a `.safetensors` file, and
    /// `scl_slope` and `scl_inter` of a NIfTI file whose values are scaled elements.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// What else the file holds, with its size in bytes; none of it is read. These are the other
    /// files of an archive under their names, and bytes after the last element of an array under
    /// the name of its file. That name is empty if the format has no names, such as an `.npy` file
    /// to which a second array was appended.
    pub fn ignored(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.ignored.iter().map(|(name, nbytes)| (name.as_str(), *nbytes))
    }

    /// The array with this name.
    ///
    /// # Errors
    ///
    /// `is_bounds`, listing the names that exist; `is_unsupported` for a name of several arrays;
    /// for one of [`Contents::refused`], the reason.
    pub fn get(&self, name: &str) -> Result<&Entry> {
        self.check_unique(name)?;
        if let Some(entry) = self.entries.iter().find(|entry| entry.name == name) {
            return Ok(entry);
        }
        Err(match self.refused.iter().find(|(refused, _)| refused == name) {
            Some((_, error)) => error.again(),
            None => {
                let names = self.names().chain(self.refused().map(|(name, _)| name));
                let similar = did_you_mean(name, names);
                let text = format!("no array is named {}{similar}; {}", short(name), self.listed());
                Error::new(Kind::Bounds, text)
            }
        })
    }

    /// Refuses the name of several arrays: which of them it means would be a guess.
    pub(super) fn check_unique(&self, name: &str) -> Result<()> {
        let all = self.names().chain(self.refused().map(|(name, _)| name));
        match all.filter(|&other| other == name).count() {
            0 | 1 => Ok(()),
            count => {
                let text = format!("{count} arrays are named {}; rename them apart", short(name));
                Err(Error::new(Kind::Unsupported, text))
            }
        }
    }

    /// The one array of the file.
    ///
    /// # Errors
    ///
    /// `is_unsupported` if there are several (the error names them) or none; if the only one cannot
    /// be opened, the reason.
    pub fn single(&self) -> Result<&Entry> {
        match (self.entries.as_slice(), self.refused.as_slice()) {
            ([entry], []) => Ok(entry),
            ([], [(_, error)]) => Err(error.again()),
            _ => Err(Error::new(Kind::Unsupported, format!("one array was expected, but {}", self.listed()))),
        }
    }

    /// For example `it has 3 arrays: "a", "b", "c"`.
    pub(super) fn listed(&self) -> String {
        const MOST: usize = 8;
        let count = self.entries.len() + self.refused.len();
        let mut text = match count {
            0 => return "the file has no arrays".to_owned(),
            1 if self.names().all(str::is_empty) && self.refused.is_empty() => {
                return "the file has one array, which has no name".to_owned();
            }
            1 => "the file has one array: ".to_owned(),
            _ => format!("the file has {count} arrays: "),
        };
        let names = self.names().chain(self.refused().map(|(name, _)| name));
        for (index, name) in names.take(MOST).enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{}", if index > 0 { ", " } else { "" }, short(name));
        }
        if count > MOST {
            let _ = write!(text, ", … ({} more)", count - MOST);
        }
        text
    }
}

/// One array of a file: its description, and the array itself on request.
pub struct Entry {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    source: EntrySource,
}

/// The source of the elements.
enum EntrySource {
    /// The file holds the elements as they are in memory, and a checksum if the format has one.
    Mapped(DArray, Option<Box<dyn Checked>>),
    /// The elements must be decoded.
    #[cfg_attr(
        not(any(
            feature = "npz",
            feature = "safetensors",
            feature = "png",
            feature = "jpeg",
            feature = "arrow-ipc"
        )),
        expect(dead_code, reason = "every format that has to be decoded is behind a feature")
    )]
    Encoded(Box<dyn Encoded>),
}

/// Elements that must be decoded into new memory.
pub(super) trait Encoded: Send + Sync {
    /// What it is, such as `deflated` or `a PNG image`.
    fn what(&self) -> &'static str;

    /// Decodes the elements into memory of the default pool, and counts the bytes as copied.
    fn decode(&self) -> Result<DArray>;

    /// Whether the elements can be decoded and match their checksum.
    fn verify(&self) -> Result<()> {
        self.decode().map(drop)
    }
}

/// Bytes of the file that have a checksum in it.
pub(super) trait Checked: Send + Sync {
    /// Reads all bytes and compares.
    fn verify(&self) -> Result<()>;
}

impl Entry {
    pub(super) fn mapped(name: String, array: DArray) -> Self {
        let (dtype, shape) = (array.dtype().clone(), array.shape().to_vec());
        Self { name, dtype, shape, source: EntrySource::Mapped(array, None) }
    }

    #[cfg(feature = "npz")]
    pub(super) fn mapped_and_checked(name: String, array: DArray, checked: impl Checked + 'static) -> Self {
        Self {
            source: EntrySource::Mapped(array.clone(), Some(Box::new(checked))),
            ..Self::mapped(name, array)
        }
    }

    #[cfg(any(
        feature = "npz",
        feature = "safetensors",
        feature = "png",
        feature = "jpeg",
        feature = "arrow-ipc"
    ))]
    pub(super) fn encoded(
        name: String,
        dtype: DType,
        shape: Vec<usize>,
        encoded: impl Encoded + 'static,
    ) -> Self {
        Self { name, dtype, shape, source: EntrySource::Encoded(Box::new(encoded)) }
    }

    /// The name; empty if the format has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of an element.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes of all elements in memory.
    pub fn nbytes(&self) -> usize {
        // A layout of this shape was checked, so the product cannot overflow, except for an empty
        // array, whose other axes may have any length.
        self.shape.iter().fold(self.dtype.itemsize(), |nbytes, &len| nbytes.saturating_mul(len))
    }

    /// Why the elements are not available in place: they are deflated, packed, or an image. `None`
    /// if they are available in place.
    pub fn copied_because(&self) -> Option<&'static str> {
        match &self.source {
            EntrySource::Mapped(..) => None,
            EntrySource::Encoded(encoded) => Some(encoded.what()),
        }
    }

    /// The array. In place, O(1), if [`Entry::copied_because`] returns `None`: the array has its
    /// own leases of the mapped file, and its memory is aliased, since another process may write
    /// the file. Otherwise decoded into new memory of the default pool, whose bytes count as
    /// copied; each call decodes again.
    ///
    /// Opening in place reads no elements, so it does not compare a checksum: [`Entry::verify`]
    /// does.
    ///
    /// # Errors
    ///
    /// `is_malformed` if the data cannot be decoded, `is_unsupported` for more bytes than the
    /// limit, `is_out_of_memory`.
    pub fn open(&self) -> Result<DArray> {
        match &self.source {
            EntrySource::Mapped(array, _) => Ok(array.clone()),
            EntrySource::Encoded(encoded) => encoded.decode().map_err(|error| self.named(error)),
        }
    }

    /// Compares the array with its checksum in the file. An `.npz` archive has one for each array;
    /// `.npy` and `.safetensors` files have none, and pass. Call it before an array in place is
    /// written to another file, which would give damaged bytes a new checksum.
    ///
    /// Reads all bytes of the array once and keeps none; images are decoded. O(bytes). The result
    /// is valid for the time of the read: another process may write the file afterwards.
    ///
    /// # Errors
    ///
    /// `is_malformed` for another checksum, with both; otherwise as [`Entry::open`], and `is_fault`
    /// if a guarded file shrank.
    pub fn verify(&self) -> Result<()> {
        let verified = match &self.source {
            EntrySource::Mapped(_, checked) => checked.as_ref().map_or(Ok(()), |checked| checked.verify()),
            EntrySource::Encoded(encoded) => encoded.verify(),
        };
        verified.map_err(|error| self.named(error))
    }

    fn named(&self, error: Error) -> Error {
        match self.name.as_str() {
            "" => error,
            name => error.within(format_args!("array {}", short(name))),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copied = self.copied_because().unwrap_or("in place");
        write!(f, "Entry({:?}, {} {:?}, {copied})", self.name, self.dtype.brief(), self.shape)
    }
}
