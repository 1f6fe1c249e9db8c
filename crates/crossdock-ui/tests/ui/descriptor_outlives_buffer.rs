//! A descriptor belongs to the owner: it must not outlive the handle that returned it.

use crossdock::buffer::Buffer;

fn main() {
    let buffer = Buffer::shared(8).unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    drop(buffer);
    println!("{fd:?}");
}
