// The example of the README, which a test compares with this file and runs.

use crossdock::{Array, s, view::Request};

fn main() -> crossdock::Result<()> {
    let image = Array::from_owner(vec![7u8; 24], [2, 4, 3])?; // your Vec; for a &[u8]: ArrayView::from_slice
    let lent = crossdock::view(&image, Request::read())?; // in your function that takes any array
    let same = ndarray::ArrayView3::try_from(lent.as_view::<u8, 3>()?)?; // ndarray, in place
    assert_eq!(same[[1, 3, 2]], 7);
    let photo: Array<u8, 3> = crossdock::open("data/rocket.npy")?.try_into()?; // mapped, not read
    let red = photo.slice(s![.., .., 0])?; // a view
    println!("{:?}", red.pin()?.values().max()); // under a lease
    Ok(())
}
