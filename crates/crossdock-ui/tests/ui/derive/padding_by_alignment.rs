use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C, align(64))]
struct Line(u64);

fn main() {}
