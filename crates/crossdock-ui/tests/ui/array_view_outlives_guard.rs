//! A view borrows from its guard: the right to rely on constancy ends with the lease.

use crossdock::Array;

fn main() {
    let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    let view = {
        let guard = array.read().unwrap();
        guard.view()
    };
    println!("{view:?}");
}
