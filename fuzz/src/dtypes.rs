//! A dtype in every dialect.

use crossdock::bindings::array_interface::InterfaceType;
use crossdock::bindings::dialect::{arrow, dlpack, pack, pep3118, typestr};
use crossdock::element::{DType, DTypeKind, Field};

/// Prints a dtype in every dialect, in either byte order: an error, or text that is read as the
/// same dtype.
///
/// # Panics
///
/// If it is read as another dtype.
pub(crate) fn spellings(dtype: &DType) {
    assert_eq!(dtype.swapped().swapped(), *dtype);
    for dtype in [&dtype.swapped(), dtype] {
        assert!(!dtype.to_string().is_empty() && dtype.alignment().is_power_of_two());
        numpy(dtype);
        python(dtype);
        ruby(dtype);
        tensors(dtype);
        if let DTypeKind::Scalar(_) = dtype.kind() {
            same(dtype, dtype.to_string().parse(), "its name");
        }
    }
}

#[track_caller]
fn same(dtype: &DType, again: crossdock::Result<DType>, text: &str) {
    assert_eq!(again.as_ref().ok(), Some(dtype), "{text:?}: {again:?}");
}

fn numpy(dtype: &DType) {
    match typestr::print(dtype) {
        Ok(text) => {
            same(dtype, typestr::parse(&text), &text);
            same(dtype, text.parse(), &text);
        }
        Err(error) => assert!(error.is_unsupported(), "{error:?}"),
    }
    // A list of fields loses the names of gaps and the alignment of scalars, but keeps the size.
    if let Ok(text) = typestr::print_descr(dtype) {
        let again = typestr::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(again.itemsize(), dtype.itemsize(), "{text}");
    }
    if let Ok(words) = InterfaceType::of(dtype) {
        let read = typestr::parse(words.descr().unwrap_or(words.typestr()));
        assert_eq!(read.expect("what was printed").itemsize(), dtype.itemsize());
    }
}

fn python(dtype: &DType) {
    let aligned = pep3118::print(dtype);
    if let Some(letters) = pep3118::print_static(dtype) {
        assert_eq!(letters.to_str().ok(), aligned.as_deref().ok());
    }
    let dtype = &untitled(dtype);
    for text in [aligned, pep3118::print_unaligned(dtype)] {
        match text {
            Ok(text) => {
                same(dtype, pep3118::parse(text.as_bytes()), &text);
                same(dtype, pep3118::parse_sized(text.as_bytes(), dtype.itemsize()), &text);
            }
            Err(error) => assert!(error.is_unsupported(), "{error:?}"),
        }
    }
}

/// Formats have field names, but no titles.
fn untitled(dtype: &DType) -> DType {
    match dtype.kind() {
        DTypeKind::Scalar(_) => dtype.clone(),
        DTypeKind::SubArray(array) => {
            DType::subarray(array.shape(), untitled(array.base())).expect("no larger than it was")
        }
        DTypeKind::Record(record) => {
            let plain = |field: &Field| Field::new(field.name(), field.offset(), untitled(field.dtype()));
            let fields: Vec<Field> = record.fields().iter().map(plain).collect();
            DType::record(fields, record.itemsize()).expect("no larger than it was")
        }
    }
}

fn ruby(dtype: &DType) {
    match pack::to_pack(dtype) {
        // Names are lost, and nesting is flattened.
        Ok(text) => {
            let template = pack::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(template.item_size(), dtype.itemsize(), "{text}");
            let again = template.to_dtype().expect("what was printed");
            assert_eq!(pack::to_pack(&again).expect("what was read"), text);
        }
        Err(error) => assert!(error.is_unsupported(), "{error:?}"),
    }
    if let Ok(text) = pack::to_pack_approximately(dtype) {
        assert_eq!(pack::item_size(text.as_bytes()), Ok(dtype.itemsize()), "{text}");
    }
}

fn tensors(dtype: &DType) {
    match dlpack::to_dlpack(dtype) {
        Ok((code, bits, lanes)) => {
            let padded = dlpack::needs_padded_flag(dtype);
            same(dtype, dlpack::from_dlpack(code, bits, lanes, padded), "DLPack's");
        }
        Err(error) => assert!(error.is_unsupported(), "{error:?}"),
    }
    match arrow::to_format(dtype) {
        Ok(format) => {
            assert_eq!(
                arrow::ArrowFormat::parse(&format).ok(),
                Some(arrow::ArrowFormat::Scalar(dtype.clone()))
            );
        }
        Err(error) => assert!(error.is_unsupported(), "{error:?}"),
    }
}
