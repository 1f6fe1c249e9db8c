//! Arrays in files, opened in place.
//!
//! | format | open | write |
//! |---|---|---|
//! | [`npy`]: NumPy's `.npy`, one array | mapped, nothing copied | as it lies where it is contiguous, else row-major |
//!
//! [`open`] tells formats apart by their first bytes, never by the name of the file.

mod magic;
pub mod npy;
mod source;

use std::path::Path;

use crate::array::DArray;
use crate::error::{Error, Kind, Result};

/// Opens an array file in place, read-only, whatever its format. Maps it; copies nothing.
///
/// The memory is aliased, since anyone may write the file: elements are read one by one ([`DArray::get`]) or under a
/// Pin lease.
///
/// ```
/// use crossdock::{Array, exchange::files::npy};
/// # let path = std::env::temp_dir().join(format!("crossdock-open-{}.npy", std::process::id()));
/// npy::save(&path, &Array::from_vec(vec![1.5f64, 2.5, 3.5], [3])?.into())?;
/// let array = crossdock::open(&path)?;
/// assert_eq!((array.shape(), array.get(&[2])?.as_f64()), (&[3][..], Some(3.5)));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// `is_unsupported` for a format that is none of those above, which it names where it can; otherwise as [`npy::open`].
pub fn open(path: impl AsRef<Path>) -> Result<DArray> {
    let path = path.as_ref();
    let within = |error: Error| error.within(path.display());
    let file = source::open(path, false).map_err(within)?;
    let start = source::first_bytes(&file).map_err(within)?;
    if !start.is_empty() && !npy::is_npy(&start) {
        return Err(within(Error::new(
            Kind::Unsupported,
            format!("not a file of arrays that can be opened here: {}", magic::describe(&start)),
        )));
    }
    npy::OpenOptions::new().open_file(file, path.display())
}
