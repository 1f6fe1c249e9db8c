//! A Read lease never writes.

use crossdock::buffer::Buffer;

fn main() {
    let mut guard = Buffer::from_vec(vec![1u8]).unwrap().read().unwrap();
    guard[0] = 1;
}
