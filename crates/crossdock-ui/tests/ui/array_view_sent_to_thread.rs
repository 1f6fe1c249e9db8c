//! A view borrows from its guard, so a thread that may outlive the guard cannot use it.

use crossdock::Array;

fn main() {
    let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    let guard = array.read().unwrap();
    let view = guard.view();
    std::thread::spawn(move || println!("{view:?}"));
}
