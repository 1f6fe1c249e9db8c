use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
struct Mask([bool; 8]);

fn main() {}
