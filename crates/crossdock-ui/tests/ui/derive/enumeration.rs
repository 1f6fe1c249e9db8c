use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(u8)]
enum Side {
    Buy,
    Sell,
}

fn main() {}
