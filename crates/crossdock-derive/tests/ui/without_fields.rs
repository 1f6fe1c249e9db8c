use crossdock_derive::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Nothing;

fn main() {}
