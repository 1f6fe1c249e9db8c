//! Text, bytes, nulls and runs of columns: read, filled and exported.

use std::sync::Arc;

use crossdock::bindings::{Advice, arrow};
use crossdock::buffer::{Bitmap, Buffer};
use crossdock::element::{DType, NAT, TimeUnit, Value};
use crossdock::memory::copied_bytes_here;
use crossdock::table::{
    Checks, Column, ColumnParts, ColumnType, ColumnValue, Field, OffsetWidth, RecordBatch,
};
use crossdock::{Array, s};
use crossdock_testkit::{cases, seed};
use fastrand::Rng;

fn buffer<T: crossdock::memory::Pod>(values: Vec<T>) -> Buffer {
    Buffer::from_vec(values).unwrap()
}

fn numbers(values: &[i32]) -> Column {
    Column::from_array(Array::from_vec(values.to_vec(), [values.len()]).unwrap()).unwrap()
}

/// Bits of booleans.
fn bits(values: impl Iterator<Item = bool>) -> Buffer {
    let mut builder = crossdock::buffer::BitmapBuilder::new().unwrap();
    values.for_each(|value| builder.append(value).unwrap());
    builder.finish().0
}

/// Bytes by offsets; null where `None`, with bytes that are not UTF-8 below.
fn by_offsets(values: &[Option<Vec<u8>>], width: OffsetWidth, ty: ColumnType) -> Column {
    let (mut offsets, mut bytes) = (vec![0i64], Vec::<u8>::new());
    for value in values {
        bytes.extend(value.as_deref().unwrap_or(&[0x80, 0xC3]).iter());
        offsets.push(bytes.len() as i64);
    }
    let offsets = match width {
        OffsetWidth::I32 => buffer(offsets.iter().map(|&offset| offset as i32).collect()),
        OffsetWidth::I64 => buffer(offsets),
    };
    let validity = Some(bits(values.iter().map(Option::is_some)));
    let parts = ColumnParts {
        len: values.len(),
        validity,
        buffers: vec![offsets, buffer(bytes)],
        ..ColumnParts::default()
    };
    Column::new(ty, parts, Checks::Shape).unwrap()
}

/// Bytes by views, the long ones in one buffer.
fn by_views(values: &[Option<Vec<u8>>], ty: ColumnType) -> Column {
    let (mut views, mut bytes) = (Vec::new(), vec![0u8; 5]);
    for value in values {
        let value = value.as_deref().unwrap_or(b"beneath a null there is text");
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(value.len() as i32).to_ne_bytes());
        if value.len() <= 12 {
            view[4..4 + value.len()].copy_from_slice(value);
        } else {
            view[4..8].copy_from_slice(&value[..4]);
            view[12..].copy_from_slice(&(bytes.len() as i32).to_ne_bytes());
            bytes.extend(value);
        }
        views.extend(view);
    }
    let validity = Some(bits(values.iter().map(Option::is_some)));
    let buffers = vec![buffer(views), buffer(bytes)];
    let parts = ColumnParts { len: values.len(), validity, buffers, ..ColumnParts::default() };
    Column::new(ty, parts, Checks::Shape).unwrap()
}

fn words(random: &mut Rng, count: usize) -> Vec<Option<Vec<u8>>> {
    let is_ascii = random.bool();
    let word = |random: &mut Rng| -> String {
        let len = random.usize(..20);
        (0..len).map(|_| if is_ascii { random.alphabetic() } else { random.char(..) }).collect()
    };
    (0..count).map(|_| (random.u8(..) > 30).then(|| word(random).into_bytes())).collect()
}

fn text(value: &str) -> ColumnValue {
    ColumnValue::Element(Value::Text(value.to_owned()))
}

/// A part of a column and of what it was made of, from an odd element on.
fn part<'a>(
    column: &Column,
    values: &'a [Option<Vec<u8>>],
    random: &mut Rng,
) -> (Column, &'a [Option<Vec<u8>>]) {
    let start = random.usize(..=values.len());
    let end = random.usize(start..=values.len());
    (column.slice(start..end).unwrap(), &values[start..end])
}

/// The same elements, promised to be constant, and checked.
fn constant(column: &Column) -> Column {
    let field = Field::new("text", column.column_type().clone()).unwrap();
    let (mut schema, mut array) = arrow::export_column(&field, column).unwrap().into_raw();
    // SAFETY: just exported, and not consumed yet.
    unsafe { arrow::import_column(&mut schema, &mut array, Checks::Full) }.unwrap().1
}

#[test]
fn text_is_read_in_blocks_and_one_by_one_alike() {
    let mut random = Rng::with_seed(seed());
    for round in 0..cases(60) {
        let count = if round % 3 == 0 { 3000 } else { random.usize(..40) };
        let values = words(&mut random, count);
        let columns = [
            by_offsets(&values, OffsetWidth::I32, ColumnType::Utf8(OffsetWidth::I32)),
            by_offsets(&values, OffsetWidth::I64, ColumnType::Utf8(OffsetWidth::I64)),
            by_views(&values, ColumnType::Utf8View),
        ];
        for column in columns {
            let (column, values) = part(&column, &values, &mut random);
            column.check(Checks::Full).unwrap();
            // Once more in constant memory, which is checked once.
            for column in [constant(&column), column] {
                let read = column.text().unwrap();
                let (mut elements, mut checked) = (read.iter(), read.values().unwrap());
                for (index, value) in values.iter().enumerate() {
                    let wanted = value.as_deref().map(|bytes| std::str::from_utf8(bytes).unwrap());
                    assert_eq!((elements.len(), checked.len()), (values.len() - index, values.len() - index));
                    assert_eq!(
                        (elements.next().unwrap().unwrap(), checked.next().unwrap()),
                        (wanted, wanted)
                    );
                    assert_eq!(read.get(index).unwrap(), wanted);
                }
                assert!(elements.next().is_none() && elements.next().is_none() && checked.next().is_none());
                assert!(read.get(values.len()).unwrap_err().is_bounds());
            }
        }
    }
}

#[test]
fn views_of_short_text_alone_need_no_other_buffer() {
    let values = ["abc", "é"].map(|text| Some(text.as_bytes().to_vec()));
    let buffers = vec![by_views(&values, ColumnType::Utf8View).buffers()[0].clone()];
    let parts = ColumnParts { len: 2, buffers, ..ColumnParts::default() };
    let column = Column::new(ColumnType::Utf8View, parts, Checks::Full).unwrap();
    for column in [constant(&column), column] {
        let read = column.text().unwrap();
        assert_eq!(read.iter().collect::<Result<Vec<_>, _>>().unwrap(), [Some("abc"), Some("é")]);
        assert_eq!(read.values().unwrap().collect::<Vec<_>>(), [Some("abc"), Some("é")]);
    }
    // Neither do offsets of no elements.
    let buffers = vec![buffer(Vec::<i32>::new()), buffer(Vec::<u8>::new())];
    let parts = ColumnParts { buffers, ..ColumnParts::default() };
    let none = Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap();
    let read = none.text().unwrap();
    assert_eq!((read.iter().count(), read.values().unwrap().count()), (0, 0));
    let bytes = by_views(&[], ColumnType::BinaryView);
    assert!(bytes.text().unwrap().values().err().unwrap().is_unsupported());
}

#[test]
fn one_element_that_is_not_text_is_the_only_error() {
    let mut random = Rng::with_seed(seed());
    for bad in [vec![0xFF], "é".as_bytes()[1..].to_vec(), "é".as_bytes()[..1].to_vec()] {
        let mut values: Vec<_> = (0..2500).map(|k| Some(format!("é{k}").into_bytes())).collect();
        let at = random.usize(..values.len());
        values[at] = Some(bad);
        let columns = [
            by_offsets(&values, OffsetWidth::I32, ColumnType::utf8()),
            by_views(&values, ColumnType::Utf8View),
        ];
        for column in columns {
            let error = column.check(Checks::Full).unwrap_err();
            assert!(error.is_malformed() && error.to_string().contains(&format!("element {at}")), "{error}");
            let read = column.text().unwrap();
            for (index, element) in read.iter().enumerate() {
                assert_eq!(element.is_err(), index == at);
            }
            assert_eq!(read.iter().count(), values.len());
            assert!(read.values().err().unwrap().is_malformed());
        }
    }
    // Two halves of one character are text together, and neither is.
    let halves = ["é".as_bytes()[..1].to_vec(), "é".as_bytes()[1..].to_vec()].map(Some);
    let column = by_offsets(&halves, OffsetWidth::I32, ColumnType::utf8());
    assert!(column.check(Checks::Full).unwrap_err().is_malformed());
    assert!(column.text().unwrap().iter().all(|element| element.is_err()));
}

#[test]
fn nulls_of_text_bytes_and_booleans_are_filled() {
    let mut random = Rng::with_seed(seed());
    for _ in 0..cases(60) {
        let values = words(&mut random, 50);
        for filling in ["", "short", "longer than a view holds itself"] {
            let columns = [
                by_offsets(&values, OffsetWidth::I32, ColumnType::Utf8(OffsetWidth::I32)),
                by_offsets(&values, OffsetWidth::I64, ColumnType::Utf8(OffsetWidth::I64)),
                by_views(&values, ColumnType::Utf8View),
            ];
            for column in columns {
                let (column, values) = part(&column, &values, &mut random);
                let filled = column.fill_nulls(&filling.into()).unwrap();
                filled.check(Checks::Full).unwrap();
                assert_eq!((filled.null_count().unwrap(), filled.len()), (0, values.len()));
                for (index, value) in values.iter().enumerate() {
                    let wanted =
                        value.as_deref().map_or(filling, |bytes| std::str::from_utf8(bytes).unwrap());
                    assert_eq!(filled.value(index).unwrap(), text(wanted));
                }
                assert!(column.fill_nulls(&1u8.into()).unwrap_err().is_dtype());
                assert!(column.fill_nulls(&Value::Bytes(vec![1])).unwrap_err().is_dtype());
            }
        }
        let bytes = by_offsets(&values, OffsetWidth::I32, ColumnType::Binary(OffsetWidth::I32));
        let filled = bytes.fill_nulls(&Value::Bytes(vec![0xFF])).unwrap();
        assert_eq!(filled.null_count().unwrap(), 0);
        let null = values.iter().position(Option::is_none);
        assert!(
            null.is_none_or(|at| filled.value(at).unwrap() == ColumnValue::Element(Value::Bytes(vec![0xFF])))
        );

        let booleans: Vec<Option<bool>> =
            (0..random.usize(..200)).map(|_| random.bool().then(|| random.bool())).collect();
        let parts = ColumnParts {
            len: booleans.len(),
            validity: Some(bits(booleans.iter().map(Option::is_some))),
            buffers: vec![bits(booleans.iter().map(|value| value.unwrap_or(random.bool())))],
            ..ColumnParts::default()
        };
        let column = Column::new(ColumnType::Boolean, parts, Checks::Shape).unwrap();
        let start = random.usize(..=booleans.len());
        for filling in [false, true] {
            let filled = column.slice(start..).unwrap().fill_nulls(&filling.into()).unwrap();
            let wanted = booleans[start..].iter().map(|value| value.unwrap_or(filling));
            let wanted = wanted.map(|value| ColumnValue::Element(Value::Bool(value)));
            assert!(filled.values().map(Result::unwrap).eq(wanted));
        }
        assert!(column.fill_nulls(&1u8.into()).unwrap_err().is_dtype());
    }
}

#[test]
fn moments_that_are_no_time_are_null_and_others_stay_in_place() {
    let column = |counts: Vec<i64>| {
        let count = counts.len();
        let array = Array::from_vec(counts, [count]).unwrap();
        let copied = copied_bytes_here();
        let dtype = DType::datetime(TimeUnit::NANOSECOND);
        let times = crossdock::DArray::from(array.clone()).view_as(&dtype).unwrap();
        let column = Column::from_array(times).unwrap();
        assert_eq!(column.buffers()[0].as_ptr(), array.as_ptr().cast());
        (column, copied_bytes_here() - copied)
    };
    let (all, copied) = column(vec![1, 2, i64::MAX]);
    assert_eq!((all.null_count().unwrap(), all.validity().is_none(), copied), (0, true, 0));
    let (some, copied) = column(vec![NAT, 7, NAT, 8, 9, 10, 11, 12, NAT]);
    assert_eq!((some.null_count().unwrap(), copied), (3, 2));
    let valid: Vec<bool> = some.values().map(|value| value.unwrap() != ColumnValue::Null).collect();
    assert_eq!(valid, [false, true, false, true, true, true, true, true, false]);
}

#[test]
fn runs_are_read_joined_and_exported_from_any_element_on() {
    let mut random = Rng::with_seed(seed());
    for _ in 0..cases(40) {
        let runs: Vec<(i32, i32)> = (0..random.usize(1..9)).map(|k| (random.i32(1..5), k as i32)).collect();
        let expanded: Vec<i32> = runs.iter().flat_map(|&(len, value)| vec![value; len as usize]).collect();
        let ends: Vec<i32> = runs
            .iter()
            .scan(0, |end, &(len, _)| {
                *end += len;
                Some(*end)
            })
            .collect();
        let children =
            vec![numbers(&ends), numbers(&runs.iter().map(|&(_, value)| value).collect::<Vec<_>>())];
        let field = |name: &str, column: &Column, nullable: bool| {
            Arc::new(Field::new(name, column.column_type().clone()).unwrap().with_nullable(nullable))
        };
        let ty = ColumnType::RunEndEncoded {
            run_ends: field("run_ends", &children[0], false),
            values: field("values", &children[1], true),
        };
        let parts = ColumnParts { len: expanded.len(), children, ..ColumnParts::default() };
        let column = Column::new(ty.clone(), parts, Checks::Full).unwrap();
        let start = random.usize(..=expanded.len());
        let end = random.usize(start..=expanded.len());
        let slice = column.slice(start..end).unwrap();
        let equals = |column: &Column, wanted: &[i32]| {
            let wanted = wanted.iter().map(|&value| ColumnValue::Element(Value::Int(value.into())));
            assert!(column.values().map(Result::unwrap).eq(wanted), "{column:?}");
        };
        equals(&slice, &expanded[start..end]);
        let joined = Column::concat(&[slice.clone(), column.clone()]).unwrap();
        equals(&joined, &[&expanded[start..end], &expanded[..]].concat());
        let field = Field::new("runs", ty).unwrap();
        let (mut schema, mut array) = arrow::export_column(&field, &slice).unwrap().into_raw();
        // SAFETY: just exported, and not consumed yet.
        let (_, again) = unsafe { arrow::import_column(&mut schema, &mut array, Checks::Full) }.unwrap();
        equals(&again, &expanded[start..end]);
        assert!(column.array().unwrap_err().is_unsupported());
    }
}

#[test]
fn a_column_is_a_complete_array_only_if_that_says_all_that_it_does() {
    let column = numbers(&[1, 2, 3, 4]);
    let array = column.slice(1..).unwrap().complete_array().unwrap();
    assert_eq!(array.as_ptr(), column.buffers()[0].as_ptr().wrapping_add(4));
    let with_nulls = |valid: u8, offset: usize, len: usize| {
        let validity = Some(buffer(vec![valid]));
        let buffers = vec![buffer(vec![1i32, 2, 3, 4])];
        let parts = ColumnParts { len, offset, validity, buffers, ..ColumnParts::default() };
        Column::new(ColumnType::Fixed(DType::I32), parts, Checks::Shape).unwrap()
    };
    let error = with_nulls(0b1010, 0, 4).complete_array().unwrap_err();
    assert!(error.is_value() && error.to_string().contains("2 of 4"), "{error}");
    // The nulls are elsewhere.
    assert_eq!(with_nulls(0b1110, 1, 3).complete_array().unwrap().len(), 3);

    let items = with_nulls(0b0111, 0, 4);
    let item = Arc::new(Field::new("item", items.column_type().clone()).unwrap());
    let parts = ColumnParts { len: 2, children: vec![items], ..ColumnParts::default() };
    let pairs = Column::new(ColumnType::FixedList { item, len: 2 }, parts, Checks::Shape).unwrap();
    let error = pairs.complete_array().unwrap_err();
    assert!(error.is_value() && error.to_string().contains("1 of 4"), "{error}");
    assert_eq!(pairs.slice(..1).unwrap().complete_array().unwrap().shape(), [1, 2]);

    let parts = ColumnParts { len: 2, buffers: vec![buffer(vec![100i64, 250])], ..ColumnParts::default() };
    let ty = ColumnType::Decimal { bits: 64, precision: 5, scale: 2 };
    let decimals = Column::new(ty, parts, Checks::Shape).unwrap();
    assert!(decimals.array().is_ok() && decimals.complete_array().unwrap_err().is_unsupported());
}

#[test]
fn chunks_are_exported_in_place_in_order_and_a_refused_one_is_an_error_of_the_stream() {
    let column = numbers(&[1, 2, 3, 4, 5]);
    let field = Field::new("count", column.column_type().clone()).unwrap();
    let chunks = vec![column.slice(..2).unwrap(), column.slice(2..2).unwrap(), column.slice(2..).unwrap()];
    let copied = copied_bytes_here();
    let mut stream = arrow::export_chunks(field.clone(), chunks.clone(), Advice::in_rust);
    // SAFETY: just exported, and not consumed yet.
    let (same, imported) = unsafe { arrow::import_chunks(&mut stream, Checks::Full) }.unwrap();
    assert_eq!((same, imported.len(), copied_bytes_here() - copied), (field.clone(), 3, 0));
    for (imported, chunk) in imported.iter().zip(&chunks) {
        assert_eq!(imported.len(), chunk.len());
        assert!(chunk.is_empty() || imported.array().unwrap().as_ptr() == chunk.array().unwrap().as_ptr());
    }
    assert!(column.buffers()[0].write().unwrap_err().is_conflict());
    drop(imported);
    let writer = column.buffers()[0].write().unwrap();
    let mut stream = arrow::export_chunks(field, chunks, |_| "wait");
    // SAFETY: just exported, and not consumed yet.
    let error = unsafe { arrow::import_chunks(&mut stream, Checks::Full) }.unwrap_err();
    assert!(error.is_io() && error.to_string().contains("write lease"), "{error}");
    drop(writer);
}

#[test]
fn bitmaps_of_different_lengths_are_not_combined_and_masks_are_counted_copies() {
    let bitmap = |len: usize| Bitmap::new(buffer(vec![0xFFu8; 4]), 3, len).unwrap();
    let error = bitmap(8).and(&bitmap(9)).unwrap_err();
    assert!(error.is_shape() && error.to_string().contains("8 bits"), "{error}");
    let copied = copied_bytes_here();
    assert_eq!(bitmap(9).and(&bitmap(9)).unwrap().len(), 9);
    assert_eq!(copied_bytes_here() - copied, 2);
}

#[test]
fn a_batch_of_one_type_is_an_array_in_place_where_its_columns_lie_so() {
    let values: Vec<i32> = (0..12).collect();
    let array = Array::from_vec(values, [3, 4]).unwrap().permute([1, 0]).unwrap(); // columns are contiguous
    let column = |k: usize| Column::from_array(array.slice(s![.., k]).unwrap()).unwrap();
    let batch = |order: &[usize]| {
        RecordBatch::from_columns(order.iter().map(|k| (format!("{k}"), column(*k)))).unwrap()
    };
    let copied = copied_bytes_here();
    let equals = |batch: &RecordBatch, rows: std::ops::Range<usize>, order: &[usize]| {
        let both = batch.slice(rows.clone()).unwrap().to_array().unwrap();
        assert_eq!(both.shape(), [rows.len(), order.len()]);
        for row in rows.clone() {
            for (k, &column) in order.iter().enumerate() {
                let value = both.get(&[row - rows.start, k]).unwrap();
                assert_eq!(value, Value::Int((4 * column + row) as i64));
            }
        }
        both
    };
    let all = equals(&batch(&[0, 1, 2]), 0..4, &[0, 1, 2]);
    assert_eq!(all.as_ptr(), array.as_ptr().cast());
    let part = equals(&batch(&[2, 1, 0]), 1..4, &[2, 1, 0]); // from the end, and not from the first row on
    assert_eq!((part.as_ptr(), part.strides()), (array.as_ptr().wrapping_add(9).cast(), &[4, -16][..]));
    equals(&batch(&[1]), 0..4, &[1]);
    assert_eq!(copied_bytes_here(), copied);
    equals(&batch(&[0, 2, 1]), 0..4, &[0, 2, 1]);
    assert_eq!(copied_bytes_here() - copied, 48);
    let apart = [("a", numbers(&[1, 2])), ("b", numbers(&[3, 4]))];
    let both = RecordBatch::from_columns(apart).unwrap().to_array().unwrap();
    assert_eq!(both.to_string(), "[[1 3]\n [2 4]]");
    let empty = batch(&[0, 1]).slice(4..).unwrap().to_array().unwrap();
    assert_eq!(empty.shape(), [0, 2]);

    let text = by_offsets(&[Some(b"a".to_vec()), None], OffsetWidth::I32, ColumnType::utf8());
    let with = |name: &'static str, column: Column| {
        RecordBatch::from_columns([("a", numbers(&[1, 2])), (name, column)]).unwrap().to_array().unwrap_err()
    };
    let floats = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2]).unwrap()).unwrap();
    let error = with("b", floats);
    assert!(error.is_dtype() && error.to_string().contains("\"b\" has dtype float64"), "{error}");
    assert!(with("text", text).is_unsupported());
    let none = RecordBatch::new(Default::default(), [], 2).unwrap();
    assert!(none.to_array().unwrap_err().is_shape());
}

#[test]
fn a_mask_of_more_nulls_than_memory_is_an_error() {
    // As a file of a few bytes says it.
    let parts = |children| ColumnParts { len: 1 << 46, children, ..ColumnParts::default() };
    let nulls = Column::new(ColumnType::Null, parts(vec![]), Checks::Full).unwrap();
    assert!(nulls.mask().unwrap_err().is_out_of_memory());
    let fields = [Field::new("nulls", ColumnType::Null).unwrap()].into();
    let structs = Column::new(ColumnType::Struct(fields), parts(vec![nulls]), Checks::Full).unwrap();
    assert!(structs.mask().unwrap_err().is_out_of_memory());
}
