use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C, packed(2))]
struct Wire(u8, u16);

fn main() {}
