//! `.safetensors` files: named tensors, row-major and little-endian, and texts beside them.
//!
//! ```text
//!   length │ JSON, spaces                                                            │ tensors
//!   u64    │ {"__metadata__": {…}, "name": {"dtype": …, "shape": …, "data_offsets": …}, …} │ one after the other, without gaps
//! ```
//!
//! [`open_all`](crate::exchange::files::open_all) maps the file once and divides the map into its
//! tensors ([`Buffer::partition`](crate::buffer::Buffer::partition)). Each tensor is in place and
//! has its own leases, so that one can be read while another is written. The format guarantees no
//! alignment: tensors of other writers may have any address, and only typed references and slices
//! require alignment. [`write`](fn@write) begins the data at a multiple of 64 bytes, with the
//! widest elements first, so that all are aligned.
//!
//! | `dtype` | elements |
//! |---|---|
//! | `BOOL`, `U8` … `U64`, `I8` … `I64` | the same |
//! | `F16`, `BF16`, `F32`, `F64`, `C64` | the same |
//! | `F8_E4M3`, `F8_E5M2` | `float8_e4m3fn`, `float8_e5m2` |
//! | `F8_E4M3FNUZ`, `F8_E5M2FNUZ` | `float8_e4m3fnuz`, `float8_e5m2fnuz` |
//! | `F8_E8M0` | `float8_e8m0fnu` |
//! | `F4`, `F6_E2M3`, `F6_E3M2` | packed: unpacked when they are opened |
//!
//! Packed elements have no gaps in the file, and the first one is in the lowest bits, as in
//! PyTorch. In memory each takes a byte; they are packed again when they are written.

mod header;
mod packed;
mod read;
mod write;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::exchange::files::contents::Contents;

pub(super) use read::read;
pub(super) use write::encode;
pub use write::write;

/// The contents of the bytes of a file, in place. O(length of the header).
///
/// ```
/// use crossdock::{Array, buffer::Buffer, exchange::files::{Format, SaveOptions, safetensors}};
///
/// let (mut bytes, weights) = (Vec::new(), Array::from_vec(vec![0.5f32, -1.0], [2])?);
/// let options = SaveOptions::new().format(Format::Safetensors).metadata("format", "pt");
/// options.write(&mut bytes, &[("layer.weight", weights.into())])?;
/// let contents = safetensors::from_buffer(Buffer::from_vec(bytes)?)?;
/// assert_eq!(contents.metadata(), [("format".to_owned(), "pt".to_owned())]);
/// assert_eq!(contents.get("layer.weight")?.open()?.get(&[1])?.as_f64(), Some(-1.0));
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_malformed` for a header that breaks the rules of the format: invalid JSON or UTF-8, a
/// duplicate name or key, tensors that overlap, leave a gap or a rest, or are outside the file,
/// sizes that contradict dtype and shape; `is_unsupported` for an unknown dtype, more than 64
/// dimensions, a header of more than 100,000,000 bytes; `is_conflict` if the buffer is not the only
/// handle, since it is divided.
pub fn from_buffer(buffer: Buffer) -> Result<Contents> {
    read(buffer)
}
