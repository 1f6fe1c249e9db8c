use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Name {
    text: &'static u8,
}

fn main() {}
