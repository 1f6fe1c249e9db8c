//! Arbitrary bytes as a JPEG image: an error, or an image whose pixels are decoded within the limit
//! or not at all. A decoded image can be encoded, with the same number of pixels. (The decoder does
//! not verify checksums under fuzzing.)

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Format, OpenOptions, jpeg};

/// The limit of a decoded image, in bytes.
const LIMIT: u64 = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    let image = match decoded(bytes) {
        Ok(image) => image,
        Err(error) => return assert!(error.is_malformed() || error.is_unsupported(), "{error:?}"),
    };
    assert!(image.nbytes() as u64 <= LIMIT && matches!(image.shape().len(), 2 | 3) && !image.is_empty());
    let mut file = Vec::new();
    match jpeg::write(&mut file, &image) {
        Ok(()) => {
            let again = decoded(&file).expect("what was written");
            assert_eq!((again.shape(), again.dtype()), (image.shape(), image.dtype()));
        }
        // Lengths have 16 bits.
        Err(error) => assert!(image.shape()[..2].iter().any(|&side| side > 65_535), "{error:?}"),
    }
});

fn decoded(bytes: &[u8]) -> crossdock::Result<DArray> {
    let buffer = Buffer::from_vec(bytes.to_vec()).expect("memory for a file");
    let contents = OpenOptions::new().format(Format::Jpeg).limit(LIMIT).read(buffer)?;
    let [entry] = contents.entries() else { panic!("an image is one array") };
    let array = entry.open()?;
    assert_eq!((array.dtype(), array.shape()), (entry.dtype(), entry.shape()));
    Ok(array)
}
