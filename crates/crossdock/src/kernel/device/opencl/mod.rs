//! Strided work on devices of OpenCL.

#[cfg(not(feature = "opencl"))]
mod disabled;
#[cfg(feature = "opencl")]
mod enabled;

#[cfg(not(feature = "opencl"))]
pub(super) use disabled::engine_of;
#[cfg(feature = "opencl")]
pub(super) use enabled::engine_of;
