//! References to one element, and text.

use crossdock::array::Reference;
use crossdock::element::{DType, Value};
use crossdock::layout::Order;
use crossdock::memory::copied_bytes_here;
use crossdock::{Array, DArray};

use crate::{assert_says, gpu};

fn table() -> Array<f32, 2> {
    Array::from_fn([2, 3], |[i, j]| (10 * i + j) as f32).unwrap()
}

#[test]
fn an_element_is_referred_to_and_keeps_the_memory() {
    let array = table();
    let element = array.reference([1, 2]).unwrap();
    let other = array.clone();
    drop(array);
    element.set(99.0).unwrap();
    assert_eq!((element.get().unwrap(), other.get([1, 2]).unwrap()), (99.0, 99.0));
    drop(other);
    assert_eq!(element.get().unwrap(), 99.0);
    assert!(table().reference([2, 0]).unwrap_err().is_bounds());
}

#[test]
fn assigning_a_reference_writes_the_value_and_never_rebinds() {
    let array = table();
    let (one, two) = (array.reference([0, 0]).unwrap(), array.reference([1, 2]).unwrap());
    one.assign(&two).unwrap();
    assert_eq!(array.get([0, 0]).unwrap(), 12.0);
    two.set(-1.0).unwrap();
    assert_eq!((one.get().unwrap(), array.get([0, 0]).unwrap()), (12.0, 12.0));
}

#[test]
fn references_are_compared_by_value_with_each_other_and_with_values() {
    let array = table();
    let (one, two) = (array.reference([0, 1]).unwrap(), table().reference([0, 1]).unwrap());
    assert!(one == two && one == 1.0 && one.equals(&two).unwrap());
    two.set(5.0).unwrap();
    assert!(one != two && !one.equals(&two).unwrap());
}

#[test]
fn an_element_of_any_dtype_is_written_with_conversion_and_a_check() {
    let array = DArray::zeros(DType::F16, &[2, 3], Order::RowMajor).unwrap();
    let element = array.reference(&[1, 2]).unwrap();
    element.set(7).unwrap();
    assert_eq!((element.get().unwrap(), element.dtype()), (Value::Float(7.0), &DType::F16));
    let error = element.set("seven").unwrap_err();
    assert!(error.is_value());
    assert_says(&error, &["float16"]);
    assert_eq!(array.get(&[1, 2]).unwrap(), Value::Float(7.0));
}

#[test]
fn assigning_a_dynamic_reference_converts_the_value_and_never_rebinds() {
    let halves = DArray::zeros(DType::F16, &[2], Order::RowMajor).unwrap();
    let target = halves.reference(&[0]).unwrap();
    let source = table().reference([1, 1]).unwrap();
    target.assign(&source.clone().into()).unwrap();
    assert_eq!(halves.get(&[0]).unwrap(), Value::Float(11.0));
    target.set(3).unwrap();
    assert_eq!((source.get().unwrap(), target.dtype()), (11.0, &DType::F16));
}

#[test]
fn a_typed_reference_is_had_of_a_dynamic_one_or_the_dynamic_one_comes_back() {
    let element = DArray::from(table()).reference(&[1, 1]).unwrap();
    let refused = Reference::<f64>::try_from(element).unwrap_err();
    assert_says(&refused.error, &["float32", "float64"]);
    assert_eq!(Reference::<f32>::try_from(refused.value).unwrap().get().unwrap(), 11.0);
}

#[test]
fn a_reference_is_shown_as_its_value() {
    assert_eq!(table().reference([1, 2]).unwrap().to_string(), "12.0");
}

#[test]
fn an_array_is_shown_as_numpy_shows_it_and_from_its_edges_where_it_is_large() {
    let array = DArray::from(table());
    assert_eq!(array.to_string(), "[[ 0.  1.  2.]\n [10. 11. 12.]]");
    let large = Array::from_fn([100, 100], |[i, j]| (i * 100 + j) as u32).unwrap();
    let preview = large.display().threshold(10).edge_items(2).to_string();
    assert_eq!(preview.lines().count(), 5);
    assert!(preview.starts_with("[[   0    1 ...   98   99]"), "{preview}");
}

#[test]
fn one_axis_is_shown_in_a_line() {
    let array = Array::from_vec(vec![0, 1], [2]).unwrap();
    assert_eq!(array.to_string(), "[0 1]");
}

#[test]
fn an_element_of_a_device_is_one_copy_of_that_element() {
    let array = Array::<f32, 2>::full(([2, 3], gpu(0)), 1.5).unwrap();
    let element = array.reference([1, 2]).unwrap();
    assert_eq!((element.place(), element.get().unwrap()), (gpu(0), 1.5));
    element.set(2.5).unwrap();
    let before = copied_bytes_here();
    assert_eq!(array.get([1, 2]).unwrap(), 2.5);
    // Other tests may copy meanwhile.
    assert!(copied_bytes_here() - before >= 4);
}
