// Slices a photograph and a table of records, without copying an element.

use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{Array, DArray, Result, s};

fn main() -> Result<()> {
    let photo: Array<u8, 3> = crossdock::open("data/rocket.npy")?.try_into()?;
    println!("{:?}", photo.slice(s![..;-1, .., ..])?.strides()); // upside down
    let part = photo.slice(s![100..200, 300.., 0])?; // an index drops its axis: `Array<u8, 2>`
    println!("{:?} {:?}", part.shape(), part.strides());
    println!("{:?}", photo.permute([2, 0, 1])?.strides()); // channels first

    let trade = DType::packed_record([("kind", DType::U8), ("price", DType::F64)])?;
    let trades = DArray::zeros(trade, &[3], Order::RowMajor)?;
    let prices = trades.field("price")?;
    prices.set(&[2], &4.5.into())?; // writes into the record
    println!("{:?} {}", prices.strides(), trades.at("-1")?);
    Ok(())
}
