//! Work on strided elements. Takes raw pointers, layouts and dtypes, never an array.
//!
//! Everything here touches memory racily ([`crate::memory::racy`]), so that it may run under a Share or a Pin lease. What the processor does
//! not address is worked on by [`device`].

mod block;
mod cast;
mod casting;
mod copy;
mod cpu;
pub(crate) mod device;
mod equal;
mod fill;
mod hops;
mod pair;
mod records;
mod threads;

pub(crate) use cast::{cast, turns_in_place};
pub use casting::Casting;
pub(crate) use copy::{Steps, copy, gather, load_bytes};
pub(crate) use equal::{Rule, Side, first_difference};
pub(crate) use fill::fill;
pub(crate) use hops::{each_direct, element_at, follow};
pub(crate) use records::{Column, Gaps, convert, copy_columns, has_gaps};

use crate::error::{Error, Result};
use crate::layout::{Layout, Order};

/// The index of the element that comes `position`-th in row-major order.
pub(crate) fn index_of(shape: &[usize], position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    set_index(&mut index, shape, position);
    index
}

/// A layout of one element, in place of a layout whose elements have size 0: all of them have the
/// same value, and there may be 2^40 or more. A position found in it is that of element 0, which is
/// the first.
pub(in crate::kernel) fn one_of_all(layout: &Layout) -> Result<Layout> {
    let shape: Vec<usize> = layout.shape().iter().map(|&len| len.min(1)).collect();
    Layout::contiguous(&shape, layout.itemsize(), Order::RowMajor)
}

/// The same, into the first places of an index that is there.
pub(crate) fn set_index(index: &mut [usize], shape: &[usize], mut position: usize) {
    for (index, len) in index.iter_mut().zip(shape).rev() {
        *index = position % len;
        position /= len;
    }
}

/// An error, with the index of the element that it is about, if the array has any axes.
#[cold]
fn in_element(error: Error, index: &[usize]) -> Error {
    if index.is_empty() { error } else { error.within(format_args!("element {index:?}")) }
}

/// A pointer for threads that access it racily.
pub(crate) struct Racy(pub(crate) *mut u8);

// SAFETY: an address; whoever accesses it does so racily, under a lease that the caller holds meanwhile.
unsafe impl Sync for Racy {}

impl Racy {
    pub(crate) fn at(&self, offset: isize) -> *mut u8 {
        self.0.wrapping_offset(offset)
    }
}
