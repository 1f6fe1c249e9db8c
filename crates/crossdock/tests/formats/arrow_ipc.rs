//! Arrow IPC files and streams of any bytes: batches, or one clear error.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcFile, IpcOptions, IpcStream};
use crossdock::exchange::files::{Format, OpenOptions};
use crossdock::table::{
    Batches, Checks, Column, ColumnParts, ColumnType, Field, RecordBatch, RecordBatchReader,
};
use crossdock::{Array, Result};

/// The limit of decoded bytes.
const LIMIT: u64 = 1 << 16;

fn text() -> Column {
    let buffers = vec![
        Buffer::from_vec(vec![0i32, 3, 3, 6, 11]).unwrap(),
        Buffer::from_static(b"onetwothree").unwrap(),
    ];
    let validity = Some(Buffer::from_static(&[0b1101u8]).unwrap());
    let parts = ColumnParts { len: 4, buffers, validity, ..ColumnParts::default() };
    Column::new(ColumnType::utf8(), parts, Checks::Full).unwrap()
}

fn batch() -> RecordBatch {
    let numbers = |count: i32| {
        Column::from_array(Array::from_vec((0..count).collect::<Vec<i32>>(), [count as usize]).unwrap())
            .unwrap()
    };
    let field = |column: &Column| Arc::new(Field::new("item", column.column_type().clone()).unwrap());
    let (indices, values) = (numbers(4), text());
    let ty = ColumnType::Dictionary {
        index: indices.array().unwrap().dtype().clone(),
        values: Arc::new(Field::new("", ColumnType::utf8()).unwrap()), // files have no name for it
        ordered: false,
    };
    let parts = ColumnParts {
        len: 4,
        buffers: indices.buffers().to_vec(),
        dictionary: Some(values),
        ..ColumnParts::default()
    };
    let kinds = Column::new(ty, parts, Checks::Full).unwrap();
    let offsets = Buffer::from_vec(vec![0i32, 2, 2, 5, 7]).unwrap();
    let items = text().slice(..).unwrap();
    let items = Column::concat(&[items.clone(), items]).unwrap();
    let ty = ColumnType::list(Field::clone(&field(&items)));
    let parts =
        ColumnParts { len: 4, buffers: vec![offsets], children: vec![items], ..ColumnParts::default() };
    let lists = Column::new(ty, parts, Checks::Full).unwrap();
    RecordBatch::from_columns([("n", numbers(4)), ("text", text()), ("kind", kinds), ("list", lists)])
        .unwrap()
}

fn written(options: &IpcOptions, is_file: bool) -> Vec<u8> {
    let (mut bytes, batch) = (Vec::new(), batch());
    let mut reader = Batches::from_iter([batch.slice(1..).unwrap(), batch]);
    match is_file {
        true => options.write_file(&mut bytes, &mut reader).unwrap(),
        false => options.write_stream(&mut bytes, &mut reader).unwrap(),
    }
    bytes
}

fn everything(file: &IpcFile) -> Result<()> {
    file.rows()?;
    for index in 0..file.len() {
        for column in file.batch(index)?.columns() {
            let column = column?;
            // A column of nulls alone may claim any length.
            let is_whole = column.values().take(100).all(|value| value.is_ok());
            let _ = column.to_string();
            assert!(is_whole || column.check(Checks::Full).is_err(), "{column:?}");
        }
    }
    Ok(())
}

#[test]
fn what_is_written_is_read_as_a_file_and_as_a_stream() {
    let all = [IpcOptions::new(), IpcOptions::new().compression(IpcCompression::Lz4)];
    for options in all.iter().chain([&IpcOptions::new().compression(IpcCompression::Zstd)]) {
        for is_file in [false, true] {
            let bytes = written(options, is_file);
            let file = IpcFile::from_buffer(Buffer::from_vec(bytes.clone()).unwrap()).unwrap();
            everything(&file).unwrap();
            assert_eq!((file.len(), file.rows().unwrap()), (2, 7));
            let wanted = batch();
            assert_eq!(file.schema(), wanted.schema());
            assert_eq!(file.batch(1).unwrap().to_string(), wanted.to_string());
            assert_eq!(file.batch(0).unwrap().to_string(), wanted.slice(1..).unwrap().to_string());
            if !is_file {
                let mut stream = IpcStream::new(&bytes[..]).unwrap();
                let read = [(); 3].map(|()| stream.next_batch().unwrap().map(|batch| batch.len()));
                assert_eq!(read, [Some(3), Some(4), None]);
            }
        }
    }
}

#[test]
fn changed_bytes_are_batches_or_an_error() {
    let mut random = fastrand::Rng::with_seed(7);
    for k in 0..1500 {
        let options = IpcOptions::new();
        let options = if k % 3 == 0 { options.compression(IpcCompression::Lz4) } else { options };
        let mut bytes = written(&options, k % 2 == 0);
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            let any = random.u8(..);
            bytes[at] = random.choice([0, 1, 8, 0x7f, 0x80, 0xff, any]).unwrap();
        }
        if random.u8(..) == 0 {
            bytes.truncate(random.usize(1..bytes.len()));
        }
        if let Ok(stream) = IpcStream::new(&bytes[..]) {
            let mut stream = stream.with_limit(LIMIT);
            while let Ok(Some(_)) = stream.next_batch() {}
        }
        let buffer = Buffer::from_vec(bytes).unwrap();
        let read = OpenOptions::new().limit(LIMIT).read_table(buffer).and_then(|file| everything(&file));
        assert!(read.map_or_else(|error| !error.to_string().is_empty(), |()| true));
    }
}

#[test]
fn each_read_of_a_guarded_file_that_shrank_is_an_error() {
    type Read = (&'static str, fn(&Column) -> Result<()>);
    let reads: &[Read] = &[
        ("value", |column| column.value(0).map(drop)),
        ("values", |column| column.values().collect::<Result<Vec<_>>>().map(drop)),
        ("resolved", |column| column.resolved(0).map(drop)),
        ("compact", |column| column.compact().map(drop)),
        ("concat", |column| Column::concat(&[column.slice(..1)?, column.slice(1..)?]).map(drop)),
        ("check", |column| column.check(Checks::Full)),
        ("null_count", |column| column.null_count().map(drop)),
        ("mask", |column| column.mask().map(drop)),
        ("fill_nulls", |column| column.fill_nulls(&"none".into()).map(drop)),
        ("text", |column| column.text().map(drop)),
        ("save", |column| {
            let batch = RecordBatch::from_columns([("x", column.slice(1..)?)])?;
            IpcOptions::new().write_file(Vec::new(), &mut Batches::from_iter([batch]))
        }),
    ];
    let path = std::env::temp_dir().join(format!("crossdock-shrinks-{}.arrow", std::process::id()));
    let bytes = written(&IpcOptions::new(), true);
    std::fs::write(&path, &bytes).unwrap();
    let other = OpenOptions::new().format(Format::Npy);
    let error = other.open_table(&path).unwrap_err();
    assert!(error.is_unsupported(), "{error:?}");
    assert!(other.try_open_table(&path).unwrap().is_none());
    let file = OpenOptions::new().guarded(true).open_table(&path).unwrap();
    let batch = file.batch(1).unwrap();
    let (text, kinds) = (batch.column_named("text").unwrap(), batch.column_named("kind").unwrap());
    // Text in place requires memory that no party writes, which a mapped file is not.
    assert!(reads.iter().all(|(name, read)| read(&text).is_ok() == (*name != "text")));
    assert!(text.fault().is_none());

    let shrunk = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    shrunk.set_len(bytes.len() as u64 / 2).unwrap();
    for (name, read) in reads {
        let error = read(&text).unwrap_err();
        assert!(error.is_fault(), "{name}: {error}");
    }
    for column in [&kinds, &batch.column_named("list").unwrap()] {
        assert!(column.value(0).unwrap_err().is_fault() && column.to_string().contains("shrank"));
        assert!(column.compact().unwrap_err().is_fault());
    }
    std::fs::remove_file(&path).unwrap();
}
