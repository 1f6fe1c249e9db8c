//! References from a `MemoryView` borrow from it: dropping it releases the lease.

use crossdock::Array;
use crossdock::view::Request;

fn main() {
    let array = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap();
    let view = array.export(&Request::read()).unwrap();
    let slice = view.as_slice::<u8>().unwrap();
    drop(view);
    println!("{slice:?}");
}
