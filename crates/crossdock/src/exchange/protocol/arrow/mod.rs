//! Apache Arrow's C Data, C Device and C Stream interfaces: columns and tables exchanged between
//! libraries by C structs. No crate of Arrow's is needed.
//!
//! ```text
//!   export                                                    import
//!   DArray ── Read lease ──> Exported ── into_raw() ──> (ArrowSchema, ArrowArray) ──> Imported ──> DArray, columns, records
//!                               │ dropped: released                      the last handle goes: released
//! ```
//!
//! | dtype | format | |
//! |---|---|---|
//! | integers and floats of 8 to 64 bits | `c` `C` `s` `S` `i` `I` `l` `L` `e` `f` `g` | |
//! | `datetime64`, `timedelta64` (s, ms, µs, ns) | `tss:` …, `tDs` … | `tdm` as ms; no time zones |
//! | `V` of `n` bytes | `w:n` | |
//! | `bool` | `c`, as `arrow.bool8` | Arrow's own booleans are bits, and refused |
//! | sub-arrays, inner axes | `+w:n`, as `arrow.fixed_shape_tensor` | other lists have one axis |
//! | records | `+s` | fields are separate columns |
//!
//! Types without an equivalent are refused by name: nothing is approximated.
//!
//! Exports:
//!
//! - Arrow's consumers rely on constant data, so every export has a Read lease: no party writes the
//!   memory until the column is released. Memory that other parties may write at any time (mapped
//!   files, shared memory, DLPack imports) has no such lease. It is refused unless a copy is
//!   permitted.
//! - Axis 0 is the rows, which are contiguous. The other axes may be in any order, which the tensor
//!   describes as a permutation. Strides with gaps, negative strides and strides of 0 are refused,
//!   or copied. An array with all axes in any order is exported as one tensor
//!   ([`ExportOptions::whole`]).
//! - Fields of a record are separate columns, so records are exported zero-copy only if they have
//!   one field, or there is one record. A permitted copy has a column for each field, made in one
//!   pass ([`DArray::to_columns`]).
//! - On a device with events, an export does not wait for in-flight work: the column has an event
//!   that its consumer waits for. If work of this library writes the memory, the data is constant
//!   only afterwards, so the export waits.
//! - There are no nulls, unless a mask describes them ([`ExportOptions::validity`]) or dates or
//!   durations are not a time (`NAT`): the count is 0 and the bitmap null. Offsets are 0. Each
//!   column has its own lease, so a consumer may move a child away from its parent.
//!
//! Imports:
//!
//! - Each struct is released exactly once in all cases. The schema is released at once; the column
//!   when the last handle or lease is dropped, or before the error is returned. The caller's
//!   structs are moved, and marked as released.
//! - Numbers that contradict each other, or the type, are errors. So are cycles of pointers,
//!   dictionaries, and released structs. The producer is trusted for one thing: that the memory
//!   that numbers and types describe exists and is constant.
//! - The next access to the memory, on the device or on the host, waits for an event that comes
//!   with the column.
//! - A bitmap without nulls, or with a null count of 0, changes nothing. Nulls are refused with
//!   their number, or returned as booleans beside the array
//!   ([`Imported::into_array_with_validity`]). Null dates and durations that are also not a time as
//!   numbers (`NAT`) are imported as they are.
//! - A struct is imported as columns, zero-copy, or as records, by a copy. The memory is constant:
//!   Read and Pin leases can be taken, never Share or Write.
//!
//! Tables: [`import_column`], [`import_batch`] and [`import_stream`] import any type, in place, as
//! a [`Column`](crate::table::Column) or a [`RecordBatch`](crate::table::RecordBatch);
//! [`export_column`], [`export_batch`] and [`export_stream`] export them, in place, under one Read
//! lease of all their memory.
//!
//! ```
//! use crossdock::exchange::protocol::arrow::{self, ExportOptions};
//! use crossdock::Array;
//!
//! // Eight pictures, whose channels lie apart from each other.
//! let pictures = Array::<u8, 4>::zeros([8, 3, 480, 640])?.permute([0, 2, 3, 1])?;
//! let exported = arrow::export(&pictures, &ExportOptions::new())?;
//! assert_eq!((exported.array().length, exported.copied_nbytes()), (8, 0));
//! let (mut schema, mut column) = exported.into_raw(); // now it is up to the consumer to release them
//!
//! // SAFETY: just exported, and not consumed yet.
//! let imported = unsafe { arrow::import(&mut schema, &mut column) }?;
//! assert_eq!(imported.as_ptr(), pictures.as_ptr().cast());
//! assert_eq!((imported.shape(), imported.strides()[3]), (&[8, 480, 640, 3][..], 480 * 640));
//! drop(imported); // releases the column
//! assert!(pictures.write().is_ok());
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! [`DArray::to_columns`]: crate::DArray::to_columns

pub mod abi;
mod c_structs;
mod column;
mod column_format;
pub(crate) mod column_stream;
mod event;
mod export;
mod field;
mod foreign;
mod import;
mod leaf_column;
mod metadata;
pub(crate) mod requested;
pub(crate) mod schema_bytes;
pub(crate) mod stream;
pub(crate) mod stream_abi;
pub(crate) mod table_device;
mod table_export;
mod table_import;
mod table_schema;
mod table_skip;
pub(crate) mod table_stream;
mod validity;

pub use export::{ExportOptions, Exported, ExportedStruct, export, export_device};
pub use import::{Imported, import, import_device, take_over, take_over_device};
pub use stream_abi::ArrowArrayStream;
pub use table_export::{export_batch, export_column};
pub use table_import::{import_batch, import_column};
pub use table_schema::{export_field, export_schema, import_field};
pub use table_skip::{import_batch_skipping, import_stream_skipping};
pub use table_stream::{ImportedBatches, export_stream, import_stream};
