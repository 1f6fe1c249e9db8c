//! Handles that C holds: boxes whose allocation may fail, freed by one function for each type.

use crossdock::Error;

use crate::error::Result;

/// A pointer that C owns; null where a function failed.
pub type Handle<T> = Option<Box<T>>;

/// Moves a value into a box that C owns.
///
/// # Errors
///
/// `is_out_of_memory`, with the value dropped.
pub(crate) fn hand_over<T>(value: T) -> Result<Handle<T>> {
    Ok(Some(try_box(value)?))
}

/// As `Box::new`, but returns an error where that aborts.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>> {
    let mut one = Vec::new();
    one.try_reserve_exact(1).map_err(|_| Error::out_of_memory(size_of::<T>(), align_of::<T>()))?;
    one.push(value);
    let slice = Box::into_raw(one.into_boxed_slice());
    // SAFETY: `try_reserve_exact(1)` and one `push` make this a boxed slice of one element, which
    // has the same layout as a box of that element; `into_raw` released ownership.
    Ok(unsafe { Box::from_raw(slice.cast::<T>()) })
}

/// As `Vec::into_boxed_slice` after `collect`, but returns an error where those abort.
pub(crate) fn try_collect<T>(items: impl ExactSizeIterator<Item = Result<T>>) -> Result<Box<[T]>> {
    let mut list = Vec::new();
    let reserved = list.try_reserve_exact(items.len());
    reserved
        .map_err(|_| Error::out_of_memory(items.len().saturating_mul(size_of::<T>()), align_of::<T>()))?;
    for item in items {
        list.push(item?);
    }
    Ok(list.into_boxed_slice())
}
