//! DLPack, version 1.3: tensors on loan between libraries, by C structs.
//!
//! ```text
//!   export                                             import
//!   DArray ── lease ──> Exported ── into_raw() ──> *mut DLManagedTensorVersioned ──> DArray
//!                          │ dropped: deleter                     its last handle goes: deleter
//! ```
//!
//! What is exported:
//!
//! - The address is that of element 0, and `byte_offset` is 0: some consumers ignore it. (On OpenCL, `data` is the `cl_mem`, to which no
//!   offset can be added.) Strides are always there, in
//!   elements, with ordinary numbers on the axes of length 1. The deleter is never null. Without elements, `data` is null.
//! - What DLPack cannot say is refused and named: records, text, dates, the other byte order, a stride that is no whole
//!   number of elements. Nothing is approximated.
//! - A writable array goes out under a Share lease: the consumer may write, so nobody else has Read or Write meanwhile. The
//!   flag that says read-only is advisory, and consumers are known to write all the same; so a read-only array is refused,
//!   unless a copy is permitted or the caller gives their word ([`ExportOptions::trust_readonly`]). It goes out under a Pin
//!   lease then.
//! - A copy that was permitted, and made, belongs to the consumer alone and says so (`IS_COPIED`).
//!
//! What is imported:
//!
//! - Whatever happens, the deleter is called exactly once: when the last handle or lease goes, or before the error is
//!   returned. Of a struct of another major version nothing but the version and the deleter is read.
//! - Null strides mean row-major; a `byte_offset`, a null deleter, unaligned data, unknown flags and a later minor version
//!   are fine. Numbers that contradict each other are errors. The producer's word is taken for one thing: that what shape and
//!   strides reach is memory.
//! - The memory is aliased, since the producer may write it at any time: Share and Pin leases can be had. A copy
//!   (`IS_COPIED`) is ours alone: Read and Write can be had, too.
//! - A kind of device that is not known is kept as a number, and its memory can be handed on but not touched.
//!   Where `data` is a handle and not an address, elements are found by `byte_offset`: OpenCL's memory objects are taken, and on other such
//!   devices (Vulkan, Metal, WebGPU) the tensor is refused.
//!
//! On devices, work may be under way on what changes hands. An export waits for it, unless the consumer's stream does
//! ([`ExportOptions::ordered`], [`Synchronization`](crate::view::Synchronization)); what comes in is ready, unless the importer notes the
//! producer's stream on it. A consumer calls the deleter when its work on the device is over: the memory may be somebody else's at once.
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
//! // SAFETY: the tensor was just exported, and nobody else consumes it.
//! let imported = unsafe { dlpack::import_versioned(tensor) }?;
//! assert_eq!(imported.as_ptr(), backwards.as_ptr().cast());
//! assert_eq!((imported.shape(), imported.strides()), (&[2, 3][..], &[12, -4][..]));
//! assert_eq!(imported.get(&[1, 0])?.to_string(), "6");
//! drop(imported); // calls the deleter
//! assert!(array.write().is_ok());
//! # Ok::<(), crossdock::Error>(())
//! ```

pub mod abi;
mod export;
mod import;
mod managed;
mod prepared;

pub use export::{ExportOptions, Exported, export_legacy, export_versioned};
pub use import::{import_legacy, import_legacy_writable, import_versioned};
pub use managed::Managed;
pub use prepared::Prepared;

pub use crate::view::Source;
