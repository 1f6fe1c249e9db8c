// `ndarray` computes on memory of Crossdock: an adopted array, and the pixels of a mapped photograph.

use crossdock::memory::{Pinned, copied_bytes};
use crossdock::{Array, Result, s};
use ndarray::{Array2, ArrayView2, ArrayView3, ArrayViewMut2, Axis};

fn main() -> Result<()> {
    // Adopt an array of `ndarray`, with its vector.
    let table = Array2::from_shape_vec((2, 3), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).expect("6 elements");
    let mut table: Array<f64, 2> = table.try_into()?;

    // Read: the lease keeps writers out while `ndarray` has its view.
    let lease = table.read()?;
    let view = ArrayView2::try_from(lease.view())?;
    println!("sums of columns: {}", view.sum_axis(Axis(0)));
    if let Err(error) = table.write() {
        println!("refused: {error}");
    }
    drop(lease);

    // Write: every other column, from the last one back.
    let mut view = ArrayViewMut2::try_from(table.as_view_mut()?.slice(s![.., ..;-2])?)?;
    view *= 10.0;
    println!("{table}");

    // A mapped file: its elements are cells, since another process may write them.
    let photo: Array<u8, 3> = crossdock::open("data/rocket.npy")?.try_into()?;
    let pin = photo.pin()?;
    let pixels = ArrayView3::try_from(&pin)?;
    println!("brightest: {:?}", pixels.iter().map(Pinned::load).max());

    // And back: an array of `ndarray` on the same vector.
    let table = Array2::try_from(table).map_err(|rejected| rejected.error)?;
    println!("{}, {} bytes copied", table.row(1), copied_bytes());
    Ok(())
}
