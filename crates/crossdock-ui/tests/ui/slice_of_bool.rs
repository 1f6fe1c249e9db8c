//! Not every byte is a `bool`.

use crossdock::buffer::Buffer;

fn main() {
    let guard = Buffer::from_static(&[1u8]).unwrap().read().unwrap();
    let _flags: &[bool] = guard.as_slice_of::<bool>().unwrap();
}
