//! What has come to another place, and how.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::Event;

/// A buffer that came to another place.
#[derive(Debug)]
#[non_exhaustive]
pub struct Placed {
    /// The buffer there.
    pub buffer: Buffer,
    /// Whether it is the same bytes or a copy.
    pub moved: Moved,
    /// The end of the copy, where that is still under way. It is noted on the buffer, too.
    pub event: Option<Arc<dyn Event>>,
}

/// How a buffer came to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It did not: the bytes are the same.
    Mapped,
    /// They were copied.
    Copied {
        /// How many.
        nbytes: usize,
    },
}
