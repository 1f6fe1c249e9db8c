//! Work on strided elements in memory of a device, by the device.
//!
//! ```text
//!   operands: a buffer, where element 0 lies in it, a layout, a dtype
//!       │
//!   convert · fill      which parts of elements are moved, turned around, cast
//!       │
//!   steps               the processor's plan (sorted, merged) cut into launches of kernels and copies of bytes
//!       │
//!   Engine              of a driver: puts the steps into a queue, and gives the event of their end
//! ```
//!
//! There is one source of kernels (`source/`), in a dialect that OpenCL's compilers, CUDA's and the host's take. Between two places nothing
//! strided is moved: whoever has the elements packs them, and whoever gets them unpacks them.

#![cfg_attr(
    not(any(feature = "cuda", feature = "opencl")),
    expect(dead_code, reason = "what is planned is done by the engines of drivers")
)]

mod cast;
mod convert;
mod cuda;
mod ends;
mod engine;
mod job;
mod leaves;
mod opencl;
mod steps;

use std::sync::Arc;

pub(crate) use self::convert::{convert, fill};
pub(crate) use self::engine::Engine;
use crate::buffer::Buffer;
use crate::device::MemoryManager;
use crate::element::DType;
use crate::error::Result;
use crate::layout::Layout;

/// Elements in memory of a device: element 0 lies `offset` bytes into the buffer, which has all bytes that the layout reaches from there.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) offset: usize,
    pub(crate) dtype: &'a DType,
    pub(crate) layout: &'a Layout,
}

/// Who does strided work in memory of this manager; `None` where nobody does.
///
/// # Errors
///
/// What the device says.
pub(crate) fn engine_of(manager: &Arc<dyn MemoryManager>) -> Result<Option<Arc<dyn Engine>>> {
    match opencl::engine_of(manager)? {
        Some(engine) => Ok(Some(engine)),
        None => cuda::engine_of(manager),
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::device::job::Program;

    #[test]
    fn what_cuda_is_given_is_made_of_the_source_as_it_is_and_unchanged_since() {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let made =
            [(Program::Copy, include_str!("cuda/copy.ptx")), (Program::Cast, include_str!("cuda/cast.ptx"))];
        for (program, ptx) in made {
            let (first, body) = ptx.split_once('\n').unwrap();
            let bytes = program.source().concat() + body;
            let hash = format!("{:016x}", bytes.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv));
            assert!(first.contains(&hash), "{first:?} is not of {hash}: run `cargo xtask ptx`");
        }
    }
}
