//! A Write guard returns one mutable view at a time; splitting it gives several.

use crossdock::Array;

fn main() {
    let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    let mut guard = array.write().unwrap();
    let mut one = guard.view_mut();
    let other = guard.view_mut();
    one[[0]] = other[[1]];
}
