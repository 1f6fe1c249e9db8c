//! The last holder may be dropped on any thread, and the owner with it.

use std::rc::Rc;

use crossdock::buffer::Buffer;

fn main() {
    let _buffer = Buffer::from_owner(Rc::new(vec![1u8, 2, 3]));
}
