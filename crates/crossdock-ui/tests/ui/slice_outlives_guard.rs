//! A slice borrows from its guard: the lease and its constancy end with the guard.

use crossdock::buffer::Buffer;

fn main() {
    let buffer = Buffer::from_static(&[1u8, 2, 3]).unwrap();
    let slice = {
        let guard = buffer.read().unwrap();
        guard.as_slice_of::<u8>().unwrap()
    };
    println!("{slice:?}");
}
