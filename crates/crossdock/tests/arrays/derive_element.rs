//! The output of `#[derive(Element)]` in a crate that uses it. `crates/crossdock-ui` tests what it
//! refuses.

use crossdock::element::{Be, Bool8, ByteOrder, DType, Element, Le, ScalarKind};

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Trade {
    price: f64,
    volume: u32,
    venue: [u8; 4],
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Tick {
    trade: Trade,
    r#type: i64,
    recent: [Trade; 2],
}

#[derive(Clone, Copy, Element)]
#[repr(C, packed)]
struct Wire {
    kind: u8,
    price: f64,
    flags: u16,
}

#[derive(Clone, Copy, Element)]
#[repr(C, packed(2))]
struct HalfPacked {
    kind: u16,
    price: f64,
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Point(f32, f32);

/// As a crate that exports the library under a name of its own.
mod hub {
    pub(super) use crossdock as arrays;
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
#[element(crate = hub::arrays)]
struct Elsewhere {
    #[element(name = "at")]
    point: [f32; 2],
}

#[test]
fn the_library_may_have_another_path() {
    assert_eq!(printed::<Elsewhere>(), "{at: (2,)float32 @0; 8}");
}

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
struct Metres(f64);

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
struct Path {
    points: [Point; 3],
}

/// `repr` in two attributes, and an alignment that changes nothing.
#[derive(Clone, Copy, Element)]
#[repr(C)]
#[repr(align(16))]
struct Aligned {
    low: u64,
    high: u64,
}

fn printed<T: Element>() -> String {
    assert_eq!(T::dtype().itemsize(), size_of::<T>());
    T::dtype().to_string()
}

#[test]
fn a_record_has_the_names_dtypes_and_offsets_of_the_fields() {
    assert_eq!(printed::<Trade>(), "{price: float64 @0, volume: uint32 @8, venue: (4,)uint8 @12; 16}");
    assert_eq!(printed::<Aligned>(), "{low: uint64 @0, high: uint64 @8; 16}");
}

#[test]
fn records_nest_and_raw_names_are_plain() {
    let tick = Tick::dtype();
    assert_eq!(tick.itemsize(), 56);
    assert_eq!(tick.field("trade").unwrap().dtype(), &Trade::dtype());
    assert_eq!(tick.field("type").unwrap().offset(), 16);
    let recent = tick.field("recent").unwrap();
    assert_eq!(recent.offset(), 24);
    assert_eq!(recent.dtype(), &DType::subarray(&[2], Trade::dtype()).unwrap());
}

#[test]
fn packed_fields_lie_where_the_compiler_put_them() {
    assert_eq!(printed::<Wire>(), "{kind: uint8 @0, price: float64 @1, flags: uint16 @9; 11}");
    assert_eq!(printed::<HalfPacked>(), "{kind: uint16 @0, price: float64 @2; 10}");
}

#[test]
fn nameless_fields_are_called_as_numpy_calls_them() {
    assert_eq!(printed::<Point>(), "{f0: float32 @0, f1: float32 @4; 8}");
}

#[test]
fn a_transparent_struct_is_its_field() {
    assert_eq!(Metres::dtype(), DType::F64);
    assert_eq!(Path::dtype(), DType::subarray(&[3], Point::dtype()).unwrap());
}

#[test]
fn a_struct_in_a_function_is_an_element_too() {
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Local {
        only: i16,
    }
    assert_eq!(printed::<Local>(), "{only: int16 @0; 2}");
}

#[test]
fn a_field_may_be_called_otherwise_than_in_rust() {
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Named {
        #[element(name = "Preis in €")]
        price: f64,
        #[element(name = "price")]
        second: f64,
    }
    assert_eq!(printed::<Named>(), r#"{"Preis in €": float64 @0, price: float64 @8; 16}"#);

    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Pair(u8, #[element(name = "f0_again")] u8);
    assert_eq!(printed::<Pair>(), "{f0: uint8 @0, f0_again: uint8 @1; 2}");
}

#[test]
fn a_header_of_network_numbers_has_no_padding() {
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Header {
        version: u8,
        length: Be<u32>,
        flags: [Bool8; 2],
        offset: Le<f64>,
    }
    let dtype = Header::dtype();
    assert_eq!((align_of::<Header>(), dtype.itemsize()), (1, 15));
    assert_eq!(dtype.field("flags").unwrap().dtype(), &DType::subarray(&[2], DType::BOOL).unwrap());
    let big = DType::scalar(ScalarKind::UInt32, ByteOrder::Big).unwrap();
    let little = DType::scalar(ScalarKind::Float64, ByteOrder::Little).unwrap();
    assert_eq!(dtype.field("length").unwrap().dtype(), &big);
    assert_eq!(dtype.field("offset").unwrap().dtype(), &little);
}
