//! The element type names of the `.safetensors` format.

use crate::element::{ByteOrder, DType, ScalarKind};
use crate::error::{Error, Kind, Result, short};

/// Every element type of the format: its name, its kind, and the number of bits of an element in a
/// file.
const DTYPES: [(&str, ScalarKind, usize); 22] = [
    ("BOOL", ScalarKind::Bool, 8),
    ("F4", ScalarKind::Float4E2M1Fn, 4),
    ("F6_E2M3", ScalarKind::Float6E2M3Fn, 6),
    ("F6_E3M2", ScalarKind::Float6E3M2Fn, 6),
    ("U8", ScalarKind::UInt8, 8),
    ("I8", ScalarKind::Int8, 8),
    ("F8_E5M2", ScalarKind::Float8E5M2, 8),
    ("F8_E4M3", ScalarKind::Float8E4M3Fn, 8),
    ("F8_E8M0", ScalarKind::Float8E8M0Fnu, 8),
    ("F8_E4M3FNUZ", ScalarKind::Float8E4M3Fnuz, 8),
    ("F8_E5M2FNUZ", ScalarKind::Float8E5M2Fnuz, 8),
    ("I16", ScalarKind::Int16, 16),
    ("U16", ScalarKind::UInt16, 16),
    ("F16", ScalarKind::Float16, 16),
    ("BF16", ScalarKind::BFloat16, 16),
    ("I32", ScalarKind::Int32, 32),
    ("U32", ScalarKind::UInt32, 32),
    ("F32", ScalarKind::Float32, 32),
    ("C64", ScalarKind::Complex64, 64),
    ("F64", ScalarKind::Float64, 64),
    ("I64", ScalarKind::Int64, 64),
    ("U64", ScalarKind::UInt64, 64),
];

/// The element type of a tensor in a file.
#[derive(Clone, Debug)]
pub(crate) struct StoredType {
    pub(crate) name: &'static str,
    /// Little-endian on every machine.
    pub(crate) dtype: DType,
    /// The bits of an element in a file; in memory it has whole bytes.
    pub(crate) bits: usize,
}

impl StoredType {
    /// The stored type of a name of the format.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for an unknown name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let row = DTYPES
            .iter()
            .find(|row| row.0 == name)
            .ok_or_else(|| Error::new(Kind::Unsupported, format!("the dtype {} is unknown", short(name))))?;
        Self::of_row(row)
    }

    /// The stored type of a dtype in either byte order.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for a dtype without a name in the format.
    pub(crate) fn of(dtype: &DType) -> Result<Self> {
        let kind = dtype.as_scalar().map(|scalar| scalar.kind());
        let row = DTYPES.iter().find(|row| Some(row.1) == kind).ok_or_else(|| {
            Error::new(
                Kind::Unsupported,
                format!(
                    "a .safetensors file cannot hold {}; cast it to a dtype that the format has, or write one field at a time",
                    dtype.brief()
                ),
            )
        })?;
        Self::of_row(row)
    }

    fn of_row(&(name, kind, bits): &(&'static str, ScalarKind, usize)) -> Result<Self> {
        Ok(Self { name, dtype: DType::scalar(kind, ByteOrder::Little)?, bits })
    }

    /// Whether elements share bytes in a file.
    pub(crate) fn is_packed(&self) -> bool {
        self.bits < 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_is_named_once_and_comes_back() {
        for &(name, kind, bits) in &DTYPES {
            let stored = StoredType::named(name).unwrap();
            assert_eq!(stored.bits, bits.min(8 * stored.dtype.itemsize()));
            assert_eq!(stored.is_packed(), bits != 8 * stored.dtype.itemsize(), "{name}");
            assert_eq!(stored.dtype.as_scalar().unwrap().kind(), kind);
            assert_eq!(StoredType::of(&stored.dtype).unwrap().name, name);
            assert_eq!(StoredType::of(&stored.dtype.swapped()).unwrap().name, name);
        }
        assert!(StoredType::named("F128").unwrap_err().is_unsupported());
        assert!(StoredType::of(&DType::C128).unwrap_err().is_unsupported());
    }
}
