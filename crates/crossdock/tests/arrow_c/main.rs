//! Arrow's C structs, declared without an Arrow crate: exports, imports, and `arrow-rs` as the
//! counterpart.

#[path = "../c_header/mod.rs"]
mod c_header;
mod columns;
mod columns_hostile;
mod columns_text;
mod columns_theirs;
mod columns_writer;
mod export;
mod header;
mod import;
mod layouts;
mod stream;
mod theirs;

use crossdock::DArray;
use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ExportOptions, Exported, Imported};
use crossdock::element::DType;

/// Imports an export of this library.
fn take_over(exported: Exported<ArrowArray>) -> Imported {
    let (mut schema, mut array) = exported.into_raw();
    // SAFETY: both structs were exported just now, match, and are consumed once.
    let imported = unsafe { arrow::take_over(&mut schema, &mut array) };
    assert!(schema.release.is_none() && array.release.is_none(), "both were moved");
    imported.expect("what we export, we import")
}

/// Exports an array and imports it again.
fn relayed(array: &DArray, options: &ExportOptions) -> DArray {
    take_over(arrow::export(array, options).unwrap()).into_array().unwrap()
}

fn options() -> ExportOptions {
    ExportOptions::new()
}

/// Records of 9 bytes: a price, and a kind.
fn trade() -> DType {
    DType::packed_record([("price", DType::F64), ("kind", DType::U8)]).unwrap()
}

/// The format, name and children of a schema as text.
fn described(schema: &ArrowSchema) -> String {
    // SAFETY: the library exports format and name as C strings that live as long as the schema.
    let text = |text| unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap();
    let child = |k| {
        // SAFETY: callers pass an index below `n_children`, and the list has that many entries.
        let child = unsafe { schema.children.wrapping_add(k).read() };
        // SAFETY: the entry points to a child, which lives as long as the schema.
        described(unsafe { &*child })
    };
    let children: Vec<String> = (0..schema.n_children as usize).map(child).collect();
    let below = if children.is_empty() { String::new() } else { format!("<{}>", children.join(", ")) };
    format!("{}:{}{below}", text(schema.name), text(schema.format))
}

/// The extension type in the schema of an export, and its parameters.
fn metadata(schema: &ArrowSchema) -> String {
    let mut at = schema.metadata.cast::<u8>();
    let mut take = |len: usize| {
        // SAFETY: the library's metadata state each length before the bytes, and `len` was read
        // from there.
        let bytes = unsafe { std::slice::from_raw_parts(at, len) };
        at = at.wrapping_add(len);
        bytes
    };
    let mut texts = vec![];
    let pairs = i32::from_ne_bytes(take(4).try_into().unwrap());
    for _ in 0..2 * pairs {
        let len = i32::from_ne_bytes(take(4).try_into().unwrap());
        texts.push(std::str::from_utf8(take(len as usize)).unwrap());
    }
    assert_eq!((texts[0], texts[2]), ("ARROW:extension:name", "ARROW:extension:metadata"));
    format!("{} {}", texts[1], texts[3])
}
