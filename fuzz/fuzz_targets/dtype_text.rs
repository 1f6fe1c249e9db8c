//! Arbitrary text as a dtype: an error, or a dtype that is the same when it is written and read again.

#![no_main]

use crossdock::element::{DType, dialect::typestr};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let named = text.parse::<DType>();
    let spelt = typestr::parse(text);
    if let (Ok(named), Ok(spelt)) = (&named, &spelt) {
        assert_eq!(named, spelt, "two readings of one text");
    }
    for dtype in [named, spelt] {
        match dtype {
            Ok(dtype) => check(&dtype),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn check(dtype: &DType) {
    assert!(!dtype.to_string().is_empty());
    if dtype.as_scalar().is_some() {
        let shown: DType = dtype.to_string().parse().expect("a scalar is read as it is displayed");
        assert_eq!(&shown, dtype);
    }
    match typestr::print(dtype) {
        Ok(spelling) => {
            let again = typestr::parse(&spelling);
            assert_eq!(again.as_ref().ok(), Some(dtype), "{spelling}: {again:?}");
        }
        Err(error) => assert!(error.is_unsupported(), "{error:?}"),
    }
    if let Err(error) = typestr::print_descr(dtype) {
        assert!(error.is_unsupported(), "{error:?}");
    }
}
