//! Up to four axes, no operation on a layout allocates. The allocator counts, in a separate
//! binary.

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::cell::Cell;
use std::hint::black_box;

use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::{DArray, s};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed to `System`; counting uses a thread-local cell without allocation or
// destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`: a block of nonzero size,
        // which `System` requires, too.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        // SAFETY: `pointer` came from `alloc` above with the same `block`.
        unsafe { System.dealloc(pointer, block) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations<T>(f: impl FnOnce() -> T) -> usize {
    let before = ALLOCATIONS.with(Cell::get);
    drop(black_box(f()));
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn up_to_four_axes_nothing_is_on_the_heap() {
    let layout = Layout::contiguous(&[2; 4], 4, Order::RowMajor).unwrap();
    let array = DArray::zeros(DType::F32, &[2; 4], Order::RowMajor).unwrap();
    assert_eq!(allocations(|| Layout::contiguous(&[2; 4], 4, Order::RowMajor).unwrap()), 0);
    assert_eq!(allocations(|| layout.clone()), 0);
    assert_eq!(allocations(|| array.slice(s![0, ..;-1, .., 1..]).unwrap()), 0);
    assert_eq!(allocations(|| array.slice_numpy(s![0, ..;-1]).unwrap()), 0);
    assert_eq!(allocations(|| array.transpose().unwrap()), 0);
    assert_eq!(allocations(|| array.reverse(3).unwrap()), 0);
    assert_eq!(allocations(|| array.drop_axis(3, 1).unwrap()), 0);
    assert_eq!(allocations(|| array.reshape(&[4, 4]).unwrap()), 0);
    assert_eq!(allocations(|| layout.to_fixed::<4>().unwrap().to_dynamic(4).unwrap()), 0);
    assert_eq!(allocations(|| array.transpose().unwrap().layout().offsets().unwrap().sum::<isize>()), 0);
    assert_eq!(allocations(|| (layout.order(), layout.is_injective(), layout.span())), 0);
    // The counter works: one axis more is on the heap.
    assert!(allocations(|| array.insert_axis(0).unwrap()) > 0);
}

#[test]
fn up_to_eight_axes_a_layout_is_one_block_which_clones_share() {
    let array = DArray::zeros(DType::F32, &[2; 8], Order::RowMajor).unwrap();
    assert_eq!(allocations(|| Layout::contiguous(&[2; 8], 4, Order::RowMajor).unwrap()), 1);
    assert_eq!(allocations(|| array.clone()), 0);
    assert_eq!(allocations(|| array.transpose().unwrap()), 1);
    assert_eq!(allocations(|| array.slice(s![0, ..;-1, .., .., .., 1.., .., ..]).unwrap()), 1);
    assert_eq!(allocations(|| array.slice(s![0, ..;-1, .., 0, 0, 1.., 0, ..]).unwrap()), 0);
}
