//! How arrays cross to and from files, other libraries' protocols, and other crates' types.
//!
//! | what | where | export | import |
//! |---|---|---|---|
//! | `.npy` and raw files | [`files::npy`], [`files::raw`] | written: a copy | mapped in place |
//! | `.npz` and `.safetensors` files (features) | [`files`] | written: a copy | mapped in place, divided into arrays with leases of their own; what is deflated or packed is decoded once |
//! | PNG and JPEG images (features) | [`files`] | encoded | decoded once |
//! | DLPack 1.x, and the struct from before | [`protocol::dlpack`] | in place, under Share or Pin | in place |
//! | Arrow's C Data and C Device interfaces, and C Stream inwards | [`protocol::arrow`] | in place, under Read | in place, constant |
//! | MemoryView: objects of C, and the producers of their classes | [`protocol::memory_view`] | in place, under Share or Pin | in place |
//! | Python's buffers | the wheel | in place, under Share or Pin | in place |
//! | NumPy's array interface | the wheel | in place, under Share or Pin, and never given back | in place |
//! | descriptors of files and shared memory, and the sockets through which they travel | [`protocol::shm`] | in place, under Share, Pin or (sealed) Read | mapped in place |
//! | the crate `ndarray` (feature `ndarray-0_17`) | `From` and `TryFrom` | views, in place; vectors are given back as arrays | owned arrays are adopted, views are views |
//! | the crate `image` (feature `image-0_25`) | `From` and `TryFrom` | `FlatSamples`, in place | buffers are adopted |
//! | Arrow, by its crates `arrow-buffer` and `arrow-data` (feature `arrow-60`) | `From` and `TryFrom` | in place, under Read | buffers are adopted or kept |
//! | the crate `candle-core` (feature `candle-0_11`) | `From` and `TryFrom` | vectors are adopted | views, in place |
//! | the crate `nalgebra` (feature `nalgebra-0_35`) | `From` and `TryFrom` | views, in place; vectors are given back as matrices | matrices are adopted, views are views |
//! | the crate `safetensors` (feature `safetensors-types-0_8`) | `TryFrom`, `LeasedTensor` | tensors to be written, in place | views, in place |
//!
//! Each protocol is a folder of its own and knows no other protocol.

mod crates;
pub(crate) mod explain;
pub mod files;
pub mod protocol;

#[cfg(feature = "safetensors-types-0_8")]
pub use crates::LeasedTensor;
pub use explain::{Consumer, Offered, Outcome, explain, offers};
