//! The properties of a CUDA device.

use crossdock::memory::Place;

/// The properties of a device, as the driver reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// The place of its memory.
    pub place: Place,
    /// The model.
    pub name: String,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// All of its memory, in bytes.
    pub total_nbytes: u64,
}
