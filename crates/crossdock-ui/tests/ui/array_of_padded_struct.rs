//! Padding may be uninitialised, so a struct with padding is not an element.

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    kind: u8,
    value: f64,
}

fn main() {
    let zero = Padded { kind: 0, value: 0.0 };
    let _array = crossdock::Array::from_vec(vec![zero; 4], [4]);
}
