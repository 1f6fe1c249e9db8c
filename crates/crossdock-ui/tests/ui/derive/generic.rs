use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Pair<T> {
    first: T,
    second: T,
}

fn main() {}
