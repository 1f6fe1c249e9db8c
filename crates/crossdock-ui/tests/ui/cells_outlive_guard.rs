//! Cells borrow from their Share guard.

use crossdock::buffer::Buffer;

fn main() {
    let buffer = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    let cells = buffer.share().unwrap().as_cells_of::<u8>().unwrap();
    cells[0].store(1);
}
