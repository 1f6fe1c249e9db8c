//! How arrays cross to and from files, other libraries' protocols, and other crates' types.
//!
//! | what | where | export | import |
//! |---|---|---|---|
//! | `.npy` and raw files | [`files::npy`], [`files::raw`] | copied | mapped in place |
//! | `.npz`, `.safetensors` files (features) | [`files`] | copied | mapped in place, or decoded |
//! | PNG and JPEG images (features) | [`files`] | encoded | decoded once |
//! | DLPack 1.x and before | [`protocol::dlpack`] | under Share or Pin | in place |
//! | Arrow's C interfaces | [`protocol::arrow`] | under Read | in place, constant |
//! | MemoryView | [`protocol::memory_view`] | under Share or Pin | in place |
//! | Python's buffers, NumPy's array interface | the wheel | under Share or Pin | in place |
//! | file descriptors | [`protocol::shm`] | under Share, Pin or Read | mapped in place |
//! | sets that a process holds | [`protocol::hold`] | written in place, then sealed | mapped in place, constant |
//! | streams between processes | [`protocol::channel`] | filled in place | under Pin |
//!
//! A protocol exports memory in place, under the lease that the table names. A mapped archive is
//! divided into arrays with leases of their own; deflated and packed arrays are decoded once.
//! Arrow's C Data, C Device and C Stream interfaces work in both directions; tables, by C Data and
//! C Stream.
//! MemoryView covers objects of C and the producers of their classes. The lease of an export by
//! NumPy's array interface never ends. Descriptors are those of files and shared memory, and can be
//! sent through sockets; only sealed memory is exported under Read.
//!
//! Conversions to and from types of other crates are implementations of `From` and `TryFrom`:
//!
//! | crate | feature | export | import |
//! |---|---|---|---|
//! | `ndarray` | `ndarray-0_17` | views; vectors are released | views; owned arrays are adopted |
//! | `image` | `image-0_25` | `FlatSamples`, in place | buffers are adopted |
//! | `arrow-buffer`, `arrow-data` | `arrow-60` | under Read | buffers are adopted or kept |
//! | `candle-core` | `candle-0_11` | vectors are released | views |
//! | `nalgebra` | `nalgebra-0_35` | views; vectors are released | views; matrices are adopted |
//! | `safetensors` | `safetensors-types-0_8` | `LeasedTensor`, in place | views |
//!
//! Each protocol has its own folder and does not depend on another protocol.
//!
//! Every byte from outside is foreign until one function has checked it, and each of these
//! functions has a fuzz target. `files/new_file/` is the only code that writes files; `explain/`
//! reports by which protocols an array is exported.

mod crates;
pub(crate) mod description;
pub(crate) mod explain;
pub(crate) mod exported;
pub mod files;
pub mod protocol;

#[cfg(feature = "safetensors-types-0_8")]
pub use crates::LeasedTensor;
pub use explain::{Consumer, Offered, Outcome, explain, offers};
