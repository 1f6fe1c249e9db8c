use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Letter(char);

fn main() {}
