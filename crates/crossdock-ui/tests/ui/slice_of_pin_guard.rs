//! Other holders may write pinned memory: there is no slice of it.

use crossdock::buffer::Buffer;

fn main() {
    let guard = Buffer::shared(8).unwrap().pin().unwrap();
    let _elements = guard.as_slice_of::<u8>();
    let _bytes: &[u8] = &guard;
    let _byte = guard[0];
}
