//! Arbitrary bytes as an `.npz` archive: an error, or arrays that lie within the bytes or inflate
//! within the limit, and which are equal after they are written and read again.

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Format, OpenOptions, SaveOptions, npz};
use crate::{bytes_of, onward};

/// The limit of inflated bytes.
const LIMIT: u64 = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    let buffer = Buffer::from_vec(bytes.to_vec()).expect("memory for an archive");
    let (start, end) = (buffer.as_ptr().addr(), buffer.as_ptr().addr() + buffer.nbytes());
    let contents = match OpenOptions::new().limit(LIMIT).read(buffer) {
        Ok(contents) if contents.format() == Format::Npz => contents,
        Ok(_) => return,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut arrays: Vec<(String, DArray)> = Vec::new();
    for entry in contents.entries() {
        let array = match entry.open() {
            Ok(array) => array,
            Err(error) => {
                assert!(error.is_malformed() || error.is_unsupported(), "{error:?}");
                assert!(entry.copied_because().is_some(), "what lies in place was checked before");
                continue;
            }
        };
        assert_eq!((array.dtype(), array.shape()), (entry.dtype(), entry.shape()));
        let (part, _) = array.buffer().expect("few handles");
        let first = part.as_ptr().addr();
        match entry.copied_because() {
            None => assert!(
                start <= first && first + part.nbytes() <= end,
                "{array:?} leaves {start:#x}..{end:#x}"
            ),
            Some(_) => assert!(array.nbytes() as u64 <= LIMIT),
        }
        if array.nbytes() <= 1 << 12 && array.len() <= 1 << 12 {
            onward(&array, &bytes_of(&array));
            arrays.push((entry.name().to_owned(), array));
        }
    }
    for deflated in [false, true] {
        let options = SaveOptions::new().format(Format::Npz).deflated(deflated);
        let mut file = Vec::new();
        if let Err(error) = options.write(&mut file, &arrays) {
            // Some arrays can be read but not written: their names are paths, or NumPy has no
            // spelling for their fields.
            assert!(error.is_unsupported(), "{error:?}");
            return;
        }
        let again =
            npz::from_buffer(Buffer::from_vec(file).expect("few bytes")).expect("what was written is read");
        for (entry, (name, array)) in again.entries().iter().zip(&arrays) {
            assert_eq!(entry.name(), name);
            assert_eq!(bytes_of(&entry.open().expect("written just now")), bytes_of(array));
        }
    }
});
