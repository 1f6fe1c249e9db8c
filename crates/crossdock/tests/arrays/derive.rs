//! Structs of a program as records of arrays: typed by the derive, dynamic by name, and their
//! fields zero-copy.

use crossdock::element::{DType, Element, Value};
use crossdock::layout::Order;
use crossdock::memory::copied_bytes_here;
use crossdock::view::Request;
use crossdock::{Array, DArray, s};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Track {
    id: u64,
    ends: [Point; 2],
    flags: [[u8; 4]; 2],
}

#[derive(Clone, Copy, Element)]
#[repr(C, packed)]
struct Wire {
    kind: u8,
    price: f64,
    at: Point,
}

fn track(id: u64) -> Track {
    let point = |n: u64| Point { x: n as f32, y: -(n as f32) };
    Track { id, ends: [point(10 * id), point(10 * id + 1)], flags: [[id as u8; 4], [1, 2, 3, 4]] }
}

/// A single test, since the counter of copied bytes belongs to the process.
#[test]
fn structs_and_records_are_the_same_bytes() {
    let copied = copied_bytes_here();
    fields_of_structs_lie_in_place();
    packed_structs_are_elements_by_reference_though_their_fields_are_not();
    records_become_structs_again_or_come_back();
    assert_eq!(copied_bytes_here(), copied);
}

fn fields_of_structs_lie_in_place() {
    let tracks = Array::from_vec((0..6).map(track).collect(), [2, 3]).unwrap();
    let records = DArray::from(tracks.clone());
    let address = records.as_ptr().addr();

    let ids = Array::<u64, 2>::try_from(records.field("id").unwrap()).unwrap();
    assert_eq!((ids.as_ptr().addr(), ids.strides()), (address, &[96, 32]));
    assert!(ids.read().unwrap().iter().copied().eq(0..6));

    let ends = records.field("ends").unwrap();
    assert_eq!((ends.shape(), ends.strides()), (&[2, 3, 2][..], &[96, 32, 8][..]));
    let ends = Array::<Point, 3>::try_from(ends).unwrap();
    assert_eq!(ends.read().unwrap()[[1, 2, 1]], Point { x: 51.0, y: -51.0 });
    let heights = DArray::from(ends).field("y").unwrap();
    assert_eq!(heights.as_ptr().addr(), address + 12);
    assert_eq!(heights.get(&[1, 0, 0]).unwrap().as_f64(), Some(-30.0));

    let flags = Array::<u8, 4>::try_from(records.at(".flags").unwrap()).unwrap();
    assert_eq!((flags.shape(), flags.strides()), (&[2, 3, 2, 4], &[96, 32, 4, 1]));
    assert_eq!(flags.get([1, 1, 0, 3]).unwrap(), 4);

    // A write to a field is a write to the struct.
    heights.set(&[0, 1, 1], &Value::from(0.5)).unwrap();
    ids.slice(s![.., 1]).unwrap().set([0], 77).unwrap();
    let guard = tracks.read().unwrap();
    assert_eq!((guard[[0, 1]].id, guard[[0, 1]].ends[1].y), (77, 0.5));
    assert_eq!(guard[[0, 2]], track(2));
}

fn packed_structs_are_elements_by_reference_though_their_fields_are_not() {
    let at = Point { x: 1.5, y: 2.5 };
    let wires = (0..4).map(|kind| Wire { kind, price: f64::from(kind) + 0.25, at }).collect();
    let mut wires = Array::from_vec(wires, [4]).unwrap();
    assert_eq!(wires.strides(), &[17]);
    for wire in wires.as_view_mut().unwrap().iter_mut() {
        wire.price *= 2.0;
    }
    let records = DArray::from(wires.clone());
    let prices = Array::<f64, 1>::try_from(records.field("price").unwrap()).unwrap();
    assert!(prices.read().unwrap_err().is_alignment());
    assert!(prices.pin().unwrap().values().eq([0.5, 2.5, 4.5, 6.5]));
    assert_eq!(prices.strides(), &[17]);
    let xs = records.at("::-1, .at.x").unwrap();
    assert_eq!((xs.as_ptr().addr(), xs.strides()), (records.as_ptr().addr() + 3 * 17 + 9, &[-17][..]));
    assert_eq!(xs.get(&[0]).unwrap().as_f64(), Some(1.5));
    let kinds = records.field("kind").unwrap().export(&Request::read()).unwrap();
    assert!(kinds.as_view::<u8, 1>().unwrap().iter().copied().eq(0..4));
    let price = wires.read().unwrap()[[3]].price;
    assert_eq!(price, 6.5);
}

fn records_become_structs_again_or_come_back() {
    let named = |second: &str| {
        let dtype = DType::packed_record([("x", DType::F32), (second, DType::F32)]).unwrap();
        DArray::zeros(dtype, &[3], Order::RowMajor).unwrap()
    };
    let points = named("y");
    points.field("y").unwrap().set(&[2], &Value::from(4.5)).unwrap();
    let points = Array::<Point, 1>::try_from(points).unwrap();
    assert_eq!(points.read().unwrap()[[2]], Point { x: 0.0, y: 4.5 });

    let others = named("z");
    let address = others.as_ptr();
    let rejected = Array::<Point, 1>::try_from(others).unwrap_err();
    assert!(rejected.error.is_dtype());
    assert!(rejected.error.to_string().contains("z: float32 @4"), "{}", rejected.error);
    assert_eq!(rejected.value.as_ptr(), address);
}
