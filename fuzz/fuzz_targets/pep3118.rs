//! Arbitrary bytes as a format of PEP 3118, behind two that say how long an item is: an error, or a dtype of that size, which becomes
//! a format of the same dtype.

#![no_main]

use crossdock::element::DType;
use crossdock::element::dialect::pep3118;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (size, format) = data.split_at(data.len().min(2));
    let size = size.iter().fold(0, |size, &byte| size << 8 | usize::from(byte));
    match pep3118::parse(format) {
        Ok(dtype) => {
            check(&dtype);
            assert_eq!(pep3118::parse_sized(format, dtype.itemsize()).expect("its own size"), dtype);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // No size makes a format of what is none.
            assert!(pep3118::parse_sized(format, size).is_err());
        }
    }
    if let Ok(dtype) = pep3118::parse_sized(format, size) {
        assert_eq!(dtype.itemsize(), size);
        check(&dtype);
    }
});

fn check(dtype: &DType) {
    let aligned = pep3118::print(dtype);
    assert_eq!(aligned.is_ok(), pep3118::print_unaligned(dtype).is_ok());
    if let Some(letters) = pep3118::print_static(dtype) {
        assert_eq!(letters.to_str().ok(), aligned.as_deref().ok());
    }
    for text in [aligned, pep3118::print_unaligned(dtype)].into_iter().flatten() {
        assert_eq!(pep3118::parse(text.as_bytes()).expect("what was printed"), *dtype, "{text}");
    }
}
