//! The expression must compile for every rank in the list.

use crossdock::{DArray, dispatch};

fn first(array: DArray) -> f32 {
    dispatch!(array, Array<f32, 1 | 2>, |typed| typed.get([0, 0]).unwrap()).unwrap()
}

fn main() {
    first(DArray::from_vec(vec![1.0f32], &[1, 1]).unwrap());
}
