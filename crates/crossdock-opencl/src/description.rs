//! What OpenCL says of its devices.

use crossdock::memory::Place;

/// What a device of OpenCL says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// Its place: `opencl:n`.
    pub place: Place,
    /// The device's name.
    pub name: String,
    /// The name of the platform that it belongs to.
    pub platform: String,
    /// The version of OpenCL, with what the vendor adds to it.
    pub version: String,
    /// Its memory in bytes.
    pub nbytes: u64,
    /// The largest buffer in bytes.
    pub largest_nbytes: u64,
    /// Whether it has its memory in common with the processor.
    pub is_unified: bool,
    /// Whether the two have it in the same state at any time, so that memory of the one is mapped
    /// to the other.
    pub is_mappable: bool,
    /// The alignment, in bytes, at which sub-buffers, and host memory that is mapped, begin.
    pub alignment: usize,
}
