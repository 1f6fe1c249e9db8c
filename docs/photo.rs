// The example of the README, which a test compares with this file and runs.

use crossdock::{Array, s};

fn main() -> crossdock::Result<()> {
    let photo: Array<u8, 3> = crossdock::open("data/rocket.npy")?.try_into()?; // the type is checked once
    let red = photo.slice(s![.., .., 0])?; // a view of the same bytes
    println!("{:?}", red.pin()?.values().max()); // a lease keeps the map while it is read
    let pixels = Array::from_owner(vec![7u8; 24], [2, 4, 3])?; // your own memory, adopted and not copied
    let view = crossdock::view(&pixels, crossdock::view::Request::read())?; // what another crate borrows
    assert_eq!(view.as_view::<u8, 3>()?[[0, 0, 0]], 7);
    Ok(())
}
