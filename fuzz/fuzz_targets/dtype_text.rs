//! Arbitrary text as a dtype: an error, or a dtype that is the same after it is printed and read,
//! in any dialect.

use crossdock::bindings::dialect::typestr;
use crossdock::element::DType;
use crate::spellings;

fuzz_target!(|text: &str| {
    let named = text.parse::<DType>();
    let spelt = typestr::parse(text);
    if let (Ok(named), Ok(spelt)) = (&named, &spelt) {
        assert_eq!(named, spelt, "two readings of one text");
    }
    for dtype in [named, spelt] {
        match dtype {
            Ok(dtype) => spellings(&dtype),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
