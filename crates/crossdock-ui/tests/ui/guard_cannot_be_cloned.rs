//! A lease is counted once: its guard cannot be copied.

use crossdock::buffer::Buffer;

fn twice<T: Clone>(_: T) {}

fn main() {
    twice(Buffer::from_vec(vec![1u8]).unwrap().write().unwrap());
}
