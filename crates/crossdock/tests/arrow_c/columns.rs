//! Columns and batches made of buffers.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::element::{DType, TimeUnit};
use crossdock::memory::{LeaseKind, copied_bytes_here};
use crossdock::table::{
    Checks, Column, ColumnParts, ColumnType, ColumnValue, Field, IntervalUnit, Metadata, OffsetWidth,
    RecordBatch, Schema, UnionMode,
};
use crossdock::{Array, DArray, Error};

fn buffer<T: crossdock::memory::Pod>(values: &[T]) -> Buffer {
    Buffer::from_vec(values.to_vec()).unwrap()
}

fn numbers(values: &[i32]) -> Column {
    Column::from_array(Array::from_vec(values.to_vec(), [values.len()]).unwrap()).unwrap()
}

fn field(name: &str, ty: ColumnType) -> Field {
    Field::new(name, ty).unwrap()
}

fn int32(name: &str) -> Field {
    field(name, ColumnType::Fixed(DType::I32))
}

fn parts(len: usize, buffers: Vec<Buffer>) -> ColumnParts {
    ColumnParts { len, buffers, ..ColumnParts::default() }
}

fn refused(ty: ColumnType, parts: ColumnParts) -> Error {
    Column::new(ty, parts, Checks::Full).unwrap_err()
}

#[test]
fn a_fixed_width_column_is_an_array_in_place() {
    let copied = copied_bytes_here();
    let array = Array::from_vec(vec![1i32, 2, 3, 4], [4]).unwrap();
    let column = Column::from_array(array.clone()).unwrap();
    let part = column.slice(1..3).unwrap();
    assert_eq!(part.array().unwrap().as_ptr().addr(), array.as_ptr().addr() + 4);
    assert_eq!((part.offset(), part.len(), part.null_count().unwrap()), (1, 2, 0));
    let lease = array.write().unwrap();
    assert!(part.buffers()[0].read().unwrap_err().is_conflict());
    drop(lease);
    assert!(column.slice(3..5).unwrap_err().is_bounds());
    assert_eq!(copied_bytes_here(), copied);
    let strided = array.slice(crossdock::s![..;2]).unwrap();
    assert!(Column::from_array(strided).unwrap_err().is_layout());
    assert!(Column::from_array(array.reshape([2, 2]).unwrap()).unwrap_err().is_shape());
}

#[test]
fn each_fixed_type_has_the_dtype_of_its_array() {
    let unit = TimeUnit::NANOSECOND;
    let zone = Some("Europe/Berlin".into());
    let void = |nbytes| DType::void(nbytes).unwrap();
    for (ty, dtype, text) in [
        (ColumnType::Fixed(DType::C64), DType::C64, "complex64"),
        (ColumnType::Date32, DType::I32, "date32[day]"),
        (ColumnType::Date64, DType::datetime(TimeUnit::MILLISECOND), "date64[ms]"),
        (ColumnType::Time(TimeUnit::SECOND), DType::I32, "time32[s]"),
        (ColumnType::Time(unit), DType::I64, "time64[ns]"),
        (ColumnType::Timestamp { unit, zone }, DType::datetime(unit), "timestamp[ns, tz=Europe/Berlin]"),
        (ColumnType::Duration(unit), DType::timedelta(unit), "duration[ns]"),
        (ColumnType::Interval(IntervalUnit::YearMonth), DType::I32, "month_interval"),
        (ColumnType::Decimal { bits: 64, precision: 18, scale: -3 }, DType::I64, "decimal64(18, -3)"),
        (ColumnType::Decimal { bits: 256, precision: 76, scale: 10 }, void(32), "decimal256(76, 10)"),
        (ColumnType::FixedBinary(5), void(5), "fixed_size_binary[5]"),
    ] {
        assert_eq!((ty.dtype(), ty.to_string().as_str()), (Some(dtype.clone()), text));
        let bytes = buffer(&vec![0u8; 3 * dtype.itemsize()]);
        let column = Column::new(ty, parts(3, vec![bytes]), Checks::Full).unwrap();
        assert_eq!(column.slice(1..).unwrap().array().unwrap().dtype(), &dtype);
    }
    let interval = ColumnType::Interval(IntervalUnit::MonthDayNano).dtype().unwrap();
    assert_eq!((interval.itemsize(), interval.field("nanoseconds").unwrap().offset()), (16, 8));
    let times = DArray::from_vec(vec![1i64], &[1]).unwrap().view_as(&DType::datetime(unit)).unwrap();
    let column = Column::from_array(times).unwrap();
    assert_eq!(column.column_type(), &ColumnType::Timestamp { unit, zone: None });
}

#[test]
fn types_that_contradict_themselves_are_refused() {
    let seconds = TimeUnit::SECOND;
    let key = || int32("key");
    let entries = |fields: Vec<Field>| {
        let entries = field("entries", ColumnType::Struct(fields.into()));
        ColumnType::Map { entries: entries.into(), keys_sorted: false }
    };
    let union = |ids: &[i8]| ColumnType::Union {
        mode: UnionMode::Sparse,
        fields: vec![int32("a"), int32("b")].into(),
        ids: ids.into(),
    };
    let dictionary =
        |index| ColumnType::Dictionary { index, values: Arc::new(int32("values")), ordered: false };
    let runs = |ty| ColumnType::RunEndEncoded {
        run_ends: field("run_ends", ColumnType::Fixed(ty)).into(),
        values: int32("values").into(),
    };
    for (ty, is_fine) in [
        (ColumnType::Time(seconds), true),
        (ColumnType::Time(TimeUnit::new(seconds.base(), 3).unwrap()), false),
        (ColumnType::Duration(TimeUnit::one(crossdock::element::TimeBase::Day)), false),
        (ColumnType::Decimal { bits: 128, precision: 38, scale: 0 }, true),
        (ColumnType::Decimal { bits: 128, precision: 39, scale: 0 }, false),
        (ColumnType::Decimal { bits: 128, precision: 0, scale: 0 }, false),
        (ColumnType::Decimal { bits: 96, precision: 1, scale: 0 }, false),
        (dictionary(DType::U64), true),
        (dictionary(DType::F32), false),
        (dictionary(DType::I32.swapped()), false),
        (runs(DType::I16), true),
        (runs(DType::U16), false),
        (entries(vec![key(), key()]), true),
        (entries(vec![key()]), false),
        (union(&[5, 127]), true),
        (union(&[5]), false),
        (union(&[5, 5]), false),
        (union(&[5, -1]), false),
    ] {
        let result = Field::new("x", ty.clone());
        assert_eq!(result.is_ok(), is_fine, "{ty}");
        assert!(result.is_ok() || result.unwrap_err().is_value(), "{ty}");
    }
}

#[test]
fn types_are_nested_to_a_limit_and_walked_in_bounded_time() {
    let mut nested = int32("x");
    let mut doubled = int32("x");
    let mut levels = 1;
    let error = loop {
        match Field::new("x", ColumnType::list(nested.clone())) {
            Ok(field) => (nested, levels) = (field, levels + 1),
            Err(error) => break error,
        }
    };
    assert!(error.is_unsupported() && levels == 64, "{levels}: {error}");
    let error = loop {
        match Field::new("x", ColumnType::Struct(vec![doubled.clone(), doubled.clone()].into())) {
            Ok(field) => doubled = field,
            Err(error) => break error,
        }
    };
    assert!(error.is_unsupported() && error.to_string().contains("parts"), "{error}");
}

#[test]
fn text_has_offsets_in_bounds_that_never_decrease() {
    let text = |offsets: &[i32]| parts(2, vec![buffer(offsets), buffer("a€".as_bytes())]);
    let column = Column::new(ColumnType::utf8(), text(&[0, 1, 4]), Checks::Full).unwrap();
    assert_eq!(column.offsets().unwrap().len(), 3);
    assert!(column.array().unwrap_err().is_unsupported());
    assert!(refused(ColumnType::utf8(), text(&[0, 1, 5])).to_string().contains("0..5"));
    assert!(refused(ColumnType::utf8(), text(&[-1, 1, 4])).is_bounds());
    assert!(refused(ColumnType::utf8(), text(&[0, 3, 2])).is_malformed());
    assert!(refused(ColumnType::utf8(), text(&[0, 2, 4])).to_string().contains("UTF-8"));
    assert!(refused(ColumnType::utf8(), text(&[0, 4])).to_string().contains("8 bytes, but 12"));
    Column::new(ColumnType::Binary(OffsetWidth::I32), text(&[0, 2, 4]), Checks::Full).unwrap();
    // The first check compares the ends only.
    let column = Column::new(ColumnType::utf8(), text(&[0, 9, 4]), Checks::Shape).unwrap();
    assert!(column.check(Checks::Full).unwrap_err().is_bounds());
    Column::new(ColumnType::utf8(), parts(0, vec![buffer::<i32>(&[]), buffer::<u8>(&[])]), Checks::Full)
        .unwrap();
    assert!(refused(ColumnType::utf8(), parts(0, vec![])).to_string().contains("0 buffers"));
}

#[test]
fn a_result_is_believed_in_constant_memory_only() {
    let offsets = buffer(&[0i32, 1, 2]);
    let column =
        Column::new(ColumnType::utf8(), parts(2, vec![offsets.clone(), buffer(b"ab")]), Checks::Full)
            .unwrap();
    offsets.write().unwrap()[4] = 9;
    assert!(column.check(Checks::Full).unwrap_err().is_bounds());
}

/// A view of bytes in a buffer.
fn view(len: i32, prefix: &[u8; 4], buffer: i32, offset: i32) -> [u8; 16] {
    let numbers = [len.to_ne_bytes(), *prefix, buffer.to_ne_bytes(), offset.to_ne_bytes()];
    numbers.concat().try_into().unwrap()
}

#[test]
fn views_are_in_their_buffers_and_have_the_prefix_of_their_bytes() {
    let long = b"a text of more than twelve bytes";
    let views = |view: [u8; 16]| parts(1, vec![buffer(&view), buffer(long), buffer(b"another")]);
    let ty = || ColumnType::Utf8View;
    Column::new(ty(), views(view(32, b"a te", 0, 0)), Checks::Full).unwrap();
    Column::new(ty(), views(view(3, b"abc\0", 0, 0)), Checks::Full).unwrap();
    assert!(refused(ty(), views(view(33, b"a te", 0, 0))).is_bounds());
    assert!(refused(ty(), views(view(20, b"a te", 2, 0))).is_bounds());
    assert!(refused(ty(), views(view(20, b"a te", -1, 0))).is_bounds());
    assert!(refused(ty(), views(view(20, b"a te", 0, -1))).is_bounds());
    assert!(refused(ty(), views(view(-1, b"a te", 0, 0))).is_bounds());
    assert!(refused(ty(), views(view(20, b"a tX", 0, 0))).is_malformed());
    assert!(refused(ty(), views(view(1, b"\xff\0\0\0", 0, 0))).is_malformed());
}

#[test]
fn children_are_long_enough_for_what_refers_to_them() {
    let list = |offsets: &[i32], child: Column| ColumnParts {
        children: vec![child],
        ..parts(offsets.len() - 1, vec![buffer(offsets)])
    };
    let ty = || ColumnType::list(int32("item"));
    Column::new(ty(), list(&[0, 2, 3], numbers(&[1, 2, 3])), Checks::Full).unwrap();
    assert!(refused(ty(), list(&[0, 2, 4], numbers(&[1, 2, 3]))).is_bounds());
    assert!(refused(ty(), list(&[0, 3, 2], numbers(&[1, 2, 3]))).is_malformed());
    let other = Column::from_array(Array::from_vec(vec![1u8], [1]).unwrap()).unwrap();
    assert!(refused(ty(), list(&[0, 1], other)).to_string().contains("type uint8"));

    let views = |offset: i32, size: i32| ColumnParts {
        children: vec![numbers(&[1, 2])],
        ..parts(1, vec![buffer(&[offset]), buffer(&[size])])
    };
    let ty = || ColumnType::ListView { item: int32("item").into(), offsets: OffsetWidth::I32 };
    Column::new(ty(), views(1, 1), Checks::Full).unwrap();
    assert!(refused(ty(), views(1, 2)).is_bounds() && refused(ty(), views(-1, 1)).is_bounds());
    assert!(refused(ty(), views(1, -1)).is_bounds());

    let fixed = |len| ColumnType::FixedList { item: int32("item").into(), len };
    let with_child = |len| ColumnParts { children: vec![numbers(&[1, 2, 3, 4])], ..parts(len, vec![]) };
    Column::new(fixed(2), with_child(2), Checks::Full).unwrap();
    assert!(refused(fixed(2), with_child(3)).is_bounds());
    assert!(refused(fixed(usize::MAX), with_child(3)).is_overflow());
    let offset = ColumnParts { offset: 2, ..with_child(1) };
    assert!(refused(fixed(2), offset).is_bounds());

    let fields = || ColumnType::Struct(vec![int32("a")].into());
    assert!(refused(fields(), with_child(5)).is_bounds());
    assert!(refused(fields(), parts(1, vec![])).to_string().contains("0 children"));
}

#[test]
fn indices_runs_and_identifiers_are_in_bounds() {
    let dictionary = |indices: &[u8], validity: Option<u8>| ColumnParts {
        dictionary: Some(numbers(&[10, 20])),
        validity: validity.map(|bits| buffer(&[bits])),
        ..parts(indices.len(), vec![buffer(indices)])
    };
    let values = Arc::new(int32("values"));
    let ty = || ColumnType::Dictionary { index: DType::U8, values: values.clone(), ordered: true };
    let column = Column::new(ty(), dictionary(&[0, 1, 1], None), Checks::Full).unwrap();
    assert_eq!(column.array().unwrap().dtype(), &DType::U8);
    assert!(refused(ty(), dictionary(&[0, 2], None)).is_bounds());
    Column::new(ty(), dictionary(&[0, 2], Some(0b01)), Checks::Full).unwrap();

    let runs = |ends: &[i32], len| ColumnParts {
        children: vec![numbers(ends), numbers(&[7, 8])],
        ..parts(len, vec![])
    };
    let ty =
        || ColumnType::RunEndEncoded { run_ends: int32("run_ends").into(), values: int32("values").into() };
    Column::new(ty(), runs(&[2, 5], 5), Checks::Full).unwrap();
    assert!(refused(ty(), runs(&[2, 5], 6)).is_bounds() && refused(ty(), runs(&[2, 5, 6], 6)).is_bounds());
    assert!(refused(ty(), runs(&[5, 5], 5)).is_malformed() && refused(ty(), runs(&[0, 5], 5)).is_malformed());
    let with_bits = ColumnParts { validity: Some(buffer(&[1u8])), ..runs(&[2, 5], 5) };
    assert!(refused(ty(), with_bits).to_string().contains("validity"));

    let union = |ids: &[i8], offsets: &[i32]| ColumnParts {
        children: vec![numbers(&[1]), numbers(&[2, 3])],
        ..parts(ids.len(), vec![buffer(ids), buffer(offsets)])
    };
    let fields: Arc<[Field]> = vec![int32("a"), int32("b")].into();
    let ty = || ColumnType::Union { mode: UnionMode::Dense, fields: fields.clone(), ids: [4, 9].into() };
    Column::new(ty(), union(&[9, 4, 9], &[0, 0, 1]), Checks::Full).unwrap();
    assert!(refused(ty(), union(&[9, 4], &[0, 1])).is_bounds());
    assert!(refused(ty(), union(&[0], &[0])).is_malformed() && refused(ty(), union(&[9], &[-1])).is_bounds());
}

#[test]
fn a_batch_is_sliced_selected_and_renamed_in_place() {
    let batch = RecordBatch::from_columns([("a", numbers(&[1, 2, 3])), ("a", numbers(&[4, 5, 6]))]).unwrap();
    let part = batch.slice(1..).unwrap().slice(..1).unwrap();
    let second = part.select(&[1, 1, 0]).unwrap().rename(["x", "y", "z"]).unwrap();
    assert_eq!((second.len(), second.schema().to_string().as_str()), (1, "x: int32\ny: int32\nz: int32"));
    let value = |name| second.column_named(name).unwrap().array().unwrap().get(&[0]).unwrap().as_i64();
    assert_eq!((value("y"), value("z")), (Some(5), Some(2)));
    assert!(second.column_named("a").unwrap_err().to_string().contains("\"x\", \"y\", \"z\""));
    assert!(batch.select(&[2]).unwrap_err().is_bounds() && batch.rename(["x"]).unwrap_err().is_shape());
    assert!(batch.slice(2..5).unwrap_err().is_bounds());
    let unequal = [("a", numbers(&[1])), ("b", numbers(&[1, 2]))];
    assert!(RecordBatch::from_columns(unequal).unwrap_err().is_shape());
    let schema = Schema::new([field("a", ColumnType::Boolean)]);
    assert!(RecordBatch::new(schema, [numbers(&[1])], 1).unwrap_err().is_dtype());
    let rows = RecordBatch::new(Schema::default(), [], 7).unwrap();
    assert_eq!(rows.slice(2..).unwrap().len(), 5);
}

#[test]
fn a_batch_has_a_hundred_thousand_columns() {
    let column = numbers(&[1, 2, 3]);
    let columns = (0..100_000).map(|k| (k.to_string(), column.clone()));
    let batch = RecordBatch::from_columns(columns).unwrap();
    let part = batch.slice(1..).unwrap();
    assert_eq!(part.column(99_999).unwrap().offset(), 1);
    assert_eq!(part.columns().len(), 100_000);
}

#[test]
fn metadata_are_kept_byte_for_byte() {
    let pairs: [(&[u8], &[u8]); 3] = [(b"a", b"\xff\0"), (b"a", b"2"), (b"", b"")];
    let metadata = Metadata::new(pairs);
    assert!(metadata.iter().eq(pairs) && metadata.get("a") == Some(b"\xff\0"));
    let schema = Schema::new([int32("x").with_metadata(metadata.clone())]).with_metadata(metadata.clone());
    assert_eq!((schema.fields()[0].metadata(), schema.metadata()), (&metadata, &metadata));
    assert!(schema.fields()[0].extension().is_none());
    assert_eq!(Metadata::new([] as [(&str, &str); 0]), Metadata::default());
}

#[test]
fn offsets_that_change_after_the_check_are_found_when_they_are_used() {
    let offsets = buffer(&[0i32, 1, 2]);
    let column =
        Column::new(ColumnType::utf8(), parts(2, vec![offsets.clone(), buffer(b"ab")]), Checks::Full)
            .unwrap();
    let writer = offsets.share().unwrap();
    assert_eq!(column.value(1).unwrap(), ColumnValue::Element("b".into()));
    assert!(column.text().unwrap_err().is_conflict());
    for end in [3i32, i32::MAX, -1, i32::MIN] {
        writer.store(8, end).unwrap();
        assert!(column.value(1).unwrap_err().is_bounds() && column.compact().unwrap_err().is_bounds());
        assert!(column.check(Checks::Full).is_err());
        assert_eq!(column.value(0).unwrap(), ColumnValue::Element("a".into()));
    }
}

#[test]
fn a_batch_is_leased_whole_or_not_at_all() {
    let memory = buffer(&[1i32, 2, 3, 4]);
    let of = |range: std::ops::Range<usize>| {
        let ty = ColumnType::Fixed(DType::I32);
        Column::new(ty, parts(1, vec![memory.slice(range).unwrap()]), Checks::Shape).unwrap()
    };
    let other = buffer(&[7i32]);
    let last =
        Column::new(ColumnType::Fixed(DType::I32), parts(1, vec![other.clone()]), Checks::Shape).unwrap();
    let batch = RecordBatch::from_columns([("a", of(0..4)), ("b", of(4..8)), ("c", last)]).unwrap();
    let lease = batch.lease(LeaseKind::Write).unwrap();
    assert!(memory.pin().is_err() && other.pin().is_err());
    drop(lease);
    let pin = other.pin().unwrap();
    let error = batch.lease(LeaseKind::Write).unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("\"c\""), "{error}");
    memory.write().unwrap();
    drop(pin);
}

#[test]
fn records_and_batches_are_copies_of_each_other() {
    let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2]).unwrap()).unwrap();
    let batch = RecordBatch::from_columns([("price", price), ("n", numbers(&[7, 8]))]).unwrap();
    let records = batch.to_records().unwrap();
    assert_eq!(records.to_string(), "[(1.5, 7) (2.5, 8)]");
    let back = RecordBatch::from_records(&records).unwrap();
    let equals = |name: &str| {
        let [one, other] = [&batch, &back].map(|batch| batch.column_named(name).unwrap().array().unwrap());
        one.equals(&other).unwrap()
    };
    assert!(equals("price") && equals("n"));
    let items = numbers(&[1, 2, 3, 4, 5, 6]);
    let item = Arc::new(Field::new("item", items.column_type().clone()).unwrap());
    let pairs = ColumnParts { len: 3, children: vec![items], ..ColumnParts::default() };
    let pairs = Column::new(ColumnType::FixedList { item, len: 2 }, pairs, Checks::Shape).unwrap();
    let rows =
        RecordBatch::from_columns([("pair", pairs)]).unwrap().slice(1..3).unwrap().to_records().unwrap();
    assert_eq!((rows.shape(), rows.to_string().as_str()), (&[2][..], "[([3, 4],) ([5, 6],)]"));
    let nulls = ColumnParts { validity: Some(buffer(&[1u8])), ..parts(2, vec![buffer(&[1u8, 2])]) };
    let nulls = Column::new(ColumnType::Fixed(DType::U8), nulls, Checks::Shape).unwrap();
    let error = RecordBatch::from_columns([("x", nulls)]).unwrap().to_records().unwrap_err();
    assert!(error.is_value() && error.to_string().contains("1 of 2"), "{error}");
    assert!(RecordBatch::from_records(&DArray::from_vec(vec![1u8], &[1]).unwrap()).unwrap_err().is_dtype());
}
