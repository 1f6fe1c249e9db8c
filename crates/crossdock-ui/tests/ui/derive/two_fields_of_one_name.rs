use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Point {
    x: f32,
    #[element(name = "x")]
    y: f32,
}

fn main() {}
