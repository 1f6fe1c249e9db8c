//! `#[derive(Element)]`: makes a struct an element of arrays, with its dtype, and proves that this
//! is sound.
//!
//! An element is plain old data: every bit pattern is a value, and no byte is padding. The first
//! part is required of every field's type (it must be an `Element`, which excludes `bool`, `char`,
//! enums and references). The second part is computed from the offsets. The compiler checks both at
//! the struct, not at run time.
//!
//! `input.rs` defines the accepted structs, and `expand.rs` the generated code.

mod expand;
mod input;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `crossdock::memory::Pod` and `crossdock::element::Element` for a struct.
///
/// The struct is `#[repr(C)]` or `#[repr(C, packed)]`. Its dtype is a record with the names, dtypes
/// and offsets of its fields. The fields of a tuple struct are named `f0`, `f1`, …, as in NumPy,
/// and `#[element(name = "…")]` on a field sets another name in the dtype. Alternatively the struct
/// is `#[repr(transparent)]` with one field, and its dtype is that field's. In both cases it is
/// `Copy` and has no generics, and every field is an `Element`: a number, an array of elements, or
/// another struct with this derive.
///
/// Where the library has another name than `crossdock` (a renamed dependency, or a crate that
/// exports it), `#[element(crate = path::to::crossdock)]` at the struct says its path.
///
/// A struct with padding does not compile, because the bytes of padding may be uninitialised; the
/// error says where a field is missing and how long it is.
///
/// `dtype()` of a record is created once per program and then shared: a clone costs a few
/// instructions.
///
/// With the feature `derive` of `crossdock`, one `use crossdock::element::Element` imports the
/// trait and this macro. Examples are in its documentation.
#[proc_macro_derive(Element, attributes(element))]
pub fn derive_element(tokens: TokenStream) -> TokenStream {
    let input = parse_macro_input!(tokens as DeriveInput);
    match input::Struct::new(&input) {
        Ok(checked) => expand::element(&checked).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
