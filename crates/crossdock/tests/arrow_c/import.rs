//! Imports of Arrow's structs: every bad one is an error with its numbers, every good one a
//! zero-copy array, and each struct is released exactly once in any case.

use std::thread;

use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, Imported};
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{DArray, Error, Result};
use crossdock_testkit::arrow::{Choices, Column, ForeignExport, Kind, Lie, Nulls, Recipe, fill};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

fn take_over(export: &ForeignExport) -> Result<Imported> {
    // SAFETY: a `ForeignExport` has a matching schema and array, which outlive the import and are
    // consumed once.
    unsafe { arrow::take_over(export.schema(), export.array()) }
}

fn lent(root: Column) -> ForeignExport {
    ForeignExport::new(&Recipe { root, device: None })
}

#[track_caller]
fn assert_all_released(export: &ForeignExport) {
    let (released, live) = export.released();
    assert_eq!(released, live, "schemas and arrays that were released, of those that had to be");
}

/// The error of a bad column: its kind, and what its text must hold.
#[track_caller]
fn assert_refused(root: Column, kind: fn(&Error) -> bool, parts: &[&str]) {
    let export = lent(root);
    let error = take_over(&export).and_then(Imported::into_columns).expect_err("an invalid column");
    assert!(kind(&error), "{error:?}");
    for part in parts.iter().chain(&["importing an Arrow column"]) {
        assert!(error.to_string().contains(part), "{part:?} is not in: {error}");
    }
    assert_all_released(&export);
}

fn lying(lie: Lie) -> Column {
    Column { lies: vec![lie], ..Column::default() }
}

fn lists(size: usize, length: usize, item: Column) -> Column {
    Column { name: None, kind: Kind::List(size), length, children: vec![item], ..Column::default() }
}

fn of(children: Vec<Column>) -> Column {
    Column { name: Some(""), kind: Kind::Struct, children, ..Column::default() }
}

fn elements(array: &DArray) -> Vec<Vec<u8>> {
    let copy = array.to_order(Order::RowMajor).unwrap();
    let bytes = copy.buffer().unwrap().0.pin().unwrap().to_vec();
    let width = array.dtype().itemsize();
    (0..array.len()).map(|k| bytes[k * width..][..width].to_vec()).collect()
}

// ===== bad structs

#[test]
fn null_pointers_are_errors_and_the_other_struct_is_released() {
    use std::ptr::null_mut;
    let export = lent(Column::default());
    // SAFETY: the function accepts a null schema, and the array of the export is consumed once.
    let error = unsafe { arrow::import(null_mut(), export.array()) }.unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("schema is null"), "{error}");
    assert_eq!(export.released().0, (0, 1));
    let export = lent(Column::default());
    // SAFETY: the function accepts a null array, and the schema of the export is consumed once.
    let error = unsafe { arrow::import(export.schema(), null_mut()) }.unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("array is null"), "{error}");
    assert_eq!(export.released().0, (1, 0));
    let export = lent(Column::default());
    // SAFETY: the function accepts a null array, and the schema of the export is consumed once.
    let error = unsafe { arrow::import_device(export.schema(), null_mut()) }.unwrap_err();
    assert!(error.is_malformed() && export.released().0 == (1, 0), "{error}");
}

#[test]
fn what_was_released_or_moved_is_an_error() {
    let (mut schema, mut array) = (ArrowSchema::empty(), ArrowArray::empty());
    // SAFETY: empty structs have a null `release`, which marks them as released, and the function
    // accepts those.
    let error = unsafe { arrow::import(&mut schema, &mut array) }.unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("released"), "{error}");
    // Consumed twice by mistake: the second time it is marked as moved.
    let export = lent(Column::default());
    let array = take_over(&export).unwrap().into_array().unwrap();
    assert!(take_over(&export).unwrap_err().to_string().contains("released"));
    assert_eq!(export.released().0, (1, 0));
    drop(array);
    assert_all_released(&export);
    assert_refused(lying(Lie::ReleasedSchema), Error::is_malformed, &["schema was already released"]);
    assert_refused(lying(Lie::ReleasedArray), Error::is_malformed, &["array was already released"]);
    assert_refused(of(vec![lying(Lie::ReleasedSchema)]), Error::is_malformed, &["child 0 of its schema"]);
    assert_refused(of(vec![lying(Lie::ReleasedArray)]), Error::is_malformed, &["child 0 of its array"]);
}

#[test]
fn texts_that_are_none_are_errors() {
    assert_refused(lying(Lie::NullFormat), Error::is_malformed, &["format is null"]);
    assert_refused(lying(Lie::GarbledFormat), Error::is_malformed, &["format", "UTF-8", "xff"]);
    assert_refused(lying(Lie::GarbledName), Error::is_malformed, &["name", "UTF-8", "xff"]);
    assert_refused(lying(Lie::Bits), Error::is_unsupported, &["booleans are bits"]);
    assert_refused(lying(Lie::UnknownFormat), Error::is_unsupported, &["\"?\""]);
    assert_refused(of(vec![lying(Lie::Bits)]), Error::is_unsupported, &["column \"n\": "]);
    assert_refused(lying(Lie::Pairs(-1)), Error::is_malformed, &["-1"]);
}

#[test]
fn dictionaries_are_refused() {
    assert_refused(lying(Lie::DictionarySchema), Error::is_unsupported, &["dictionary", "\"i\"", "decode"]);
    assert_refused(lying(Lie::DictionaryArray), Error::is_malformed, &["dictionary"]);
}

#[test]
fn numbers_that_contradict_each_other_are_errors() {
    let malformed = Error::is_malformed;
    assert_refused(lying(Lie::Length(-1)), malformed, &["length is -1"]);
    assert_refused(lying(Lie::Offset(i64::MIN)), malformed, &["offset is -9223372036854775808"]);
    assert_refused(lying(Lie::NullCount(-2)), malformed, &["-2 nulls among 3"]);
    assert_refused(lying(Lie::NullCount(4)), malformed, &["4 nulls among 3"]);
    assert_refused(lying(Lie::NullCount(2)), malformed, &["2 nulls, but no validity bitmap"]);
    assert_refused(lying(Lie::Buffers(1)), malformed, &["1 buffers and 0 children", "2 and 0"]);
    assert_refused(lying(Lie::Buffers(-1)), malformed, &["-1 buffers"]);
    assert_refused(
        lying(Lie::NullBuffers),
        malformed,
        &["it has 2 buffers, but the pointer to them is null"],
    );
    assert_refused(lying(Lie::SchemaChildren(7)), malformed, &["7 children"]);
    assert_refused(lying(Lie::SchemaChildren(-1)), malformed, &["-1 children"]);
    assert_refused(lying(Lie::SchemaChildren(i64::MAX)), Error::is_unsupported, &["9223372036854775807"]);
    assert_refused(lying(Lie::ArrayChildren(7)), malformed, &["7 children"]);
    assert_refused(
        Column { data: None, ..Column::default() },
        malformed,
        &["data pointer is null", "3 elements"],
    );
    let mut holes = of(vec![Column::default()]);
    holes.lies = vec![Lie::SchemaChildren(2), Lie::ArrayChildren(2)];
    assert_refused(holes, malformed, &["child 1 of its schema"]);
    let mut fewer = of(vec![Column::default(), Column::default()]);
    fewer.lies = vec![Lie::ArrayChildren(1)];
    assert_refused(fewer, malformed, &["1 buffers and 1 children", "1 and 2"]);
    for lie in [Lie::NullSchemaChildren, Lie::NullArrayChildren] {
        let mut lists = lists(1, 3, Column::default());
        lists.lies = vec![lie];
        assert_refused(lists, malformed, &["children", "null"]);
    }
}

#[test]
fn rows_that_are_not_there_are_errors() {
    let bounds = Error::is_bounds;
    assert_refused(lists(2, 2, Column::default()), bounds, &["0..0+4", "length 3"]);
    assert_refused(
        Column { offset: 1, ..lists(2, 1, Column::default()) },
        bounds,
        &["elements 2..2+2 are out of bounds for a column of length 3"],
    );
    let longer = Column { length: 4, ..of(vec![Column::default()]) };
    assert_refused(longer, bounds, &["column \"n\"", "0..0+4", "length 3"]);
    let huge = |kind, length| Column { kind, lies: vec![Lie::Length(length)], ..Column::default() };
    assert_refused(huge(Kind::Values("l", 8), i64::MAX), Error::is_overflow, &["9223372036854775807"]);
    // Nor is the bitmap of so many elements read.
    let marked = Column { nulls: Nulls::Uncounted(0), ..huge(Kind::Values("l", 8), i64::MAX - 5) };
    assert_refused(marked, Error::is_overflow, &["9223372036854775802"]);
    assert_refused(lying(Lie::Offset(i64::MAX)), Error::is_overflow, &["9223372036854775807"]);
    // Below 2⁶⁴, but larger than any valid offset.
    assert_refused(lying(Lie::Offset(1 << 61)), Error::is_overflow, &["exceed the address space"]);
    assert_refused(lying(Lie::Offset((1 << 61) - 1000)), Error::is_overflow, &["exceed the address space"]);
    let far = Column { lies: vec![Lie::Length(i64::MAX)], ..lists(3, 1, Column::default()) };
    assert_refused(far, Error::is_overflow, &["9223372036854775807"]);
}

/// The error of a good column whose C struct was changed.
#[track_caller]
fn changed(root: Column, change: fn(&mut ArrowSchema, &mut ArrowArray)) -> Error {
    let export = lent(root);
    // SAFETY: the export keeps the struct alive, and this is the only reference to it.
    let schema = unsafe { &mut *export.schema() };
    // SAFETY: the export keeps the struct alive, and this is the only reference to it.
    let array = unsafe { &mut *export.array() };
    change(schema, array);
    let error = take_over(&export).and_then(Imported::into_columns).expect_err("an invalid column");
    assert_all_released(&export);
    error
}

#[test]
fn pointers_to_pointers_that_are_not_aligned_are_errors() {
    let buffers = changed(Column::default(), |_, array| array.buffers = array.buffers.wrapping_byte_add(1));
    let schemas = changed(of(vec![Column::default()]), |schema, _| {
        schema.children = schema.children.wrapping_byte_add(1);
    });
    let arrays = changed(of(vec![Column::default()]), |_, array| {
        array.children = array.children.wrapping_byte_add(1);
    });
    for (error, what) in [(buffers, "buffers"), (schemas, "schema"), (arrays, "array")] {
        let text = error.to_string();
        assert!(error.is_malformed() && text.contains("is not aligned"), "{text}");
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn a_bitmap_that_leaves_the_address_space_is_an_error() {
    let error = changed(Column::default(), |_, array| {
        array.null_count = 1;
        // SAFETY: the default column has values, hence two buffers, of which the first is the
        // bitmap.
        unsafe { array.buffers.write(std::ptr::without_provenance(usize::MAX)) };
    });
    assert!(error.is_overflow(), "{error:?}");
    assert!(error.to_string().contains("validity bitmap at 0xffffffffffffffff"), "{error}");
}

#[test]
fn circles_and_depths_are_refused() {
    let circle = Column { lies: vec![Lie::Circle], ..of(vec![]) };
    assert_refused(of(vec![circle]), Error::is_unsupported, &["64 levels"]);
    let mut deep = Column::default();
    for _ in 0..64 {
        deep = lists(1, 3, deep);
    }
    // One axis more than supported.
    assert_refused(deep.clone(), Error::is_unsupported, &["65"]);
    assert_refused(lists(1, 3, deep), Error::is_unsupported, &["64 levels"]);
    // Two children each, both of which are the column itself: 2⁶⁴ paths.
    let forked = Column { lies: vec![Lie::Fork], ..of(vec![]) };
    assert_refused(of(vec![forked]), Error::is_unsupported, &["65536"]);
}

#[test]
fn tensors_that_contradict_themselves_are_errors() {
    let tensor = |shape: Vec<usize>, axes| Column {
        kind: Kind::Tensor(shape, axes),
        length: 1,
        children: vec![Column { length: 6, ..Column::default() }],
        ..Column::default()
    };
    let other = Column { lies: vec![Lie::OtherTensor], ..tensor(vec![2, 3], None) };
    assert_refused(other, Error::is_malformed, &["[2, 3, 5]", "6 elements"]);
    assert_refused(tensor(vec![2, 3], Some(vec![0])), Error::is_shape, &["[0]", "2 axes"]);
    assert_refused(tensor(vec![2, 3], Some(vec![0, 2])), Error::is_shape, &["[0, 2]"]);
}

// ===== good ones

#[test]
fn a_column_is_constant_memory_where_it_lies() {
    let export = lent(Column { offset: 2, data: Some(8), ..Column::default() });
    let (block, copied) = (export.block(), copied_bytes_here());
    let imported = take_over(&export).unwrap();
    assert_eq!((imported.name(), imported.child_names(), imported.place()), ("n", None, Place::CPU));
    assert!(format!("{imported:?}").contains("int32"));
    assert_eq!(export.released().0, (1, 0), "the schema is released at once");
    let array = imported.into_array().unwrap();
    assert_eq!((array.as_ptr().addr(), array.dtype(), array.shape()), (block + 16, &DType::I32, &[3][..]));
    assert_eq!((array.birth(), array.is_readonly(), copied_bytes_here()), (Birth::Constant, true, copied));
    let slice = array.slice(crossdock::s![1..]).unwrap();
    drop(array);
    assert_eq!(export.released().0, (1, 0));
    thread::spawn(move || drop(slice)).join().unwrap();
    assert_all_released(&export);
}

#[test]
fn unaligned_elements_are_taken() {
    let export = lent(Column { data: Some(3), ..Column::default() });
    let array = take_over(&export).unwrap().into_array().unwrap();
    assert_eq!(array.as_ptr().addr() % 4, (export.block() + 3) % 4);
    assert_eq!(elements(&array)[0], [fill(3), fill(4), fill(5), fill(6)]);
    drop(array);
    assert_all_released(&export);
}

#[test]
fn columns_of_a_struct_hold_it_together() {
    let export = lent(of(vec![
        Column { name: Some("x"), ..Column::default() },
        Column { name: Some("y"), kind: Kind::Values("g", 8), data: Some(64), ..Column::default() },
    ]));
    let mut columns = take_over(&export).unwrap().into_columns().unwrap();
    let (name, last) = columns.pop().unwrap();
    assert_eq!((name.as_str(), last.as_ptr().addr()), ("y", export.block() + 64));
    drop(columns);
    assert_eq!(export.released().0, (3, 0));
    drop(last);
    assert_all_released(&export);
}

#[test]
fn records_are_copies_and_need_names() {
    let column = |name, data| Column { name, data: Some(data), ..Column::default() };
    let export = lent(of(vec![column(Some("x"), 0), column(Some("y"), 64)]));
    let copied = copied_bytes_here();
    let records = take_over(&export).unwrap().into_records().unwrap();
    assert_all_released(&export);
    assert_eq!((records.dtype().itemsize(), copied_bytes_here() - copied), (8, 24));
    for names in [[Some("x"), Some("x")], [Some("x"), None]] {
        let export = lent(of(vec![column(names[0], 0), column(names[1], 0)]));
        assert!(take_over(&export).unwrap().into_records().unwrap_err().is_dtype());
        assert_all_released(&export);
    }
    let export = lent(of(vec![]));
    assert!(take_over(&export).unwrap().into_records().unwrap_err().is_shape());
    assert_all_released(&export);
}

#[test]
fn a_bitmap_that_nobody_asked_about_is_not_read() {
    // The count would state that some are null.
    for nulls in [Nulls::Zero, Nulls::Unknown] {
        let export = lent(Column { length: 100, nulls, ..Column::default() });
        assert!(take_over(&export).unwrap().into_array().is_ok());
    }
    let export = lent(Column { length: 100, nulls: Nulls::Uncounted(0), ..Column::default() });
    let error = take_over(&export).unwrap().into_array().unwrap_err();
    assert!(error.is_value() && error.to_string().contains("of 100 elements are null"), "{error}");
    assert_all_released(&export);
}

// ===== devices

fn on(device: (i32, i64, usize), root: Column) -> (Result<DArray>, ForeignExport) {
    let export = ForeignExport::new(&Recipe { root, device: Some(device) });
    // SAFETY: a `ForeignExport` has a matching schema and device array, which outlive the import
    // and are consumed once.
    (unsafe { arrow::import_device(export.schema(), export.array()) }, export)
}

#[test]
fn memory_of_any_device_is_handed_on() {
    let (array, export) = on((2, 1, 0), Column::default());
    let array = array.unwrap();
    assert_eq!((array.place(), array.as_ptr().addr()), (Place::new(DeviceKind::CUDA, 1), export.block()));
    assert!(array.get(&[0]).is_err());
    let exported = arrow::export_device(&array, &crate::options()).unwrap();
    assert_eq!((exported.array().device_type, exported.array().device_id), (2, 1));
    drop(array);
    assert_eq!(export.released().0, (1, 0));
    drop(exported);
    assert_all_released(&export);
    for id in [-1, 0, 7] {
        let (array, _export) = on((1, id, 0), Column::default());
        assert_eq!(array.unwrap().place(), Place::CPU, "the processor is one");
    }
}

#[test]
fn events_handles_and_bitmaps_on_a_device_are_refused() {
    for (device, root, says) in [
        ((10, 0, 64), Column::default(), "an event of rocm:0"),
        ((1, -1, 64), Column::default(), "cpu, which has no events"),
        ((4, 0, 0), Column::default(), "handles"),
        ((15, 0, 0), Column::default(), "handles"),
        ((2, i64::MAX, 0), Column::default(), "9223372036854775807"),
        ((2, 0, 0), Column { nulls: Nulls::Uncounted(0), ..Column::default() }, "bitmap is on cuda:0"),
    ] {
        let (result, export) = on(device, root);
        let error = result.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_all_released(&export);
    }
}

// ===== all of them

#[test]
fn every_lie_is_refused_wherever_it_is_told_alone_and_in_pairs() {
    let honest = [
        Column::default(),
        lists(1, 3, Column::default()),
        of(vec![Column::default(), lists(1, 3, Column::default())]),
        Column { kind: Kind::Tensor(vec![1], None), children: vec![Column::default()], ..Column::default() },
    ];
    for root in honest {
        assert!(take_over(&lent(root.clone())).unwrap().into_columns().is_ok());
        for first in Lie::ALL.into_iter().filter(|first| *first != Lie::Fork) {
            // Two paths alone take long.
            for second in Lie::ALL.into_iter().filter(|second| *second != Lie::Fork) {
                let mut top = root.clone();
                top.lies = vec![first, second];
                check(&Recipe { root: top, device: None });
                let mut below = root.clone();
                if let Some(child) = below.children.last_mut() {
                    child.lies = vec![first, second];
                    check(&Recipe { root: below, device: None });
                }
            }
        }
    }
}

/// Imports a recipe's structs, and compares the result with the recipe. Returns whether the import
/// succeeded.
fn check(recipe: &Recipe) -> bool {
    let export = ForeignExport::new(recipe);
    let block = export.block();
    let columns = take_over(&export).and_then(Imported::into_columns);
    let leaves = if recipe.is_honest() { recipe.leaves() } else { vec![] };
    let has_nulls = leaves.iter().any(|leaf| leaf.has_nulls());
    assert_eq!(columns.is_ok(), recipe.is_honest() && !has_nulls, "{columns:?} of {recipe:?}");
    let taken = columns.is_ok();
    if let Ok(columns) = columns {
        assert_eq!(columns.len(), leaves.len());
        for ((name, array), leaf) in columns.iter().zip(&leaves) {
            assert_eq!((name, array.shape()), (&leaf.name, &leaf.shape()[..]));
            let wanted: Vec<Vec<u8>> = leaf.elements().into_iter().flatten().collect();
            assert_eq!(elements(array), wanted, "{recipe:?}");
            let address = array.as_ptr().addr();
            assert!(
                wanted.concat().is_empty()
                    || (block..block + crossdock_testkit::arrow::BLOCK).contains(&address)
            );
        }
    }
    assert_all_released(&export);

    let export = ForeignExport::new(recipe);
    let both = take_over(&export).and_then(Imported::into_array_with_validity);
    if let (Ok((array, valid)), [leaf]) = (&both, &leaves[..]) {
        assert_eq!((array.shape(), valid.is_some()), (&leaf.shape()[..], leaf.has_nulls()));
        let elements = elements(array);
        for (k, wanted) in leaf.elements().into_iter().enumerate() {
            let mut index = vec![0; array.rank()];
            let mut rest = k;
            for (index, len) in index.iter_mut().zip(array.shape()).rev() {
                (*index, rest) = (rest % len, rest / len);
            }
            let is_valid =
                valid.as_ref().is_none_or(|valid| valid.get(&index).unwrap().as_bool() == Some(true));
            assert_eq!(is_valid, wanted.is_some(), "{recipe:?}");
            assert!(wanted.is_none_or(|wanted| elements[k] == wanted));
        }
    }
    assert!(both.is_err() || recipe.is_honest());
    drop(both);
    assert_all_released(&export);
    taken
}

#[test]
fn columns_of_any_shape_are_what_their_producer_says() {
    let mut rng = Rng::with_seed(seed());
    let cases: usize = crossdock_testkit::cases(4000);
    let mut coverage = Coverage::default();
    for _ in 0..cases {
        let bytes: Vec<u8> = (0..rng.usize(0..160)).map(|_| rng.u8(..)).collect();
        let recipe = Recipe::choose(&mut Choices(&bytes));
        coverage.case();
        let leaves = recipe.leaves();
        let honest = recipe.is_honest();
        coverage.note(if check(&recipe) { "taken" } else { "refused" });
        coverage.note_if(honest && leaves.iter().any(|leaf| leaf.has_nulls()), "nulls");
        coverage.note_if(!honest, "lies");
        coverage.note_if(matches!(recipe.root.kind, Kind::Struct), "structs");
        coverage.note_if(matches!(recipe.root.kind, Kind::Tensor(_, Some(_))), "permuted tensors");
        coverage.note_if(leaves.iter().any(|leaf| leaf.shape().contains(&0)), "empty");
        coverage.note_if(leaves.iter().any(|leaf| leaf.shape().len() > 3), "more than three axes");
    }
    println!("{coverage}");
    if cases >= 1000 {
        coverage.assert_at_least(0.4, ["taken"]);
        coverage.assert_at_least(0.05, ["refused", "nulls", "lies", "structs", "permuted tensors", "empty"]);
        coverage.assert_at_least(0.02, ["more than three axes"]);
    }
}
