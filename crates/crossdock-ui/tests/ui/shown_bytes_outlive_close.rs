//! Bytes that a reader shows borrow from it: it cannot be closed meanwhile.

use std::io::BufRead;

use crossdock::buffer::Buffer;
use crossdock::io::BufferReader;

fn main() {
    let mut reader = BufferReader::new(Buffer::from_vec(vec![1u8]).unwrap()).unwrap();
    let shown = reader.fill_buf().unwrap();
    reader.close();
    assert_eq!(shown[0], 1);
}
