//! Follows the pointers of indirect arrays.

use crate::error::Result;
use crate::kernel::{one_of_all, set_index};
use crate::layout::Layout;

/// The address of one element of a direct or indirect array.
///
/// # Errors
///
/// `is_shape`, `is_bounds`, as [`Layout::distances`].
///
/// # Safety
///
/// The layout goes with the pointer:
///
/// 1. Each pointer that `layout` follows from `ptr` on is valid for reads, and is never written.
/// 2. Each of these pointers leads where `layout` continues.
#[inline]
pub(crate) unsafe fn element_at(ptr: *mut u8, layout: &Layout, index: &[usize]) -> Result<*mut u8> {
    if layout.suboffsets().is_none() {
        return Ok(ptr.wrapping_offset(layout.offset_of(index)?));
    }
    // SAFETY: clauses 1 and 2 of `# Safety`: the pointer, the layout and the index are passed on
    // unchanged.
    unsafe { indirect_element_at(ptr, layout, index) }
}

/// # Safety
///
/// Clauses 1 and 2 of [`element_at`].
#[cold]
unsafe fn indirect_element_at(ptr: *mut u8, layout: &Layout, index: &[usize]) -> Result<*mut u8> {
    let mut distances = layout.distances(index)?;
    let mut at = ptr.wrapping_offset(distances.next().unwrap_or(0));
    for distance in distances {
        // SAFETY: clause 1 of `element_at`: the layout has another dereference, so a readable
        // pointer that is never written lies at `at`.
        at = unsafe { dereference(at) }.wrapping_offset(distance);
    }
    Ok(at)
}

/// The pointer at an address, of any alignment.
///
/// # Safety
///
/// 1. A pointer lies at `at`, and is valid for reads.
/// 2. It is never written.
#[inline]
pub(crate) unsafe fn dereference(at: *const u8) -> *mut u8 {
    // SAFETY: clauses 1 and 2 of `# Safety`: the pointer may be read, and no write races with it. A
    // plain read keeps its provenance.
    unsafe { at.cast::<*mut u8>().read_unaligned() }
}

/// The pointer from which an array is reached, and its layout.
pub(crate) type Endpoint<'a> = (*mut u8, &'a Layout);

/// Calls `f` with the direct parts of two arrays of one shape, in row-major order and with the
/// position of the first element of each, until it returns a result. A direct array is one part. If
/// the elements have size 0, `f` is called with one of them.
///
/// # Errors
///
/// Those of `f`. Valid layouts cause no others.
///
/// # Safety
///
/// 1. Clauses 1 and 2 of [`element_at`], for both arrays.
/// 2. The shapes are equal.
pub(crate) unsafe fn each_direct<R>(
    left: Endpoint<'_>,
    right: Endpoint<'_>,
    mut f: impl FnMut(usize, Endpoint<'_>, Endpoint<'_>) -> Result<Option<R>>,
) -> Result<Option<R>> {
    if left.1.itemsize() == 0 && right.1.itemsize() == 0 {
        return f(0, (left.0, &one_of_all(left.1)?), (right.0, &one_of_all(right.1)?));
    }
    let depth = left.1.indirect_axes().max(right.1.indirect_axes());
    if depth == 0 {
        return f(0, left, right);
    }
    let shape = left.1.shape();
    let (outer, inner) = shape.split_at(depth);
    let direct = |layout: &Layout| Layout::new(inner, &layout.strides()[depth..], layout.itemsize());
    let (left_part, right_part) = (direct(left.1)?, direct(right.1)?);
    if shape.contains(&0) {
        // Nothing to follow. `f` still checks the dtypes.
        let none = |layout: &Layout| Layout::new(shape, layout.strides(), layout.itemsize());
        return f(0, (left.0, &none(left.1)?), (right.0, &none(right.1)?));
    }
    let mut index = vec![0; shape.len()];
    for part in 0..outer.iter().product() {
        set_index(&mut index[..depth], outer, part);
        // SAFETY: clause 1 of `# Safety`: `left.1` goes with `left.0`, whose pointers `element_at`
        // follows along the outer axes.
        let left = unsafe { element_at(left.0, left.1, &index) }?;
        // SAFETY: clause 1 of `# Safety`: `right.1` goes with `right.0`, whose pointers
        // `element_at` follows along the outer axes.
        let right = unsafe { element_at(right.0, right.1, &index) }?;
        if let Some(found) = f(part * left_part.len(), (left, &left_part), (right, &right_part))? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
