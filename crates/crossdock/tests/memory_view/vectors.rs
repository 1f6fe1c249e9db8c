//! The original's results for strides, contiguity and item pointers.

use std::ptr;

use crossdock::bindings::memory_view::{View, fill_contiguous_strides};
use crossdock::layout::Order;
use crossdock_testkit::layouts::{self, Recorded};

/// A hand-made view of memory that does not exist.
fn view(layout: &Recorded) -> View {
    let pointer =
        |numbers: &Option<Vec<isize>>| numbers.as_ref().map_or(ptr::null(), |numbers| numbers.as_ptr());
    View {
        data: ptr::without_provenance_mut(layouts::ADDRESS),
        item_size: layout.item_size,
        ndim: layout.ndim,
        shape: pointer(&layout.shape),
        strides: pointer(&layout.strides),
        ..View::EMPTY
    }
}

#[test]
fn strides_are_filled_in_as_recorded() {
    layouts::check_strides(|shape, item_size, row_major| {
        let order = if row_major { Order::RowMajor } else { Order::ColumnMajor };
        let mut strides = vec![-1; shape.len()];
        let ndim = shape.len() as isize;
        // SAFETY: `shape` and `strides` have `ndim` numbers, and `strides` is writable.
        unsafe { fill_contiguous_strides(ndim, item_size, shape.as_ptr(), order, strides.as_mut_ptr()) }
            .unwrap();
        strides
    });
}

#[test]
fn item_pointers_are_as_recorded_within_bounds_and_refused_outside() {
    layouts::check_item_pointers(|layout, index| {
        let view = view(layout);
        // SAFETY: the shape, strides and `index` have one number for each axis, and the view has no
        // pointers to follow.
        let item = unsafe { view.item_pointer(index.as_ptr()) }.ok()?;
        Some(item.addr().wrapping_sub(view.data.addr()) as isize)
    });
}

#[test]
fn contiguity_is_numpys_rule() {
    layouts::check_contiguity(|layout, row_major| {
        let view = view(layout);
        // SAFETY: the view's shape and strides have `ndim` numbers, which the recorded layout owns
        // during the call.
        let row = unsafe { view.is_row_major_contiguous() };
        // SAFETY: the view's shape and strides have `ndim` numbers, which the recorded layout owns
        // during the call.
        let column = unsafe { view.is_column_major_contiguous() };
        // SAFETY: the view's shape and strides have `ndim` numbers, which the recorded layout owns
        // during the call.
        assert_eq!(unsafe { view.is_contiguous() }, row || column);
        if row_major { row } else { column }
    });
}

#[test]
fn strict_contiguity_is_the_originals_rule() {
    layouts::check_strict_contiguity(|layout, row_major| {
        let view = view(layout);
        if row_major {
            // SAFETY: the view's shape and strides have `ndim` numbers, which the recorded layout
            // owns during the call.
            unsafe { view.is_row_major_contiguous_strictly() }
        } else {
            // SAFETY: the view's shape and strides have `ndim` numbers, which the recorded layout
            // owns during the call.
            unsafe { view.is_column_major_contiguous_strictly() }
        }
    });
}
