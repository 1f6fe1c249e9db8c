//! Arbitrary bytes as a `.safetensors` file: an error, or tensors that lie side by side in the
//! bytes, and which are equal after they are written and read again.

use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Format, SaveOptions, safetensors};
use crate::{bytes_of, onward};

fuzz_target!(|bytes: &[u8]| {
    let buffer = Buffer::from_vec(bytes.to_vec()).expect("memory for a file");
    let (start, end) = (buffer.as_ptr().addr(), buffer.as_ptr().addr() + buffer.nbytes());
    let contents = match safetensors::from_buffer(buffer) {
        Ok(contents) => contents,
        Err(error) => return assert!(error.is_malformed() || error.is_unsupported(), "{error:?}"),
    };
    let (mut arrays, mut covered) = (Vec::new(), 0);
    for entry in contents.entries() {
        let array = entry.open().expect("all was checked");
        assert_eq!((array.dtype(), array.shape()), (entry.dtype(), entry.shape()));
        if entry.copied_because().is_none() {
            let (part, _) = array.buffer().expect("few handles");
            let first = part.as_ptr().addr();
            assert!(
                array.nbytes() == 0 || start <= first && first + part.nbytes() <= end,
                "{array:?} leaves the file"
            );
            covered += array.nbytes();
        }
        if arrays.len() < 4 {
            onward(&array, &bytes_of(&array));
        }
        arrays.push((entry.name().to_owned(), array));
    }
    assert!(covered <= bytes.len());
    let mut file = Vec::new();
    let mut options = SaveOptions::new().format(Format::Safetensors);
    for (key, text) in contents.metadata() {
        options = options.metadata(key, text);
    }
    options.write(&mut file, &arrays).expect("what was read can be written");
    let again = safetensors::from_buffer(Buffer::from_vec(file).expect("few bytes"))
        .expect("what was written is read");
    assert_eq!(again.metadata(), contents.metadata());
    for (entry, (name, array)) in again.entries().iter().zip(&arrays) {
        assert_eq!((entry.name(), entry.shape()), (name.as_str(), array.shape()));
        let got = entry.open().expect("written just now");
        // Elements narrower than a byte have zeros above them, also when they are unpacked.
        assert_eq!(bytes_of(&got), bytes_of(array));
    }
});
