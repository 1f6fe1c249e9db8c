//! Columns in memory that another party writes while they are read: every result is an error, or a
//! value of bytes that were there, and nothing is read out of bounds.
//!
//! `CROSSDOCK_WRITER_ROUNDS` sets the number of rounds, which then last a second each.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossdock::Array;
use crossdock::buffer::{Buffer, ShareGuard};
use crossdock::element::{DType, Value};
use crossdock::memory::MapOptions;
use crossdock::table::{
    Checks, Column, ColumnParts, ColumnType, ColumnValue, Field, OffsetWidth, RecordBatch, UnionMode,
};
use crossdock_testkit::seed;
use fastrand::Rng;

const ROWS: usize = 48;
const TEXT: usize = 192;
/// Offsets, views, sizes, indices, run ends, identifiers and text of all columns.
const NBYTES: usize = 8192;

fn field(name: &str, ty: &ColumnType, nullable: bool) -> Field {
    Field::new(name, ty.clone()).unwrap().with_nullable(nullable)
}

/// Hands out the memory part by part, and knows what it began with.
struct Arena<'a> {
    memory: &'a Buffer,
    bytes: &'a mut Vec<u8>,
}

impl Arena<'_> {
    fn window(&mut self, bytes: impl IntoIterator<Item = u8>) -> Range<usize> {
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
        let start = self.bytes.len();
        self.bytes.extend(bytes);
        start..self.bytes.len()
    }

    fn integers(&mut self, values: impl IntoIterator<Item = i32>) -> Range<usize> {
        self.window(values.into_iter().flat_map(i32::to_ne_bytes))
    }
}

/// The kinds of columns, whose parts are windows of the arena.
fn columns(memory: &Buffer, bytes: &mut Vec<u8>) -> Vec<(&'static str, ColumnType, ColumnParts)> {
    let rows = ROWS as i32;
    let mut arena = Arena { memory, bytes };
    let text = arena.window((0..TEXT).map(|k| b"ab"[k % 2]));
    let mut all = Vec::new();
    let mut add = |arena: &Arena<'_>, name, ty, windows: &[Range<usize>], children, dictionary| {
        let buffers = windows.iter().map(|window| arena.memory.slice(window.clone()).unwrap()).collect();
        let parts = ColumnParts { len: ROWS, buffers, children, dictionary, ..ColumnParts::default() };
        all.push((name, ty, parts));
    };
    let numbers = |len: usize| Column::from_array(Array::from_vec(vec![7i32; len], [len]).unwrap()).unwrap();
    let item = || Arc::new(field("item", &ColumnType::Fixed(DType::I32), true));

    let offsets = arena.integers((0..=rows).map(|row| 4 * row));
    add(&arena, "text", ColumnType::utf8(), &[offsets, text.clone()], vec![], None);
    let views = (0..rows).flat_map(|row| [if row % 2 == 0 { 3 } else { 20 }, 0x6261_6261, 0, row - row % 2]);
    let views = arena.integers(views);
    add(&arena, "views", ColumnType::Utf8View, &[views, text], vec![], None);
    let indices = arena.integers((0..rows).map(|row| row % 3));
    let entries = [Buffer::from_static(&[0i32, 3, 6, 11]), Buffer::from_static(b"onetwothree")];
    let entries = entries.into_iter().map(Result::unwrap).collect();
    let entries = ColumnParts { len: 3, buffers: entries, ..ColumnParts::default() };
    let entries = Column::new(ColumnType::utf8(), entries, Checks::Full).unwrap();
    let values = Arc::new(field("", entries.column_type(), true));
    let ty = ColumnType::Dictionary { index: DType::I32, values, ordered: false };
    add(&arena, "dictionary", ty, &[indices], vec![], Some(entries));
    let offsets = arena.integers((0..=rows).map(|row| 2 * row));
    let ty = ColumnType::List { item: item(), offsets: OffsetWidth::I32 };
    add(&arena, "lists", ty, &[offsets], vec![numbers(2 * ROWS)], None);
    let offsets = arena.integers(0..rows);
    let sizes = arena.integers((0..rows).map(|row| row % 3));
    let ty = ColumnType::ListView { item: item(), offsets: OffsetWidth::I32 };
    add(&arena, "list views", ty, &[offsets, sizes], vec![numbers(2 * ROWS)], None);
    let ids = arena.window((0..ROWS).map(|row| (row % 2) as u8));
    let offsets = arena.integers((0..rows).map(|row| row / 2));
    let ty = ColumnType::Union {
        fields: [
            field("a", &ColumnType::Fixed(DType::I32), true),
            field("b", &ColumnType::Fixed(DType::I32), true),
        ]
        .into(),
        ids: [0, 1].into(),
        mode: UnionMode::Dense,
    };
    add(&arena, "union", ty, &[ids, offsets], vec![numbers(ROWS), numbers(ROWS)], None);
    let ends = arena.integers(1..=rows);
    let ends =
        ColumnParts { len: ROWS, buffers: vec![memory.slice(ends).unwrap()], ..ColumnParts::default() };
    let ends = Column::new(ColumnType::Fixed(DType::I32), ends, Checks::Shape).unwrap();
    let ty = ColumnType::RunEndEncoded {
        run_ends: Arc::new(field("run_ends", ends.column_type(), false)),
        values: Arc::new(field("values", &ColumnType::Fixed(DType::I32), true)),
    };
    add(&arena, "runs", ty, &[], vec![ends, numbers(ROWS)], None);
    assert!(arena.bytes.len() <= NBYTES, "{} bytes", arena.bytes.len());
    all
}

/// A column with validity in the arena's last bytes.
fn finished(
    memory: &Buffer,
    (name, ty, parts): (&'static str, ColumnType, ColumnParts),
) -> (&'static str, Column) {
    let has_bitmap = !matches!(ty, ColumnType::Union { .. } | ColumnType::RunEndEncoded { .. });
    let validity = has_bitmap.then(|| memory.slice(NBYTES - 16..).unwrap());
    (name, Column::new(ty, ColumnParts { validity, ..parts }, Checks::Shape).unwrap())
}

/// What a party may find in a column of the arena, and how often it is a value.
fn read(name: &str, column: &Column, random: &mut Rng) -> (usize, usize) {
    let (mut values, mut errors) = (0, 0);
    let mut note = |is_value: bool| if is_value { values += 1 } else { errors += 1 };
    for value in column.values() {
        note(value.is_ok());
        match value {
            Ok(ColumnValue::Element(Value::Text(text))) => {
                assert!(text.len() <= TEXT);
                let is_entry = ["one", "two", "three"].contains(&text.as_str());
                assert!(name != "dictionary" || is_entry, "{text:?} is no entry");
            }
            Ok(ColumnValue::Element(value)) => assert_eq!(value, Value::Int(7), "{name}"),
            Ok(ColumnValue::List(list)) => {
                assert!(list.len() <= 2 * ROWS);
                assert!(list.values().all(|value| value.unwrap() == ColumnValue::Element(Value::Int(7))));
            }
            Ok(ColumnValue::Null) => {}
            Ok(value) => panic!("{name}: {value:?}"),
            Err(error) => assert!(error.is_bounds() || error.is_malformed(), "{name}: {error}"),
        }
    }
    let start = random.usize(..ROWS);
    let slice = column.slice(start..random.usize(start..=ROWS)).unwrap();
    assert!(slice.null_count().unwrap() <= slice.len());
    assert_eq!(slice.mask().unwrap().len(), slice.len());
    let _ = slice.to_string();
    note(slice.check(Checks::Full).is_ok());
    for copy in [slice.compact(), Column::concat(&[slice.clone(), column.clone()])] {
        note(copy.is_ok());
        if let Ok(copy) = copy {
            // No other party writes the copy: all its elements are values or all the same errors.
            let once: Vec<bool> = copy.values().map(|value| value.is_ok()).collect();
            assert!(copy.values().map(|value| value.is_ok()).eq(once));
        }
    }
    match (column.column_type(), slice.fill_nulls(&"filled".into())) {
        (ColumnType::Utf8(_) | ColumnType::Utf8View, filled) => {
            note(filled.is_ok());
            assert!(filled.is_err() || filled.unwrap().null_count().unwrap() == 0);
        }
        (_, filled) => assert!(filled.is_err()),
    }
    let text = column.text();
    assert!(text.is_err_and(|error| error.is_conflict() || error.is_unsupported()), "{name}");
    (values, errors)
}

/// Writes numbers, mostly small ones, to all of the memory until it is told to stop.
fn write(store: impl Fn(usize, &[u8]), stop: &AtomicBool, seed: u64) {
    let mut random = Rng::with_seed(seed);
    while !stop.load(Ordering::Relaxed) {
        let at = random.usize(..NBYTES / 4) * 4;
        let number = match random.u8(..) {
            0 => random.i32(..),
            1..16 => i32::from_ne_bytes(*b"ab\xC3\xA9"),
            _ => random.i32(0..TEXT as i32),
        };
        store(at, &number.to_ne_bytes());
    }
}

/// Readers in this thread while another writes; how many values and errors they got.
fn round(
    columns: &[(&'static str, Column)],
    store: impl Fn(usize, &[u8]) + Send,
    time: Duration,
) -> (usize, usize) {
    let (stop, mut random) = (AtomicBool::new(false), Rng::with_seed(seed()));
    let writer_seed = random.u64(..);
    std::thread::scope(|scope| {
        scope.spawn(|| write(store, &stop, writer_seed));
        let (begun, mut sums) = (Instant::now(), (0, 0));
        while begun.elapsed() < time {
            for (name, column) in columns {
                let (values, errors) = read(name, column, &mut random);
                sums = (sums.0 + values, sums.1 + errors);
            }
        }
        stop.store(true, Ordering::Relaxed);
        sums
    })
}

fn rounds() -> (usize, Duration) {
    match std::env::var("CROSSDOCK_WRITER_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()) {
        Some(rounds) => (rounds, Duration::from_secs(1)),
        None => (2, Duration::from_millis(150)),
    }
}

#[test]
fn a_writer_of_shared_memory_causes_errors_and_other_values_only() {
    let (rounds, time) = rounds();
    for _ in 0..rounds {
        let memory = Buffer::from_vec(vec![0u8; NBYTES]).unwrap();
        let mut bytes = Vec::new();
        let parts = columns(&memory, &mut bytes);
        bytes.resize(NBYTES, 0xB5);
        memory.write().unwrap().copy_from_slice(&bytes);
        let columns: Vec<_> = parts.into_iter().map(|parts| finished(&memory, parts)).collect();
        for (name, column) in &columns {
            column.check(Checks::Full).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let batch = RecordBatch::from_columns(columns.iter().map(|(name, column)| (name, column.clone())));
        assert!(batch.unwrap().lease(crossdock::memory::LeaseKind::Read).is_ok());
        let share: ShareGuard = memory.share().unwrap();
        let store = |at, bytes: &[u8]| share.store(at, <[u8; 4]>::try_from(bytes).unwrap()).unwrap();
        let (values, errors) = round(&columns, store, time);
        assert!(values > 0 && errors > 0, "{values} values, {errors} errors");
    }
}

#[test]
fn a_writer_of_a_mapped_file_causes_errors_and_other_values_only() {
    let (rounds, time) = rounds();
    let path = std::env::temp_dir().join(format!("crossdock-columns-writer-{}", std::process::id()));
    for _ in 0..rounds {
        let mut bytes = Vec::new();
        columns(&Buffer::from_vec(vec![0u8; NBYTES]).unwrap(), &mut bytes);
        bytes.resize(NBYTES, 0xB5);
        std::fs::write(&path, &bytes).unwrap();
        let memory = Buffer::map(File::open(&path).unwrap(), MapOptions::new()).unwrap();
        let columns: Vec<_> =
            columns(&memory, &mut Vec::new()).into_iter().map(|parts| finished(&memory, parts)).collect();
        let file = File::options().write(true).open(&path).unwrap();
        let store = |at, bytes: &[u8]| file.write_all_at(bytes, at as u64).unwrap();
        let (values, errors) = round(&columns, store, time);
        assert!(values > 0 && errors > 0, "{values} values, {errors} errors");
    }
    std::fs::remove_file(path).unwrap();
}
