//! Imported arrays whose elements share memory, which become read-only.

use crossdock::DArray;
use crossdock::layout::Order;

/// Makes an imported array read-only if two of its elements may share a byte, such as those of a
/// repeated axis: a write to one would change the others. Arrays behind pointers stay as they are.
#[inline]
pub(crate) fn protect(array: &mut DArray) {
    if !array.is_contiguous(Order::RowMajor) && !array.is_readonly() {
        protect_strided(array);
    }
}

fn protect_strided(array: &mut DArray) {
    let layout = array.layout();
    if layout.suboffsets().is_none() && !layout.is_injective() {
        *array = array.clone().into_readonly();
    }
}

/// As [`protect`], of an array by value.
#[inline]
pub(crate) fn protected(mut array: DArray) -> DArray {
    protect(&mut array);
    array
}
