//! Room at a device for what another layer keeps with it.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// One thing of a type that this layer does not know, made when it is first asked for. Not for a child of the process that made the
/// device, where another thread may have been making it.
#[derive(Default)]
pub(crate) struct Annex(OnceLock<Box<dyn Any + Send + Sync>>);

impl Annex {
    /// The one thing, or `None` where somebody put another type there.
    pub(crate) fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.0.get_or_init(|| Box::new(make())).downcast_ref()
    }
}

impl fmt::Debug for Annex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Annex")
    }
}
