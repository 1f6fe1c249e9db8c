use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Trade {
    volume: u32,
    price: f64,
}

fn main() {}
