//! A shared slice of a Write guard ends before a mutable one begins.

use crossdock::buffer::Buffer;

fn main() {
    let buffer = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    let mut guard = buffer.write().unwrap();
    let reading = guard.as_slice_of::<u8>().unwrap();
    guard[0] = 7;
    println!("{reading:?}");
}
