//! NumPy's `.npy` files: one array each, opened where it lies.
//!
//! ```text
//!   93 N U M P Y  │ major minor │ length     │ Python literal, spaces, newline      │ elements
//!                 │             │ u16 or u32 │ {'descr': …, 'fortran_order': …, …}  │ without gaps, C or Fortran order
//! ```
//!
//! [`open`] maps the file and makes an array of it, read-only and in place; [`from_buffer`] does so with bytes that are
//! in memory already. [`write`](fn@write) and [`save`] are the way back. A [`Header`] is what stands in front of the elements,
//! and knows nothing of files. Read are the versions 1.0, 2.0 and 3.0 of the format, as `numpy.lib.format` and NumPy's
//! enhancement proposal 1 define them; written is the lowest that can hold the header, with the bytes that NumPy would write.
//!
//! Arrays of objects are pickles: they are refused, never executed.

mod encode;
mod header;
mod open;
mod write;

pub use header::Header;
pub(super) use open::read;
pub use open::{from_buffer, open, open_with};
pub use write::{save, write};
