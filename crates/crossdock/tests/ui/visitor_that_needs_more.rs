//! A visitor is called with ten element types, and can do only what all of them can.

use crossdock::Array;
use crossdock::array::{Native, Visitor};

struct Sum;

impl Visitor for Sum {
    type Output = f64;

    fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> f64 {
        array.read().unwrap().view().iter().map(|&element| element.sqrt()).sum()
    }
}

fn main() {}
