//! No handle can be created while a mutable slice of the only one lives.

use crossdock::buffer::Buffer;

fn main() {
    let mut buffer = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    let slice = buffer.as_mut_slice().unwrap();
    let other = buffer.clone();
    slice[0] = 7;
    println!("{:?}", other.read());
}
