//! A template that was read: its components, and where they are kept.

use crate::element::dialect::pack::error::{Cause, FormatError};
use crate::element::dialect::pack::letters;
use crate::element::dialect::pack::{Component, parse};
use std::fmt;

/// How many components a template has in place.
const INLINE: usize = 8;

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
#[expect(
    clippy::large_enum_variant,
    reason = "short templates are to be had without an allocation, and moved seldom"
)]
enum Components {
    Static(&'static [Component]),
    Inline(u8, [Component; INLINE]),
    Heap(Vec<Component>),
}

impl Template {
    /// Reads a template. See [`parse`](crate::element::dialect::pack::parse).
    pub(super) fn parse(format: &[u8]) -> Result<Self, FormatError> {
        let (mut inline, mut heap) = ([Component::NONE; INLINE], Vec::new());
        let (mut len, mut missing) = (0, None);
        let item_size = parse::walk(format, |component| {
            match inline.get_mut(len) {
                Some(place) => *place = component,
                None => {
                    // The first that finds no place takes those along that have one.
                    let taken: &[Component] = if heap.is_empty() { &inline } else { &[] };
                    match heap.try_reserve(taken.len() + 1) {
                        Ok(()) => {
                            heap.extend_from_slice(taken);
                            heap.push(component);
                        }
                        Err(_) => missing = missing.or(Some(len + 1)),
                    }
                }
            }
            len += 1;
        })?;
        if let Some(len) = missing {
            let nbytes = len.saturating_mul(size_of::<Component>());
            return Err(FormatError::new(0, Cause::OutOfMemory { nbytes }));
        }
        let components = match len {
            1 if inline[0].is_scalar() => Components::Static(scalar(&inline[0])),
            0..=INLINE => Components::Inline(len as u8, inline),
            _ => Components::Heap(heap),
        };
        Ok(Self { components, item_size })
    }

    /// The components, in the order of their offsets. O(1).
    pub fn components(&self) -> &[Component] {
        match &self.components {
            Components::Static(components) => components,
            Components::Inline(len, components) => &components[..usize::from(*len)],
            Components::Heap(components) => components,
        }
    }

    /// The components, where they live for ever: those of one number at the start of the item.
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
        let (format, number) = letters::at(index / 4);
        let (native_size, little_endian) = (index & 2 != 0, index & 1 != 0);
        scalars[index] = Component {
            format,
            native_size,
            little_endian,
            offset: 0,
            size: number.widths[native_size as usize].word.size(),
            repeat: 1,
        };
        index += 1;
    }
    scalars
};

/// The one in the table that is equal to a component which was read, [is a scalar](Component::is_scalar) and has a letter.
fn scalar(component: &Component) -> &'static [Component] {
    let place = letters::number(component.format).map_or(0, |number| usize::from(number.index));
    let place = 4 * place + 2 * usize::from(component.native_size) + usize::from(component.little_endian);
    &SCALARS[place..=place]
}

/// Whether components lie in the table which those of single numbers share: they are nobody's to free.
/// What [`Template::as_static`] gave does.
pub fn is_static(components: *const Component) -> bool {
    SCALARS.as_ptr_range().contains(&components)
}
