//! Readers and writers: buffers as streams of the standard library, and by position.
//!
//! ```text
//!   Buffer ──> BufferReader        Read, Seek, BufRead; slices by position, of which each can have a reader
//!   Buffer ──> FixedWriter         Write, Seek; never grows
//!   MutableBuffer ──> BufferWriter ──> Buffer        Write, Seek; grows
//! ```
//!
//! | | holds, while it is open | gives it back |
//! |---|---|---|
//! | [`BufferReader`] | Read; Pin, where the memory is aliased or shared | when it is closed, dropped or taken apart |
//! | [`FixedWriter`] | Write; Share, where the memory is aliased, shared, pinned or on a device | when it is closed, dropped or taken apart |
//! | [`BufferWriter`] | the memory itself, to which there is no other handle | [`BufferWriter::finish`] |
//!
//! So what is read is not written meanwhile, and what is read or written is not resized: such a
//! request fails with the lease that stands in the way.
//!
//! # Positions
//!
//! A position is a `usize` between 0 and the number of bytes, both included. To seek before the
//! beginning or behind the end is an error, and the position stays. (Apache Arrow has it so;
//! [`std::io::Cursor`] goes behind the end.) A positional read begins within the bytes or at their
//! end, and is short where they end, as `pread` is; its exact twin refuses instead. A write never
//! leaves a hole.
//!
//! # Errors
//!
//! What belongs to this library gives [`Error`](crate::Error); the traits of [`std::io`] give the
//! same as an [`std::io::Error`], whose [`get_ref`](std::io::Error::get_ref) it is. After any error
//! the position is where it was, and nothing was written (unless it is a device that failed, within
//! a write of more than a block).
//!
//! # Copies
//!
//! Slices copy nothing. Bytes that go out into a caller's memory are counted
//! ([`copied_bytes`](crate::memory::copied_bytes)), as are those that are staged; bytes that come
//! in by a writer are new data, and are not, as those of
//! [`MutableBuffer::extend_from_slice`](crate::buffer::MutableBuffer::extend_from_slice) are not.
//!
//! # Threads
//!
//! All of them go to any thread, and so do the slices; reading by position takes `&self`.

mod fixed;
mod position;
mod reader;
mod stage;
mod stream;
mod writer;

pub use fixed::FixedWriter;
pub use reader::BufferReader;
pub use writer::BufferWriter;
