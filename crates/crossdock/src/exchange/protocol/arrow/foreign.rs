//! Structs of producers, moved here and not checked yet.

use crate::error::Result;
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};
use crate::exchange::protocol::arrow::field::malformed;
use crate::exchange::protocol::arrow::stream_abi::{ArrowArrayStream, ArrowDeviceArrayStream};

/// One of the structs that producers export.
pub(super) trait ReleasableStruct: Sized {
    const NAME: &str;

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)>;
}

impl ReleasableStruct for ArrowSchema {
    const NAME: &str = "schema";

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

impl ReleasableStruct for ArrowArray {
    const NAME: &str = "array";

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

impl ReleasableStruct for ArrowArrayStream {
    const NAME: &str = "stream";

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

impl ReleasableStruct for ArrowDeviceArrayStream {
    const NAME: &str = "stream";

    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

/// A producer's struct, moved here. Dropping it releases it.
///
/// # Invariants
///
/// 1. It meets the clauses of `# Safety` of [`take_over`](super::take_over) (a stream those of
///    `ArrowStream::take_over`) and is not released. No other party uses it.
pub(super) struct ForeignStruct<S: ReleasableStruct>(S);

// SAFETY: ForeignStruct 1: the producer permits its release on any thread, and no other party uses
// the struct, which is plain data otherwise.
unsafe impl<S: ReleasableStruct> Send for ForeignStruct<S> {}
// SAFETY: `&ForeignStruct` permits only reads of the struct's numbers and pointers: `release` and
// `get_mut` need the value or `&mut`.
unsafe impl<S: ReleasableStruct> Sync for ForeignStruct<S> {}

impl<S: ReleasableStruct> ForeignStruct<S> {
    /// Moves a struct here, and marks its source as released.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a null pointer, and for a struct that was released.
    ///
    /// # Safety
    ///
    /// `theirs` is null, or points to a struct that was released or meets ForeignStruct 1.
    pub(super) unsafe fn moved_from(theirs: *mut S) -> Result<Self> {
        if theirs.is_null() {
            return Err(malformed(format!("the pointer to its {} is null", S::NAME)));
        }
        // SAFETY: `# Safety`: `theirs` is not null (checked above), so it points to a struct; its
        // copy here has no destructor of its own.
        let mut ours = unsafe { theirs.read() };
        if ours.release().is_none() {
            return Err(malformed(format!("its {} was already released or moved", S::NAME)));
        }
        // SAFETY: `# Safety`: the struct behind `theirs` was not released (checked above), so by
        // ForeignStruct 1 no other party uses it during this write.
        *unsafe { &mut *theirs }.release() = None;
        Ok(Self(ours))
    }

    pub(super) fn get(&self) -> &S {
        &self.0
    }

    /// For calls of the producer's functions.
    pub(super) fn get_mut(&mut self) -> &mut S {
        &mut self.0
    }
}

impl<S: ReleasableStruct> Drop for ForeignStruct<S> {
    fn drop(&mut self) {
        if let Some(release) = *self.0.release() {
            // SAFETY: ForeignStruct 1: the struct was moved here and is not released, so its own
            // `release` takes it; this drop makes the only call.
            unsafe { release(&mut self.0) }
        }
    }
}
