//! Arbitrary bytes as an Arrow IPC file or stream: an error, or batches whose buffers lie within
//! the bytes or are decoded within the limit. A reader of the same stream gives the same batches,
//! and what is written of them is read again.

use crossdock::buffer::Buffer;
use crossdock::exchange::files::arrow_ipc::{IpcCompression, IpcFile, IpcOptions, IpcStream};
use crossdock::exchange::files::{Format, OpenOptions};
use crossdock::table::{Batches, Checks, Column, RecordBatch, RecordBatchReader};

/// The limit of decoded bytes.
const LIMIT: u64 = 1 << 16;

/// How many elements are requested: columns of nulls alone claim any number.
const MOST: usize = 1 << 10;

fuzz_target!(|bytes: &[u8]| {
    let buffer = Buffer::from_vec(bytes.to_vec()).expect("memory for a file");
    // What knows arrays only gets the columns of fixed width.
    if let Ok(contents) = OpenOptions::new().format(Format::Arrow).limit(LIMIT).read(buffer.try_clone().expect("few handles")) {
        for entry in contents.entries() {
            let _ = entry.open();
        }
    }
    let file = match OpenOptions::new().limit(LIMIT).read_table(buffer) {
        Ok(file) => file,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let _ = file.rows();
    let batches: Vec<RecordBatch> = (0..file.len()).filter_map(|index| file.batch(index).ok()).collect();
    for batch in &batches {
        for column in batch.columns() {
            follow(&column.expect("few handles"));
        }
    }
    if file.is_stream() && let Ok(stream) = IpcStream::new(bytes) {
        let mut stream = stream.with_limit(LIMIT);
        let mut count = 0;
        while let Ok(Some(_)) = stream.next_batch() {
            count += 1;
        }
        assert!(count <= file.len());
    }
    for options in [IpcOptions::new(), IpcOptions::new().compression(IpcCompression::Lz4)] {
        let mut written = Vec::new();
        let all = || Batches::from_iter(batches.iter().map(|batch| batch.slice(batch.len().min(1)..).expect("a part")));
        if options.write_stream(&mut written, &mut all()).is_ok() {
            let again = IpcFile::from_buffer(Buffer::from_vec(written).expect("few bytes")).expect("just written");
            assert_eq!(again.len(), batches.len());
            for (index, batch) in batches.iter().enumerate() {
                let len = batch.len() - batch.len().min(1);
                // Columns that break the rules are written as they are.
                assert!(again.batch(index).map_or(true, |batch| batch.len() == len));
            }
        }
    }
});

/// Requests all that a column offers.
fn follow(column: &Column) {
    let is_whole = column.values().take(MOST).fold(true, |all, value| value.is_ok() & all);
    let _ = column.to_string();
    if column.len() > MOST {
        return;
    }
    let checked = column.check(Checks::Full);
    assert!(is_whole || checked.is_err(), "{column:?}");
    let copy = column.slice(column.len() / 2..).expect("half of the elements").compact();
    assert!(copy.is_ok() || checked.is_err(), "{copy:?}");
}
