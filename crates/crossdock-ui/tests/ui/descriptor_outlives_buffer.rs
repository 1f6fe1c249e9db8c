//! A descriptor is the owner's: it does not outlive the handle it was asked of.

use crossdock::buffer::Buffer;

fn main() {
    let buffer = Buffer::shared(8).unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    drop(buffer);
    println!("{fd:?}");
}
