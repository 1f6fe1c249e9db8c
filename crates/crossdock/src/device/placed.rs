//! Results of copies and mappings to another place.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::Event;

/// A buffer that was copied or mapped to another place.
#[derive(Debug)]
#[non_exhaustive]
pub struct Placed {
    /// The buffer at that place.
    pub buffer: Buffer,
    /// Whether it has the same bytes or is a copy.
    pub moved: Moved,
    /// The event at the end of an in-flight copy. It is also recorded on the buffer.
    pub event: Option<Arc<dyn Event>>,
}

/// How a buffer was transferred to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It was mapped: the bytes are the same.
    Mapped,
    /// The bytes were copied.
    Copied {
        /// The number of bytes copied.
        nbytes: usize,
    },
}
