// A crate lends its scans in place: rows of 16-bit levels, with padding behind each row.

use std::sync::Arc;

use crossdock::view::{MemoryView, Producer, Refusal, Request};
use crossdock::{Array, Result};

struct Scan {
    levels: Arc<Vec<u16>>,
    rows: usize,
    columns: usize,
    /// The bytes of a row with its padding.
    pitch: usize,
}

impl Producer for Scan {
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        // The reference count is adopted, so a view keeps the levels alive.
        Array::from_owner(self.levels.clone(), [self.rows, self.columns])?
            .with_row_stride(self.pitch)?
            .export(request)
    }
}

/// A consumer that does not know scans.
fn brightest(image: &dyn Producer) -> Result<Option<u16>> {
    let view = crossdock::view(image, Request::read())?;
    Ok(view.as_view::<u16, 2>()?.iter().copied().max())
}

fn main() -> Result<()> {
    let levels = Arc::new(vec![10, 11, 12, 0, 20, 21, 22, 0]);
    let scan = Scan { levels, rows: 2, columns: 3, pitch: 8 };
    println!("brightest: {:?}", brightest(&scan)?);
    if let Err(refusal) = crossdock::view(&scan, Request::write()) {
        println!("refused: {refusal}");
    }

    let view = crossdock::view(&scan, Request::read())?;
    println!("shape {:?}, strides {:?}", view.shape(), view.strides());
    println!("in place: {}", view.as_ptr() == scan.levels.as_ptr().cast());
    drop(scan); // the view keeps the levels
    println!("last level: {}", view.as_view::<u16, 2>()?[[1, 2]]);
    Ok(())
}
