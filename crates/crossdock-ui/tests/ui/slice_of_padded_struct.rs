//! The bytes of a struct with padding are not all initialised.

use crossdock::buffer::Buffer;

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u32,
}

fn main() {
    let guard = Buffer::from_static(&[0u8; 8]).unwrap().read().unwrap();
    let _records: &[Padded] = guard.as_slice_of::<Padded>().unwrap();
    let _buffer = Buffer::from_vec(vec![Padded { small: 1, large: 2 }]);
}
