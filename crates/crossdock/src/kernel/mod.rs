//! Kernels on strided elements. They take raw pointers, layouts and dtypes, never an array.
//!
//! All accesses to elements are racy ([`crate::memory::racy`]), so kernels may run under a Share or
//! a Pin lease. [`device`] works on memory that the CPU cannot address.
//!
//! | file | contents |
//! |---|---|
//! | `copy/` | `indirect_copy.rs` follows pointers, `plan.rs` orders axes, `direct.rs` chooses the way |
//! | `casting.rs`, `cast/` | the rules for numbers that do not fit, and the conversion in blocks |
//! | `records/` | conversion of elements with fields |
//! | `round.rs` | floats to whole numbers |
//! | `device/` | work of devices; `steps.rs` divides the CPU's plan into steps |
//! | `cpu.rs`, `threads/` | the instruction sets in use; threads that share large work |

mod block;
mod cast;
mod casting;
mod copy;
mod cpu;
pub(crate) mod device;
mod equal;
mod fill;
mod indirection;
mod pair;
mod records;
mod round;
pub(crate) mod threads;

pub(crate) use cast::{SMALL_NUMBERS, cast, cast_small_run, turns_in_place};
pub use casting::Casting;
pub(crate) use copy::{SMALL_RUN, StridedWalk, copy, copy_small_run, gather, load_bytes};
pub(crate) use equal::{ComparedArray, EqualityRule, first_difference};
pub(crate) use fill::fill;
pub(crate) use indirection::{dereference, each_direct, element_at};
pub(crate) use records::{ColumnCopy, Gaps, convert, copy_columns, has_gaps};
pub use round::Rounding;
pub(crate) use round::round;

use crate::error::{Error, Result};
use crate::layout::{Layout, Order};

/// The index of the element at `position` in row-major order.
pub(crate) fn index_of(shape: &[usize], position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    set_index(&mut index, shape, position);
    index
}

/// A layout of one element that stands for a layout whose elements have size 0. All of those have
/// the same value, and there may be 2^40 or more. A position found in it is 0, the first element.
pub(in crate::kernel) fn one_of_all(layout: &Layout) -> Result<Layout> {
    let shape: Vec<usize> = layout.shape().iter().map(|&len| len.min(1)).collect();
    Layout::contiguous(&shape, layout.itemsize(), Order::RowMajor)
}

/// Writes the index of the element at `position` into the first entries of `index`.
pub(crate) fn set_index(index: &mut [usize], shape: &[usize], mut position: usize) {
    for (index, len) in index.iter_mut().zip(shape).rev() {
        *index = position % len;
        position /= len;
    }
}

/// Adds the element's index to an error, if the array has any axes.
#[cold]
fn in_element(error: Error, index: &[usize]) -> Error {
    if index.is_empty() { error } else { error.within(format_args!("element {index:?}")) }
}

/// A pointer that threads access racily.
pub(crate) struct Racy(pub(crate) *mut u8);

// SAFETY: `Racy` holds an address and accesses nothing. Every access through `at` is racy, and is
// covered by the `# Safety` of the kernel that makes it.
unsafe impl Sync for Racy {}

impl Racy {
    pub(crate) fn at(&self, offset: isize) -> *mut u8 {
        self.0.wrapping_offset(offset)
    }
}
