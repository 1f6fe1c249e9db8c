//! Array files in every format: what is written is read back equal, mapped if possible, and a bad
//! file gives one clear error. Formats behind features are tested if these are on.

#[cfg(feature = "arrow-ipc")]
mod arrow_ipc;
mod common;
mod doors;
mod flat;
mod gguf;
#[cfg(any(feature = "png", feature = "jpeg"))]
mod images;
mod mat;
mod new_file;
mod nifti;
mod npy_bad_input;
mod npy_round_trip;
#[cfg(feature = "npz")]
mod npz;
#[cfg(all(feature = "npz", feature = "safetensors", feature = "png", feature = "jpeg"))]
mod python;
mod raw;
#[cfg(feature = "safetensors")]
mod safetensors;
mod tiff;
#[cfg(feature = "torch")]
mod torch;
