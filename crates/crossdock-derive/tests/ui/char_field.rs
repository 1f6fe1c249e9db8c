use crossdock_derive::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Letter(char);

fn main() {}
