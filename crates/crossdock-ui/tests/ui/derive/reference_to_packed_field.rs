use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C, packed)]
struct Wire {
    kind: u8,
    price: f64,
}

fn main() {
    let wire = Wire { kind: 1, price: 0.5 };
    let _: &f64 = &wire.price;
}
