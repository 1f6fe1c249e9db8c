//! Windows on memory, the leases under which their bytes are accessed, and the creation of new
//! ones.
//!
//! ```text
//!                  Buffer          a window: handle, pointer, length. O(1) to clone and slice
//!                     │
//!        read · write · share · pin          guards: a lease, and the access that it gives
//! ```
//!
//! A [`Bitmap`] is a window on bits. [`MutableBuffer`], [`BufferBuilder`] and [`BitmapBuilder`]
//! create a buffer step by step, [`UninitBuffer`] at once. A [`BufferView`] has a lifetime that the
//! compiler checks, and no count.

mod adopt;
mod allocation;
mod bitmap;
mod bitmap_builder;
mod bits;
mod borrowed;
#[expect(clippy::module_inception, reason = "a file is named after the type that it defines")]
mod buffer;
mod builder;
mod bytes;
mod create;
mod guard;
mod mutable;
mod partition;
mod read_or_pin_lease;
mod shared;
mod text;
mod uninit;
mod vector;
mod window;

pub use bitmap::Bitmap;
pub(crate) use bitmap::BitmapRead;
pub use bitmap_builder::BitmapBuilder;
pub use borrowed::{BufferView, BufferViewMut};
pub use buffer::Buffer;
pub use builder::BufferBuilder;
pub use guard::{PinGuard, ReadGuard, ShareGuard, WriteGuard};
pub use mutable::MutableBuffer;
pub(crate) use read_or_pin_lease::ReadOrPinLease;
pub use uninit::UninitBuffer;
pub(crate) use window::resolve_in;
