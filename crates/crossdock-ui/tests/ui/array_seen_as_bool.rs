//! A cast of bytes needs a type for which every byte is a value.

use crossdock::Array;

fn main() {
    let array = Array::from_vec(vec![0u8, 1, 2, 3], [4]).unwrap();
    let _flags: Array<bool, 1> = array.view_as().unwrap();
}
