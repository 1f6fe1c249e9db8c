//! No lease can be taken while a mutable slice of the only handle lives.

use crossdock::buffer::Buffer;

fn main() {
    let mut buffer = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    let slice = buffer.as_mut_slice().unwrap();
    let guard = buffer.read().unwrap();
    slice[0] = guard[1];
}
