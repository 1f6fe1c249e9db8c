// The example of the README, which a test compares with this file and runs.

use crossdock::Array;
use crossdock::view::{Producer, Request};

/// Takes any `Array`, and your types if they implement `Producer`.
fn last(pixels: &impl Producer) -> crossdock::Result<u8> {
    let lent = crossdock::view(pixels, Request::read())?; // a lease: while it lives, nothing writes
    let same = ndarray::ArrayView3::try_from(lent.as_view::<u8, 3>()?)?; // ndarray, in place
    Ok(same[[1, 3, 2]])
}
fn main() -> crossdock::Result<()> {
    let image = Array::from_owner(vec![7u8; 24], [2, 4, 3])?; // moves your Vec; copies nothing
    println!("{}", last(&image)?);
    Ok(())
}
