//! Arrays out of `.npy` files, in place.

use std::fmt::Display;
use std::fs::File;
use std::path::Path;

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::npy::header::{Header, Preamble};
use crate::exchange::files::source;
use crate::memory::{Buffer, MapOptions};

/// Opens an `.npy` file in place, read-only: maps it and reads its header. Copies nothing, whatever the size.
///
/// The memory is aliased, since anyone may write the file: elements are read one by one ([`DArray::get`]) or under a
/// Pin lease; with `unsafe` [`assume_constant`](crate::memory::Buffer::assume_constant), as slices.
///
/// ```
/// use crossdock::{Array, exchange::files::npy, memory::copied_bytes};
/// # let path = std::env::temp_dir().join(format!("crossdock-npy-{}.npy", std::process::id()));
/// npy::save(&path, &Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?.into())?;
/// let before = copied_bytes();
/// let array = npy::open(&path)?;
/// assert_eq!((array.shape(), array.get(&[1, 2])?.as_i64()), (&[2, 3][..], Some(6)));
/// assert_eq!(copied_bytes(), before);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Each names the path. `is_io` where the system does not open or map the file; `is_unsupported` where it is not a regular
/// file; the others as [`from_buffer`].
pub fn open(path: impl AsRef<Path>) -> Result<DArray> {
    OpenOptions::new().open(path)
}

/// How to open an `.npy` file.
///
/// ```
/// use crossdock::{Array, element::Value, exchange::files::npy};
/// # let path = std::env::temp_dir().join(format!("crossdock-npy-options-{}.npy", std::process::id()));
/// npy::save(&path, &Array::from_vec(vec![1u8, 2, 3], [3])?.into())?;
/// npy::OpenOptions::new().writable(true).open(&path)?.set(&[0], &Value::from(9))?;
/// assert_eq!(npy::open(&path)?.get(&[0])?.as_i64(), Some(9));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    writable: bool,
    guarded: bool,
}

impl OpenOptions {
    /// Read-only and unguarded, as [`open`] does it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the array be written, and with it the file.
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Guards against the file shrinking while it is mapped: see [`MapOptions::guarded`].
    pub fn guarded(mut self, guarded: bool) -> Self {
        self.guarded = guarded;
        self
    }

    /// Opens a file. Errors as [`open`].
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<DArray> {
        let path = path.as_ref();
        let file = source::open(path, self.writable).map_err(|error| error.within(path.display()))?;
        self.open_file(file, path.display())
    }

    /// Opens a file that is open already, for writing too if the array is to be writable. `name` stands in front of errors.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn open_file(&self, file: File, name: impl Display) -> Result<DArray> {
        // The whole file is one allocation, so that the offset of an array's descriptor is the one in the file.
        let options = MapOptions::new().writable(self.writable).guarded(self.guarded);
        Buffer::map(file, options).and_then(from_buffer).map_err(|error| error.within(name))
    }
}

/// The array in the bytes of an `.npy` file, wherever they came from. In place: the array keeps the buffer alive, and copies
/// nothing. O(length of the header).
///
/// Bytes behind the last element are ignored. The elements may lie at any address; only typed references and slices ask
/// for alignment.
///
/// ```
/// use crossdock::{Array, exchange::files::npy, memory::Buffer};
///
/// let mut bytes = Vec::new();
/// npy::write(&mut bytes, &Array::from_vec(vec![1.5f32, 2.5], [2])?.into())?;
/// let array = npy::from_buffer(Buffer::from_vec(bytes)?)?;
/// assert_eq!(array.get(&[1])?.as_f64(), Some(2.5));
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_malformed` for another magic, a header that breaks the rules of the format, or fewer bytes than it promises;
/// `is_unsupported` for other versions than 1.0, 2.0 and 3.0, objects (a pickle, which is never executed), types of NumPy
/// without a fixed width, more than 64 dimensions; `is_conflict` while somebody holds Write; `is_place` on a device.
pub fn from_buffer(buffer: Buffer) -> Result<DArray> {
    let header = read_header(&buffer);
    // Where a guarded file shrank meanwhile, the header read as zeros, and the fault is the reason.
    if let Some(fault) = buffer.fault() {
        return Err(fault);
    }
    let header = header?;
    let (data_offset, wanted) = (header.data_offset(), header.layout().nbytes());
    // The header lies inside the buffer.
    let available = buffer.nbytes() - data_offset;
    if wanted > available {
        return Err(Error::new(
            Kind::Malformed,
            format!(
                "truncated: shape {:?} of {}-byte elements takes {wanted} bytes, but only {available} follow the header of {data_offset}; save the array again",
                header.shape(),
                header.dtype().itemsize()
            ),
        ));
    }
    let (dtype, layout) = header.into_parts();
    DArray::from_buffer(buffer, dtype, layout, data_offset)
}

/// Loads the header, byte by byte under a Pin lease: others may be writing it, and what is read is our own.
fn read_header(buffer: &Buffer) -> Result<Header> {
    let bytes = buffer.pin()?;
    let load = |range: std::ops::Range<usize>| range.map(|at| bytes.load(at)).collect::<Result<Vec<u8>>>();
    let start = load(0..buffer.nbytes().min(Preamble::NBYTES))?;
    let preamble = Preamble::parse(&start, buffer.nbytes())?;
    Header::parse_literal(&preamble, &load(preamble.literal())?)
}
