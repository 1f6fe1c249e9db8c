//! DLPack's spelling: a code, a number of bits, a number of lanes.
//!
//! Elements are in the machine's byte order and have no parts. Floats of 6 and 4 bits are packed
//! unless the tensor's flag `IS_SUBBYTE_TYPE_PADDED` states that each occupies one byte; only those
//! are elements here. Source: `dlpack.h` of version 1.3.

use crate::element::{ByteOrder, DType, DTypeKind, Scalar, ScalarKind};
use crate::error::{Advice, Error, Kind, Result};

/// `kDLInt`, …: the codes of DLPack, open, since imported codes can have any value.
pub mod code {
    /// Signed integers.
    pub const INT: u8 = 0;
    /// Unsigned integers.
    pub const UINT: u8 = 1;
    /// IEEE floats.
    pub const FLOAT: u8 = 2;
    /// Opaque handles: pointers.
    pub const OPAQUE_HANDLE: u8 = 3;
    /// bfloat16.
    pub const BFLOAT: u8 = 4;
    /// Complex numbers of two IEEE floats.
    pub const COMPLEX: u8 = 5;
    /// Booleans.
    pub const BOOL: u8 = 6;
    /// [`ScalarKind::Float8E3M4`](crate::element::ScalarKind::Float8E3M4).
    pub const FLOAT8_E3M4: u8 = 7;
    /// [`ScalarKind::Float8E4M3`](crate::element::ScalarKind::Float8E4M3).
    pub const FLOAT8_E4M3: u8 = 8;
    /// [`ScalarKind::Float8E4M3B11Fnuz`](crate::element::ScalarKind::Float8E4M3B11Fnuz).
    pub const FLOAT8_E4M3B11FNUZ: u8 = 9;
    /// [`ScalarKind::Float8E4M3Fn`](crate::element::ScalarKind::Float8E4M3Fn).
    pub const FLOAT8_E4M3FN: u8 = 10;
    /// [`ScalarKind::Float8E4M3Fnuz`](crate::element::ScalarKind::Float8E4M3Fnuz).
    pub const FLOAT8_E4M3FNUZ: u8 = 11;
    /// [`ScalarKind::Float8E5M2`](crate::element::ScalarKind::Float8E5M2).
    pub const FLOAT8_E5M2: u8 = 12;
    /// [`ScalarKind::Float8E5M2Fnuz`](crate::element::ScalarKind::Float8E5M2Fnuz).
    pub const FLOAT8_E5M2FNUZ: u8 = 13;
    /// [`ScalarKind::Float8E8M0Fnu`](crate::element::ScalarKind::Float8E8M0Fnu).
    pub const FLOAT8_E8M0FNU: u8 = 14;
    /// [`ScalarKind::Float6E2M3Fn`](crate::element::ScalarKind::Float6E2M3Fn).
    pub const FLOAT6_E2M3FN: u8 = 15;
    /// [`ScalarKind::Float6E3M2Fn`](crate::element::ScalarKind::Float6E3M2Fn).
    pub const FLOAT6_E3M2FN: u8 = 16;
    /// [`ScalarKind::Float4E2M1Fn`](crate::element::ScalarKind::Float4E2M1Fn).
    pub const FLOAT4_E2M1FN: u8 = 17;
}

/// Code, bits, kind. The one table for both directions.
const TABLE: [(u8, u8, ScalarKind); 28] = [
    (code::INT, 8, ScalarKind::Int8),
    (code::INT, 16, ScalarKind::Int16),
    (code::INT, 32, ScalarKind::Int32),
    (code::INT, 64, ScalarKind::Int64),
    (code::UINT, 8, ScalarKind::UInt8),
    (code::UINT, 16, ScalarKind::UInt16),
    (code::UINT, 32, ScalarKind::UInt32),
    (code::UINT, 64, ScalarKind::UInt64),
    (code::FLOAT, 16, ScalarKind::Float16),
    (code::FLOAT, 32, ScalarKind::Float32),
    (code::FLOAT, 64, ScalarKind::Float64),
    (code::OPAQUE_HANDLE, 64, ScalarKind::Pointer),
    (code::BFLOAT, 16, ScalarKind::BFloat16),
    (code::COMPLEX, 32, ScalarKind::Complex32),
    (code::COMPLEX, 64, ScalarKind::Complex64),
    (code::COMPLEX, 128, ScalarKind::Complex128),
    (code::BOOL, 8, ScalarKind::Bool),
    (code::FLOAT8_E3M4, 8, ScalarKind::Float8E3M4),
    (code::FLOAT8_E4M3, 8, ScalarKind::Float8E4M3),
    (code::FLOAT8_E4M3B11FNUZ, 8, ScalarKind::Float8E4M3B11Fnuz),
    (code::FLOAT8_E4M3FN, 8, ScalarKind::Float8E4M3Fn),
    (code::FLOAT8_E4M3FNUZ, 8, ScalarKind::Float8E4M3Fnuz),
    (code::FLOAT8_E5M2, 8, ScalarKind::Float8E5M2),
    (code::FLOAT8_E5M2FNUZ, 8, ScalarKind::Float8E5M2Fnuz),
    (code::FLOAT8_E8M0FNU, 8, ScalarKind::Float8E8M0Fnu),
    (code::FLOAT6_E2M3FN, 6, ScalarKind::Float6E2M3Fn),
    (code::FLOAT6_E3M2FN, 6, ScalarKind::Float6E3M2Fn),
    (code::FLOAT4_E2M1FN, 4, ScalarKind::Float4E2M1Fn),
];

/// Code, bits and lanes of a dtype. Lanes are always 1.
///
/// If [`needs_padded_flag`] returns true, the tensor must carry the flag `IS_SUBBYTE_TYPE_PADDED`.
///
/// # Errors
///
/// `is_unsupported`, naming the part that DLPack cannot express: records, sub-arrays (which become
/// axes), fixed bytes and text, dates, long doubles, and non-native byte order.
///
/// ```
/// use crossdock::bindings::dialect::dlpack;
/// use crossdock::element::DType;
///
/// assert_eq!(dlpack::to_dlpack(&DType::BF16)?, (4, 16, 1));
/// assert_eq!(dlpack::from_dlpack(4, 16, 1, false)?, DType::BF16);
/// assert!(dlpack::from_dlpack(4, 16, 2, false).unwrap_err().is_unsupported());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn to_dlpack(dtype: &DType) -> Result<(u8, u8, u16)> {
    let unsupported = |what: &str, advice: Option<Advice>| {
        let text = format!("DLPack has no {what}: {}", dtype.brief());
        Err(Error::new(Kind::Unsupported, text).advising(advice))
    };
    let scalar = match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar,
        DTypeKind::Record(_) => return unsupported("records", Some(Advice::OneField)),
        DTypeKind::SubArray(_) => return unsupported("sub-arrays", Some(Advice::SubArraysAsAxes)),
    };
    if !scalar.is_native() {
        return unsupported("non-native byte order", Some(Advice::ConvertByteOrder));
    }
    match TABLE.iter().find(|(.., kind)| *kind == scalar.kind()) {
        Some((code, bits, _)) => Ok((*code, *bits, 1)),
        None => unsupported("such dtype", None),
    }
}

/// Whether elements of this dtype are narrower than the byte that each occupies, so that a tensor
/// of them needs the flag.
pub fn needs_padded_flag(dtype: &DType) -> bool {
    let narrow = [ScalarKind::Float6E2M3Fn, ScalarKind::Float6E3M2Fn, ScalarKind::Float4E2M1Fn];
    dtype.as_scalar().is_some_and(|scalar| narrow.contains(&scalar.kind()))
}

/// The dtype of code, bits and lanes. `subbyte_padded` is the tensor's flag
/// `IS_SUBBYTE_TYPE_PADDED`; types of whole bytes ignore it.
///
/// # Errors
///
/// `is_unsupported`, with the numbers: lanes other than 1, an unknown code or width, floats packed
/// into parts of bytes.
pub fn from_dlpack(code: u8, bits: u8, lanes: u16, subbyte_padded: bool) -> Result<DType> {
    let unsupported = |what: String| {
        Error::new(Kind::Unsupported, format!("{what}: DLPack type code {code}, {bits} bits, {lanes} lanes"))
    };
    if lanes != 1 {
        return Err(unsupported(format!(
            "elements of {lanes} lanes are not supported, only elements of 1 lane"
        )));
    }
    match TABLE.iter().find(|(known, width, _)| (*known, *width) == (code, bits)) {
        Some((.., kind)) if bits < 8 && !subbyte_padded => {
            Err(unsupported(format!("packed {kind} is not supported, only elements padded to one byte each")))
        }
        Some((.., kind)) => Ok(Scalar::new(*kind, ByteOrder::NATIVE)?.into()),
        None if TABLE.iter().any(|(known, ..)| *known == code) => {
            Err(unsupported(format!("type code {code} has no width of {bits} bits")))
        }
        None => Err(unsupported(format!("type code {code} is unknown"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::TimeUnit;

    #[test]
    fn every_entry_is_written_and_read_back() {
        for (code, bits, kind) in TABLE {
            let dtype = DType::scalar(kind, ByteOrder::NATIVE).unwrap();
            assert_eq!(to_dlpack(&dtype).unwrap(), (code, bits, 1), "{kind}");
            assert_eq!(from_dlpack(code, bits, 1, true).unwrap(), dtype, "{kind}");
            assert_eq!(usize::from(bits).div_ceil(8), dtype.itemsize(), "{kind}");
            assert_eq!(from_dlpack(code, bits, 1, false).is_ok(), !needs_padded_flag(&dtype), "{kind}");
        }
    }

    #[test]
    fn every_other_triple_is_refused_with_its_numbers() {
        for code in 0..=255 {
            for bits in 0..=255 {
                for lanes in [0, 1, 2, 4, u16::MAX] {
                    match from_dlpack(code, bits, lanes, true) {
                        Ok(dtype) => assert_eq!(to_dlpack(&dtype).unwrap(), (code, bits, lanes)),
                        Err(error) => {
                            assert!(error.is_unsupported());
                            let text = error.to_string();
                            let numbers = format!("code {code}, {bits} bits, {lanes} lanes");
                            assert!(text.contains(&numbers), "{text}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_dlpack_cannot_say_is_named() {
        for dtype in [
            DType::F64.swapped(),
            DType::native(ScalarKind::LongDouble),
            DType::bytes(8).unwrap(),
            DType::void(8).unwrap(),
            DType::text(2).unwrap(),
            DType::datetime(TimeUnit::SECOND),
            DType::subarray(&[3], DType::U8).unwrap(),
            DType::packed_record([("x", DType::U8)]).unwrap(),
        ] {
            let error = to_dlpack(&dtype).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains(&dtype.to_string()), "{error}");
        }
    }
}
