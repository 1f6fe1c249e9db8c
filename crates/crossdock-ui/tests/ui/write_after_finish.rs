//! A writer is finished once: nothing can be written, or finished, after it.

use std::io::Write;

use crossdock::buffer::MutableBuffer;
use crossdock::io::BufferWriter;

fn main() {
    let mut writer = BufferWriter::new(MutableBuffer::new().unwrap());
    let buffer = writer.finish();
    writer.write_all(b"late").unwrap();
    let again = writer.finish();
    drop((buffer, again));
}
