use std::cell::Cell;

use crossdock_derive::Element;

#[derive(Element)]
#[repr(C)]
struct Counter {
    count: Cell<u32>,
}

fn main() {}
