//! A Pin lease never writes.

use crossdock::buffer::Buffer;

fn main() {
    let guard = Buffer::shared(8).unwrap().pin().unwrap();
    guard.store(0, 1u8).unwrap();
}
