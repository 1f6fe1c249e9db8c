//! An image type with padded rows becomes a producer: consumers get a view of its pixels, in
//! place.

use std::sync::Arc;

use crossdock::memory::copied_bytes;
use crossdock::view::{MemoryView, Producer, Refusal, Request};
use crossdock::{Array, Result, s};

/// Rows of three bytes a pixel, each `pitch` bytes from the next.
pub(crate) struct Photo {
    /// All rows with their padding; the last row may lack it.
    pub(crate) pixels: Arc<Vec<u8>>,
    /// The number of rows.
    pub(crate) height: usize,
    /// The number of pixels in a row.
    pub(crate) width: usize,
    /// From one row to the next, in bytes.
    pub(crate) pitch: usize,
}

impl Producer for Photo {
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        Array::from_owner(self.pixels.clone(), [self.height, self.width, 3])?
            .with_row_stride(self.pitch)?
            .export(request)
    }
}

fn main() -> Result<()> {
    let pixels = Arc::new((0..=u8::MAX).cycle().take(480 * 2048).collect::<Vec<u8>>());
    let photo = Photo { pixels, height: 480, width: 640, pitch: 2048 };

    // A consumer that knows nothing of photos.
    let image: Array<u8, 3> = crossdock::view(&photo, Request::read())?.try_into()?;
    let red = image.slice(s![.., ..;2, 0])?;
    let sum: u64 = red.read()?.iter().map(|&sample| u64::from(sample)).sum();

    println!("shape {:?}, strides {:?} bytes", image.shape(), image.strides());
    println!("every second red sample: {:?}, sum {sum}", red.shape());
    println!("in place: {}, {} bytes copied", image.as_ptr() == photo.pixels.as_ptr(), copied_bytes());
    Ok(())
}
