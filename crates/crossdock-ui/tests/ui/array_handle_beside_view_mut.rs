//! While the only handle is mutably borrowed, no clone, lease or second view reaches the elements.

use crossdock::Array;

fn main() {
    let mut array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    let mut view = array.as_view_mut().unwrap();
    let other = array.clone();
    let second = array.as_view_mut().unwrap();
    view[[0]] = other.get([1]).unwrap() + second[[0]];
}
