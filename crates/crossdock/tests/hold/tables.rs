//! Tables in sets: those of files, those that a process publishes, and those that lie.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crossdock::Array;
use crossdock::buffer::Buffer;
use crossdock::exchange::files;
use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcFile, IpcOptions};
use crossdock::exchange::protocol::hold::{self, Label, Limits, SealedSet, Set, SetBuilder, SetHolder};
use crossdock::memory::{Birth, copied_bytes_here};
use crossdock::table::{
    Batches, Checks, Column, ColumnParts, ColumnType, Field, RecordBatch, RecordBatchReader, Schema,
};

use crate::common::{Running, unique};
use crate::hostile::{SEALED, commit_other, memfd};
use crate::loaded::{Folder, numbers};

pub(crate) fn integers(values: impl IntoIterator<Item = i64>) -> Column {
    let values: Vec<i64> = values.into_iter().collect();
    let len = values.len();
    Column::from_array(Array::from_vec(values, [len]).unwrap()).unwrap()
}

fn text() -> Column {
    let buffers = vec![
        Buffer::from_vec(vec![0i32, 3, 3, 6, 11]).unwrap(),
        Buffer::from_static(b"onetwothree").unwrap(),
    ];
    let validity = Some(Buffer::from_static(&[0b1101u8]).unwrap());
    let parts = ColumnParts { len: 4, buffers, validity, ..ColumnParts::default() };
    Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap()
}

/// Numbers, text with a null, a dictionary, and lists of lists.
fn batch() -> RecordBatch {
    let indices = Column::from_array(Array::from_vec(vec![0i32, 3, 2, 2], [4]).unwrap()).unwrap();
    let ty = ColumnType::Dictionary {
        index: indices.array().unwrap().dtype().clone(),
        values: Arc::new(Field::new("", ColumnType::utf8()).unwrap()),
        ordered: false,
    };
    let buffers = indices.buffers().to_vec();
    let parts = ColumnParts { len: 4, buffers, dictionary: Some(text()), ..ColumnParts::default() };
    let kinds = Column::new(ty, parts, Checks::Full).unwrap();
    let lists = |items: Column| {
        let ty = ColumnType::list(Field::new("item", items.column_type().clone()).unwrap());
        let buffers = vec![Buffer::from_vec(vec![0i32, 2, 2, 3, 4]).unwrap()];
        let parts = ColumnParts { len: 4, buffers, children: vec![items], ..ColumnParts::default() };
        Column::new(ty, parts, Checks::Full).unwrap()
    };
    let nested = lists(lists(text()));
    RecordBatch::from_columns([("n", integers(0..4)), ("text", text()), ("kind", kinds), ("nested", nested)])
        .unwrap()
}

fn label() -> Label {
    "m@1".parse().unwrap()
}

/// A set of an array, and the batch twice as a table.
fn with_table(label: &Label) -> SealedSet {
    let mut builder = SetBuilder::new();
    builder.array("w", crossdock::element::DType::I64, &[3]).unwrap();
    let mut draft = builder.allocate(label).unwrap();
    draft.write_table("t", &mut Batches::from_iter([batch(), batch()])).unwrap();
    draft.seal().unwrap()
}

fn held(name: &Label, set: impl FnOnce(&Label) -> SealedSet) -> Running {
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.claim(name).unwrap();
    let label = holder.next(name).unwrap();
    holder.commit(set(&label)).unwrap();
    Running::start(holder)
}

/// The addresses at which this process maps memory whose path contains a text.
fn maps(of: &str) -> Vec<Range<usize>> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    let range = |line: &str| {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        usize::from_str_radix(start, 16).unwrap()..usize::from_str_radix(end, 16).unwrap()
    };
    text.lines().filter(|line| line.contains(of)).map(range).collect()
}

/// Asserts that every byte of a column lies in one of the maps.
fn assert_within(column: &Column, maps: &[Range<usize>]) {
    for buffer in column.buffers().iter().chain(column.validity().map(|bits| bits.buffer())) {
        let start = buffer.address();
        let is_within = |map: &Range<usize>| map.start <= start && start + buffer.nbytes() <= map.end;
        assert!(buffer.nbytes() == 0 || maps.iter().any(is_within), "{start:#x} of {column:?}: {maps:?}");
    }
    column.children().iter().chain(column.dictionary()).for_each(|child| assert_within(child, maps));
}

/// Asserts that a table has these batches, in place.
#[track_caller]
fn assert_table(set: &Set, name: &str, batches: &[RecordBatch], maps: &[Range<usize>]) {
    let copied = copied_bytes_here();
    let table = set.table(name).unwrap();
    assert_eq!(table.len(), batches.len());
    for (index, wanted) in batches.iter().enumerate() {
        let found = table.batch(index).unwrap();
        assert_eq!(found.columns().len(), wanted.columns().len());
        found.columns().for_each(|column| assert_within(&column.unwrap(), maps));
        assert_eq!(copied_bytes_here(), copied);
        assert_eq!((found.to_string(), found.schema()), (wanted.to_string(), wanted.schema()));
    }
    let rows = batches.iter().map(RecordBatch::len).sum();
    let columns = batches.first().map_or(0, |batch| batch.columns().len());
    assert_eq!(set.table_shape(name).unwrap(), Some((rows, columns)));
}

#[test]
fn a_published_table_is_read_in_place_and_is_constant() {
    let name = unique();
    let _holder = held(&name, with_table);
    let set = hold::connect(&name).unwrap();
    assert_eq!((set.len(), set.table_shape("w").unwrap()), (2, None));
    let mapped = maps(&format!("crossdock hold {name}@1 region 1"));
    assert_table(&set, "t", &[batch(), batch()], &mapped);
    let column = set.table("t").unwrap().batch(1).unwrap().column(0).unwrap();
    assert_eq!(column.buffers()[0].address() % 64, 0);
    assert_eq!(column.array().unwrap().birth(), Birth::Constant);
    assert!(column.buffers()[0].read().is_ok());
    let rows = hold::list().unwrap().into_iter().find(|row| row.name == name).unwrap();
    let row = &rows.versions.unwrap()[0];
    assert_eq!((row.arrays, row.tables), (1, 1));
    // An array is no table, and a table no array.
    let error = set.get("t").unwrap_err();
    let text = "is a table of 8 rows and 4 columns, not an array";
    assert!(error.is_unsupported() && error.to_string().contains(text), "{error}");
    assert!(set.table("w").unwrap_err().is_unsupported());
    let error = set.table("x").unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains("has no array or table \"x\""), "{error}");
}

#[test]
fn a_column_keeps_the_set_alive_after_all_else_is_dropped() {
    let name = unique();
    let _holder = held(&name, with_table);
    let set = hold::connect(&name).unwrap();
    let column = set.table("t").unwrap().batch(0).unwrap().column_named("text").unwrap();
    drop(set);
    assert_eq!(hold::who(&name).unwrap().len(), 2);
    assert_eq!(column.to_string(), text().to_string());
    drop(column);
    crate::common::until("the lease is given back", || hold::who(&name).unwrap().len() == 1);
}

#[test]
fn tables_without_rows_without_columns_and_with_many_columns_are_held() {
    let empty = RecordBatch::from_columns([("n", integers([]))]).unwrap();
    let bare = RecordBatch::new(Schema::default(), [], 7).unwrap();
    let wide: Vec<(String, Column)> = (0..2_000).map(|k| (format!("c{k}"), integers([k, k + 1]))).collect();
    let wide = RecordBatch::from_columns(wide).unwrap();
    let mut draft = SetBuilder::new().allocate(&label()).unwrap();
    for (name, batch) in [("empty", &empty), ("bare", &bare), ("wide", &wide)] {
        draft.write_table(name, &mut Batches::from_iter([batch.clone()])).unwrap();
    }
    draft.write_table("none", &mut Batches::default()).unwrap();
    draft.alias("again", "wide").unwrap();
    let set = draft.seal().unwrap().open().unwrap();
    assert_eq!(set.names().collect::<crossdock::Result<Vec<_>>>().unwrap().len(), 5);
    let mapped = maps("crossdock hold m@1 region 1");
    for (name, batch) in [("empty", empty), ("bare", bare), ("wide", wide.clone()), ("again", wide)] {
        assert_table(&set, name, &[batch], &mapped);
    }
    assert_table(&set, "none", &[], &mapped);
}

/// A reader that fails after a batch.
struct FailsLater(Option<RecordBatch>, Schema);

impl RecordBatchReader for FailsLater {
    fn schema(&self) -> &Schema {
        &self.1
    }

    fn next_batch(&mut self) -> crossdock::Result<Option<RecordBatch>> {
        match self.0.take() {
            Some(batch) => Ok(Some(batch)),
            None => Err(Array::from_vec(vec![1], [2]).unwrap_err()),
        }
    }
}

#[test]
fn a_table_that_fails_midway_leaves_the_set_as_it_was() {
    let mut draft = SetBuilder::new().allocate(&label()).unwrap();
    draft.write_table("a", &mut Batches::from_iter([batch()])).unwrap();
    let error = draft.write_table("a", &mut Batches::from_iter([batch()])).unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let mut failing = FailsLater(Some(batch()), batch().schema().clone());
    let error = draft.write_table("b", &mut failing).unwrap_err();
    assert!(error.to_string().starts_with("table \"b\": "), "{error}");
    draft.write_table("c", &mut Batches::from_iter([batch()])).unwrap();
    let error = draft.get("c").unwrap_err();
    assert!(error.is_unsupported(), "{error}");
    assert!(
        error.to_string().contains("\"c\" of the set") && error.to_string().contains("is a table"),
        "{error}"
    );
    let set = draft.seal().unwrap().open().unwrap();
    assert_eq!(set.names().collect::<crossdock::Result<Vec<_>>>().unwrap(), ["a", "c"]);
    for name in ["a", "c"] {
        assert_eq!(set.table(name).unwrap().batch(0).unwrap().to_string(), batch().to_string());
    }
}

fn save(path: &Path, options: &IpcOptions, batches: impl IntoIterator<Item = RecordBatch>) {
    options.save(path, &mut Batches::from_iter(batches)).unwrap();
}

#[test]
fn files_of_tables_and_of_arrays_are_one_set_in_one_region() {
    let folder = Folder::new("tables");
    save(&folder.0.join("trades.arrow"), &IpcOptions::new(), [batch(), batch()]);
    save(&folder.0.join("stream.arrows"), &IpcOptions::new(), [batch()]);
    files::save(folder.0.join("bias.npy"), &numbers(3)).unwrap();
    let copied = copied_bytes_here();
    let sealed = files::load_set(&folder.0, &label(), |_, _| {}).unwrap();
    assert_eq!((copied_bytes_here(), sealed.len(), sealed.tables()), (copied, 3, 2));
    let set = sealed.open().unwrap();
    assert!(set.get("bias").unwrap().equals(&numbers(3)).unwrap());
    let mapped = maps("crossdock hold m@1 region 0");
    assert_table(&set, "trades", &[batch(), batch()], &mapped);
    assert_table(&set, "stream", &[batch()], &mapped);
    assert!(set.table("trades").unwrap().batch(0).unwrap().column(0).unwrap().buffers()[0].read().is_ok());
    // A column is not lifted out of its table, so the name of another file cannot meet it.
    assert!(set.get("n").unwrap_err().is_bounds());
    files::save(folder.0.join("trades.npy"), &numbers(3)).unwrap();
    assert!(files::load_set(&folder.0, &label(), |_, _| {}).unwrap_err().is_conflict());
}

#[test]
fn a_compressed_table_is_decoded_into_the_set_and_cannot_be_mapped() {
    let folder = Folder::new("compressed");
    for (ending, codec) in [("arrow", IpcCompression::Zstd), ("arrows", IpcCompression::Lz4)] {
        // A compressed column has to be long.
        let long = RecordBatch::from_columns([("n", integers((0..5000).map(|k| k % 7)))]).unwrap();
        let path = folder.0.join(format!("t-{ending}.{ending}"));
        save(&path, &IpcOptions::new().compression(codec), [long.clone(), long.clone()]);
        let copied = copied_bytes_here();
        let sealed = files::load_set(&path, &label(), |_, _| {}).unwrap();
        assert!(copied_bytes_here() > copied);
        let set = sealed.open().unwrap();
        let mapped = maps("crossdock hold m@1 region 1");
        assert_table(&set, &format!("t-{ending}"), &[long.clone(), long], &mapped);
        let error = files::map_set(&path, &label()).unwrap_err();
        assert!(
            error.is_unsupported() && error.to_string().contains("it is compressed, so a map"),
            "{error}"
        );
    }
}

#[test]
fn a_mapped_table_is_the_file_and_a_shorter_file_is_an_error() {
    const LEN: i64 = 1 << 16;
    let (folder, name) = (Folder::new("mapped-table"), unique());
    let path = folder.0.join("t.arrow");
    let long = RecordBatch::from_columns([("n", integers(0..LEN))]).unwrap();
    save(&path, &IpcOptions::new(), [long.clone()]);
    // Before it, so that its region is not the first.
    files::save(folder.0.join("bias.npy"), &numbers(3)).unwrap();
    let _holder = held(&name, |label| files::map_set(&folder.0, label).unwrap());
    let set = hold::connect(&name).unwrap();
    assert!(set.is_mapped());
    assert_table(&set, "t", &[long], &maps(path.to_str().unwrap()));
    assert!(set.get("bias").unwrap().equals(&numbers(3)).unwrap());
    let column = set.table("t").unwrap().batch(0).unwrap().column(0).unwrap();
    assert_eq!(column.array().unwrap().birth(), Birth::Aliased);
    assert!(column.buffers()[0].read().is_err());
    File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let fault = column.array().unwrap().to_order(crossdock::layout::Order::RowMajor).unwrap_err();
    assert!(fault.is_fault(), "{fault}");
    let fault = set.table("t").unwrap_err();
    assert!(fault.is_fault() && fault.to_string().contains("table \"t\" of"), "{fault}");
}

#[test]
fn damaged_files_of_tables_are_refused_by_name() {
    let folder = Folder::new("damaged-table");
    let path = folder.0.join("t.arrow");
    save(&path, &IpcOptions::new(), [batch()]);
    let good = std::fs::read(&path).unwrap();
    let cut = good[..good.len() - 100].to_vec();
    let mut lies = good.clone();
    // The length of the footer.
    let end = lies.len() - 10;
    lies[end..end + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    for (bytes, text) in [
        (&cut[..], "cut off, or was not finished"),
        (&lies, "its footer has 2147483647 bytes"),
        (&good[..8], "cut off"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        for error in [
            files::load_set(&path, &label(), |_, _| {}).unwrap_err(),
            files::map_set(&path, &label()).unwrap_err(),
        ] {
            assert!(error.to_string().contains(text) && error.to_string().contains("t.arrow"), "{error}");
        }
    }
}

#[test]
fn a_reader_refuses_tables_that_lie() {
    let name = unique();
    let _holder = held(&name, with_table);
    let _first = hold::connect(&name).unwrap();
    let good = hold::connect(&name).unwrap().table("t").unwrap().buffer().nbytes() as u32;
    // Head, two regions, one dtype, no metadata; then the entries of `w` and `t`, and their
    // numbers.
    let entry = 96 + 64 + 8 + 40;
    let numbers = entry + 40 + 16;
    for (at, number, text) in [
        (entry + 20, u32::MAX, "first number"),
        (entry + 24, 2, "region is 2 of 2"),
        (entry + 24, 0, "beyond the 24 bytes of its region"),
        (entry + 32, 64, "beyond the"),
        (entry + 36, u32::MAX, "beyond the"),
        (numbers, good + 1, "beyond the"),
        (numbers, good - 1, "not finished"),
        (numbers, 0, ""),
        (numbers + 4, u32::MAX, "beyond the"),
        (numbers + 8, 9, "it has 8 rows and 4 columns, but the manifest says 9 and 4"),
        (numbers + 16, 5, "it has 8 rows and 4 columns, but the manifest says 8 and 5"),
        // An array of its dtype, without axes.
        (entry + 8, 0, "is an array, not a table"),
        (entry + 8, 7, "of kind 7"),
    ] {
        let put = |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        assert_eq!(commit_other(&name, put, None).0, 104);
        let set = hold::connect(&name).unwrap();
        let error = set.table("t").unwrap_err();
        assert!(error.to_string().contains(text), "{at}: {error}");
        assert_eq!(set.get("w").unwrap().shape(), [3]);
    }
}

/// The bytes with a middle offset of each column of text made to lie, one at a time.
fn with_lies(good: &[u8]) -> Vec<Vec<u8>> {
    let offsets: Vec<u8> = [0i32, 3, 3, 6, 11].iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let places = (0..good.len()).filter(|&at| good[at..].starts_with(&offsets));
    let lies = places.map(|at| {
        let mut bytes = good.to_vec();
        bytes[at + 8..at + 12].copy_from_slice(&2_000_000_000i32.to_le_bytes());
        bytes
    });
    lies.collect()
}

#[test]
fn a_table_with_offsets_that_lie_is_not_read_from_a_set() {
    let name = unique();
    let _holder = held(&name, with_table);
    let _first = hold::connect(&name).unwrap();
    let good = hold::connect(&name).unwrap().table("t").unwrap().buffer().read().unwrap().to_vec();
    // Text, values of the dictionary, and items of lists: the last of two batches each.
    let lies = with_lies(&good);
    assert!(lies.len() >= 5, "{}", lies.len());
    for bytes in lies {
        let region = memfd(&bytes, SEALED);
        let inode = File::from(region.try_clone().unwrap()).metadata().unwrap().ino();
        let put = |manifest: &mut Vec<u8>| manifest[96 + 32..][..8].copy_from_slice(&inode.to_le_bytes());
        assert_eq!(commit_other(&name, put, Some(region.as_fd())).0, 104);
        let table = hold::connect(&name).unwrap().table("t").unwrap();
        let read: Vec<_> = (0..table.len()).map(|index| table.batch(index)).collect();
        let error = read.into_iter().find_map(Result::err).expect("an offset lies");
        assert!(
            error.to_string().contains("offset 2000000000 at index 2 is out of bounds for 11"),
            "{error}"
        );
        let columns = (0..2).flat_map(|batch| (0..4).map(move |column| (batch, column)));
        assert!(columns.map(|(batch, column)| table.column(batch, column)).any(|read| read.is_err()));
    }
}

#[test]
fn a_file_with_offsets_that_lie_is_not_loaded_into_a_set() {
    let folder = Folder::new("lying-table");
    let path = folder.0.join("t.arrow");
    IpcOptions::new().save(&path, &mut Batches::from_iter([batch()])).unwrap();
    let good = std::fs::read(&path).unwrap();
    for bytes in with_lies(&good) {
        std::fs::write(&path, &bytes).unwrap();
        let error = files::load_set(&path, &label(), |_, _| {}).unwrap_err();
        assert!(error.to_string().contains("offset 2000000000 at index 2"), "{error}");
        assert!(error.to_string().contains("t.arrow"), "{error}");
    }
}

#[test]
fn a_table_whose_bytes_are_any_bytes_is_batches_or_an_error() {
    let name = unique();
    let _holder = held(&name, with_table);
    let _first = hold::connect(&name).unwrap();
    let good: Vec<u8> = {
        let set = hold::connect(&name).unwrap();
        let table = set.table("t").unwrap();
        table.buffer().read().unwrap().to_vec()
    };
    let mut random = fastrand::Rng::with_seed(crossdock_testkit::seed());
    let mut refused = 0;
    for _ in 0..60 {
        let mut bytes = good.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            let any = random.u8(..);
            bytes[at] = random.choice([0, 1, 8, 0x7f, 0x80, 0xff, any]).unwrap();
        }
        let region = memfd(&bytes, SEALED);
        let inode = File::from(region.try_clone().unwrap()).metadata().unwrap().ino();
        let put = |manifest: &mut Vec<u8>| manifest[96 + 32..][..8].copy_from_slice(&inode.to_le_bytes());
        assert_eq!(commit_other(&name, put, Some(region.as_fd())).0, 104);
        let set = hold::connect(&name).unwrap();
        let read = |table: IpcFile| {
            for index in 0..table.len() {
                for column in table.batch(index)?.columns() {
                    let column = column?;
                    column.check(Checks::Full)?;
                    let _ = column.to_string();
                }
            }
            Ok(())
        };
        refused += usize::from(set.table("t").and_then(read).is_err());
    }
    assert!(refused > 0);
}
