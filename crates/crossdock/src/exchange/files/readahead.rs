//! How much of a mapped file the system reads around each page that is accessed.
//!
//! By default it reads up to megabytes, which suits elements. A header is read page by page, so
//! that the list of the arrays in a file of any size reads few bytes of it.

use crate::buffer::Buffer;
use crate::memory::Backing;
use crate::memory::os::{PageAdvice, pages};

/// Pages of a map that are read one by one. As numbers: who reads the headers needs to be the only
/// holder of the map.
pub(super) struct PageByPage {
    start: usize,
    nbytes: usize,
}

impl PageByPage {
    /// Begins with a map of a file; `None` for other memory.
    pub(super) fn begin(buffer: &Buffer) -> Option<Self> {
        let pages = Self { start: buffer.address(), nbytes: buffer.nbytes() };
        let is_map = buffer.backing() == Backing::File && pages.nbytes > 0;
        is_map.then(|| {
            advise(pages.start, pages.nbytes, PageAdvice::Random);
            pages
        })
    }

    /// Reads ahead again. The map must still exist, or these pages are others' by now.
    pub(super) fn end(self) {
        advise(self.start, self.nbytes, PageAdvice::Normal);
    }
}

/// Has the system read a part of a map that is about to be accessed; no more than to its end.
pub(super) fn fetch(buffer: &Buffer, offset: usize, nbytes: usize) {
    let offset = offset.min(buffer.nbytes());
    let nbytes = nbytes.min(buffer.nbytes() - offset);
    if buffer.backing() == Backing::File && nbytes > 0 {
        advise(buffer.address() + offset, nbytes, PageAdvice::WillNeed);
    }
}

fn advise(start: usize, nbytes: usize, advice: PageAdvice) {
    pages::advise(std::ptr::without_provenance(start), nbytes, advice);
}
