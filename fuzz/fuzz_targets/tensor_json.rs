//! Arbitrary text as the metadata of a tensor: an error, or a shape that is the same after it is
//! written and read again. If another JSON parser reads the text, both find the same shape and
//! permutation, or neither does.

use crossdock::bindings::dialect::arrow::TensorShape;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let ours = TensorShape::parse(text);
    match &ours {
        Ok(tensor) => {
            let again = TensorShape::parse(&tensor.to_string()).expect("what was written");
            assert_eq!(again, *tensor);
            let each: Option<usize> = match tensor.shape().contains(&0) {
                true => Some(0),
                false => tensor.shape().iter().try_fold(1usize, |len, &axis| len.checked_mul(axis)),
            };
            assert_eq!(tensor.checked_len(), each);
        }
        Err(error) => assert!(error.is_malformed() || error.is_shape(), "{error:?}"),
    }
    // Parsers differ in duplicate and escaped names.
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(text) else { return };
    if text.contains('\\') || ["shape", "permutation"].iter().any(|key| text.matches(key).count() > 1) {
        return;
    }
    let theirs = expected(&object);
    match (ours, theirs) {
        (Ok(ours), Some((shape, permutation))) => {
            assert_eq!((ours.shape(), ours.permutation()), (&shape[..], permutation.as_deref()));
        }
        (Err(error), None) => assert!(error.is_malformed() || error.is_shape()),
        (Err(error), Some(_)) => assert!(error.to_string().contains("nested"), "{error:?}"),
        (Ok(ours), None) => panic!("{ours:?} of what has no such shape"),
    }
});

/// Shape and permutation, if the object has both in valid form.
fn expected(object: &serde_json::Map<String, Value>) -> Option<(Vec<usize>, Option<Vec<usize>>)> {
    let lengths = |value: &Value| -> Option<Vec<usize>> {
        value.as_array()?.iter().map(|one| one.as_u64().map(|one| one as usize)).collect()
    };
    let shape = lengths(object.get("shape")?)?;
    let permutation = match object.get("permutation") {
        None | Some(Value::Null) => None,
        Some(axes) => Some(lengths(axes)?),
    };
    if let Some(axes) = &permutation {
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if sorted != (0..shape.len()).collect::<Vec<_>>() {
            return None;
        }
    }
    Some((shape, permutation))
}
