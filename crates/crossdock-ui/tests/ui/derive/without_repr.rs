use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
struct Point {
    x: f32,
    y: f32,
}

fn main() {}
