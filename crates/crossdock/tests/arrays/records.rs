//! Refused conversions of records to other records or columns, and their messages.
//! `records_oracle.rs` tests the accepted ones.

use crossdock::element::{DType, Field, Value};
use crossdock::layout::{Layout, Order};
use crossdock::{Array, Casting, DArray};

fn pair_of(x: DType, y: DType, len: usize) -> DArray {
    let dtype = DType::packed_record([("x", x), ("y", y)]).unwrap();
    DArray::zeros(dtype, &[len], Order::RowMajor).unwrap()
}

#[test]
fn the_first_record_that_does_not_fit_is_named_with_its_field() {
    let records = pair_of(DType::I32, DType::F64, 5000);
    let narrow = DType::packed_record([("y", DType::F32), ("x", DType::I8)]).unwrap();
    let field = |name: &str, index: usize, value: Value| {
        records.field(name).unwrap().set(&[index], &value).unwrap();
    };
    field("x", 4700, 300.into());
    field("y", 4900, 1e300.into());
    let error = records.cast(&narrow, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(error.is_value(), "{error}");
    assert_eq!(error.to_string(), "element [4700]: field \"x\": 300 does not fit int8");
    field("y", 4699, 1e300.into());
    let target = DArray::zeros(narrow.clone(), &[5000], Order::RowMajor).unwrap();
    field("x", 4698, 7.into());
    let error = target.assign(&records, Casting::Checked).unwrap_err().to_string();
    assert!(error.starts_with("element [4699]: field \"y\": "), "{error}");
    assert_eq!(target.field("x").unwrap().get(&[4698]).unwrap(), Value::Int(7));

    let nested =
        DType::packed_record([("in", DType::subarray(&[2], records.dtype().clone()).unwrap())]).unwrap();
    let narrow = DType::packed_record([("in", DType::subarray(&[2], narrow).unwrap())]).unwrap();
    let nested = DArray::zeros(nested, &[3], Order::RowMajor).unwrap();
    nested.field("in").unwrap().field("x").unwrap().set(&[2, 1], &(-129).into()).unwrap();
    let error = nested.cast(&narrow, Order::RowMajor, Casting::Checked).unwrap_err().to_string();
    assert_eq!(error, "element [2]: field \"in\": element [1]: field \"x\": -129 does not fit int8");
}

#[test]
fn a_field_that_the_source_has_not_is_refused() {
    for names in [["x", "z"], ["price", "x"]] {
        let other = DType::packed_record(names.map(|name| (name, DType::I32))).unwrap();
        for len in [3, 0] {
            let records = pair_of(DType::I32, DType::F64, len);
            let error = records.cast(&other, Order::RowMajor, Casting::Saturating).unwrap_err();
            assert!(error.is_dtype() && error.to_string().contains("the fields are x, y"), "{error}");
        }
    }
}

#[test]
fn an_assignment_that_is_refused_for_its_dtypes_writes_nothing() {
    let pair = |y: DType| DType::packed_record([("x", DType::I16), ("y", y)]).unwrap();
    let rows = |base: DType| DType::subarray(&[2], base).unwrap();
    let with_gaps = Field::new("y", 5, DType::U8);
    let gaps = DType::record([Field::new("x", 1, DType::I16), with_gaps], 8).unwrap();
    let unlike = [
        (DType::U32, gaps.clone()),
        (gaps.clone(), DType::U32),
        (rows(DType::I16), gaps.clone()),
        (rows(DType::U32), rows(gaps.clone())),
        (DType::subarray(&[3], DType::I16).unwrap(), rows(DType::I16)),
        // `x` could be converted, `y` cannot become a record.
        (pair(DType::U8), pair(gaps.clone())),
        (pair(rows(DType::U8)), pair(rows(gaps.clone()))),
        (pair(rows(pair(DType::U8))), pair(rows(pair(gaps)))),
    ];
    for (from, to) in unlike {
        let target =
            DArray::from(Array::from_vec(vec![7u8; 300 * to.itemsize()], [300 * to.itemsize()]).unwrap());
        let (buffer, _) = target.buffer().unwrap();
        let layout = Layout::contiguous(&[300], to.itemsize(), Order::RowMajor).unwrap();
        let target = DArray::from_buffer(buffer.clone(), to.clone(), layout, 0).unwrap();
        for len in [300, 1] {
            let source = DArray::zeros(from.clone(), &[len], Order::RowMajor).unwrap();
            for casting in [Casting::Checked, Casting::Saturating] {
                let error = target.assign(&source, casting).unwrap_err();
                assert!(error.is_dtype() && error.to_string().contains("cannot be cast to"), "{error}");
                assert!(buffer.pin().unwrap().to_vec().iter().all(|&byte| byte == 7), "{from} to {to}");
            }
        }
    }
}

#[test]
fn columns_that_do_not_go_together_are_refused() {
    let column = |len: usize| DArray::from(Array::from_vec(vec![1.5f64; len], [len]).unwrap());
    let (two, three) = (column(2), column(3));
    assert!(DArray::from_columns(&[]).unwrap_err().is_shape());
    let error = DArray::from_columns(&[("a", &two), ("b", &three)]).unwrap_err();
    assert!(error.is_shape() && error.to_string().contains("\"b\" has shape [3]"), "{error}");
    for names in [["a", "a"], ["", "b"]] {
        assert!(DArray::from_columns(&names.map(|name| (name, &two))).unwrap_err().is_dtype());
    }
    assert!(two.to_columns().unwrap_err().is_dtype());

    let records = pair_of(DType::I32, DType::F64, 2);
    let assign = |columns: &[(&str, &DArray)]| records.assign_columns(columns, Casting::Checked);
    assert!(assign(&[("z", &two)]).unwrap_err().is_dtype());
    assert!(assign(&[("y", &two), ("y", &two)]).unwrap_err().is_dtype());
    assert!(assign(&[("y", &three)]).unwrap_err().is_shape());
    assert!(assign(&[("x", &two)]).unwrap_err().is_value());
    assert!(
        records
            .broadcast_to(&[3, 2])
            .unwrap()
            .assign_columns(&[("y", &two)], Casting::Checked)
            .unwrap_err()
            .is_layout()
    );
    assert!(
        records
            .clone()
            .into_readonly()
            .assign_columns(&[("y", &two)], Casting::Checked)
            .unwrap_err()
            .is_read_only()
    );
    let union =
        DType::record([Field::new("whole", 0, DType::U64), Field::new("low", 0, DType::U32)], 8).unwrap();
    let union = DArray::zeros(union, &[2], Order::RowMajor).unwrap();
    let ones = DArray::from(Array::from_vec(vec![1u8, 2], [2]).unwrap());
    let error = union.assign_columns(&[("whole", &ones), ("low", &ones)], Casting::Checked).unwrap_err();
    assert!(error.is_layout() && error.to_string().contains("overlap"), "{error}");
    union.assign_columns(&[("low", &ones)], Casting::Checked).unwrap();
    assert_eq!(
        union.field("whole").unwrap().get(&[1]).unwrap(),
        Value::UInt(if cfg!(target_endian = "little") { 2 } else { 2 << 32 })
    );
}

#[test]
fn fields_may_change_places_within_the_same_memory() {
    let records = pair_of(DType::F64, DType::F64, 100);
    for index in 0..100 {
        records.field("x").unwrap().set(&[index], &(index as f64).into()).unwrap();
        records.field("y").unwrap().set(&[index], &(-(index as f64)).into()).unwrap();
    }
    let (x, y) = (records.field("x").unwrap(), records.field("y").unwrap());
    records.assign_columns(&[("x", &y), ("y", &x)], Casting::Checked).unwrap();
    assert_eq!(records.get(&[7]).unwrap().to_string(), "(-7.0, 7.0)");
}

#[cfg(feature = "derive")]
#[test]
fn records_behind_pointers_are_converted_and_taken_apart_too() {
    use crossdock::element::Element;

    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Pair {
        x: i32,
        y: f32,
    }

    let pair = |x: i32| Pair { x, y: x as f32 / 2.0 };
    let rows = (0..3).map(|row| (0..4).map(|column| pair(10 * row + column)).collect()).collect();
    let records = DArray::from_rows::<Pair>(rows).unwrap();
    assert!(records.is_indirect());
    let wide = DType::record([Field::new("y", 1, DType::F64), Field::new("x", 9, DType::I32)], 16).unwrap();
    let cast = records.cast(&wide, Order::ColumnMajor, Casting::Checked).unwrap();
    assert_eq!(cast.get(&[2, 3]).unwrap().to_string(), "(11.5, 23)");
    let columns = records.to_columns().unwrap();
    assert_eq!(columns[1].1.get(&[1, 1]).unwrap().as_f64(), Some(5.5));
    let zeros = DArray::zeros(DType::U8, &[4], Order::RowMajor).unwrap();
    records.assign_columns(&[("y", &columns[0].1), ("x", &zeros)], Casting::Checked).unwrap();
    assert_eq!(records.get(&[2, 1]).unwrap().to_string(), "(0, 21.0)");
    records.assign(&cast, Casting::Checked).unwrap();
    assert_eq!(records.get(&[2, 1]).unwrap().to_string(), "(21, 10.5)");
    let narrow = DType::packed_record([("x", DType::U8)]).unwrap();
    records.field("x").unwrap().set(&[1, 2], &256.into()).unwrap();
    let error = records.cast(&narrow, Order::RowMajor, Casting::Checked).unwrap_err().to_string();
    assert_eq!(error, "element [1, 2]: field \"x\": 256 does not fit uint8");
}

#[test]
fn columns_of_sub_arrays_make_the_records_that_they_came_from() {
    let point = DType::subarray(&[2, 3], DType::I16).unwrap();
    let inner = DType::packed_record([("deep", DType::subarray(&[4], DType::U8).unwrap())]).unwrap();
    for (fields, is_told) in [
        (vec![("n", DType::U32), ("at", point.clone())], true),
        (vec![("at", point.clone()), ("n", DType::U32), ("in", inner.clone())], true),
        (vec![("at", point.clone()), ("in", DType::subarray(&[2], inner).unwrap())], false),
        (vec![("none", DType::subarray(&[0], DType::F64).unwrap()), ("n", DType::U8)], true),
    ] {
        let dtype = DType::packed_record(fields).unwrap();
        for shape in [&[][..], &[5], &[2, 3], &[0]] {
            let records = DArray::zeros(dtype.clone(), shape, Order::RowMajor).unwrap();
            for (name, column) in records.to_columns().unwrap() {
                let field = records.field(&name).unwrap();
                for position in (0..column.len()).filter(|_| column.dtype().as_scalar().is_some()) {
                    let mut index = vec![0; column.rank()];
                    let mut rest = position;
                    for (index, len) in index.iter_mut().zip(column.shape()).rev() {
                        (*index, rest) = (rest % len, rest / len);
                    }
                    field.set(&index, &Value::UInt(position as u64 % 100)).unwrap();
                }
            }
            let columns = records.to_columns().unwrap();
            let named: Vec<(&str, &DArray)> =
                columns.iter().map(|(name, column)| (&**name, column)).collect();
            let again = DArray::from_columns_of_shape(shape, &named).unwrap();
            assert_eq!((again.dtype(), again.shape()), (&dtype, shape));
            assert!(again.equals(&records).unwrap(), "{dtype} {shape:?}");
            if is_told {
                assert_eq!(DArray::from_columns(&named).unwrap().dtype(), &dtype);
            }
            assert!(DArray::from_columns_of_shape(&[7, 7], &named).unwrap_err().is_shape());
        }
    }
}
