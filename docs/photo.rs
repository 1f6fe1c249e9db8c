// The example of the README, which a test compares with this file and runs.

// with --features ndarray-0_17; and cargo add ndarray@0.17
use crossdock::{Array, s, view::Request};

fn main() -> crossdock::Result<()> {
    let image = Array::from_owner(vec![7u8; 24], [2, 4, 3])?; // a Vec, an Arc, …; &[u8]: ArrayView
    let lent = crossdock::view(&image, Request::read())?; // how functions take arrays
    let same = ndarray::ArrayView3::try_from(lent.as_view::<u8, 3>()?)?; // ndarray, in place
    assert_eq!(same[[1, 3, 2]], 7);
    let photo: Array<u8, 3> = crossdock::open("data/rocket.npy")?.try_into()?; // mapped, not read
    let red = photo.slice(s![.., .., 0])?; // the same bytes, with strides
    println!("{:?}", red.pin()?.values().max()); // under a lease
    Ok(())
}
