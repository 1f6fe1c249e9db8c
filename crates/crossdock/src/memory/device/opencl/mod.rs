//! Devices of OpenCL, by its driver, which is loaded when the first of them is asked for.

#[cfg(not(feature = "opencl"))]
mod disabled;
#[cfg(feature = "opencl")]
mod enabled;

#[cfg(not(feature = "opencl"))]
pub(super) use disabled::open;
#[cfg(feature = "opencl")]
pub(super) use enabled::open;
