//! A template that was read: its components, and where they are kept.

use crate::element::dialect::pack::error::{Cause, FormatError};
use crate::element::dialect::pack::letters;
use crate::element::dialect::pack::{Component, parse};
use std::fmt;

/// How many components a template has in place.
const INLINE: usize = 6;

/// A pack template that was read once: the size of an item, and its components.
///
/// The components of a single scalar lie in a table that is constant ([`Template::as_static`]), a few in the template itself, many
/// on the heap.
///
/// ```
/// use crossdock::element::dialect::pack;
///
/// let template = pack::parse(b"|cq2")?;
/// assert_eq!(template.item_size(), 24);
/// let [small, large] = template.components() else { unreachable!() };
/// assert_eq!((small.offset, small.size, small.repeat), (0, 1, 1));
/// assert_eq!((large.offset, large.size, large.repeat), (8, 8, 2));
/// assert_eq!(template.to_dtype()?.to_string(), "{f0: int8 @0, f1: (2,)int64 @8; 24}");
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone)]
pub struct Template {
    components: Components,
    item_size: usize,
}

#[derive(Clone)]
enum Components {
    Static(&'static [Component]),
    Inline(usize, [Component; INLINE]),
    Heap(Vec<Component>),
}

impl Template {
    /// Reads a template. See [`parse`](crate::element::dialect::pack::parse).
    pub(super) fn parse(format: &[u8]) -> Result<Self, FormatError> {
        let (mut inline, mut len, mut heap) = ([Component::NONE; INLINE], 0, Vec::new());
        let item_size = parse::walk(format, |at, component| {
            match inline.get_mut(len) {
                // One by one, out of registers: a component that was just written to memory is slow to move.
                Some(place) => {
                    place.format = component.format;
                    place.native_size = component.native_size;
                    place.little_endian = component.little_endian;
                    place.offset = component.offset;
                    place.size = component.size;
                    place.repeat = component.repeat;
                }
                None => spill(&mut heap, &inline, component).map_err(|cause| FormatError::new(at, cause))?,
            }
            len += 1;
            Ok(())
        })?;
        match len {
            0 => Ok(Self { components: Components::Static(&SCALARS[..0]), item_size }),
            1 if inline[0].is_scalar() => {
                Ok(Self { components: Components::Static(scalar(&inline[0])), item_size })
            }
            1..=INLINE => Ok(Self { components: Components::Inline(len, inline), item_size }),
            _ => Ok(Self { components: Components::Heap(heap), item_size }),
        }
    }

    /// The components, in the order of their offsets. O(1).
    pub fn components(&self) -> &[Component] {
        match &self.components {
            Components::Static(components) => components,
            Components::Inline(len, components) => &components[..*len],
            Components::Heap(components) => components,
        }
    }

    /// The components, where they lie in a constant table: one number at the start of the item, or none at all. O(1).
    pub fn as_static(&self) -> Option<&'static [Component]> {
        match &self.components {
            Components::Static(components) => Some(components),
            _ => None,
        }
    }

    /// Bytes of one item, padding included. Not above `isize::MAX`.
    pub fn item_size(&self) -> usize {
        self.item_size
    }
}

/// Keeps a component for which there is no place any more; the first of them takes those along that have one.
#[cold]
fn spill(heap: &mut Vec<Component>, inline: &[Component], component: Component) -> Result<(), Cause> {
    let taken = if heap.is_empty() { inline } else { &[] };
    let components = u32::try_from(heap.len() + taken.len() + 1).unwrap_or(u32::MAX);
    heap.try_reserve(taken.len() + 1).map_err(|_| Cause::OutOfMemory { components })?;
    heap.extend_from_slice(taken);
    heap.push(component);
    Ok(())
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("item_size", &self.item_size)
            .field("components", &self.components())
            .finish()
    }
}

/// The component of every number at the start of an item: by letter, native size, byte order.
static SCALARS: [Component; 4 * letters::COUNT] = {
    let mut scalars = [Component::NONE; 4 * letters::COUNT];
    let mut index = 0;
    while index < scalars.len() {
        let (format, sizes) = letters::number(index / 4);
        let (native_size, little_endian) = (index & 2 != 0, index & 1 != 0);
        let size = sizes[native_size as usize];
        scalars[index] = Component { format, native_size, little_endian, offset: 0, size, repeat: 1 };
        index += 1;
    }
    scalars
};

/// The one in the table that is equal to a component which was read and [is a scalar](Component::is_scalar).
fn scalar(component: &Component) -> &'static [Component] {
    let place = 4 * usize::from(letters::letter(component.format).index)
        + 2 * usize::from(component.native_size)
        + usize::from(component.little_endian);
    &SCALARS[place..=place]
}

/// Whether components lie in the table which those of single numbers share: they are nobody's to free.
/// What [`Template::as_static`] gave does.
pub fn is_static(components: *const Component) -> bool {
    SCALARS.as_ptr_range().contains(&components)
}
