//! Single elements: by index, and by a reference that keeps the memory; on the host and on a
//! device.

use crossdock::array::{DReference, Reference};
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{Device, Effect, Signal};
use crossdock::element::{DType, Field, Value};
use crossdock::layout::{Layout, Order};
use crossdock::ledger;
use crossdock::memory::copied_bytes_here;
use crossdock::view::Request;
use crossdock::{Array, DArray, s};

fn numbers() -> Array<i32, 2> {
    Array::from_vec((0..12).collect(), [3, 4]).unwrap()
}

#[test]
fn a_reference_keeps_the_memory_and_assigning_never_rebinds_it() {
    let array = numbers();
    let (first, last) =
        (array.reference([0, 0]).unwrap(), array.slice(s![..;-1, ..]).unwrap().reference([0, 3]).unwrap());
    let pinned = array.pin().unwrap();
    assert_eq!((first.get().unwrap(), last.get().unwrap()), (0, 11));
    first.assign(&last).unwrap();
    assert_eq!(first.get().unwrap(), 11);
    last.set(5).unwrap();
    assert_eq!((pinned.get([0, 0]).unwrap(), pinned.get([2, 3]).unwrap()), (11, 5));
    drop((array, pinned));
    let again = first.clone();
    drop(first);
    again.set(6).unwrap();
    assert_eq!((again.get().unwrap(), again.to_string().as_str()), (6, "6"));
    assert!(format!("{again:?}").starts_with("Reference to int32 at 0x"));
    assert!(again.as_array().shape().is_empty());
}

#[test]
fn references_are_compared_by_value_and_what_cannot_be_had_is_equal_to_nothing() {
    let array = Array::from_vec(vec![1.0, 1.0, f64::NAN], [3]).unwrap();
    let all: Vec<Reference<f64>> = (0..3).map(|index| array.reference([index]).unwrap()).collect();
    assert!(all[0] == all[1] && all[0] == 1.0 && all[0] != 2.0 && all[2] != all[2].clone());
    let writer = array.write().unwrap();
    assert!(all[0] != 1.0 && all[0] != all[1]);
    assert!(all[0].equals(&all[1]).unwrap_err().is_conflict());
    drop(writer);
    assert!(all[0].equals(&all[1]).unwrap());

    let dynamic = DArray::from(array).reference(&[0]).unwrap();
    assert!(dynamic == Value::Float(1.0) && dynamic != Value::Int(1));
    assert!(dynamic == DReference::from(all[1].clone()));
    let typed = Reference::<f64>::try_from(dynamic).unwrap();
    assert!(typed == 1.0);
    let rejected = Reference::<f32>::try_from(DReference::from(typed)).unwrap_err();
    assert!(rejected.error.is_dtype());
    assert_eq!(rejected.value.get().unwrap().as_f64(), Some(1.0), "nothing is lost");
}

#[test]
fn a_dynamic_reference_converts_with_a_check_and_leaves_padding_alone() {
    let dtype = DType::record([Field::new("a", 1, DType::U8), Field::new("b", 3, DType::I16)], 6).unwrap();
    let records = DArray::zeros(dtype, &[2], Order::RowMajor).unwrap();
    records.buffer().unwrap().0.share().unwrap().copy_from_slice(&[9; 12]).unwrap();
    let record = records.reference(&[1]).unwrap();
    let value = Value::Record(vec![("a".into(), 1u8.into()), ("b".into(), 2i16.into())]);
    record.set(value.clone()).unwrap();
    assert!(record == value && record.dtype() == records.dtype());
    assert_eq!(&records.buffer().unwrap().0.read().unwrap()[6..], [9, 1, 9, 2, 0, 9]);
    assert!(record.set(1.5).unwrap_err().is_value());
    let field = records.field("b").unwrap().reference(&[1]).unwrap();
    assert!(field.set(1.5).unwrap_err().is_value() && field.set(1 << 20).unwrap_err().is_value());
    field.set(-3.0).unwrap();
    assert_eq!((field.get().unwrap(), record.to_string().as_str()), (Value::Int(-3), "(1, -3)"));
}

#[test]
fn wrong_indices_types_and_handles_are_refused() {
    let array = numbers();
    assert!(array.reference([3, 0]).unwrap_err().is_bounds());
    assert!(array.get([0, 4]).unwrap_err().is_bounds() && array.set([9, 9], 1).unwrap_err().is_bounds());
    let readonly = array.clone().into_readonly();
    assert!(readonly.set([0, 0], 1).unwrap_err().is_read_only());
    assert!(readonly.reference([0, 0]).unwrap().set(1).unwrap_err().is_read_only());
    let dynamic = DArray::from(array.clone());
    for index in [&[3, 0][..], &[0, usize::MAX]] {
        assert!(dynamic.reference(index).unwrap_err().is_bounds());
        assert!(dynamic.get(index).unwrap_err().is_bounds());
        assert!(dynamic.get_as::<i32>(index).unwrap_err().is_bounds());
    }
    assert!(dynamic.reference(&[0]).unwrap_err().is_shape());
    assert!(dynamic.get_as::<u32>(&[0, 0]).unwrap_err().is_dtype());
    let reader = array.read().unwrap();
    assert!(array.set([0, 0], 1).unwrap_err().is_conflict());
    assert_eq!((array.get([2, 3]).unwrap(), dynamic.get_as::<i32>(&[2, 3]).unwrap()), (11, 11));
    drop(reader);
    let writer = array.write().unwrap();
    assert!(array.get([0, 0]).unwrap_err().is_conflict());
    assert!(dynamic.get(&[0, 0]).unwrap_err().is_conflict());
    assert!(dynamic.get_as::<i32>(&[0, 0]).unwrap_err().is_conflict());
    assert!(array.reference([0, 0]).unwrap().get().unwrap_err().is_conflict());
    drop(writer);
    assert!(array.write().is_ok(), "no lease is left behind");
}

/// Each dtype by each way: loaded as a machine word, or not.
#[test]
fn every_way_to_an_element_gives_the_same_value() {
    macro_rules! check {
        ($($ty:ty)*) => {
            $(
                let typed = Array::<$ty, 3>::from_vec((0..24).map(|i| i as $ty).collect(), [2, 3, 4]).unwrap();
                let dynamic = DArray::from(typed.slice(s![.., ..;-1, 1..]).unwrap());
                let view = dynamic.export(&Request::pin()).unwrap();
                for index in [[0, 0, 0], [1, 2, 2], [0, 1, 2]] {
                    let wanted = (index[0] * 12 + (2 - index[1]) * 4 + index[2] + 1) as $ty;
                    assert_eq!(dynamic.get(&index).unwrap(), Value::from(wanted));
                    assert_eq!(view.get(&index).unwrap(), Value::from(wanted));
                    assert_eq!(dynamic.get_as::<$ty>(&index).unwrap(), wanted);
                    assert_eq!(view.get_as::<$ty>(&index).unwrap(), wanted);
                    assert!(view.get_as::<[$ty; 1]>(&index).unwrap_err().is_dtype());
                    assert_eq!(dynamic.reference(&index).unwrap().get().unwrap(), Value::from(wanted));
                }
            )*
        };
    }
    check!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
    let swapped = DArray::zeros(DType::I32.swapped(), &[2], Order::RowMajor).unwrap();
    swapped.set(&[1], &7.into()).unwrap();
    assert_eq!(swapped.get(&[1]).unwrap(), Value::Int(7));
    let truth = DArray::zeros(DType::BOOL, &[1; 12], Order::RowMajor).unwrap();
    truth.set(&[0; 12], &true.into()).unwrap();
    assert_eq!(truth.get(&[0; 12]).unwrap(), Value::Bool(true), "above eight axes");
    let rows = DArray::from_rows(vec![vec![1u16, 2], vec![3, 4]]).unwrap();
    assert_eq!((rows.get_as::<u16>(&[1, 0]).unwrap(), rows.get(&[0, 1]).unwrap()), (3, Value::UInt(2)));
    assert_eq!(rows.reference(&[1, 1]).unwrap().get().unwrap(), Value::UInt(4));
    ledger::switch_on();
    assert_eq!(numbers().get([1, 1]).unwrap(), 5, "while leases are listed");
    ledger::switch_off();
}

#[test]
fn an_element_of_a_device_is_copied_by_the_device() {
    let device = FencedDevice::new(0);
    let there = numbers().buffer().unwrap().0.copy_to(&device.memory()).unwrap();
    let typed = Array::<i32, 2>::from_buffer(there.clone(), [3, 4]).unwrap().slice(s![.., ..;-1]).unwrap();
    let before = copied_bytes_here();
    assert_eq!(typed.get([1, 0]).unwrap(), 7);
    assert_eq!(copied_bytes_here() - before, 4);
    typed.set([1, 0], 70).unwrap();
    let reference = typed.reference([1, 0]).unwrap();
    assert!(reference == 70 && reference.place() == device.place());
    reference.set(71).unwrap();
    let dynamic = DArray::from(typed.clone());
    assert_eq!(dynamic.get(&[1, 0]).unwrap(), Value::Int(71));
    assert_eq!(dynamic.get_as::<i32>(&[1, 1]).unwrap(), 6);
    dynamic.set(&[1, 1], &60.into()).unwrap();
    assert!(dynamic.set(&[1, 1], &1.5.into()).unwrap_err().is_value());
    let host = Array::from_vec(vec![5i64], [1]).unwrap().reference([0]).unwrap();
    dynamic.reference(&[0, 0]).unwrap().assign(&host.into()).unwrap();
    assert_eq!((typed.get([0, 0]).unwrap(), typed.get([1, 1]).unwrap()), (5, 60));
    assert!(typed.get([3, 0]).unwrap_err().is_bounds());
    assert!(dynamic.get(&[0]).unwrap_err().is_shape());
    assert!(typed.clone().into_readonly().set([0, 0], 1).unwrap_err().is_read_only());

    // A record keeps its padding, and an element of size 0 can be read.
    let dtype = DType::record([Field::new("a", 1, DType::U8)], 3).unwrap();
    let layout = Layout::contiguous(&[16], 3, Order::RowMajor).unwrap();
    let records = DArray::from_buffer(there, dtype, layout, 0).unwrap();
    let byte = DArray::from_buffer(
        records.buffer().unwrap().0,
        DType::U8,
        Layout::contiguous(&[48], 1, Order::RowMajor).unwrap(),
        0,
    );
    let byte = byte.unwrap();
    byte.set(&[3], &200.into()).unwrap();
    records.set(&[1], &Value::Record(vec![("a".into(), 8.into())])).unwrap();
    assert_eq!((byte.get(&[3]).unwrap(), byte.get(&[4]).unwrap()), (Value::UInt(200), Value::UInt(8)));
    let lease = byte.buffer().unwrap().0.device_lease(crossdock::memory::LeaseKind::Write);
    assert!(byte.get(&[0]).unwrap_err().is_conflict());
    drop(lease);
    assert!(byte.get(&[0]).is_ok());
}

#[test]
fn an_element_that_a_device_is_writing_is_waited_for() {
    let array = numbers();
    let (signal, completion) = Signal::new();
    array.buffer().unwrap().0.note_event(signal, Effect::Writes).unwrap();
    let setter = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        completion.finish(Ok(()));
    });
    assert_eq!(array.get([0, 1]).unwrap(), 1);
    setter.join().unwrap();
}
