//! `#[derive(Element)]`: makes a struct an element of arrays, with its dtype, and proves that it may be one.
//!
//! An element is plain old data: every bit pattern is a value, and no byte is padding. The first half is asked of
//! every field's type (`Element` again, so `bool`, `char`, enums and references are out); the second is computed from
//! the offsets. Both are checked by the compiler where the struct stands, not when the program runs.
//!
//! `input.rs` says which structs are taken, and `expand.rs` what is written for them.

mod expand;
mod input;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `crossdock::memory::Pod` and `crossdock::element::Element` for a struct.
///
/// The struct is `#[repr(C)]` or `#[repr(C, packed)]`, and its dtype is a record with the names, dtypes and offsets of
/// its fields; the fields of a tuple struct are called `f0`, `f1`, … as NumPy calls nameless ones, and
/// `#[element(name = "…")]` on a field gives it any other name in the dtype. Or it is
/// `#[repr(transparent)]` with one field, and its dtype is that field's. It is also `Copy`, and has no generics. Every
/// field is an `Element`: a number, an array of elements, or another struct with this derive.
///
/// Where the library has another name than `crossdock` (a renamed dependency, or a crate that exports
/// it), `#[element(crate = path::to::crossdock)]` at the struct says its path.
///
/// A struct with padding does not compile, because the bytes of padding may be uninitialised; the error says where a
/// field is missing and how long it is.
///
/// `dtype()` of a record is made once in a program and then handed out: a clone of it costs a few instructions.
///
/// With the feature `derive` of `crossdock`, one `use crossdock::element::Element` brings the trait and this macro, and there are
/// its examples.
#[proc_macro_derive(Element, attributes(element))]
pub fn derive_element(tokens: TokenStream) -> TokenStream {
    let input = parse_macro_input!(tokens as DeriveInput);
    match input::Struct::new(&input) {
        Ok(checked) => expand::element(&checked).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
