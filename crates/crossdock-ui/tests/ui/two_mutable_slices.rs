//! A Write guard returns one `&mut` at a time.

use crossdock::buffer::Buffer;

fn main() {
    let buffer = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    let mut guard = buffer.write().unwrap();
    let one = guard.as_mut_slice_of::<u8>().unwrap();
    let other = guard.as_mut_slice_of::<u8>().unwrap();
    one[0] = other[0];
}
