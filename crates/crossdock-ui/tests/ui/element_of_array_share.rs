//! Under a Share lease other holders write at any time, so there is no `&T`.

use crossdock::Array;

fn main() {
    let guard = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().share().unwrap();
    let _element: &u8 = &guard[[0]];
}
