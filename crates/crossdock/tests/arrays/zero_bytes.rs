//! Elements of size 0: an array can have 2^40 of them, so no operation may loop over them.

use crossdock::buffer::Buffer;
use crossdock::element::{DType, Field, Value};
use crossdock::exchange::files::{Format, SaveOptions, npy};
use crossdock::layout::Order;
use crossdock::view::Request;
use crossdock::{Array, Casting, DArray};

/// Too many to loop over.
const MANY: usize = 1 << 40;

fn subarray(shape: &[usize], dtype: DType) -> DType {
    DType::subarray(shape, dtype).unwrap()
}

fn of(dtype: &DType, shape: &[usize]) -> DArray {
    DArray::zeros(dtype.clone(), shape, Order::RowMajor).unwrap()
}

/// Every kind of element of size 0.
fn dtypes() -> Vec<DType> {
    let (void, bytes, text) = (DType::void(0).unwrap(), DType::bytes(0).unwrap(), DType::text(0).unwrap());
    let record = DType::packed_record([("a", void.clone()), ("b", bytes.clone())]).unwrap();
    vec![
        void.clone(),
        bytes,
        text,
        subarray(&[0], DType::F64),
        subarray(&[MANY], void.clone()),
        subarray(&[3], record.clone()),
        DType::packed_record([("in", record.clone()), ("many", subarray(&[MANY], void))]).unwrap(),
        DType::record(Vec::<Field>::new(), 0).unwrap(),
        record,
    ]
}

#[test]
fn whole_arrays_are_filled_copied_compared_and_converted_at_once() {
    for dtype in dtypes() {
        let shapes: [&[usize]; 3] = [&[MANY], &[3, MANY / 4, 1], &[0, MANY]];
        for shape in shapes {
            let (one, other) = (of(&dtype, shape), of(&dtype, shape));
            let what = format!("{dtype} {shape:?}");
            assert!(one.equals(&other).unwrap(), "{what}");
            assert_eq!(one.first_difference(&other).unwrap(), None, "{what}");
            one.assign(&other, Casting::Checked).unwrap();
            if let Ok(value) = of(&dtype, &[]).get(&[]) {
                one.fill(&value).unwrap();
            }
            let turned = one.permute(&(0..shape.len()).rev().collect::<Vec<_>>()).unwrap();
            for order in [Order::RowMajor, Order::ColumnMajor] {
                assert_eq!(
                    (turned.to_order(order).unwrap().nbytes(), turned.len()),
                    (0, one.len()),
                    "{what}"
                );
            }
            assert!(turned.cast(&dtype, Order::RowMajor, Casting::Saturating).is_ok(), "{what}");
            let view = one.export(&Request::pin()).unwrap();
            assert!(view.to_bytes().unwrap().is_empty() && view.chunks().unwrap().next_chunk().is_none());
            assert!(one.to_string().len() < 1 << 20 && !format!("{one:?}").is_empty(), "{what}");
            assert!(one.reshape(&[one.len()]).is_ok() && one.at("1:").is_ok());
        }
    }
}

#[test]
fn records_of_no_bytes_go_to_columns_and_back() {
    let void = DType::void(0).unwrap();
    let dtype = DType::packed_record([("a", void.clone()), ("b", subarray(&[5], void.clone()))]).unwrap();
    let records = of(&dtype, &[MANY]);
    let columns = records.to_columns().unwrap();
    assert_eq!((columns[0].1.shape(), columns[1].1.shape()), (&[MANY][..], &[MANY, 5][..]));
    let named: Vec<(&str, &DArray)> = columns.iter().map(|(name, column)| (&**name, column)).collect();
    let again = DArray::from_columns(&named).unwrap();
    assert!(again.dtype() == &dtype && again.equals(&records).unwrap());
    records.assign_columns(&named, Casting::Checked).unwrap();
    // Other names and another order make different records.
    let other = DType::packed_record([("b", subarray(&[5], void)), ("a", DType::bytes(0).unwrap())]).unwrap();
    let _either = records.cast(&other, Order::RowMajor, Casting::Checked);
    // One field with bytes makes a loop necessary; the other field does not make it longer.
    let mixed =
        DType::packed_record([("x", DType::U8), ("none", subarray(&[MANY], DType::void(0).unwrap()))]);
    let mixed = of(&mixed.unwrap(), &[300]);
    mixed.field("x").unwrap().fill(&Value::UInt(7)).unwrap();
    assert!(mixed.equals(&mixed.to_order(Order::RowMajor).unwrap()).unwrap());
    assert_eq!(mixed.to_columns().unwrap()[1].1.shape(), [300, MANY]);
}

#[test]
fn what_is_refused_of_one_is_refused_of_all_with_the_first_index() {
    let (void, number) = (of(&DType::void(0).unwrap(), &[2, MANY]), of(&DType::BOOL, &[2, 1]));
    assert!(void.equals(&number.broadcast_to(&[2, MANY]).unwrap()).unwrap_err().is_dtype());
    let error = void.cast(&DType::bytes(0).unwrap(), Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(error.to_string().starts_with("element [0, 0]: "), "{error}");
}

#[test]
fn typed_elements_of_no_bytes_become_a_vector_at_once() {
    let array = Array::<[u8; 0], 1>::zeros([MANY]).unwrap();
    assert_eq!(array.pin().unwrap().to_vec().len(), MANY);
    assert_eq!(array.read().unwrap().to_vec().len(), MANY);
    assert_eq!(array.slice(crossdock::s![..;-3]).unwrap().read().unwrap().to_vec().len(), MANY.div_ceil(3));
    array.fill([]).unwrap();
    assert!(array.equals(&array.clone()).unwrap());
}

#[test]
fn rows_behind_pointers_have_elements_of_no_bytes_too() {
    let row = Buffer::zeroed(8).unwrap();
    let rows = [row.clone(), row];
    let layout =
        crossdock::layout::Layout::with_suboffsets(&[2, MANY], &[8, 0], &[Some(0), None], 0).unwrap();
    let table: Vec<usize> = rows.iter().map(|row| row.as_ptr().addr()).collect();
    // SAFETY: the table has two constant pointers to rows that outlive the array; elements of size
    // 0 access none of their bytes.
    let array = unsafe {
        DArray::from_indirect(
            table.as_ptr().cast(),
            DType::void(0).unwrap(),
            &layout,
            crossdock::memory::Birth::Aliased,
            move || drop((rows, table)),
        )
    };
    let array = array.unwrap();
    assert!(array.equals(&array).unwrap());
    array.fill(&Value::Void(vec![])).unwrap();
    assert_eq!(array.to_order(Order::RowMajor).unwrap().shape(), [2, MANY]);
}

#[test]
fn a_file_of_128_bytes_brings_them_and_every_writer_takes_them() {
    let header = format!("{{'descr': '|S0', 'fortran_order': False, 'shape': ({MANY},), }}");
    let mut file = [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes()].concat();
    file.resize(127, b' ');
    file.push(b'\n');
    let array = npy::from_buffer(Buffer::from_vec(file).unwrap()).unwrap();
    assert_eq!((array.dtype().itemsize(), array.shape(), array.nbytes()), (0, &[MANY][..], 0));
    assert!(array.equals(&array).unwrap() && array.to_order(Order::ColumnMajor).unwrap().len() == MANY);
    for order in [Order::RowMajor, Order::ColumnMajor] {
        let grid = array.reshape(&[2, MANY / 2]).unwrap().to_order(order).unwrap().at(":, ::-2").unwrap();
        let mut written = Vec::new();
        npy::write(&mut written, &grid).unwrap();
        assert_eq!(npy::from_buffer(Buffer::from_vec(written).unwrap()).unwrap().shape(), [2, MANY / 4]);
        let mut written = Vec::new();
        SaveOptions::new().format(Format::Raw).order(order).write(&mut written, &[("", grid)]).unwrap();
        assert!(written.is_empty());
    }
}
