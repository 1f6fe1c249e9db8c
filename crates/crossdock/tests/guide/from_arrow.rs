//! The table of "Coming from Arrow C++": the cell of each row that has Rust is run.

use std::fs::File;

use crossdock::DArray;
use crossdock::buffer::{Buffer, BufferBuilder, MutableBuffer};
use crossdock::device;
use crossdock::exchange::protocol::arrow::{self, ExportOptions};
use crossdock::io::BufferReader;
use crossdock::memory::{MapOptions, Place};
use crossdock::pool::Pool;

macro_rules! row {
    ($rows:ident, $here:expr, |$b:ident| $is_expected:expr) => {{
        $rows.push(vec![stringify!($here)]);
        match $here {
            $b => assert!($is_expected, "{}", stringify!($here)),
        }
    }};
}

#[test]
fn every_row_of_the_table_was_run() -> Result<(), Box<dyn std::error::Error>> {
    let bytes: Vec<u8> = (0..16).collect();
    let array = DArray::from_vec(vec![1_i32, 2], &[2])?;
    let file = File::open(super::root().join("data/rocket.npy"))?;
    let mut rows = Vec::new();

    row!(rows, Buffer::from_vec(bytes)?, |buffer| buffer.nbytes() == 16);
    let buffer = Buffer::from_vec((0..16).collect::<Vec<u8>>())?;
    row!(rows, Buffer::zeroed(64)?, |buffer| buffer.read()?.iter().all(|&byte| byte == 0));
    row!(rows, MutableBuffer::with_capacity(64)?, |bytes| bytes.capacity() == 64 && bytes.is_empty());
    row!(rows, buffer.read()?, |bytes| bytes[3] == 3);
    row!(rows, buffer.write()?, |bytes| bytes[3] == 3);
    row!(rows, buffer.read()?.as_slice_of::<u32>()?, |numbers| numbers.len() == 4);
    row!(rows, buffer.slice(4..12)?, |part| part.read()?[0] == 4 && part.nbytes() == 8);
    row!(rows, buffer.nbytes(), |nbytes| nbytes == 16);
    row!(rows, buffer.place(), |place| place == Place::CPU);
    row!(rows, buffer.copy_to(&device::memory(Place::CPU)?)?, |copy| copy.address() != buffer.address());
    row!(rows, Pool::default().capped("thumbnails", 1 << 20)?, |pool| pool.zeroed(2 << 20).is_err());
    let pool = Pool::default().capped("thumbnails", 1 << 20)?;
    row!(rows, pool.zeroed(64)?, |buffer| buffer.pool_name() == Some("thumbnails"));
    row!(rows, pool.statistics().live_nbytes, |nbytes| nbytes == 0);
    row!(rows, BufferBuilder::<i32>::new()?, |builder| builder.is_empty());
    row!(rows, BufferReader::new(buffer)?, |reader| reader.nbytes() == 16);
    row!(rows, Buffer::map(file, MapOptions::new())?, |map| map.nbytes() > 128);
    row!(rows, arrow::export(&array, &ExportOptions::new())?, |exported| exported.array().length == 2);
    let (mut schema, mut column) = arrow::export(&array, &ExportOptions::new())?.into_raw();
    // SAFETY: just exported, and not consumed yet.
    row!(rows, unsafe { arrow::import(&mut schema, &mut column) }?, |array| array.shape() == [2]);

    super::table_is("arrow", &[1], &rows);
    Ok(())
}
