//! Room at a device for what another layer keeps with it.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use crate::memory::fork::get_or_make;

/// One value of a type that this layer does not know, made on first use. Two threads that come
/// first at the same time both make it, and one is kept.
#[derive(Default)]
pub(crate) struct Annex(OnceLock<Box<dyn Any + Send + Sync>>);

impl Annex {
    /// The one thing, or `None` where somebody put another type there.
    pub(crate) fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        get_or_make(&self.0, || Box::new(make())).downcast_ref()
    }
}

impl fmt::Debug for Annex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Annex")
    }
}
