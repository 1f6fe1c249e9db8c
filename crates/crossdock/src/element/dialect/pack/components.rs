//! Components of a template where they can be handed to C: constants, or a block of their own.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::element::dialect::pack::error::{Cause, FormatError};
use crate::element::dialect::pack::letters;
use crate::element::dialect::pack::{Component, parse};

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

/// The components of a template, in the order of their offsets: those of one scalar in a constant table, others on the heap.
///
/// # Invariants
///
/// 1. `len` components from `ptr`: in the table, or a boxed slice that is this one's own.
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
    pub(super) const NONE: Self = Self { ptr: NonNull::from_ref(&SCALARS[0]), len: 0 };

    /// The one component of a table's.
    #[inline]
    pub(super) fn constant(scalar: &'static Component) -> Self {
        Self { ptr: NonNull::from_ref(scalar), len: 1 }
    }

    /// Reads those of a template that has so many.
    pub(super) fn read(format: &[u8], len: usize) -> Result<Self, FormatError> {
        let mut components: Vec<Component> = Vec::new();
        let out_of_memory = Cause::OutOfMemory { components: u32::try_from(len).unwrap_or(u32::MAX) };
        components.try_reserve_exact(len).map_err(|_| FormatError::new(0, out_of_memory))?;
        parse::walk(format, |_, component| {
            components.push(component);
            Ok(())
        })?;
        let mut components = ManuallyDrop::new(components.into_boxed_slice());
        Ok(Self { ptr: NonNull::from_mut(&mut **components).cast(), len: components.len() })
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
        is_static(self.ptr.as_ptr()).then(|| unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) })
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
            let block = NonNull::slice_from_raw_parts(self.ptr, self.len);
            // SAFETY: Components 1: a boxed slice, its own.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}

impl Clone for Components {
    fn clone(&self) -> Self {
        if is_static(self.ptr.as_ptr()) {
            return Self { ptr: self.ptr, len: self.len };
        }
        let mut block = ManuallyDrop::new(Box::<[Component]>::from(self.as_slice()));
        Self { ptr: NonNull::from_mut(&mut **block).cast(), len: self.len }
    }
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
