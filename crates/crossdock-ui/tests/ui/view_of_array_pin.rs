//! Under a Pin lease other holders write at any time, so there is no view by reference.

use crossdock::Array;

fn main() {
    let guard = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().pin().unwrap();
    let _view = guard.view();
}
