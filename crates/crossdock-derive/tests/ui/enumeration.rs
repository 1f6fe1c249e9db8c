use crossdock_derive::Element;

#[derive(Clone, Copy, Element)]
#[repr(u8)]
enum Side {
    Buy,
    Sell,
}

fn main() {}
