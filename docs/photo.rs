// The example of the README, which a test compares with this file and runs.

use crossdock::{Array, s};

fn main() -> crossdock::Result<()> {
    let photo: Array<u8, 3> = crossdock::open("photo.npy")?.try_into()?; // mapped; the type is checked once
    let red = photo.slice(s![.., .., 0])?; // a view of the same bytes
    println!("{:?}", red.pin()?.values().max()); // a lease keeps the map while it is read
    Ok(())
}
