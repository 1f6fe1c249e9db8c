//! Components of a template where they can be handed to C: constants, or a block of their own.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use crate::element::ByteOrder;
use crate::element::dialect::pack::component::Component;
use crate::element::dialect::pack::error::{Cause, FormatError};
use crate::element::dialect::pack::items::Reader;
use crate::element::dialect::pack::letters::{self, Class, Width};
use crate::element::dialect::pack::parse::walk;

/// The component of every number at the start of an item: by letter, native size, byte order.
static SCALARS: [Component; 4 * letters::COUNT] = {
    let mut scalars = [Component::NONE; 4 * letters::COUNT];
    let mut index = 0;
    while index < scalars.len() {
        let (format, widths) = letters::number(index / 4);
        let (native_size, little_endian) = (index & 2 != 0, index & 1 != 0);
        let size = widths[native_size as usize].size as usize;
        scalars[index] = Component { format, native_size, little_endian, offset: 0, size, repeat: 1 };
        index += 1;
    }
    scalars
};

/// What each of those is, and whether its bytes lie in the order that is not the machine's.
static WIDTHS: [(Width, bool); SCALARS.len()] = {
    let (_, [any, _]) = letters::number(0);
    let mut widths = [(any, false); SCALARS.len()];
    let mut index = 0;
    while index < widths.len() {
        let (_, of_letter) = letters::number(index / 4);
        let (native_size, little_endian) = (index & 2 != 0, index & 1 != 0);
        widths[index] = (of_letter[native_size as usize], little_endian != cfg!(target_endian = "little"));
        index += 1;
    }
    widths
};

/// As [`Component::reader`], of a component that is a constant, as those of templates of one scalar
/// are; `None` where it is not. What is elsewhere is not looked at: the address says it all.
#[inline(always)]
pub fn constant_reader(component: *const Component, nbytes: usize) -> Option<Reader> {
    let distance = component.addr().wrapping_sub(SCALARS.as_ptr().addr());
    // The remainder goes to the upper bits: of what is no component of the table the result is too
    // large.
    let place = distance.rotate_right(size_of::<Component>().trailing_zeros());
    let (width, swapped) = WIDTHS.get(place)?;
    (usize::from(width.size) <= nbytes).then(|| Reader::at_start(width.word, *swapped))
}

/// The components of a template, in the order of their offsets: those of one scalar in a constant
/// table, others in a block of `malloc`, so that its size need not be known to free it.
///
/// # Invariants
///
/// 1. `len` components from `ptr`: in the table, or at the start of a block that is this one's own.
pub struct Components {
    ptr: NonNull<Component>,
    len: usize,
}

// SAFETY: plain data, shared with nobody or constant.
unsafe impl Send for Components {}
// SAFETY: as above.
unsafe impl Sync for Components {}

impl Components {
    /// Those of an item without numbers.
    const NONE: Self = Self { ptr: NonNull::from_ref(&SCALARS[0]), len: 0 };

    /// Reads those of a template, and gives the size of an item, too.
    #[inline]
    pub(super) fn parse(format: &[u8]) -> Result<(Self, usize), FormatError> {
        // Most templates are one letter.
        if let &[letter] = format
            && let Some(scalar) = scalar_of(letter)
        {
            return Ok((Self { ptr: NonNull::from_ref(scalar), len: 1 }, scalar.size));
        }
        // Of no bytes, `malloc` may answer null.
        let mut components = Self::with_room(format.len().max(1)).ok_or_else(|| out_of_memory(format))?;
        // SAFETY: there is room for one component for each byte of the template, each of which
        // begins one at most.
        let item_size = walk(format, |component| unsafe { components.push(&component) })?;
        match components.as_slice() {
            [] => components = Self::NONE,
            [only] => {
                if let Some(scalar) = scalar(only) {
                    components = Self { ptr: NonNull::from_ref(scalar), len: 1 };
                }
            }
            _ => {}
        }
        Ok((components, item_size))
    }

    /// A block for so many components, with none in it. `None` where there is no memory for them.
    fn with_room(capacity: usize) -> Option<Self> {
        let nbytes = capacity.checked_mul(size_of::<Component>())?;
        // SAFETY: any size may be asked for. What comes back is aligned for all of C's types.
        let block = unsafe { libc::malloc(nbytes) };
        Some(Self { ptr: NonNull::new(block.cast())?, len: 0 })
    }

    /// # Safety
    ///
    /// There is room in the block for one more.
    #[inline(always)]
    unsafe fn push(&mut self, component: &Component) {
        let place = self.ptr.as_ptr().wrapping_add(self.len).cast::<MaybeUninit<Component>>();
        // SAFETY: the caller's word.
        let place = unsafe { &mut *place };
        place.write(Component::NONE).set(component);
        self.len += 1;
    }

    /// All of them. O(1).
    #[inline]
    pub fn as_slice(&self) -> &[Component] {
        // SAFETY: Components 1.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    /// All of them, where they are constants. O(1).
    pub fn as_static(&self) -> Option<&'static [Component]> {
        // SAFETY: Components 1: in the table.
        is_static(self.ptr.as_ptr())
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) })
    }

    /// Address and number, to be given to [`Components::from_raw`]. Those of constants need not be.
    #[inline]
    pub fn into_raw(self) -> (*mut Component, usize) {
        let this = ManuallyDrop::new(self);
        (this.ptr.as_ptr(), this.len)
    }

    /// Takes back what [`Components::into_raw`] gave.
    ///
    /// # Safety
    ///
    /// From there, and not taken back yet, unless they are constants.
    #[inline]
    pub unsafe fn from_raw(ptr: NonNull<Component>, len: usize) -> Self {
        Self { ptr, len }
    }
}

impl Drop for Components {
    #[inline]
    fn drop(&mut self) {
        if !is_static(self.ptr.as_ptr()) {
            // SAFETY: Components 1: a block of `malloc`, its own.
            unsafe { libc::free(self.ptr.as_ptr().cast()) }
        }
    }
}

#[cold]
fn out_of_memory(format: &[u8]) -> FormatError {
    FormatError::new(0, Cause::OutOfMemory { components: u32::try_from(format.len()).unwrap_or(u32::MAX) })
}

/// The component of a number's letter that stands alone.
#[inline(always)]
fn scalar_of(byte: u8) -> Option<&'static Component> {
    let letter = letters::letter(byte);
    let little_endian = letter.order.without_marks() == ByteOrder::Little;
    let place = 4 * usize::from(letter.index) + usize::from(little_endian);
    if letter.class == Class::Number { SCALARS.get(place) } else { None }
}

/// The constant that is equal to a component, where that is one number at the start of the item.
#[inline(always)]
pub(super) fn scalar(component: &Component) -> Option<&'static Component> {
    let place = 4 * usize::from(letters::letter(component.format).index)
        + 2 * usize::from(component.native_size)
        + usize::from(component.little_endian);
    let is_scalar = component.offset == 0 && component.repeat == 1;
    if is_scalar { SCALARS.get(place) } else { None }
}

/// Whether it is the address of a constant.
#[inline]
fn is_static(components: *const Component) -> bool {
    SCALARS.as_ptr_range().contains(&components)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_read_as_any_component_is_and_nothing_else_is_taken_for_one() {
        for component in &SCALARS {
            for nbytes in 0..10 {
                let general = component.reader(nbytes).map(|reader| format!("{reader:?}"));
                let constant = constant_reader(component, nbytes).map(|reader| format!("{reader:?}"));
                assert_eq!(constant, general, "{component:?} in {nbytes} bytes");
            }
        }
        let elsewhere = SCALARS[0];
        assert!(constant_reader(&elsewhere, 8).is_none() && constant_reader(std::ptr::null(), 8).is_none());
        let table = SCALARS.as_ptr();
        assert!(constant_reader(table.wrapping_add(SCALARS.len()), 8).is_none());
        assert!(constant_reader(table.wrapping_sub(1), 8).is_none());
        for inside in 1..size_of::<Component>() {
            assert!(constant_reader(table.wrapping_byte_add(inside), 8).is_none(), "{inside}");
        }
    }
}
