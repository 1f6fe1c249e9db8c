//! Arrow IPC (feature `arrow-ipc`): tables in files and streams, mapped in place.
//!
//! ```text
//!   file     ARROW1 │ schema │ dictionaries │ batches … │ footer │ its length │ ARROW1
//!   stream            schema │ dictionaries │ batches … │ end
//! ```
//!
//! | bytes | reader | |
//! |---|---|---|
//! | a file, or a stream in one (`.arrow`, `.feather`, `.arrows`) | [`OpenOptions::open_table`] | mapped; batches by number |
//! | those in a buffer | [`IpcFile::from_buffer`] | in place; batches by number |
//! | a stream of any `Read` | [`IpcStream`] | one batch after the other, copied |
//!
//! [`IpcOptions`] writes both from any [`RecordBatchReader`](crate::table::RecordBatchReader).
//!
//! Buffers that are not compressed stay where they are. Every type of column is supported, in
//! versions 4 and 5 of the metadata. Refused are:
//!
//! | what | why |
//! |---|---|
//! | elements in the other byte order | every access would convert |
//! | older metadata, Feather of version 1 | replaced before Arrow 1.0 |
//! | tensors as messages | they are no batches |
//!
//! Reasons: `DESIGN.md`, "Arrow's metadata are read without a crate".
//!
//! [`OpenOptions::open_table`]: crate::exchange::files::OpenOptions::open_table

mod batch_checks;
mod codec;
mod columns_read;
mod columns_write;
mod dictionaries;
pub(super) mod entries;
mod file;
mod flatbuffer;
mod message;
mod message_index;
mod new_flatbuffer;
mod outgoing_dictionaries;
pub(crate) mod outgoing_rows;
mod schema_read;
mod schema_write;
mod stream;
mod write;

pub use codec::IpcCompression;
pub use file::IpcFile;
pub use stream::IpcStream;
pub use write::IpcOptions;
