//! Columns and batches of any type, with `arrow-rs` as the counterpart.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array as _, ArrayRef, BinaryViewArray, NullArray, RecordBatch, RecordBatchIterator, StringArray,
    StringViewArray, StructArray, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use crossdock::exchange::protocol::arrow;
use crossdock::memory::copied_bytes_here;
use crossdock::table::{self, Checks, Column, RecordBatchReader};
use crossdock_testkit::seed;
use fastrand::Rng;

use crate::theirs::to_theirs;

/// Random arrays, and how many there were of each class of types.
struct Arrays {
    random: Rng,
    made: BTreeMap<&'static str, usize>,
}

const CLASSES: [&str; 24] = [
    "null",
    "bool",
    "number",
    "time",
    "interval",
    "decimal",
    "fixed bytes",
    "text",
    "large text",
    "bytes",
    "large bytes",
    "text view",
    "bytes view",
    "list",
    "large list",
    "list view",
    "large list view",
    "fixed list",
    "struct",
    "map",
    "dictionary",
    "runs",
    "dense union",
    "sparse union",
];

const DEEPEST: usize = 3;

impl Arrays {
    fn new() -> Self {
        Self { random: Rng::with_seed(seed()), made: BTreeMap::new() }
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())].clone()
    }

    fn nulls(&mut self, len: usize) -> Option<NullBuffer> {
        let bits: Vec<bool> = (0..len).map(|_| self.random.u8(..4) > 0).collect();
        (self.random.bool() && len > 0).then(|| NullBuffer::new(BooleanBuffer::from(bits)))
    }

    fn words(&mut self, len: usize) -> Vec<Option<String>> {
        let word = |random: &mut Rng| -> String {
            (0..random.usize(..20)).map(|_| if random.bool() { 'x' } else { '€' }).collect()
        };
        (0..len).map(|_| (self.random.u8(..5) > 0).then(|| word(&mut self.random))).collect()
    }

    /// An array of `len` elements, at least `depth` levels above the deepest.
    fn array(&mut self, len: usize, depth: usize) -> ArrayRef {
        let count = if depth == 0 { 13 } else { CLASSES.len() };
        let class = CLASSES[self.random.usize(..count)];
        self.of_class(class, len, depth)
    }

    /// An array that is a slice of a longer one.
    fn sliced(&mut self, len: usize, depth: usize) -> ArrayRef {
        let before = self.random.usize(..10);
        let longer = before + len + self.random.usize(..3);
        self.array(longer, depth).slice(before, len)
    }

    fn fixed(&mut self, ty: DataType, len: usize) -> ArrayRef {
        let nbytes = match &ty {
            DataType::FixedSizeBinary(nbytes) => *nbytes as usize,
            ty => ty.primitive_width().unwrap(),
        };
        let bytes: Vec<u8> = (0..len * nbytes).map(|_| self.random.u8(..)).collect();
        // Decimals of few digits, whatever their width.
        let bytes = match ty {
            DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => {
                bytes.chunks(nbytes).flat_map(|chunk| [&chunk[..1], &vec![0; nbytes - 1]].concat()).collect()
            }
            _ => bytes,
        };
        let data = ArrayData::builder(ty).len(len).nulls(self.nulls(len)).add_buffer(Buffer::from(bytes));
        make_array(data.align_buffers(true).build().unwrap())
    }

    /// Offsets of `len` lists, and their sum.
    fn offsets(&mut self, len: usize) -> Vec<usize> {
        let mut offsets = vec![self.random.usize(..3)];
        for _ in 0..len {
            offsets.push(offsets.last().unwrap() + self.random.usize(..4));
        }
        offsets
    }

    fn numbers(values: &[usize], is_large: bool) -> Buffer {
        match is_large {
            true => Buffer::from_iter(values.iter().map(|&value| value as i64)),
            false => Buffer::from_iter(values.iter().map(|&value| value as i32)),
        }
    }

    fn item(&mut self, child: &ArrayRef) -> Arc<Field> {
        let name = self.pick(&["item", "", "€"]);
        let field = Field::new(name, child.data_type().clone(), true);
        let extension = [("ARROW:extension:name".to_owned(), "other.type".to_owned())];
        Arc::new(if self.random.u8(..5) == 0 { field.with_metadata(extension) } else { field })
    }

    fn of_class(&mut self, class: &'static str, len: usize, depth: usize) -> ArrayRef {
        *self.made.entry(class).or_default() += 1;
        use DataType::*;
        let is_large = class.starts_with("large");
        let below = depth.saturating_sub(1);
        match class {
            "null" => Arc::new(NullArray::new(len)),
            "bool" => {
                let bits = BooleanBuffer::from_iter((0..len).map(|_| self.random.bool()));
                Arc::new(arrow_array::BooleanArray::new(bits, self.nulls(len)))
            }
            "number" => {
                let all =
                    [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64];
                let ty = self.pick(&all);
                self.fixed(ty, len)
            }
            "time" => {
                let (second, milli) = (TimeUnit::Second, TimeUnit::Millisecond);
                let (micro, nano) = (TimeUnit::Microsecond, TimeUnit::Nanosecond);
                let zone = self.pick(&[None, Some("UTC"), Some("+01:00"), Some("Europe/Berlin")]);
                let unit = self.pick(&[second, milli, micro, nano]);
                let ty = self.pick(&[
                    Date32,
                    Date64,
                    Time32(second),
                    Time32(milli),
                    Time64(micro),
                    Time64(nano),
                    Duration(unit),
                    Timestamp(unit, zone.map(Into::into)),
                ]);
                self.fixed(ty, len)
            }
            "interval" => {
                let unit =
                    self.pick(&[IntervalUnit::YearMonth, IntervalUnit::DayTime, IntervalUnit::MonthDayNano]);
                self.fixed(Interval(unit), len)
            }
            "decimal" => {
                let ty =
                    self.pick(&[Decimal32(9, 2), Decimal64(18, -1), Decimal128(38, 10), Decimal256(76, 0)]);
                self.fixed(ty, len)
            }
            "fixed bytes" => {
                let nbytes = self.pick(&[0, 1, 5, 16]);
                self.fixed(FixedSizeBinary(nbytes), len)
            }
            "text" | "large text" | "bytes" | "large bytes" => {
                let text = make_array(StringArray::from(self.words(len)).to_data());
                let ty = match class {
                    "text" => return text,
                    "large text" => LargeUtf8,
                    "bytes" => Binary,
                    _ => LargeBinary,
                };
                let data = text.to_data();
                let offsets: Vec<usize> =
                    data.buffers()[0].typed_data::<i32>().iter().map(|&at| at as usize).collect();
                let offsets = Self::numbers(&offsets[..=len], is_large);
                let builder = ArrayData::builder(ty).len(len).nulls(data.nulls().cloned());
                make_array(builder.add_buffer(offsets).add_buffer(data.buffers()[1].clone()).build().unwrap())
            }
            "text view" => Arc::new(StringViewArray::from_iter(self.words(len))),
            "bytes view" => Arc::new(BinaryViewArray::from_iter(
                self.words(len).into_iter().map(|word| word.map(String::into_bytes)),
            )),
            "list" | "large list" => {
                let offsets = self.offsets(len);
                let child = self.sliced(*offsets.last().unwrap() + 1, below);
                let item = self.item(&child);
                let ty = if is_large { LargeList(item) } else { List(item) };
                let data = ArrayData::builder(ty).len(len).nulls(self.nulls(len));
                make_array(
                    data.add_buffer(Self::numbers(&offsets, is_large))
                        .add_child_data(child.to_data())
                        .build()
                        .unwrap(),
                )
            }
            "list view" | "large list view" => {
                let child = self.sliced(9, below);
                let offsets: Vec<usize> = (0..len).map(|_| self.random.usize(..6)).collect();
                let sizes: Vec<usize> = (0..len).map(|_| self.random.usize(..4)).collect();
                let item = self.item(&child);
                let ty = if is_large { LargeListView(item) } else { ListView(item) };
                let data = ArrayData::builder(ty).len(len).nulls(self.nulls(len));
                let data = data.add_buffer(Self::numbers(&offsets, is_large));
                let data = data.add_buffer(Self::numbers(&sizes, is_large));
                make_array(data.add_child_data(child.to_data()).build().unwrap())
            }
            "fixed list" => {
                let size = self.random.usize(1..4);
                let child = self.sliced(len * size, below);
                let ty = FixedSizeList(self.item(&child), size as i32);
                let data = ArrayData::builder(ty).len(len).nulls(self.nulls(len));
                make_array(data.add_child_data(child.to_data()).build().unwrap())
            }
            "struct" => {
                let children: Vec<ArrayRef> =
                    (0..self.random.usize(1..4)).map(|_| self.sliced(len, below)).collect();
                let fields: Vec<_> = children.iter().map(|child| self.item(child)).collect();
                Arc::new(StructArray::new(fields.into(), children, self.nulls(len)))
            }
            "map" => {
                let offsets = self.offsets(len);
                let entries = *offsets.last().unwrap();
                let keys: ArrayRef =
                    Arc::new(StringArray::from_iter_values((0..entries).map(|key| key.to_string())));
                let values = self.sliced(entries, below);
                let fields: Fields = vec![
                    Field::new("keys", Utf8, false),
                    Field::new("values", values.data_type().clone(), true),
                ]
                .into();
                let entries = StructArray::new(fields, vec![keys, values], None);
                let field = Field::new("entries", entries.data_type().clone(), false);
                let data =
                    ArrayData::builder(Map(field.into(), self.random.bool())).len(len).nulls(self.nulls(len));
                let data = data.add_buffer(Self::numbers(&offsets, false));
                make_array(data.add_child_data(entries.to_data()).build().unwrap())
            }
            "dictionary" => {
                let values = self.sliced(5, 0);
                let (ty, width) = self.pick(&[(Int8, 1), (Int32, 4), (UInt16, 2), (Int64, 8), (UInt64, 8)]);
                let ty = Dictionary(Box::new(ty), Box::new(values.data_type().clone()));
                let index = |random: &mut Rng| [&[random.u8(..5)][..], &vec![0; width - 1]].concat();
                let indices: Vec<u8> = (0..len).flat_map(|_| index(&mut self.random)).collect();
                let data = ArrayData::builder(ty).len(len).nulls(self.nulls(len)).add_buffer(indices.into());
                make_array(data.add_child_data(values.to_data()).align_buffers(true).build().unwrap())
            }
            "runs" => {
                let mut ends: Vec<i32> = vec![];
                while ends.last().is_none_or(|&end| (end as usize) < len) {
                    ends.push(ends.last().unwrap_or(&0) + self.random.i32(1..5));
                }
                let values = self.sliced(ends.len(), 0);
                let ty = RunEndEncoded(
                    Field::new("run_ends", Int32, false).into(),
                    Field::new("values", values.data_type().clone(), true).into(),
                );
                let ends = arrow_array::Int32Array::from(ends).to_data();
                let data =
                    ArrayData::builder(ty).len(len).add_child_data(ends).add_child_data(values.to_data());
                make_array(data.build().unwrap())
            }
            "dense union" | "sparse union" => {
                let is_dense = class == "dense union";
                let ids: [i8; 2] = [5, 100];
                let children: Vec<ArrayRef> = ids.iter().map(|_| self.sliced(len.max(4), below)).collect();
                let fields = children.iter().map(|child| Field::new("x", child.data_type().clone(), true));
                let fields = UnionFields::try_new(ids, fields).unwrap();
                let mode = if is_dense { UnionMode::Dense } else { UnionMode::Sparse };
                let of: Vec<i8> = (0..len).map(|_| self.pick(&ids)).collect();
                let mut data =
                    ArrayData::builder(Union(fields, mode)).len(len).add_buffer(Buffer::from_vec(of));
                if is_dense {
                    let offsets: Vec<usize> = (0..len).map(|_| self.random.usize(..4)).collect();
                    data = data.add_buffer(Self::numbers(&offsets, false));
                } else {
                    let children = children.iter().map(|child| child.slice(0, len).to_data()).collect();
                    return make_array(data.child_data(children).build().unwrap());
                }
                let children = children.iter().map(|child| child.to_data()).collect();
                make_array(data.child_data(children).build().unwrap())
            }
            _ => unreachable!("{class}"),
        }
    }
}

/// Imports an array of arrow-rs.
pub(crate) fn from_theirs(
    array: &dyn arrow_array::Array,
    field: &Field,
) -> crossdock::Result<(table::Field, Column)> {
    let (mut exported, _) = to_ffi(&array.to_data()).unwrap();
    let mut schema = FFI_ArrowSchema::try_from(field).unwrap();
    // SAFETY: both structs were exported just now; the import marks them as moved, so their drops
    // release nothing.
    unsafe { arrow::import_column((&raw mut schema).cast(), (&raw mut exported).cast(), Checks::Full) }
}

#[test]
fn columns_of_any_type_are_taken_sliced_and_given_back_in_place() {
    let mut arrays = Arrays::new();
    let cases = crossdock_testkit::cases(800);
    let copied = copied_bytes_here();
    let mut nested = 0;
    for _ in 0..cases {
        let len = arrays.pick(&[0, 1, 2, 7, 8, 9, 40]);
        let class = arrays.pick(&CLASSES);
        let before = arrays.random.usize(..10);
        let theirs = arrays.of_class(class, before + len + 1, DEEPEST).slice(before, len);
        let nullable = arrays.random.u8(..3) > 0;
        let field = Field::new("column", theirs.data_type().clone(), nullable);
        let (ours, column) = from_theirs(&theirs, &field).unwrap_or_else(|error| panic!("{field}: {error}"));
        assert_eq!((column.len(), ours.name(), ours.is_nullable()), (len, "column", nullable));
        assert_eq!(
            column.null_count().unwrap(),
            theirs.null_count().max(if class == "null" { len } else { 0 }),
            "{field}"
        );
        nested += usize::from(column.children().iter().any(|child| !child.children().is_empty()));

        let start = arrays.random.usize(..=len);
        let end = arrays.random.usize(start..=len);
        let part = column.slice(start..end).unwrap();
        drop(column);
        let (data, back) = to_theirs(arrow::export_column(&ours, &part).unwrap());
        assert_eq!(back, field);
        data.validate_full().unwrap_or_else(|error| panic!("{field}: {error}"));
        let back = make_array(data);
        assert_eq!(&back, &theirs.slice(start, end - start), "{field}: {start}..{end} of {len}");
    }
    let all: usize = arrays.made.values().sum();
    println!("{cases} columns, {nested} nested twice, {all} arrays: {:?}", arrays.made);
    for class in CLASSES {
        let count = arrays.made.get(class).copied().unwrap_or_default();
        assert!(50 * count >= all, "{class}: {count} of {all}");
    }
    assert!(nested * 20 >= cases, "{nested}");
    assert_eq!(copied_bytes_here(), copied);
}

/// A column as an array of arrow-rs.
fn array_of(field: &table::Field, column: &Column) -> ArrayRef {
    column.check(Checks::Full).unwrap_or_else(|error| panic!("{field}: {error}"));
    let data = to_theirs(arrow::export_column(field, column).unwrap()).0;
    data.validate_full().unwrap_or_else(|error| panic!("{field}: {error}"));
    make_array(data)
}

#[test]
fn copies_and_values_of_any_type_are_those_of_the_elements() {
    let mut arrays = Arrays::new();
    let mut nulls = 0;
    for _ in 0..crossdock_testkit::cases(300) {
        let class = arrays.pick(&CLASSES);
        let theirs = arrays.of_class(class, 20, DEEPEST);
        let field = Field::new("column", theirs.data_type().clone(), true);
        let (ours, column) = from_theirs(&theirs, &field).unwrap();
        let (start, middle) = (arrays.random.usize(..10), arrays.random.usize(10..=20));
        let parts = [column.slice(start..middle).unwrap(), column.slice(middle..).unwrap()];
        let compact = parts[0].compact().unwrap_or_else(|error| panic!("{field}: {error}"));
        assert_eq!(&array_of(&ours, &compact), &theirs.slice(start, middle - start), "{field}");
        assert_eq!((compact.offset(), compact.null_count().unwrap()), (0, parts[0].null_count().unwrap()));
        let joined = Column::concat(&parts).unwrap();
        assert_eq!(joined.len(), 20 - start);
        let both = [joined.slice(..middle - start).unwrap(), joined.slice(middle - start..).unwrap()];
        assert_eq!(&array_of(&ours, &both[0]), &theirs.slice(start, middle - start), "{field}");
        assert_eq!(&array_of(&ours, &both[1]), &theirs.slice(middle, 20 - middle), "{field}");
        // Another dictionary, and other children.
        let other = Column::concat(&[compact, joined.clone()]).unwrap();
        assert_eq!(
            &array_of(&ours, &other.slice(middle - start..).unwrap()),
            &theirs.slice(start, 20 - start)
        );
        for index in 0..joined.len() {
            let (one, same) = (joined.value(index).unwrap(), column.value(start + index).unwrap());
            // A value that is no number equals none, but is printed like itself.
            let shown = |column: &Column, index: usize| column.slice(index..=index).unwrap().to_string();
            assert!(
                one == same || shown(&joined, index) == shown(&column, start + index),
                "{field}: {one:?}"
            );
            nulls += usize::from(one == table::ColumnValue::Null);
        }
    }
    assert!(nulls > 100, "{nulls}");
}

#[test]
fn values_are_those_that_arrow_describes() {
    let value = |array: &dyn arrow_array::Array, index: usize| {
        let field = Field::new("x", array.data_type().clone(), true);
        match from_theirs(array, &field).unwrap().1.value(index).unwrap() {
            table::ColumnValue::Element(value) => value.to_string(),
            table::ColumnValue::Decimal(text) => text,
            other => format!("{other:?}"),
        }
    };
    use arrow_array::types::{Int8Type, Int32Type};
    assert_eq!(value(&arrow_array::Date32Array::from(vec![-1]), 0), "1969-12-31");
    assert_eq!(value(&arrow_array::Date64Array::from(vec![86_400_000]), 0), "1970-01-02T00:00:00.000");
    assert_eq!(value(&arrow_array::Time32SecondArray::from(vec![61]), 0), "61 seconds");
    assert_eq!(value(&arrow_array::IntervalYearMonthArray::from(vec![-3]), 0), "-3 months");
    let decimal = arrow_array::Decimal128Array::from(vec![-1234]).with_precision_and_scale(9, 3).unwrap();
    assert_eq!(value(&decimal, 0), "-1.234");
    let decimal = arrow_array::Decimal64Array::from(vec![5]).with_precision_and_scale(9, 1).unwrap();
    assert_eq!(value(&decimal, 0), "0.5");
    let words: arrow_array::DictionaryArray<Int8Type> = [Some("a"), None, Some("b")].into_iter().collect();
    assert_eq!((value(&words, 2), value(&words, 1)), ("'b'".to_owned(), "Null".to_owned()));
    let runs: arrow_array::RunArray<Int32Type> = ["x", "x", "y", "z", "z"].into_iter().collect();
    let runs = runs.slice(1, 4);
    let all: Vec<String> = (0..4).map(|index| value(&runs, index)).collect();
    assert_eq!(all, ["'x'", "'y'", "'z'", "'z'"]);
    let lists = arrow_array::ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let field = Field::new("x", lists.data_type().clone(), true);
    let (_, column) = from_theirs(&lists, &field).unwrap();
    let table::ColumnValue::List(list) = column.value(0).unwrap() else { panic!() };
    assert_eq!((list.len(), list.value(1).unwrap()), (2, table::ColumnValue::Null));
    assert_eq!(column.value(1).unwrap(), table::ColumnValue::Null);
    assert!(column.value(3).unwrap_err().is_bounds());
}

#[test]
fn batches_are_printed_as_tables() {
    let theirs = batch(&["name", "b"]);
    let ours = stream_of(vec![theirs]).unwrap().next_batch().unwrap().unwrap();
    let lines =
        ["   name     b", "0  name     b", "1  null  null", "2     €     €", "", "[3 rows x 2 columns]"];
    assert_eq!(ours.to_string(), lines.join("\n"));
    let many = Column::concat(&vec![ours.column(0).unwrap(); 7]).unwrap();
    let text =
        table::RecordBatch::from_columns((0..30).map(|k| (k.to_string(), many.clone()))).unwrap().to_string();
    assert!(
        text.contains("...") && text.ends_with("[21 rows x 30 columns]") && text.lines().count() == 14,
        "{text}"
    );
    assert_eq!(many.slice(..3).unwrap().to_string(), "['name', null, '€']");
    let lists = arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
    ]);
    let field = Field::new("x", lists.data_type().clone(), true);
    assert_eq!(from_theirs(&lists, &field).unwrap().1.to_string(), "[[1, null], null]");
}

#[test]
fn text_is_read_in_place_under_a_lease() {
    let words = [Some("hello"), None, Some("a text of more than twelve bytes"), Some("")];
    let arrays: [ArrayRef; 2] =
        [Arc::new(StringArray::from(words.to_vec())), Arc::new(StringViewArray::from(words.to_vec()))];
    for array in arrays {
        let field = Field::new("x", array.data_type().clone(), true);
        let (_, column) = from_theirs(&array.slice(1, 3), &field).unwrap();
        let text = column.text().unwrap();
        let found: Vec<_> = text.iter().collect::<crossdock::Result<_>>().unwrap();
        assert_eq!(found, words[1..]);
        assert_eq!((text.len(), text.bytes(1).unwrap()), (3, words[2].map(str::as_bytes)));
        assert!(text.get(3).unwrap_err().is_bounds());
        let range =
            column.buffers().iter().map(|buffer| buffer.address()..buffer.address() + buffer.nbytes());
        let at = found[1].unwrap().as_ptr().addr();
        assert!(range.into_iter().any(|range| range.contains(&at)));
    }
}

fn batch(names: &[&str]) -> RecordBatch {
    let text = |name: &&str| Arc::new(StringArray::from(vec![Some(*name), None, Some("€")])) as ArrayRef;
    let fields: Vec<_> = names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
    let metadata = [("key".to_owned(), "value".to_owned())];
    let schema = Arc::new(arrow_schema::Schema::new(fields).with_metadata(metadata));
    RecordBatch::try_new(schema, names.iter().map(text).collect()).unwrap()
}

/// Imports a batch of arrow-rs as a stream of one.
fn stream_of(batches: Vec<RecordBatch>) -> crossdock::Result<arrow::ImportedBatches> {
    let schema = batches[0].schema();
    let batches = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    let mut theirs = FFI_ArrowArrayStream::new(Box::new(batches));
    // SAFETY: both crates declare the same struct of the specification; the stream is valid and
    // consumed once.
    unsafe { arrow::import_stream((&raw mut theirs).cast(), Checks::Full) }
}

#[test]
fn streams_of_batches_go_either_way_in_place() {
    let theirs = batch(&["a", "a", ""]);
    let strong = theirs.column(0).to_data().buffers()[1].as_ptr();
    let ours = stream_of(vec![theirs.clone(), theirs.slice(1, 2)]).unwrap();
    assert_eq!(ours.schema().metadata().get("key"), Some(&b"value"[..]));
    let mut exported = arrow::export_stream(Box::new(ours));
    let theirs_again: *mut FFI_ArrowArrayStream = (&raw mut exported).cast();
    // SAFETY: both crates declare the same struct of the specification; the stream is valid and
    // consumed once.
    let reader = unsafe { RecordBatchStreamReader::from_raw(theirs_again) }.unwrap();
    let back: Vec<RecordBatch> = reader.collect::<Result<_, _>>().unwrap();
    assert_eq!(back, [theirs.clone(), theirs.slice(1, 2)]);
    assert_eq!(back[0].column(0).to_data().buffers()[1].as_ptr(), strong);
}

/// Gives the second column of a stream a format that no version of Arrow has.
fn with_unknown_format(stream: &mut arrow::ArrowArrayStream) {
    type GetSchema = unsafe extern "C" fn(*mut arrow::ArrowArrayStream, *mut arrow::abi::ArrowSchema) -> i32;
    static GET: std::sync::OnceLock<GetSchema> = std::sync::OnceLock::new();
    unsafe extern "C" fn changed(
        stream: *mut arrow::ArrowArrayStream,
        schema: *mut arrow::abi::ArrowSchema,
    ) -> i32 {
        // SAFETY: the caller calls this as the function that it replaces.
        let code = unsafe { GET.get().unwrap()(stream, schema) };
        // SAFETY: the schema was filled in.
        let children = unsafe { (*schema).children };
        // SAFETY: it has three children.
        let second = unsafe { children.add(1) };
        // SAFETY: the pointer to a child is one of three.
        let second = unsafe { second.read() };
        // SAFETY: the child lives as long as the schema, and no other code uses it meanwhile.
        let second = unsafe { &mut *second };
        // Its owner frees it by other pointers.
        second.format = c"?".as_ptr();
        code
    }
    GET.get_or_init(|| stream.get_schema.unwrap());
    stream.get_schema = Some(changed);
}

#[test]
fn columns_that_cannot_be_imported_are_left_out_by_name_and_reason_where_that_is_asked_for() {
    let of = |values: &[i32]| {
        Column::from_array(crossdock::Array::from_vec(values.to_vec(), [values.len()]).unwrap()).unwrap()
    };
    let columns = [("a", of(&[1, 2, 3])), ("b", of(&[4, 5, 6])), ("c", of(&[7, 8, 9]))];
    let batch = table::RecordBatch::from_columns(columns).unwrap();
    let make = || {
        let parts = [batch.slice(..1).unwrap(), batch.slice(1..).unwrap()];
        let mut stream = arrow::export_stream(Box::new(parts.into_iter().collect::<table::Batches>()));
        with_unknown_format(&mut stream);
        stream
    };
    // SAFETY: just exported, and not consumed yet.
    let refused = unsafe { arrow::import_stream(&mut make(), Checks::Full) }.unwrap_err();
    assert!(refused.is_unsupported() && refused.to_string().contains("\"b\""), "{refused}");
    // SAFETY: just exported, and not consumed yet.
    let (mut imported, skipped) =
        unsafe { arrow::import_stream_skipping(&mut make(), Checks::Full) }.unwrap();
    assert_eq!((skipped.len(), skipped[0].0.as_str()), (1, "b"));
    assert!(skipped[0].1.is_unsupported() && skipped[0].1.to_string().contains("\"?\""), "{}", skipped[0].1);
    for rows in [0..1, 1..3] {
        let found = imported.next_batch().unwrap().unwrap();
        assert_eq!(found.schema().to_string(), "a: int32\nc: int32");
        for (k, name) in ["a", "c"].into_iter().enumerate() {
            let ours = batch.column_named(name).unwrap().slice(rows.clone()).unwrap().array().unwrap();
            assert_eq!(found.column(k).unwrap().array().unwrap().as_ptr(), ours.as_ptr());
        }
    }
    assert!(imported.next_batch().unwrap().is_none());

    // A column whose array breaks the rules, in one batch.
    let (mut schema, mut array) = arrow::export_batch(&batch).unwrap().into_raw();
    // SAFETY: just exported: the array has three children.
    let first = unsafe { array.children.read() };
    // SAFETY: the child lives as long as the array, and no other code uses it meanwhile.
    unsafe { &mut *first }.length = 2;
    // SAFETY: just exported, and not consumed yet.
    let skipping = unsafe { arrow::import_batch_skipping(&mut schema, &mut array, Checks::Full) };
    let (found, skipped) = skipping.unwrap();
    assert_eq!(found.schema().to_string(), "b: int32\nc: int32");
    assert!(skipped[0].0 == "a" && skipped[0].1.to_string().contains("2 elements"), "{}", skipped[0].1);
    drop(found);
    assert!(batch.lease(crossdock::memory::LeaseKind::Read).is_ok());

    // What is no batch is refused as without skipping.
    let column = batch.column(0).unwrap();
    let field = table::Field::new("a", column.column_type().clone()).unwrap();
    let (mut schema, mut array) = arrow::export_column(&field, &column).unwrap().into_raw();
    // SAFETY: just exported, and not consumed yet.
    let refused = unsafe { arrow::import_batch_skipping(&mut schema, &mut array, Checks::Shape) };
    assert!(refused.unwrap_err().is_unsupported());
}

/// A reader whose second batch fails.
struct Failing(table::Schema, usize);

impl RecordBatchReader for Failing {
    fn schema(&self) -> &table::Schema {
        &self.0
    }

    fn next_batch(&mut self) -> crossdock::Result<Option<table::RecordBatch>> {
        self.1 += 1;
        match self.1 {
            1 => table::RecordBatch::new(table::Schema::default(), [], 3).map(Some),
            2 => Err(crossdock::Error::device("error 719\0 of the source")),
            _ => panic!("a reader that failed is asked again"),
        }
    }
}

#[test]
fn errors_of_a_reader_reach_the_consumer_with_their_text() {
    let mut stream = arrow::export_stream(Box::new(Failing(table::Schema::default(), 0)));
    // SAFETY: just exported, and not consumed yet.
    let mut imported = unsafe { arrow::import_stream(&mut stream, Checks::Shape) }.unwrap();
    assert_eq!(imported.next_batch().unwrap().unwrap().len(), 3);
    let error = imported.next_batch().unwrap_err();
    assert!(error.is_io() && error.to_string().contains("error 719  of the source"), "{error}");
    assert!(imported.next_batch().unwrap().is_none());
    let mut stream = arrow::export_stream(Box::new(Failing(table::Schema::default(), 2)));
    // SAFETY: just exported, and not consumed yet.
    let mut imported = unsafe { arrow::import_stream(&mut stream, Checks::Shape) }.unwrap();
    assert!(imported.next_batch().unwrap_err().to_string().contains("panicked"));
}

#[test]
fn a_batch_of_theirs_is_released_with_its_last_column() {
    let theirs = batch(&["a", "b"]);
    let held = theirs.column(1).to_data().buffers()[1].clone();
    let before = held.strong_count();
    let mut stream = stream_of(vec![theirs.clone()]).unwrap();
    let ours = stream.next_batch().unwrap().unwrap();
    drop(stream);
    let column = ours.column(1).unwrap();
    drop(ours);
    assert!(held.strong_count() > before);
    let exported = arrow::export_column(&table::Field::new("b", table::ColumnType::utf8()).unwrap(), &column);
    drop(column);
    assert!(held.strong_count() > before);
    drop(exported);
    assert_eq!(held.strong_count(), before);
}

#[cfg(feature = "arrow-60")]
#[test]
fn arrays_and_batches_of_arrow_rs_are_converted_in_place() {
    let mut arrays = Arrays::new();
    for _ in 0..crossdock_testkit::cases(100) {
        let class = arrays.pick(&CLASSES);
        let theirs = arrays.of_class(class, 20, DEEPEST).slice(3, 10);
        let column = Column::try_from(&*theirs).unwrap();
        let back = ArrayRef::try_from(&column).unwrap();
        assert_eq!(&back, &theirs);
    }
    let theirs = batch(&["a", "", "a"]);
    let ours = table::RecordBatch::try_from(&theirs).unwrap();
    assert_eq!(RecordBatch::try_from(&ours).unwrap(), theirs);
    let part = RecordBatch::try_from(&ours.slice(1..).unwrap().select(&[2]).unwrap()).unwrap();
    assert_eq!(part, theirs.slice(1, 2).project(&[2]).unwrap());
    let rows = table::RecordBatch::new(table::Schema::default(), [], 5).unwrap();
    assert_eq!(RecordBatch::try_from(&rows).unwrap().num_rows(), 5);

    use crossdock::buffer::Buffer;
    let buffers = vec![Buffer::from_vec(vec![0i32, 1, 2]).unwrap(), Buffer::from_static(b"a\xff").unwrap()];
    let parts = table::ColumnParts { len: 2, buffers, ..Default::default() };
    let broken = Column::new(table::ColumnType::utf8(), parts, Checks::Shape).unwrap();
    assert!(ArrayRef::try_from(&broken).unwrap_err().is_malformed());
}
