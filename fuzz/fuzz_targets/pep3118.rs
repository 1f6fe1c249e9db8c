//! Arbitrary bytes as a PEP 3118 format, after two bytes for the size of an item: an error, or a
//! dtype of that size, which every dialect prints as a format of the same dtype.

use crossdock::bindings::dialect::pep3118;
use crate::spellings;

fuzz_target!(|data: &[u8]| {
    let (size, format) = data.split_at(data.len().min(2));
    let size = size.iter().fold(0, |size, &byte| size << 8 | usize::from(byte));
    match pep3118::parse(format) {
        Ok(dtype) => {
            spellings(&dtype);
            assert_eq!(pep3118::parse_sized(format, dtype.itemsize()).expect("its own size"), dtype);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // No item size makes an invalid format valid.
            assert!(pep3118::parse_sized(format, size).is_err());
        }
    }
    if let Ok(dtype) = pep3118::parse_sized(format, size) {
        assert_eq!(dtype.itemsize(), size);
        spellings(&dtype);
    }
});
