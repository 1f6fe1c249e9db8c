//! What is in a file: arrays, most of them under names.

use std::fmt::{self, Write};

use crate::array::DArray;
use crate::element::DType;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::format::Format;

/// The most bytes that one array may take when it is decoded, unless another limit is set: 16 GiB.
pub(super) const LIMIT: u64 = 16 << 30;

/// What is in a file: arrays, each under a name where the format has names, and the texts that
/// stand beside them. Has the file mapped, but has decompressed nothing yet: [`Entry::open`] does.
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
}

impl Contents {
    /// Of a format whose files hold one array without a name, and `rest` bytes behind it.
    pub(super) fn of_array(format: Format, array: DArray, rest: usize) -> Self {
        Self {
            format,
            entries: vec![Entry::mapped(String::new(), array)],
            refused: Vec::new(),
            metadata: Vec::new(),
            ignored: if rest > 0 { vec![(String::new(), rest as u64)] } else { Vec::new() },
        }
    }

    #[cfg(any(feature = "npz", feature = "safetensors", feature = "png", feature = "jpeg"))]
    pub(super) fn new(format: Format, entries: Vec<Entry>, metadata: Vec<(String, String)>) -> Self {
        Self { format, entries, refused: Vec::new(), metadata, ignored: Vec::new() }
    }

    #[cfg(any(feature = "npz", feature = "safetensors"))]
    pub(super) fn with_refused(self, refused: Vec<(String, Error)>) -> Self {
        Self { refused, ..self }
    }

    #[cfg(feature = "npz")]
    pub(super) fn with_ignored(self, ignored: Vec<(String, u64)>) -> Self {
        Self { ignored, ..self }
    }

    /// Compares every array with its checksum. Those that are damaged are refused.
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

    /// The arrays, in the order in which the file names them.
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

    /// The texts that stand beside the arrays, each under a name: those of a `.safetensors` file.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// What else the file holds, and is not read, with its size in bytes: the other files of an
    /// archive under their names, and bytes behind the last element of an array under the name of
    /// its file. That name is empty where the format has no names: an `.npy` file to which a second
    /// array was appended.
    pub fn ignored(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.ignored.iter().map(|(name, nbytes)| (name.as_str(), *nbytes))
    }

    /// The array with this name.
    ///
    /// # Errors
    ///
    /// `is_bounds`, listing the names that exist; for one of [`Contents::refused`], the reason.
    pub fn get(&self, name: &str) -> Result<&Entry> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.name == name) {
            return Ok(entry);
        }
        Err(match self.refused.iter().find(|(refused, _)| refused == name) {
            Some((_, error)) => error.again(),
            None => {
                let text = format!("there is no array {} in the file; {}", short(name), self.listed());
                Error::new(Kind::Bounds, text)
            }
        })
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
            _ => Err(Error::new(
                Kind::Unsupported,
                format!("not one array that could be opened by itself: {}", self.listed()),
            )),
        }
    }

    /// `it has 3 arrays: "a", "b", "c"`
    fn listed(&self) -> String {
        const MOST: usize = 8;
        let count = self.entries.len() + self.refused.len();
        let mut text = match count {
            0 => return "it has no arrays".to_owned(),
            1 => "it has one array: ".to_owned(),
            _ => format!("it has {count} arrays: "),
        };
        let names = self.names().chain(self.refused().map(|(name, _)| name));
        for (index, name) in names.take(MOST).enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{}", if index > 0 { ", " } else { "" }, short(name));
        }
        if count > MOST {
            let _ = write!(text, " and {} more", count - MOST);
        }
        text
    }
}

/// One array of a file: what it is, and the array itself once it is asked for.
pub struct Entry {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    source: Source,
}

/// Where the elements come from.
enum Source {
    /// They lie in the file as they are, with a checksum where the format keeps one.
    Mapped(DArray, Option<Box<dyn Checked>>),
    /// They have to be decoded.
    #[cfg_attr(
        not(any(feature = "npz", feature = "safetensors", feature = "png", feature = "jpeg")),
        expect(dead_code, reason = "every format that has to be decoded is behind a feature")
    )]
    Encoded(Box<dyn Encoded>),
}

/// Elements that have to be decoded into new memory.
pub(super) trait Encoded: Send + Sync {
    /// `deflated`, `a PNG image`.
    fn what(&self) -> &'static str;

    /// Decodes them, once, into memory of the default pool, and counts what it wrote.
    fn decode(&self) -> Result<DArray>;

    /// Whether they can be decoded and agree with their checksum.
    fn verify(&self) -> Result<()> {
        self.decode().map(drop)
    }
}

/// Bytes of the file of which it keeps a checksum.
pub(super) trait Checked: Send + Sync {
    /// Reads them all, and compares.
    fn verify(&self) -> Result<()>;
}

impl Entry {
    pub(super) fn mapped(name: String, array: DArray) -> Self {
        let (dtype, shape) = (array.dtype().clone(), array.shape().to_vec());
        Self { name, dtype, shape, source: Source::Mapped(array, None) }
    }

    #[cfg(feature = "npz")]
    pub(super) fn mapped_and_checked(name: String, array: DArray, checked: impl Checked + 'static) -> Self {
        Self { source: Source::Mapped(array.clone(), Some(Box::new(checked))), ..Self::mapped(name, array) }
    }

    #[cfg(any(feature = "npz", feature = "safetensors", feature = "png", feature = "jpeg"))]
    pub(super) fn encoded(
        name: String,
        dtype: DType,
        shape: Vec<usize>,
        encoded: impl Encoded + 'static,
    ) -> Self {
        Self { name, dtype, shape, source: Source::Encoded(Box::new(encoded)) }
    }

    /// Its name; empty where the format has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What each element will be.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How many bytes all elements take in memory.
    pub fn nbytes(&self) -> usize {
        // A layout of this shape was checked, so that nothing overflows; where an axis is empty,
        // whatever the others are.
        self.shape.iter().fold(self.dtype.itemsize(), |nbytes, &len| nbytes.saturating_mul(len))
    }

    /// Why the elements cannot be had in place: they are deflated, packed, or an image. `None`
    /// where they can.
    pub fn copied_because(&self) -> Option<&'static str> {
        match &self.source {
            Source::Mapped(..) => None,
            Source::Encoded(encoded) => Some(encoded.what()),
        }
    }

    /// The array. In place, O(1), where [`Entry::copied_because`] says nothing: the file lies under
    /// it, with leases of this array's own, and the memory is aliased, since anyone may write the
    /// file. Otherwise decoded, once, into new memory of the default pool, whose bytes are counted
    /// as copied; each call decodes anew.
    ///
    /// What is in place is not read here, so it is not compared with a checksum either:
    /// [`Entry::verify`] does.
    ///
    /// # Errors
    ///
    /// `is_malformed` for what cannot be decoded, `is_unsupported` for more bytes than the limit,
    /// `is_out_of_memory`.
    pub fn open(&self) -> Result<DArray> {
        match &self.source {
            Source::Mapped(array, _) => Ok(array.clone()),
            Source::Encoded(encoded) => encoded.decode().map_err(|error| self.named(error)),
        }
    }

    /// Compares the array with the checksum that the file keeps of it. An `.npz` archive keeps one
    /// of each array; `.npy` and `.safetensors` files keep none, and pass. Call it before an array
    /// in place is written elsewhere, where the damage would get a new checksum.
    ///
    /// Reads all bytes of the array once, and keeps nothing; images are decoded. O(bytes). It says
    /// how the bytes were when they were read: another process may write the file afterwards.
    ///
    /// # Errors
    ///
    /// `is_malformed` for another checksum, with both; otherwise as [`Entry::open`], and `is_fault`
    /// where a guarded file shrank.
    pub fn verify(&self) -> Result<()> {
        let verified = match &self.source {
            Source::Mapped(_, checked) => checked.as_ref().map_or(Ok(()), |checked| checked.verify()),
            Source::Encoded(encoded) => encoded.verify(),
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
