//! The metadata of the extension type `arrow.fixed_shape_tensor`.

use std::fmt;

use crate::element::dialect::arrow::json::JsonReader;
use crate::error::{Error, Kind, Result};

type Lengths = Vec<usize>;

/// The shape of tensors of which each is one element of a list of a fixed size, and the order of
/// their axes.
///
/// Written as JSON: `{"shape":[2,3],"permutation":[1,0]}`. Names of axes are skipped: arrays have
/// none.
///
/// ```
/// use crossdock::bindings::dialect::arrow::TensorShape;
///
/// let tensor = TensorShape::parse(r#"{"shape": [100, 200, 500], "permutation": [2, 0, 1]}"#)?;
/// assert_eq!(tensor.shape(), [100, 200, 500]);
/// assert_eq!(tensor.permutation(), Some(&[2, 0, 1][..])); // which is 500 × 100 × 200
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorShape {
    shape: Vec<usize>,
    /// 1. Names every axis of `shape` once.
    permutation: Option<Vec<usize>>,
}

impl TensorShape {
    /// The lengths in memory order (row-major), and the permutation from tensor axes to these axes,
    /// unless it is the identity.
    ///
    /// # Errors
    ///
    /// `is_shape` if the permutation does not name every axis once.
    pub fn new(shape: Vec<usize>, permutation: Option<Vec<usize>>) -> Result<Self> {
        if let Some(axes) = &permutation {
            let mut named = vec![false; shape.len()];
            let each_once =
                |&axis: &usize| named.get_mut(axis).is_some_and(|named| !std::mem::replace(named, true));
            if axes.len() != shape.len() || !axes.iter().all(each_once) {
                return Err(Error::new(
                    Kind::Shape,
                    format!("the permutation {axes:?} does not name each of the {} axes once", shape.len()),
                ));
            }
        }
        Ok(Self { shape, permutation })
    }

    /// Reads the metadata of a tensor.
    ///
    /// # Errors
    ///
    /// `is_malformed` for invalid JSON, and for a missing or invalid shape; `is_shape` as
    /// [`TensorShape::new`].
    pub fn parse(text: &str) -> Result<Self> {
        let (shape, permutation) = Self::read(text)?;
        let shape =
            shape.ok_or_else(|| Error::new(Kind::Malformed, "the tensor's metadata has no \"shape\""))?;
        Self::new(shape, permutation)
    }

    /// A tensor of this shape by the metadata of tensors of any shape, which may be empty. Errors
    /// as [`TensorShape::parse`].
    pub(crate) fn of_any(shape: Vec<usize>, metadata: &str) -> Result<Self> {
        let permutation = if metadata.is_empty() { None } else { Self::read(metadata)?.1 };
        Self::new(shape, permutation)
    }

    /// The shape and the permutation in JSON.
    fn read(text: &str) -> Result<(Option<Lengths>, Option<Lengths>)> {
        let (mut shape, mut permutation) = (None, None);
        let mut reader = JsonReader::new(text);
        reader.object(|reader, key| match key {
            "shape" => reader.lengths().map(|lengths| shape = Some(lengths)),
            "permutation" if !reader.null() => reader.lengths().map(|axes| permutation = Some(axes)),
            "permutation" => Ok(()),
            _ => reader.skip(),
        })?;
        reader.end()?;
        Ok((shape, permutation))
    }

    /// The lengths of the axes in memory order (row-major).
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Axis `i` of the tensor is axis `permutation[i]` of the [shape](TensorShape::shape).
    pub fn permutation(&self) -> Option<&[usize]> {
        self.permutation.as_deref()
    }

    /// The number of elements of a tensor, unless it overflows.
    pub fn checked_len(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1usize, |len, &axis| len.checked_mul(axis))
    }
}

/// JSON, without white space.
impl fmt::Display for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, numbers: &[usize]| {
            f.write_str("[")?;
            for (i, number) in numbers.iter().enumerate() {
                write!(f, "{}{number}", if i > 0 { "," } else { "" })?;
            }
            f.write_str("]")
        };
        f.write_str("{\"shape\":")?;
        list(f, &self.shape)?;
        if let Some(permutation) = &self.permutation {
            f.write_str(",\"permutation\":")?;
            list(f, permutation)?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (shape, permutation) in [
            (vec![], None),
            (vec![3], None),
            (vec![2, 3, 4], Some(vec![2, 0, 1])),
            (vec![0, usize::MAX], Some(vec![1, 0])),
        ] {
            let tensor = TensorShape::new(shape, permutation).unwrap();
            assert_eq!(TensorShape::parse(&tensor.to_string()).unwrap(), tensor);
        }
        let tensor = TensorShape::new(vec![100, 200], Some(vec![1, 0])).unwrap();
        assert_eq!(tensor.to_string(), r#"{"shape":[100,200],"permutation":[1,0]}"#);
        assert_eq!(tensor.checked_len(), Some(20_000));
        assert_eq!(TensorShape::new(vec![usize::MAX, 2], None).unwrap().checked_len(), None);
    }

    #[test]
    fn what_else_is_there_is_read_over() {
        let text = r#" { "dim_names" : ["C", "H\"\\\u00e9", null], "more": {"a": [1.5e-3, true, {}], "b": []},
            "shape" : [ 1 , 2 ] , "permutation" : null } "#;
        assert_eq!(TensorShape::parse(text).unwrap(), TensorShape::new(vec![1, 2], None).unwrap());
    }

    #[test]
    fn what_is_none_is_refused_with_the_place() {
        for (text, says) in [
            ("", "byte 0"),
            ("[]", "byte 0"),
            ("{}", "no \"shape\""),
            ("{\"shape\":[1]", "byte 12"),
            ("{\"shape\":[1,]}", "byte 12"),
            ("{\"shape\":[-1]}", "byte 10"),
            ("{\"shape\":[1.5]}", "byte 11"),
            ("{\"shape\":[99999999999999999999]}", "byte 10"),
            ("{\"shape\":3}", "byte 9"),
            ("{\"shape\":[3]} x", "byte 14"),
            ("{\"shape:[3]}", "byte 12"),
            ("{shape:[3]}", "byte 1"),
            ("{\"a\":tru,\"shape\":[3]}", "byte 5"),
        ] {
            let error = TensorShape::parse(text).unwrap_err();
            assert!(error.is_malformed() && error.to_string().contains(says), "{text}: {error}");
        }
        for axes in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2]] {
            let error = TensorShape::new(vec![4, 5], Some(axes.to_vec())).unwrap_err();
            assert!(error.is_shape(), "{error}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(TensorShape::parse(&deep).unwrap_err().to_string().contains("nested"));
    }
}
