use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Nothing;

fn main() {}
