use crossdock_derive::Element;

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
struct Mask([bool; 8]);

fn main() {}
