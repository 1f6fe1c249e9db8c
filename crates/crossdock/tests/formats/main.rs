//! Files of arrays in every format: what is written comes back, in place where it can be, and what
//! is bad gives one clear error. Formats behind features are tested where these are on.

mod common;
mod doors;
#[cfg(any(feature = "png", feature = "jpeg"))]
mod images;
mod new_file;
mod npy_bad_input;
mod npy_round_trip;
#[cfg(feature = "npz")]
mod npz;
#[cfg(all(feature = "npz", feature = "safetensors", feature = "png", feature = "jpeg"))]
mod python;
mod raw;
#[cfg(feature = "safetensors")]
mod safetensors;
