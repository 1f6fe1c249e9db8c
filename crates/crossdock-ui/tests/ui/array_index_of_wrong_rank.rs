//! An index has one number for each axis.

use crossdock::Array;

fn main() {
    let array = Array::from_vec(vec![1u8, 2, 3, 4], [2, 2]).unwrap();
    let _element = array.get([0, 0, 1]).unwrap();
}
