//! Structs that were lent to us, about which nothing is known yet.

use crate::error::Result;
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crate::exchange::protocol::arrow::field::malformed;
use crate::exchange::protocol::arrow::stream_abi::ArrowArrayStream;

/// What can be lent by one of the structs.
pub(super) trait Struct: Sized {
    const NAME: &str;

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)>;
}

impl Struct for ArrowSchema {
    const NAME: &str = "schema";

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

impl Struct for ArrowArray {
    const NAME: &str = "array";

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

impl Struct for ArrowArrayStream {
    const NAME: &str = "stream";

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

/// A struct that was lent to us, moved here. Dropping it releases it.
///
/// # Invariants
///
/// 1. It obeys the safety section of [`take_over`](super::take_over), and was not released; nobody else has it.
pub(super) struct Foreign<S: Struct>(S);

// SAFETY: it may be released on any thread (Foreign 1), and the rest is plain data that nobody else uses.
unsafe impl<S: Struct> Send for Foreign<S> {}
// SAFETY: `&Foreign` gives nothing but reading of that plain data.
unsafe impl<S: Struct> Sync for Foreign<S> {}

impl<S: Struct> Foreign<S> {
    /// Moves a struct here, and marks it as released where it was.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a null pointer, and for a struct that was released.
    ///
    /// # Safety
    ///
    /// Null, or Foreign 1, unless it was released.
    pub(super) unsafe fn moved_from(theirs: *mut S) -> Result<Self> {
        if theirs.is_null() {
            return Err(malformed(format!("the pointer to its {} is null", S::NAME)));
        }
        // SAFETY: the caller's word: to a struct, whatever is in it.
        let mut ours = unsafe { theirs.read() };
        if ours.release().is_none() {
            return Err(malformed(format!("its {} was released, or moved elsewhere, before", S::NAME)));
        }
        // SAFETY: as above, and nobody else has it.
        *unsafe { &mut *theirs }.release() = None;
        Ok(Self(ours))
    }

    pub(super) fn get(&self) -> &S {
        &self.0
    }

    /// To be given to a function of its producer's.
    pub(super) fn get_mut(&mut self) -> &mut S {
        &mut self.0
    }
}

impl<S: Struct> Drop for Foreign<S> {
    fn drop(&mut self) {
        if let Some(release) = *self.0.release() {
            // SAFETY: Foreign 1: this is the one call, for a struct that was moved here.
            unsafe { release(&mut self.0) }
        }
    }
}
