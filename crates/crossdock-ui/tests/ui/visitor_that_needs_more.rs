//! A visitor is called with ten element types, and must compile for all of them.

use crossdock::Array;
use crossdock::array::{Native, Visitor};

struct Twice;

impl Visitor for Twice {
    type Output = String;

    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> String {
        let first = array.get([0; D]).unwrap();
        (first + first).to_string()
    }
}

fn main() {}
