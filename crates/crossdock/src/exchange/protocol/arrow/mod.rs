//! Apache Arrow's C Data and C Device interfaces (and, for our bindings, the C Stream interface):
//! columns on loan between libraries, by C structs. No crate of Arrow's is needed.
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
//! | `datetime64`, `timedelta64` of s, ms, µs, ns | `tss:` …, `tDs` … | `tdm` is imported as ms; time zones are refused |
//! | `V` of `n` bytes | `w:n` | |
//! | `bool` | `c`, as `arrow.bool8` | Arrow's own are bits, and refused |
//! | sub-arrays, and axes behind the first | `+w:n`, as `arrow.fixed_shape_tensor` | lists without the name have one axis |
//! | records | `+s` | fields lie in columns apart |
//!
//! What one side cannot say is refused and named: nothing is approximated.
//!
//! What is exported:
//!
//! - Arrow's consumers rely on constancy, so everything goes out under a Read lease: until the column is released, nobody writes the memory.
//!   Memory that others may write at any time (mapped files, shared memory, what came by DLPack) has no such lease, and is refused
//!   unless a copy is permitted.
//! - Axis 0 is the rows, which lie one after the other. The other axes may lie in any order, which the tensor says as a permutation;
//!   strides with gaps, backwards or of 0 are refused, or copied. An array all of whose axes lie in any order goes out as one tensor
//!   ([`ExportOptions::whole`]).
//! - Fields of records lie apart from each other: in place only where there is one field, or one record. A copy that is permitted has a
//!   column for each, made in one pass ([`DArray::to_columns`]).
//! - On a device, work that is under way is not waited for where the device has events: the column comes with one, which its consumer waits
//!   for. Where work of this library writes the memory, nobody can rely on it before that is over, and the export waits.
//! - There are no nulls, unless a mask says which ([`ExportOptions::validity`]), or dates or durations are not a time (`NAT`): the count is 0
//!   and the bitmap null. Offsets are 0. Each column has a lease of its own, so that a consumer may move a child away from its parent.
//!
//! What is imported:
//!
//! - Whatever happens, each struct is released exactly once: the schema at once, the column when the last handle or lease goes, or before
//!   the error is returned. What the caller's pointers lead to is moved, and marked so.
//! - Numbers that contradict each other, or the type, are errors; so are pointers that lead in circles, dictionaries, and what was released.
//!   The producer's word is taken for one thing: that what numbers and types say is there is constant memory.
//! - An event that comes with a column is waited for by whoever touches the memory next, on the device or on the host.
//! - A bitmap without nulls, or one that the producer says has none, changes nothing. Nulls are refused with their number, or carried
//!   as truth values beside the array ([`Imported::into_array_with_validity`]). Null dates and durations that are not a time as numbers
//!   either (`NAT`) come as they are.
//! - A struct is taken as columns, in place, or as records, by a copy. The memory is constant: Read and Pin leases can be had, never Share
//!   nor Write.
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
mod column;
mod event;
mod export;
mod field;
mod foreign;
mod import;
mod leaf;
mod lent;
mod metadata;
pub(crate) mod requested;
pub(crate) mod stream;
pub(crate) mod stream_abi;
mod validity;

pub use export::{ExportOptions, Exported, Lent, export, export_device};
pub use import::{Imported, import, import_device, take_over, take_over_device};
