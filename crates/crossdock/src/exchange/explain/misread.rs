//! Elements that consumers of a protocol misread, although the protocol can express them. The
//! exporters for Python do not offer them by that protocol.

use crate::element::dialect::pep3118;
use crate::element::{DType, ScalarKind};

/// Why readers of PEP 3118 misread elements of this dtype; `None` if they read them correctly.
pub fn misread_format(dtype: &DType) -> Option<&'static str> {
    if let Some(scalar) = dtype.as_scalar() {
        let is_opaque = matches!(scalar.kind(), ScalarKind::Void(_));
        return is_opaque
            .then_some("readers of PEP 3118 read opaque bytes ('x') outside of records as padding");
    }
    has_title(dtype).then_some("a format of PEP 3118 has no field titles")
}

fn has_title(dtype: &DType) -> bool {
    match (dtype.as_record(), dtype.as_subarray()) {
        (Some(record), _) => {
            record.fields().iter().any(|field| field.title().is_some() || has_title(field.dtype()))
        }
        (_, Some(subarray)) => has_title(subarray.base()),
        _ => false,
    }
}

/// Whether NumPy would read the array interface of this dtype and mistake its padding for fields,
/// without a format to read instead.
pub fn misread_interface(dtype: &DType) -> bool {
    !is_packed(dtype) && (misread_format(dtype).is_some() || pep3118::print(dtype).is_err())
}

/// Whether the fields of all records in a dtype are adjacent, without gaps.
fn is_packed(dtype: &DType) -> bool {
    match (dtype.as_record(), dtype.as_subarray()) {
        (Some(record), _) => {
            record.is_packed() && record.fields().iter().all(|field| is_packed(field.dtype()))
        }
        (_, Some(subarray)) => is_packed(subarray.base()),
        _ => true,
    }
}
