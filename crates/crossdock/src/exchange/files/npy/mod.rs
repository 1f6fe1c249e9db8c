//! NumPy's `.npy` files: one array each, opened where it lies.
//!
//! ```text
//!   93 N U M P Y  │ major minor │ length     │ Python literal, spaces, newline      │ elements
//!                 │             │ u16 or u32 │ {'descr': …, 'fortran_order': …, …}  │ without gaps, C or Fortran order
//! ```
//!
//! [`files::open`](crate::exchange::files::open) maps the file and makes an array of it, read-only
//! and in place; [`from_buffer`] does so with bytes that are in memory already, and
//! [`write`](fn@write) is the way back. Read are the versions 1.0, 2.0 and 3.0 of the format, as
//! `numpy.lib.format` and NumPy's enhancement proposal 1 define them; written is the lowest that
//! can hold the header, with the bytes that NumPy would write.
//!
//! Arrays of objects are pickles: they are refused, never executed.

mod encode;
pub(crate) mod header;
mod open;
mod write;

pub(super) use header::Header;
pub use open::from_buffer;
pub(super) use open::read;
pub use write::write;
