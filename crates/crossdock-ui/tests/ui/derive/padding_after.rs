use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Trade {
    price: f64,
    kind: [u8; 7],
}

fn main() {}
