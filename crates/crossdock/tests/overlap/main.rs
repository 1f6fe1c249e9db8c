//! The same memory imported twice: an assignment behaves as if the source had been copied first,
//! however the memory was imported.

mod behaviour;
mod random;
mod roads;
mod strides;

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::Layout;
use crossdock::memory::{Birth, Place};
use crossdock::{Array, DArray};
use crossdock_testkit::cases;

/// Memory of the test, which outlives all arrays on it.
struct Block(Vec<u64>);

impl Block {
    fn counting(nbytes: usize) -> Self {
        let mut block = Self(vec![0; nbytes.div_ceil(8)]);
        crossdock_testkit::count_into(block.bytes_mut());
        block
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let nbytes = 8 * self.0.len();
        // SAFETY: the vector of `u64` has `nbytes` initialised bytes, which `self` borrows mutably
        // for the same lifetime.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), nbytes) }
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.bytes_mut().to_vec()
    }

    /// Imports all of it again.
    fn import(&mut self) -> Buffer {
        let nbytes = 8 * self.0.len();
        // SAFETY: the tests keep the block for longer than the arrays, and access it only between
        // operations.
        unsafe { Buffer::from_foreign(self.0.as_mut_ptr().cast(), nbytes, Place::CPU, Birth::Aliased, || {}) }
            .unwrap()
    }
}

/// A contiguous array of a buffer's first bytes.
fn over(buffer: &Buffer, dtype: DType, shape: &[usize]) -> DArray {
    let layout = Layout::contiguous(shape, dtype.itemsize(), crossdock::layout::Order::RowMajor).unwrap();
    DArray::from_buffer(buffer.clone(), dtype, layout, 0).unwrap()
}

fn numbers(array: &DArray) -> Vec<u32> {
    let array = Array::<u32, 1>::try_from(array.reshape(&[array.len()]).unwrap()).unwrap();
    array.pin().unwrap().values().collect()
}
