//! A Read lease grants no `&mut`.

use crossdock::Array;

fn main() {
    let guard = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().read().unwrap();
    guard[[0]] = 7;
}
