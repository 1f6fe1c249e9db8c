//! An owner must own its data: borrowed data could end before the last holder.

use crossdock::buffer::Buffer;

fn main() {
    let local = vec![1u8, 2, 3];
    let buffer = Buffer::from_owner(&local).unwrap();
    drop(local);
    drop(buffer);
}
