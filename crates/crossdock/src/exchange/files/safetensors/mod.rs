//! `.safetensors` files: tensors under names, row-major and little-endian, and texts beside them.
//!
//! ```text
//!   length │ JSON, spaces                                                            │ tensors
//!   u64    │ {"__metadata__": {…}, "name": {"dtype": …, "shape": …, "data_offsets": …}, …} │ one after the other, without gaps
//! ```
//!
//! [`open`] maps the file once and divides the map into its tensors ([`Buffer::partition`](crate::buffer::Buffer::partition)): each lies in place
//! under leases of its own, so that one can be read while another is written. The format promises no alignment; tensors of other
//! writers may lie at any address, and only typed references and slices ask for one. What [`write`](fn@write) and [`save`] write begins at a
//! multiple of 64 bytes, the widest elements first, and is aligned for every type.
//!
//! | `dtype` | elements |
//! |---|---|
//! | `BOOL`, `U8` … `U64`, `I8` … `I64`, `F16`, `BF16`, `F32`, `F64`, `C64` | those |
//! | `F8_E4M3`, `F8_E5M2`, `F8_E4M3FNUZ`, `F8_E5M2FNUZ`, `F8_E8M0` | `float8_e4m3fn`, `float8_e5m2`, … |
//! | `F4`, `F6_E2M3`, `F6_E3M2` | packed without gaps, the first element in the lowest bits, as PyTorch packs them: unpacked when they are opened, one to a byte, and packed when they are written |

mod header;
mod packed;
mod read;
mod write;

use std::path::Path;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::exchange::files::contents::Contents;

pub(super) use read::read;
pub use write::{save, write};

/// Opens a file: maps it and reads its header. Copies nothing, whatever the size.
///
/// ```
/// use crossdock::{Array, exchange::files::safetensors, memory::copied_bytes};
/// # let path = std::env::temp_dir().join(format!("crossdock-{}.safetensors", std::process::id()));
/// let weights = Array::from_vec(vec![0.5f32, -1.0], [2])?;
/// safetensors::save(&path, &[("layer.weight", weights.into())], &[("format", "pt")])?;
/// let before = copied_bytes();
/// let contents = safetensors::open(&path)?;
/// assert_eq!(contents.metadata(), [("format".to_owned(), "pt".to_owned())]);
/// let weights = contents.get("layer.weight")?.open()?;
/// assert_eq!((weights.get(&[1])?.as_f64(), copied_bytes()), (Some(-1.0), before));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`from_buffer`], naming the path, and `is_io`; `is_unsupported` for a file of another format.
pub fn open(path: impl AsRef<Path>) -> Result<Contents> {
    super::open::open_as(path.as_ref(), super::Format::Safetensors)
}

/// What is in the bytes of a file, wherever they came from. In place. O(length of the header).
///
/// # Errors
///
/// `is_malformed` for a header that breaks the rules of the format: no JSON or no UTF-8, a name or a key twice, tensors that overlap, leave a
/// hole or a rest, or lie outside of the file, sizes that contradict dtype and shape; `is_unsupported` for a dtype that the format did not
/// have, more than 64 dimensions, a header of more than 100,000,000 bytes; `is_conflict` where the buffer is not the only handle, since
/// it is divided.
pub fn from_buffer(buffer: Buffer) -> Result<Contents> {
    read(buffer)
}
