//! Arbitrary bytes as a PNG image: an error, or an image whose pixels are decoded within the limit
//! or not at all, and are the same after it is written and read again. (The decoder does not verify
//! checksums under fuzzing.)

use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Format, OpenOptions, png};
use crossdock::layout::Order;
use crossdock::{Casting, DArray};

/// The limit of a decoded image, in bytes.
const LIMIT: u64 = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    let image = match decoded(bytes) {
        Ok(image) => image,
        Err(error) => return assert!(error.is_malformed() || error.is_unsupported(), "{error:?}"),
    };
    assert!(image.nbytes() as u64 <= LIMIT && matches!(image.shape().len(), 2 | 3) && !image.is_empty());
    let mut file = Vec::new();
    png::write(&mut file, &image).expect("what was decoded can be encoded");
    let again = decoded(&file).expect("what was written");
    assert_eq!(again.shape(), image.shape());
    assert!(
        again
            .cast(image.dtype(), Order::RowMajor, Casting::Checked)
            .and_then(|again| again.equals(&image))
            .expect("few pixels")
    );
});

fn decoded(bytes: &[u8]) -> crossdock::Result<DArray> {
    let buffer = Buffer::from_vec(bytes.to_vec()).expect("memory for a file");
    let contents = OpenOptions::new().format(Format::Png).limit(LIMIT).read(buffer)?;
    let [entry] = contents.entries() else { panic!("an image is one array") };
    let array = entry.open()?;
    assert_eq!((array.dtype(), array.shape()), (entry.dtype(), entry.shape()));
    Ok(array)
}
