//! Records and sub-arrays on a device: matched by the names of their fields, with the same errors
//! as on the CPU.

use crossdock::device;
use crossdock::element::{DType, Field};
use crossdock::layout::Order;
use crossdock::memory::Place;
use crossdock::{Array, Casting, DArray, s};

use crate::Subject;

fn packed() -> DType {
    let inner = DType::packed_record([("x", DType::F32), ("y", DType::F64)]).unwrap();
    let codes = DType::subarray(&[3], DType::I16).unwrap();
    DType::packed_record([("kind", DType::U8), ("at", inner), ("codes", codes)]).unwrap()
}

/// Other offsets, other types, gaps, and another order.
fn spread(code: DType) -> DType {
    let inner = DType::record([Field::new("y", 8, DType::F32), Field::new("x", 0, DType::F64)], 16).unwrap();
    let codes = DType::subarray(&[3], code).unwrap();
    let fields = [Field::new("codes", 0, codes), Field::new("at", 16, inner)];
    DType::record(fields, 40).unwrap()
}

fn records() -> DArray {
    let dtype = packed();
    let bytes: Vec<u8> = (0..12 * dtype.itemsize()).map(|byte| (byte % 61) as u8).collect();
    let len = bytes.len();
    let array = DArray::from(Array::from_vec(bytes, [len]).unwrap());
    array.view_as(&dtype).unwrap().reshape(&[3, 4]).unwrap()
}

fn bytes(array: &DArray) -> Vec<u8> {
    let here = array.copy_to(&device::memory(Place::CPU).unwrap()).unwrap();
    here.buffer().unwrap().0.read().unwrap().to_vec()
}

pub fn records_become_others_by_the_names_of_their_fields(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let here = records();
    let there = here.copy_to(&device.memory()).unwrap();
    for to in [spread(DType::I32), spread(DType::I16), spread(DType::F64), packed()] {
        for view in [
            |array: &DArray| array.clone(),
            |array: &DArray| array.transpose().unwrap().slice(s![..;-1, 1..]).unwrap(),
        ] {
            let wanted = view(&here).cast(&to, Order::RowMajor, Casting::Checked).unwrap();
            let got = view(&there).cast(&to, Order::RowMajor, Casting::Checked).unwrap();
            assert_eq!((got.place(), got.dtype()), (device.place(), &to));
            assert_eq!(bytes(&got), bytes(&wanted), "what lies between fields is zero");
        }
    }
}

pub fn what_lies_between_the_fields_that_are_assigned_is_left_alone(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let make = |fill: u8| {
        let bytes = DArray::full(DType::U8, &[12 * 40], fill, Order::RowMajor).unwrap();
        bytes.view_as(&spread(DType::I32)).unwrap().reshape(&[3, 4]).unwrap()
    };
    let wanted = make(0xee);
    wanted.assign(&records(), Casting::Checked).unwrap();
    let target = make(0xee).copy_to(&device.memory()).unwrap();
    target.assign(&records().copy_to(&device.memory()).unwrap(), Casting::Checked).unwrap();
    assert_eq!(bytes(&target), bytes(&wanted));
    // From the host too, where they are packed first.
    let target = make(0xee).copy_to(&device.memory()).unwrap();
    target.assign(&records(), Casting::Checked).unwrap();
    assert_eq!(bytes(&target), bytes(&wanted));
    // Also where the dtypes are the same.
    let (same, other) = (make(0xee).copy_to(&device.memory()).unwrap(), make(0x11));
    same.assign(&other.copy_to(&device.memory()).unwrap(), Casting::Checked).unwrap();
    let wanted = make(0xee);
    wanted.assign(&other, Casting::Checked).unwrap();
    assert_eq!(bytes(&same), bytes(&wanted));
}

pub fn the_first_record_that_does_not_fit_is_told_as_on_the_processor(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let to = spread(DType::U8);
    for view in
        [|array: &DArray| array.clone(), |array: &DArray| array.transpose().unwrap().reverse(0).unwrap()]
    {
        let wanted = view(&records()).cast(&to, Order::RowMajor, Casting::Checked).unwrap_err();
        let there = view(&records().copy_to(&device.memory()).unwrap());
        let got = there.cast(&to, Order::RowMajor, Casting::Checked).unwrap_err();
        assert!(got.is_value());
        assert_eq!(got.to_string(), wanted.to_string());
    }
    let missing = DType::packed_record([("price", DType::F64)]).unwrap();
    let wanted = records().cast(&missing, Order::RowMajor, Casting::Checked).unwrap_err();
    let there = records().copy_to(&device.memory()).unwrap();
    let got = there.cast(&missing, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(got.is_dtype());
    assert_eq!(got.to_string(), wanted.to_string());
    // Sub-arrays that are not part of a record.
    let codes = records().field("codes").unwrap();
    let there = codes.copy_to(&device.memory()).unwrap();
    let wanted = codes.cast(&DType::U8, Order::RowMajor, Casting::Checked).unwrap_err();
    let got = there.cast(&DType::U8, Order::RowMajor, Casting::Checked).unwrap_err();
    assert_eq!(got.to_string(), wanted.to_string());
}
