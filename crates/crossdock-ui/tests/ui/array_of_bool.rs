//! Not every byte is a `bool`.

use crossdock::Array;

fn main() {
    let _flags = Array::from_vec(vec![true, false], [2]);
}
