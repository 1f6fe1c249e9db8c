//! The properties of an OpenCL device.

use crossdock::memory::Place;

/// The properties that an OpenCL device reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// Its place: `opencl:n`.
    pub place: Place,
    /// The device's name.
    pub name: String,
    /// The name of its platform.
    pub platform: String,
    /// The version of OpenCL, with the vendor's suffix.
    pub version: String,
    /// Its memory, in bytes.
    pub nbytes: u64,
    /// The size of the largest buffer, in bytes.
    pub largest_nbytes: u64,
    /// Whether device and host share one memory.
    pub is_unified: bool,
    /// Whether both always see the same state of that memory, so that memory of one is mapped to
    /// the other.
    pub is_mappable: bool,
    /// The alignment, in bytes, of sub-buffers and of host memory that is mapped.
    pub alignment: usize,
}
