// Opens a photograph and looks at it.

use crossdock::memory::copied_bytes;
use crossdock::{Array, Result};

fn main() -> Result<()> {
    let photo = crossdock::open("data/rocket.npy")?; // a `DArray`: the file decides dtype and rank
    println!("{} {:?} {:?}", photo.dtype(), photo.shape(), photo.strides());
    println!("{} / {} / read-only: {}", photo.place(), photo.backing(), photo.is_readonly());

    println!("{}", photo.get(&[200, 500, 0])?);
    println!("{}", photo.at("200, 500")?); // a view, in the syntax of Python

    let photo: Array<u8, 3> = photo.try_into()?; // checked once; from here on the types are known
    println!("{:?}, {} bytes copied", photo.pin()?.values().max(), copied_bytes());
    Ok(())
}
