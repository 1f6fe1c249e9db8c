//! The JSON in which the command `lend` describes an array to a borrower, for any inherited
//! description: any parser reads it, its numbers are those of the description, and each spelling of
//! the dtype is read as the same dtype.

use crossdock::bindings::dialect::{pep3118, typestr};
use crossdock::exchange::protocol::shm::Description;
use serde_json::{Value, json};

#[path = "../../crates/crossdock-cli/src/lend/description.rs"]
mod description;
#[path = "../../crates/crossdock-cli/src/order_letter.rs"]
pub(crate) mod order_letter;

/// The part of the command that its descriptions need, where they look for it.
pub(crate) mod failure {
    pub(crate) type Result<T> = std::result::Result<T, Failure>;

    #[derive(Debug)]
    pub(crate) struct Failure;

    impl Failure {
        pub(crate) fn new(why: impl std::fmt::Display) -> Self {
            panic!("{why}")
        }
    }
}

fuzz_target!(|text: &str| {
    let Ok(described) = text.parse::<Description>() else { return };
    let environment = description::Array::new(5, &described, None).environment().expect("JSON of numbers and text");
    for (name, value) in &environment {
        assert!(name.starts_with("CROSSDOCK_") && !value.contains('\0') && !value.contains('\n'), "{name}");
    }
    let array: Value = serde_json::from_str(&environment[0].1).expect("JSON");
    let span = described.span();
    for (key, value) in [
        ("fd", json!(5)),
        ("itemsize", json!(described.dtype().itemsize())),
        ("shape", json!(described.layout().shape())),
        ("strides", json!(described.layout().strides())),
        ("offset", json!(described.offset())),
        ("nbytes", json!(described.layout().nbytes())),
        ("span", json!([span.start, span.end])),
        ("writable", json!(described.is_writable())),
        ("dtype", json!(described.dtype().to_string())),
    ] {
        assert_eq!(array[key], value, "{key} of {text:?}");
    }
    let (descr, text) = (array["descr"].as_str().expect("text"), array["typestr"].as_str().expect("text"));
    let literal = descr.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(descr);
    let bytes = format!("|V{}", described.dtype().itemsize());
    if typestr::print(described.dtype()).is_ok() {
        assert_eq!(typestr::parse(literal).expect("what was printed"), *described.dtype(), "{descr}");
    } else {
        assert_eq!(literal, bytes, "a type that NumPy lacks: {}", described.dtype());
    }
    assert!(text == literal || text == bytes && described.dtype().as_scalar().is_none(), "{text}, {descr}");
    if let Some(format) = array["struct"].as_str() {
        let read = pep3118::parse(format.as_bytes()).expect("a format of Python's");
        assert_eq!(read.itemsize(), described.dtype().itemsize(), "{format}");
    }
    let order = array["order"].as_str().map(|order| order == "C");
    assert_eq!(order, described.layout().order().map(|order| order == crossdock::layout::Order::RowMajor));
});
