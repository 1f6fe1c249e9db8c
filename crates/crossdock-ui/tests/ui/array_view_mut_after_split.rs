//! Splitting a mutable view consumes it: only its parts reach the elements.

use crossdock::array::ArrayViewMut;

fn main() {
    let mut data = [0; 4];
    let mut view = ArrayViewMut::from_slice(&mut data, [2, 2]).unwrap();
    let (mut left, _right) = view.split_at(1, 1).unwrap();
    left[[0, 0]] = 1;
    view[[0, 0]] = 2;
}
