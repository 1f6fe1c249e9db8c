//! What an object of a table has, until it is released.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use magnus::Ruby;

use crate::error::{Failure, Result};
use crate::pressure::{ReportedMemory, told};

/// Content on memory that the collector knows.
pub(super) trait Reported {
    /// What errors call the object.
    const NAME: &str;

    fn kept(&self) -> Option<Arc<ReportedMemory>>;
}

/// The content of an object, until Ruby code releases it.
pub(super) struct Content<T: Reported>(Mutex<Option<Arc<T>>>);

impl<T: Reported> Drop for Content<T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T: Reported> Content<T> {
    pub(super) fn new(content: T) -> Self {
        Self(Mutex::new(Some(Arc::new(content))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The content, which stays while a method uses it, also if Ruby code releases the object
    /// meanwhile; `None` after the release.
    pub(super) fn get(&self) -> Option<Arc<T>> {
        self.lock().clone()
    }

    /// As [`Content::get`].
    ///
    /// # Errors
    ///
    /// `Crossdock::Error` after the release.
    pub(super) fn open(&self, ruby: &Ruby) -> Result<Arc<T>> {
        self.get().ok_or_else(|| {
            Failure::ours(ruby, format!("the {} was released: nothing can be read from it any more", T::NAME))
        })
    }

    /// Moves the content out.
    pub(super) fn close(&self) {
        let content = self.lock().take();
        if let Some(kept) = content.as_ref().and_then(|content| content.kept()) {
            kept.leave(self.data());
        }
        drop(content);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_none()
    }

    /// The bytes of the memory, if this object is the one that counts them.
    pub(super) fn told(&self) -> usize {
        let kept = self.get().and_then(|content| content.kept());
        told(kept.as_ref(), self.data())
    }

    /// A number that distinguishes this object from others.
    fn data(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}
