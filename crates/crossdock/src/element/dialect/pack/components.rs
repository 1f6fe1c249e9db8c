//! Components of a template in a form for C: constants, or a separate block.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::element::ByteOrder;
use crate::element::dialect::pack::component::Component;
use crate::element::dialect::pack::error::{Cause, FormatError};
use crate::element::dialect::pack::items::MemberReader;
use crate::element::dialect::pack::letters::{self, LetterClass, Width};
use crate::element::dialect::pack::parse::walk;
use crate::memory::os::c_heap;

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

/// The width of each of those, and whether its bytes are swapped (in non-native order).
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

/// The place of each letter's number in `SCALARS`, without modifiers; beyond its end for bytes that
/// are not letters of numbers.
static PLACES: [u8; 256] = {
    let mut places = [u8::MAX; 256];
    let mut byte = 0;
    while byte < places.len() {
        let letter = letters::letter(byte as u8);
        if matches!(letter.class, LetterClass::Number) {
            let little_endian = matches!(letter.order.without_marks(), ByteOrder::Little);
            places[byte] = 4 * letter.index + little_endian as u8;
        }
        byte += 1;
    }
    places
};

const _: () = assert!(SCALARS.len() < u8::MAX as usize);

/// Like [`Component::reader`], for a constant component, as templates of one scalar have; `None`
/// for others. Only the address is compared; components outside the table are not read.
#[inline(always)]
pub fn constant_reader(component: *const Component, nbytes: usize) -> Option<MemberReader> {
    let distance = component.addr().wrapping_sub(SCALARS.as_ptr().addr());
    // The rotation moves the remainder to the upper bits, so the result is too large for an address
    // that is not a component of the table.
    let place = distance.rotate_right(size_of::<Component>().trailing_zeros());
    let (width, swapped) = WIDTHS.get(place)?;
    (usize::from(width.size) <= nbytes).then(|| MemberReader::at_start(width.word, *swapped))
}

/// The components of a template, in the order of their offsets: those of one scalar in a constant
/// table, others in a block of `malloc`, which is freed without its size.
///
/// # Invariants
///
/// 1. `len` initialised components lie at `ptr`: in the table, or at the start of a block of
///    `malloc` that this value owns.
pub struct Components {
    ptr: NonNull<Component>,
    len: usize,
}

// SAFETY: the components are plain data: constants, or in a block that this value owns and any
// thread may free (Components 1).
unsafe impl Send for Components {}
// SAFETY: `&Components` only reads the components, which are plain data and not written while
// shared.
unsafe impl Sync for Components {}

impl Components {
    /// The components of an item without numbers.
    const NONE: Self = Self { ptr: NonNull::from_ref(&SCALARS[0]), len: 0 };

    /// Parses a template, and returns its components and the size of an item.
    ///
    /// Always inlined: out of line, the result travels through memory, which takes as long as the
    /// look-up of the letter.
    #[inline(always)]
    pub(super) fn parse(format: &[u8]) -> Result<(Self, usize), FormatError> {
        // Most templates are one letter.
        if let &[letter] = format
            && let Some(scalar) = SCALARS.get(usize::from(PLACES[usize::from(letter)]))
        {
            return Ok((Self { ptr: NonNull::from_ref(scalar), len: 1 }, scalar.size));
        }
        Self::parse_any(format)
    }

    #[inline(never)]
    fn parse_any(format: &[u8]) -> Result<(Self, usize), FormatError> {
        // `malloc` may return null for 0 bytes.
        let mut components = Self::with_room(format.len().max(1)).ok_or_else(|| out_of_memory(format))?;
        let (mut read, mut item_size) = components.push_letters(format);
        if read < format.len() {
            // What follows the last letter may belong to it.
            if let Some(last) = components.pop() {
                (read, item_size) = (read - 1, last.offset);
            }
            // SAFETY: clause 1 of `push`: the block has room for one component per byte of the
            // template, and each component takes at least one byte.
            item_size = walk(format, read, item_size, |component| unsafe { components.push(&component) })?;
        }
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

    /// Pushes the components of the letters of numbers with which a template begins; most have no
    /// other bytes. Returns the number of these letters, and the end of the last.
    #[inline(always)]
    fn push_letters(&mut self, format: &[u8]) -> (usize, usize) {
        let mut end = 0;
        for (read, &letter) in format.iter().enumerate() {
            let Some(scalar) = SCALARS.get(usize::from(PLACES[usize::from(letter)])) else {
                return (read, end);
            };
            // SAFETY: clause 1 of `push`: the block has room for one component per byte of the
            // template, and this is one for each byte.
            unsafe { self.push(&Component { offset: end, ..*scalar }) };
            // The block has more bytes than the item, so this does not overflow.
            end += scalar.size;
        }
        (format.len(), end)
    }

    fn pop(&mut self) -> Option<Component> {
        let last = self.as_slice().last().copied()?;
        self.len -= 1;
        Some(last)
    }

    /// An empty block for `capacity` components; `None` if there is no memory.
    fn with_room(capacity: usize) -> Option<Self> {
        // A block is aligned for all C types, hence for `Component`.
        Some(Self { ptr: c_heap::block(capacity, size_of::<Component>())?.cast(), len: 0 })
    }

    /// # Safety
    ///
    /// 1. `ptr` is a block of [`Components::with_room`] for more than `len` components.
    #[inline(always)]
    unsafe fn push(&mut self, component: &Component) {
        let place = self.ptr.as_ptr().wrapping_add(self.len);
        // SAFETY: clause 1 of `# Safety`: the block has room for one more, so `place` is in bounds
        // and aligned, and no reference to its bytes exists beside `&mut self`.
        unsafe { component.write_to(place) };
        self.len += 1;
    }

    /// All components. O(1).
    #[inline]
    pub fn as_slice(&self) -> &[Component] {
        // SAFETY: `len` initialised components lie at `ptr`, owned or constant, and are not written
        // while `self` is borrowed (Components 1).
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    /// All components, if they are constants. O(1).
    pub fn as_static(&self) -> Option<&'static [Component]> {
        // SAFETY: `is_static` found `ptr` in the table, where `len` components lie (Components 1):
        // a `static`, which is never written.
        is_static(self.ptr.as_ptr())
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) })
    }

    /// Address and number, for [`Components::from_raw`], which frees the block. Constants need not
    /// be passed to it.
    #[inline]
    pub fn into_raw(self) -> (*mut Component, usize) {
        let this = ManuallyDrop::new(self);
        (this.ptr.as_ptr(), this.len)
    }

    /// Restores the components from [`Components::into_raw`].
    ///
    /// # Safety
    ///
    /// 1. `ptr` and `len` are from one call of [`Components::into_raw`].
    /// 2. They have not been passed to this function before, unless they are constants.
    #[inline]
    pub unsafe fn from_raw(ptr: NonNull<Component>, len: usize) -> Self {
        Self { ptr, len }
    }
}

impl Drop for Components {
    #[inline]
    fn drop(&mut self) {
        if !is_static(self.ptr.as_ptr()) {
            // SAFETY: clause 1 of `free`: `ptr` is not in the table, so it is a block of `malloc`
            // that this value owns (Components 1), freed only here.
            unsafe { c_heap::free(self.ptr.cast()) }
        }
    }
}

#[cold]
fn out_of_memory(format: &[u8]) -> FormatError {
    FormatError::new(0, Cause::OutOfMemory { components: u32::try_from(format.len()).unwrap_or(u32::MAX) })
}

/// The constant equal to a component, if that is one number at the start of the item.
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
    fn the_padding_of_components_holds_no_stale_bytes() {
        // Freed blocks with other contents, which the next ones are made of.
        drop((1..40).map(|count| vec![0xAB_u8; 32 * count]).collect::<Vec<_>>());
        for format in ["iqc", "cccc", "dCx3f2", "|cq s"] {
            let (components, _) = Components::parse(format.as_bytes()).unwrap();
            for component in components.as_slice() {
                let bytes = std::ptr::from_ref(component).cast::<u8>();
                for at in 3..std::mem::offset_of!(Component, offset) {
                    // SAFETY: the byte lies within the component, and `write_to` set it.
                    assert_eq!(unsafe { bytes.wrapping_add(at).read() }, 0, "byte {at} of {component:?}");
                }
            }
        }
    }

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
