use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(packed)]
struct Point {
    x: f32,
    y: f32,
}

fn main() {}
