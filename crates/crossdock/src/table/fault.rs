//! The faults of columns: guarded file maps whose files shrank.
//!
//! The lost part of such a map reads as zeros, so what was read may be wrong, and an error may be
//! due to the zeros alone. Each operation on the elements thus asks for a fault when it has read
//! them, and a fault takes the place of its result.

use std::ptr;

use crate::buffer::Bitmap;
use crate::error::{Error, Result};
use crate::memory::fault::is_watching;
use crate::table::column::Column;

impl Column {
    /// The fault of the memory of the column, its children and its dictionary, if any: for a
    /// guarded file map, that its file shrank. O(buffers).
    #[doc(hidden)]
    pub fn fault(&self) -> Option<Error> {
        if is_watching() { self.first_fault(&mut 0) } else { None }
    }

    /// The result of an operation that has read the elements, or their fault.
    pub(crate) fn or_fault<T>(&self, result: Result<T>) -> Result<T> {
        self.fault().map_or(result, Err)
    }

    /// Buffers of a file lie in one allocation, which is asked once.
    fn first_fault(&self, asked: &mut usize) -> Option<Error> {
        for buffer in self.buffers().iter().chain(self.validity().map(Bitmap::buffer)) {
            let header = ptr::from_ref(buffer.header()).addr();
            if std::mem::replace(asked, header) != header
                && let Some(fault) = buffer.fault()
            {
                return Some(fault);
            }
        }
        self.children().iter().chain(self.dictionary()).find_map(|child| child.first_fault(asked))
    }
}
