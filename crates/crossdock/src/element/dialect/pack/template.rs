//! A parsed template: its components and their storage.

use crate::element::dialect::pack::component::Component;
use crate::element::dialect::pack::components::Components;
use crate::element::dialect::pack::error::FormatError;
use std::fmt;

/// A parsed pack template: the size of an item, and its components.
///
/// The components of a single scalar are in a constant table ([`Template::as_static`]), others in a
/// block of `malloc`.
///
/// ```
/// use crossdock::bindings::dialect::pack;
///
/// let template = pack::parse(b"|cq2")?;
/// assert_eq!(template.item_size(), 24);
/// let [small, large] = template.components() else { unreachable!() };
/// assert_eq!((small.offset, small.size, small.repeat), (0, 1, 1));
/// assert_eq!((large.offset, large.size, large.repeat), (8, 8, 2));
/// assert_eq!(template.to_dtype()?.to_string(), "{f0: int8 @0, f1: (2,)int64 @8; 24}");
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct Template {
    components: Components,
    item_size: usize,
}

impl Template {
    /// Reads a template. See [`parse`](crate::element::dialect::pack::parse).
    #[inline]
    pub(super) fn parse(format: &[u8]) -> Result<Self, FormatError> {
        let (components, item_size) = Components::parse(format)?;
        Ok(Self { components, item_size })
    }

    /// The components, in the order of their offsets. O(1).
    #[inline]
    pub fn components(&self) -> &[Component] {
        self.components.as_slice()
    }

    /// The components, if they are in the constant table: one number at the start of the item, or
    /// none. O(1).
    pub fn as_static(&self) -> Option<&'static [Component]> {
        self.components.as_static()
    }

    /// The components alone, in a form for C. O(1).
    #[inline]
    pub fn into_components(self) -> Components {
        self.components
    }

    /// Bytes of one item, padding included. Not above `isize::MAX`.
    #[inline]
    pub fn item_size(&self) -> usize {
        self.item_size
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("item_size", &self.item_size)
            .field("components", &self.components())
            .finish()
    }
}
