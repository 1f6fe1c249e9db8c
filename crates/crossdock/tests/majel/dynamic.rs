//! Arrays whose dtype and rank are known at run time, their values, and dispatch to typed code.

use crossdock::array::{Native, PairVisitor, Visitor};
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Value};
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Allocation, Place, default_place};
use crossdock::{Array, Casting, DArray, dispatch};

use crate::{DEFAULT_PLACE, assert_says, bytes, gpu};

fn table() -> DArray {
    DArray::from_fn(DType::F32, &[2, 3], Order::RowMajor, |i| Value::from((10 * i[0] + i[1]) as u64)).unwrap()
}

#[test]
fn a_value_is_of_any_type_and_converted_with_a_check() {
    let value = Value::from(2.5f32);
    assert_eq!((value.as_f64(), value.as_i64()), (Some(2.5), None));
    let mut bytes = [0; 4];
    Value::from(7).write(&DType::F32, &mut bytes).unwrap();
    assert_eq!(f32::from_ne_bytes(bytes), 7.0);
    let error = Value::from(2.5).write(&DType::I32, &mut bytes).unwrap_err();
    assert!(error.is_value());
    assert_says(&error, &["2.5", "int32"]);
    assert_eq!(Value::read(&DType::F32, &7f32.to_ne_bytes()).unwrap(), Value::Float(7.0));
}

#[test]
fn the_name_and_the_size_are_the_dtypes() {
    for (dtype, name, size) in
        [(DType::F16, "float16", 2), (DType::F32, "float32", 4), (DType::F64, "float64", 8)]
    {
        assert_eq!((dtype.to_string().as_str(), dtype.itemsize()), (name, size));
    }
}

#[test]
fn a_dynamic_array_is_made_of_any_typed_one() {
    let array = DArray::from(Array::from_vec(vec![1u16, 2, 3, 4], [2, 2]).unwrap());
    assert_eq!((array.dtype(), array.rank()), (&DType::U16, 2));
    let bytes = DArray::from(Array::<[u8; 3], 5>::zeros([1; 5]).unwrap());
    assert_eq!((bytes.dtype().to_string().as_str(), bytes.rank()), ("(3,)uint8", 5));
}

#[test]
fn a_typed_array_is_had_of_a_dynamic_one_or_the_dynamic_one_comes_back() {
    let refused = Array::<f32, 3>::try_from(table()).unwrap_err();
    assert_says(&refused.error, &["rank 2", "3"]);
    let array = Array::<f32, 2>::try_from(refused.value).unwrap();
    assert_eq!(array.get([1, 2]).unwrap(), 12.0);
}

#[test]
fn elements_are_values_that_go_in_and_out() {
    let array = table();
    assert_eq!(array.get(&[1, 2]).unwrap(), Value::Float(12.0));
    array.set(&[1, 2], &Value::Int(-7)).unwrap();
    assert_eq!(array.get(&[1, 2]).unwrap(), Value::Float(-7.0));
    assert!(array.set(&[1, 2], &"seven".into()).unwrap_err().is_value());
    assert!(array.get(&[2, 0]).unwrap_err().is_bounds());
}

#[test]
fn a_dynamic_array_tells_shape_strides_memory_and_place() {
    let array = table();
    assert_eq!((array.shape(), array.strides()), (&[2, 3][..], &[12, 4][..]));
    let (buffer, offset) = array.buffer().unwrap();
    assert_eq!((buffer.address(), offset, buffer.nbytes()), (array.as_ptr().addr(), 0, 24));
    assert_eq!(array.place(), Place::CPU);
}

#[test]
fn the_dtype_is_a_tag_and_the_order_is_asked_for() {
    let array = table();
    assert_eq!(array.dtype(), &DType::F32);
    assert!(array.is_contiguous(Order::RowMajor) && !array.is_contiguous(Order::ColumnMajor));
}

#[test]
fn types_are_named_and_compared_by_dtype_and_rank() {
    let array = table();
    assert_eq!(format!("{} {}", array.dtype(), array.rank()), "float32 2");
    let all = [table(), table(), DArray::zeros(DType::F32, &[4], Order::RowMajor).unwrap()];
    assert!(all.windows(2).all(|two| two[0].dtype() == two[1].dtype()));
    assert!(!all.windows(2).all(|two| two[0].rank() == two[1].rank()));
}

#[test]
fn a_cast_makes_a_new_array_of_another_dtype() {
    let halves = table().cast(&DType::F16, Order::RowMajor, Casting::Checked).unwrap();
    assert_eq!((halves.dtype(), halves.get(&[1, 2]).unwrap()), (&DType::F16, Value::Float(12.0)));
    let large = DArray::full(DType::F64, &[2], 300, Order::RowMajor).unwrap();
    let error = large.cast(&DType::U8, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(error.is_value());
    assert_says(&error, &["300", "uint8"]);
}

#[test]
fn a_dynamic_array_is_made_over_an_allocation_with_strides() {
    let memory = Buffer::from(Allocation::new(40, Place::CPU).unwrap());
    let layout = Layout::new(&[2, 3], &[20, 4], 4).unwrap();
    let array = DArray::from_buffer(memory.clone(), DType::F32, layout, 8).unwrap();
    assert_eq!(array.as_ptr().addr() - memory.address(), 8);
    let error = Layout::new(&[2, 3], &[20], 4).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["1 strides", "2 axes"]);
}

#[test]
fn a_dynamic_array_is_made_over_an_allocation_in_an_order() {
    let memory = Allocation::new(24, Place::CPU).unwrap();
    let array = DArray::from_buffer_in_order(memory, DType::F32, &[2, 3], Order::ColumnMajor).unwrap();
    assert_eq!(array.strides(), [4, 8]);
}

#[test]
fn a_dynamic_array_is_made_with_strides_at_a_place() {
    let padded = Layout::new(&[3, 5], &[16, -2], 2).unwrap();
    for place in [Place::CPU, gpu(0)] {
        let array = DArray::zeros_with_layout(DType::I16, padded.clone(), place).unwrap();
        assert_eq!((array.place(), array.strides()), (place, &[16, -2][..]));
        // As far as the strides reach: 2 rows of 16 bytes and one of 10.
        assert_eq!(bytes(&array), vec![0; 42]);
    }
}

#[test]
fn a_dynamic_array_is_made_at_a_place() {
    for place in [Place::CPU, gpu(1)] {
        let array = DArray::zeros(DType::F64, &[2, 3], place).unwrap();
        assert_eq!((array.place(), array.strides(), bytes(&array)), (place, &[24, 8][..], vec![0; 48]));
    }
}

#[test]
fn a_dynamic_array_is_made_at_the_default_place() {
    let _alone = DEFAULT_PLACE.lock().unwrap();
    let array = DArray::zeros(DType::F64, &[2, 3], default_place()).unwrap();
    assert_eq!((array.place(), array.dtype()), (default_place(), &DType::F64));
}

#[test]
fn a_visitor_is_called_with_the_typed_array() {
    struct Sum;
    impl Visitor for Sum {
        type Output = f64;
        fn visit<T: Native, const D: usize>(self, array: Array<T, D>) -> f64 {
            let all = array.layout().indices(Order::RowMajor);
            all.map(|index| array.get(index).unwrap().into().as_f64().unwrap()).sum()
        }
    }
    assert_eq!(table().visit(Sum).unwrap(), 36.0);
    let refused = DArray::zeros(DType::C64, &[2], Order::RowMajor).unwrap().visit(Sum).unwrap_err();
    assert_says(&refused.error, &["complex64", "rank 1"]);
}

#[test]
fn a_visitor_is_called_with_two_arrays_that_are_alike() {
    struct Same;
    impl PairVisitor for Same {
        type Output = bool;
        fn visit<T: Native, const D: usize>(self, a: Array<T, D>, b: Array<T, D>) -> bool {
            a.shape() == b.shape()
                && a.layout().indices(Order::RowMajor).all(|i| a.get(i).unwrap() == b.get(i).unwrap())
        }
    }
    assert!(table().visit_with(table(), Same).unwrap());
    let refused = table().visit_with(DArray::zeros(DType::F64, &[2, 3], Order::RowMajor).unwrap(), Same);
    assert_says(&refused.unwrap_err().error, &["float32", "float64", "rank 2"]);
}

#[test]
fn code_is_run_on_two_arrays_of_any_types_by_a_macro() {
    let index = DArray::from_vec(vec![2u8, 0], &[2]).unwrap();
    let picked = dispatch!((table(), index), (Array<f32 | i16, 2>, Array<u8 | u32, 1>), |values, index| {
        let index = index.read().unwrap().to_vec();
        index.iter().map(|&i| f64::from(values.get([1, i as usize]).unwrap())).collect::<Vec<_>>()
    });
    assert_eq!(picked.unwrap(), [12.0, 10.0]);
}
