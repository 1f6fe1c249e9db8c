//! Work on strided elements in memory of a device, by the device.
//!
//! ```text
//!   operands: a buffer, where element 0 lies in it, a layout, a dtype
//!       │
//!   convert · fill      which parts of elements are moved, byte-swapped, cast
//!       │
//!   steps               the processor's plan (sorted, merged) cut into launches of kernels and copies of bytes
//!       │
//!   device::engine      of the memory's manager: does the steps, or puts them into a stream
//! ```
//!
//! There is one source of kernels (`device/engine/source/`), in a dialect that the compilers of
//! OpenCL, of CUDA and of the host accept. Only packed elements move between two devices: the
//! source's engine packs them, and the destination's engine unpacks them.

mod cast;
mod convert;
mod converted_part;
mod job_loops;
mod steps;

pub(crate) use self::convert::{convert, fill};
use crate::buffer::Buffer;
use crate::element::DType;
use crate::layout::Layout;

/// Elements in memory of a device. Element 0 lies `offset` bytes into the buffer, which has all
/// bytes that the layout reaches from there.
#[derive(Clone, Copy)]
pub(crate) struct DeviceOperand<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) offset: usize,
    pub(crate) dtype: &'a DType,
    pub(crate) layout: &'a Layout,
}
