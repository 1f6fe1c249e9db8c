//! A message to a holder of sets, or from one: arbitrary bytes. The result is an error, or a
//! message that is written with the same bytes.

use crossdock::bindings::hold;

fuzz_target!(|bytes: &[u8]| {
    // The head, so that most inputs get as far as the fields.
    let headed = [b"XDOCKHLD\x03\0\0\0", bytes].concat();
    for bytes in [bytes, &headed] {
        match hold::rewritten(bytes) {
            // A long text is cut when it is written.
            Ok(again) if again.len() < bytes.len() => assert!(bytes.len() > 3 << 10, "{bytes:?}"),
            Ok(again) => assert_eq!(again, bytes),
            Err(error) => {
                assert!(error.is_malformed() || error.is_unsupported(), "{error:?}");
                assert!(!error.to_string().is_empty());
            }
        }
    }
});
