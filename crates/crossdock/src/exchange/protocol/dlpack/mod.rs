//! DLPack, version 1.3: tensors exchanged between libraries by C structs.
//!
//! ```text
//!   export                                             import
//!   DArray ── lease ──> Exported ── into_raw() ──> *mut DLManagedTensorVersioned ──> DArray
//!                          │ dropped: deleter                     its last handle goes: deleter
//! ```
//!
//! Exports:
//!
//! - The address is that of element 0, and `byte_offset` is 0: some consumers ignore it. (On
//!   OpenCL, `data` is the `cl_mem`, to which no offset can be added.) Strides are always present,
//!   in elements, with ordinary values on the axes of length 1. The deleter is never null. Without
//!   elements, `data` is null.
//! - Data that DLPack cannot describe is refused by name: records, text, dates, non-native byte
//!   order, a stride that is not a whole number of elements. Nothing is approximated.
//! - A writable array is exported under a Share lease: the consumer may write, so no other Read or
//!   Write lease can be taken until the deleter is called. The read-only flag is advisory, and some
//!   consumers ignore it; so a read-only array is refused, unless a copy is permitted or the caller
//!   vouches for the consumer ([`ExportOptions::trust_readonly`]). It is then exported under a Pin
//!   lease.
//! - A permitted copy belongs to the consumer alone and says so (`IS_COPIED`).
//! - The struct has version 1.3, or an older one if the consumer knows no newer version
//!   ([`ExportOptions::max_version`]).
//! - `device_id` is 0 for CPU memory, pinned memory and managed memory.
//!
//! Imports:
//!
//! - The deleter is called exactly once in all cases: when the last handle or lease is dropped, or
//!   before the error is returned. Of a struct of another major version only the version and the
//!   deleter are read.
//! - Null strides mean row-major; a `byte_offset`, a null deleter, unaligned data and a later minor
//!   version are accepted. Flags that no version up to 1.3 defines mean nothing in a struct of
//!   those versions; in a struct of a later minor version they may change what the data mean, and
//!   are refused. Numbers that contradict each other are errors. The producer is trusted for one
//!   thing: that the elements that shape and strides reach are memory.
//! - The memory is aliased, since the producer may write it at any time: Share and Pin leases can
//!   be taken. A copy (`IS_COPIED`) belongs to the importer alone: Read and Write leases can be
//!   taken, too.
//! - An unknown kind of device is kept as a number: its memory can be exported again but not
//!   accessed. Where `data` is a handle and not an address, elements are found by `byte_offset`:
//!   OpenCL's memory objects are imported, and on other such devices (Vulkan, Metal, WebGPU) the
//!   tensor is refused.
//!
//! On devices, in-flight work may use the memory. An export waits for it, unless the consumer's
//! stream does ([`ExportOptions::ordered`], [`Synchronization`](crate::view::Synchronization)). An
//! import is ready for use, unless the importer notes the producer's stream on it. A consumer calls
//! the deleter after its own work on the device: the memory may be reused at once.
//!
//! ```
//! use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
//! use crossdock::{Array, s};
//!
//! let array = Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?;
//! let backwards = array.slice(s![.., ..;-1])?;
//!
//! let exported = dlpack::export_versioned(&backwards, &ExportOptions::new())?;
//! assert!(array.write().is_err()); // the consumer may write
//! let tensor = exported.into_raw(); // now it is up to the consumer to call the deleter
//!
//! // SAFETY: the tensor was just exported, and this is its only consumer.
//! let imported = unsafe { dlpack::import_versioned(tensor) }?;
//! assert_eq!(imported.as_ptr(), backwards.as_ptr().cast());
//! assert_eq!((imported.shape(), imported.strides()), (&[2, 3][..], &[12, -4][..]));
//! assert_eq!(imported.get(&[1, 0])?.to_string(), "6");
//! drop(imported); // calls the deleter
//! assert!(array.write().is_ok());
//! # Ok::<(), crossdock::Error>(())
//! ```

pub mod abi;
mod device;
pub(crate) mod exchange_api;
mod export;
pub(crate) mod import;
mod managed;
pub(crate) mod prepared;

pub use export::{ExportOptions, Exported, export_legacy, export_versioned};
pub use import::{import_legacy, import_versioned};
pub use managed::Managed;
