//! What comes in by Arrow's structs: checked, and released once.

use crossdock::exchange::protocol::arrow;
use crossdock::exchange::protocol::arrow::abi::{ArrowArray, ArrowSchema};

#[test]
fn what_was_released_is_refused() {
    let (mut schema, mut array) = (ArrowSchema::empty(), ArrowArray::empty());
    // SAFETY: empty structs.
    let error = unsafe { arrow::import(&mut schema, &mut array) }.unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("released"), "{error}");
}
