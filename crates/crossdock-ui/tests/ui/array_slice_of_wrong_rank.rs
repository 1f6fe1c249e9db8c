//! A slice names every axis, or writes `...` for the others.

use crossdock::{Array, s};

fn main() {
    let array = Array::from_vec(vec![1u8, 2, 3, 4], [2, 2]).unwrap();
    let _part: Array<u8, 1> = array.slice(s![0, .., 1]).unwrap();
}
