// Leases in Rust: each method takes one, and dropping the guard that it returns ends it.

use crossdock::{Array, Result};

fn main() -> Result<()> {
    let heights = Array::from_vec(vec![483i16, 484, 490], [3])?;

    let reading = heights.read()?; // constant elements: `&i16`, slices, iterators
    println!("highest: {:?}", reading.iter().max());
    if let Err(error) = heights.set([0], 0) {
        println!("{error}");
        println!("a conflict: {}", error.is_conflict());
    }
    drop(reading);

    heights.write()?.fill(500); // exclusive: `&mut i16`; the guard is dropped at once
    let (left, right) = (heights.share()?, heights.share()?); // elements by value, for both
    left.set([0], 483)?;
    println!("{:?}", right.to_vec());
    Ok(())
}
