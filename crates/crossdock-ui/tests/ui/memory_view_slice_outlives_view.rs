//! What a `MemoryView` gives by reference is borrowed from it: dropping it gives the lease back.

use crossdock::Array;
use crossdock::view::Request;

fn main() {
    let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    let view = array.export(&Request::read()).unwrap();
    let slice = view.as_slice::<u8>().unwrap();
    drop(view);
    println!("{slice:?}");
}
