// What a hand-over moves: a handle, then a view, of at most 128 bytes each, and no element.

use crossdock::memory::copied_bytes;
use crossdock::view::{MemoryView, Request};
use crossdock::{Array, DArray, Result, s};

fn main() -> Result<()> {
    let photo = DArray::from(Array::<u8, 3>::zeros([480, 640, 3])?);
    println!("{} bytes of elements, behind a handle of {}", photo.nbytes(), size_of::<DArray>());

    let red = photo.slice(s![.., ..;2, 0])?; // another handle: the counter goes up
    let view = crossdock::view(&red, Request::read())?; // a lease: one compare-and-swap
    println!("a view of shape {:?}, in {} bytes", view.shape(), size_of::<MemoryView>());

    drop((photo, red)); // the lease keeps the memory
    println!("the last element is {}", view.get(&[479, 319])?);
    println!("{} bytes were copied", copied_bytes());
    Ok(())
}
