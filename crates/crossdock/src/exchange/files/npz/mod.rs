//! NumPy's `.npz` archives: `.npy` files in a ZIP archive, each an array under its name without the
//! ending.
//!
//! A stored member has the bytes of the `.npy` file: [`open_all`](crate::exchange::files::open_all)
//! maps the archive once and divides the map into its members
//! ([`Buffer::partition`](crate::buffer::Buffer::partition)). Each array is in place, with its own
//! leases and the alignment that the archive gives it. A deflated member is inflated when its
//! [`Entry`](crate::exchange::files::Entry) is opened. [`write`](fn@write) stores members at
//! multiples of 64 bytes.
//!
//! A name is never used as a path. Members whose names do not end in `.npy` are listed by
//! [`Contents::ignored`].
//!
//! The checksum of a deflated member is checked when it is inflated. For a stored member the check
//! would read all its bytes, which opening in place avoids:
//! [`Entry::verify`](crate::exchange::files::Entry::verify) checks it on request, and
//! [`OpenOptions::verified`](crate::exchange::files::OpenOptions::verified) checks all members as
//! the archive is opened.

mod read;
mod write;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::exchange::files::contents::{Contents, LIMIT};

pub(super) use read::read;
pub(super) use write::encode;
pub use write::write;

/// The contents of the bytes of an archive. O(number of arrays).
///
/// # Errors
///
/// `is_malformed` for a truncated or inconsistent archive, two members with one name or over the
/// same bytes, or an array that [`npy::from_buffer`](crate::exchange::files::npy::from_buffer) does
/// not accept; `is_unsupported` for encrypted members, compressions other than deflate, and
/// archives without an `.npy` file; `is_conflict` if the buffer is not the only handle, since it is
/// divided.
pub fn from_buffer(buffer: Buffer) -> Result<Contents> {
    read(buffer, LIMIT)
}
