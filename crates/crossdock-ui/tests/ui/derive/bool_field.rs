use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Flag {
    set: bool,
}

fn main() {}
