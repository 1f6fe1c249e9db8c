//! NumPy's `.npy` files, each with one array, opened in place.
//!
//! ```text
//!   93 N U M P Y  │ major minor │ length     │ Python literal, spaces, newline      │ elements
//!                 │             │ u16 or u32 │ {'descr': …, 'fortran_order': …, …}  │ without gaps, C or Fortran order
//! ```
//!
//! [`files::open`](crate::exchange::files::open) maps the file as a read-only array, in place;
//! [`from_buffer`] does the same with bytes in memory, and [`write`](fn@write) is the inverse. The
//! versions 1.0, 2.0 and 3.0 of the format are read, as `numpy.lib.format` and NumPy's enhancement
//! proposal 1 define them. The lowest version that can express the header is written, with the
//! bytes that NumPy would write.
//!
//! Arrays of objects are pickles: they are refused, never executed.

mod encode;
pub(crate) mod header;
mod open;
mod write;

pub(super) use header::NpyHeader;
pub use open::from_buffer;
pub(super) use open::read;
#[cfg(feature = "npz")]
pub(super) use write::NpyMember;
pub(super) use write::encode;
pub use write::write;
