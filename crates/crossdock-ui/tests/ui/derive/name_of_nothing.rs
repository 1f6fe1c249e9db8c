use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Empty {
    #[element(name = "")]
    x: f32,
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Other {
    #[element(title = "easting")]
    x: f32,
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
#[element(name = "point")]
struct Outside {
    x: f32,
}

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
struct Metres(#[element(name = "metres")] f64);

fn main() {}
