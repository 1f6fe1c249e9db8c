use crossdock::element::Element;

#[derive(Clone, Copy, Element)]
#[repr(C)]
union Bits {
    float: f32,
    word: u32,
}

fn main() {}
