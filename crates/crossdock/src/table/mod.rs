//! Tables: what Arrow can describe and no single array can.
//!
//! ```text
//!   Schema ── Field ── ColumnType            names, types, metadata
//!      │
//!   RecordBatch ── Column ──┬── Bitmap       validity: which elements are null
//!                           ├── Buffer ...   elements, bits, offsets, views, bytes
//!                           ├── Column ...   children of lists, structs, maps, runs and unions
//!                           └── Column       the values of a dictionary
//! ```
//!
//! A column has no memory of its own kind. Its buffers are those of arrays: slices, leases, the
//! ledger and devices work on columns as on arrays, and elements of a fixed width are a
//! [`DArray`](crate::DArray) in place ([`Column::array`]). There is no query engine: tables are
//! exchanged, sliced, inspected and compacted here, and computed elsewhere.
//!
//! # What is checked, and when
//!
//! [`Checks::Shape`] compares sizes in O(1) for each buffer when a column is made.
//! [`Checks::Full`] compares every element, when it is asked for. A result is believed for ever
//! only in constant memory: in a mapped file, another process can change an offset after it was
//! checked. Code of this library therefore checks each offset, view and index again when it uses
//! it, and gives `&str` and `&[T]` under a Read lease only.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `column_type.rs`, `field.rs`, `schema.rs`, `metadata.rs` | what columns are |
//! | `column.rs`, `record_batch.rs` | columns, and tables of them |
//! | `from_array.rs`, `extension.rs` | arrays as columns, columns as arrays |
//! | `lease.rs` | one lease of all the memory of columns |
//! | `reader.rs` | sequences of batches |
//! | `chunks.rs` | columns in chunks, one for each batch |
//! | `days.rs`, `zone.rs` | days of 64 bits, time zones as offsets |
//! | `value.rs`, `text_read.rs` | elements by value, text in place |
//! | `nulls.rs`, `fill.rs` | masks of nulls, values in their place |
//! | `fault.rs` | guarded files that shrank |
//! | `records.rs`, `matrix.rs` | batches of records, batches as arrays of two axes |
//! | `display.rs`, `grid.rs` | columns and batches as text |
//! | `concat.rs`, `concat_bytes.rs` | columns copied to new memory |
//! | `checks.rs`, `shape.rs`, `full.rs` | the two levels of checks |
//! | `integers.rs`, `text.rs` | offsets, indices and bytes, checked when they are used |
//! | `constant_offsets.rs`, `utf8.rs` | offsets and text, checked many at a time |

mod checks;
pub(crate) mod chunks;
mod column;
mod column_type;
mod concat;
mod concat_bytes;
mod constant_offsets;
pub(crate) mod days;
mod display;
mod extension;
mod fault;
mod field;
mod fill;
mod from_array;
mod full;
pub(crate) mod grid;
mod integers;
mod lease;
mod matrix;
mod metadata;
mod nulls;
pub(crate) mod reader;
mod record_batch;
mod records;
mod schema;
mod shape;
mod text;
mod text_checked;
mod text_read;
mod utf8;
mod value;
pub(crate) mod zone;

pub use checks::Checks;
pub use column::{Column, ColumnParts};
pub(crate) use column_type::Storage;
pub use column_type::{ColumnType, IntervalUnit, OffsetWidth, UnionMode};
#[cfg(feature = "arrow-ipc")]
pub(crate) use concat_bytes::NewIntegers;
pub use field::Field;
pub(crate) use field::MAX_COLUMNS;
#[cfg(feature = "arrow-ipc")]
pub(crate) use integers::{IntegerKind, Integers};
pub use lease::TableLease;
pub(crate) use lease::visit;
pub use metadata::Metadata;
pub use reader::{Batches, RecordBatchReader};
pub use record_batch::RecordBatch;
pub use schema::Schema;
pub(crate) use shape::VIEW;
#[cfg(feature = "arrow-ipc")]
pub(crate) use shape::kind_of;
pub use text_read::TextRead;
pub use value::ColumnValue;
