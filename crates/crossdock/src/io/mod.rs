//! Readers and writers: buffers as streams of the standard library, and access by position.
//!
//! ```text
//!   Buffer ──> BufferReader        Read, Seek, BufRead; slices by position, of which each can have a reader
//!   Buffer ──> FixedWriter         Write, Seek; never grows
//!   MutableBuffer ──> BufferWriter ──> Buffer        Write, Seek; grows
//! ```
//!
//! | | holds while it is open | released by |
//! |---|---|---|
//! | [`BufferReader`] | Read; Pin if aliased or shared | `close`, `drop`, `into_inner` |
//! | [`FixedWriter`] | Write; Share if aliased, shared, pinned or on a device | the same |
//! | [`BufferWriter`] | the memory itself, as its only handle | [`BufferWriter::finish`] |
//!
//! Bytes that are read under Read are not written meanwhile, and no open buffer is resized: such a
//! request fails with the lease that it conflicts with.
//!
//! # Positions
//!
//! A position is a `usize` between 0 and the number of bytes, both included. Seeking before the
//! beginning or behind the end is an error, and the position stays, as in Apache Arrow.
//! ([`std::io::Cursor`] goes behind the end.) A positional read begins within the bytes or at their
//! end, and is short where they end, as `pread` is; its exact twin fails instead. A write never
//! leaves a hole.
//!
//! # Errors
//!
//! Methods of this library return [`Error`](crate::Error). The traits of [`std::io`] return it
//! inside an [`std::io::Error`], as its [`get_ref`](std::io::Error::get_ref). After any error the
//! position is unchanged, and nothing was written (unless a device failed within a write of more
//! than a block).
//!
//! # Copies
//!
//! Slices copy nothing. Bytes that are copied to a caller's memory are counted
//! ([`copied_bytes`](crate::memory::copied_bytes)), as are staged bytes. Bytes that a writer
//! receives are new data, and are not counted, as for
//! [`MutableBuffer::extend_from_slice`](crate::buffer::MutableBuffer::extend_from_slice).
//!
//! # Threads
//!
//! Readers, writers and slices may move to any thread. Reading by position takes `&self`.

mod fixed;
mod position;
mod reader;
mod stage;
mod stream;
mod writer;

pub use fixed::FixedWriter;
pub use reader::BufferReader;
pub use writer::BufferWriter;
