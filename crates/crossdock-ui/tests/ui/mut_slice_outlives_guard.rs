//! A guard cannot be released while a mutable slice of it lives.

use crossdock::buffer::Buffer;

fn main() {
    let buffer = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    let mut guard = buffer.write().unwrap();
    let slice = guard.as_mut_slice_of::<u8>().unwrap();
    drop(guard);
    slice[0] = 1;
}
