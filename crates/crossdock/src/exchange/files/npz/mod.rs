//! NumPy's `.npz` archives: `.npy` files in a ZIP archive, each an array under its name without the
//! ending.
//!
//! A member that is stored lies in the archive as it is:
//! [`open_all`](crate::exchange::files::open_all) maps the archive once, divides the map into its
//! members ([`Buffer::partition`](crate::buffer::Buffer::partition)), and each array lies in place
//! under leases of its own, at whatever alignment the archive gives it. A deflated member is
//! inflated, once, when its [`Entry`](crate::exchange::files::Entry) is opened. [`write`](fn@write)
//! stores members at multiples of 64 bytes.
//!
//! Names are names: none is ever taken for a path. Members whose names do not end in `.npy` are
//! left alone, and listed by [`Contents::ignored`].
//!
//! The checksum of a deflated member is checked when it is inflated. That of a stored member would
//! cost a read of all its bytes, which opening in place saves:
//! [`Entry::verify`](crate::exchange::files::Entry::verify) checks it, and
//! [`OpenOptions::verified`](crate::exchange::files::OpenOptions::verified) does so for all members
//! as the archive is opened.

mod read;
mod write;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::exchange::files::contents::{Contents, LIMIT};

pub(super) use read::read;
pub(super) use write::encode;
pub use write::write;

/// What is in the bytes of an archive, wherever they came from. O(number of arrays).
///
/// # Errors
///
/// `is_malformed` for an archive that is truncated or contradicts itself, two members of one name
/// or over the same bytes, or an array that is not as
/// [`npy::from_buffer`](crate::exchange::files::npy::from_buffer) takes it; `is_unsupported` for
/// encrypted members, other compressions than deflate, and archives without any `.npy` file;
/// `is_conflict` where the buffer is not the only handle, since it is divided.
pub fn from_buffer(buffer: Buffer) -> Result<Contents> {
    read(buffer, LIMIT)
}
