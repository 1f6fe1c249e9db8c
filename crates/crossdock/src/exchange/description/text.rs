//! A description as one line of text: for a socket, an argument or the environment.
//!
//! ```text
//! offset=8; access=read; shape=2,3; strides=-24,8; dtype=>f8
//! ```

use std::fmt::Display;
use std::str::FromStr;

use crate::element::dialect::typestr;
use crate::element::{DType, DTypeKind, Scalar};
use crate::error::{Error, Kind, Result, short};
use crate::exchange::description::Description;

/// The names of the parts, in their order. The dtype is last, since it may contain any character.
const PARTS: [&str; 5] = ["offset", "access", "shape", "strides", "dtype"];

impl Description {
    /// One line of text, from which [`Description::from_str`] makes the same description again. All
    /// numbers but those of the shape count bytes. The dtype is spelt as
    /// [`DType::from_str`](crate::element::DType) reads it: a scalar by its name, others as in
    /// [`typestr`].
    ///
    /// ```
    /// use crossdock::element::DType;
    /// use crossdock::exchange::protocol::shm::Description;
    ///
    /// let described = Description::new(DType::U16.swapped(), &[2, 3], &[-6, 2], 100, false)?;
    /// let text = described.to_text()?;
    /// assert_eq!(text, "offset=100; access=read; shape=2,3; strides=-6,2; dtype=>uint16");
    /// assert_eq!(text.parse::<Description>()?.span(), described.span());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_unsupported`, naming the part, if the dtype has no text: a record of 2 GiB or more, for
    /// example.
    pub fn to_text(&self) -> Result<String> {
        self.spelt(|scalar| scalar.to_string())
    }

    /// As [`Description::to_text`], with the byte order of every element, so that another machine
    /// reads the same values.
    ///
    /// ```
    /// use crossdock::element::DType;
    /// use crossdock::exchange::protocol::shm::Description;
    ///
    /// let described = Description::new(DType::BF16, &[2], &[2], 0, true)?;
    /// let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    /// let text = format!("offset=0; access=write; shape=2; strides=2; dtype={order}bfloat16");
    /// assert_eq!(described.to_portable_text()?, text);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Description::to_text`].
    #[doc(hidden)]
    pub fn to_portable_text(&self) -> Result<String> {
        self.spelt(|scalar| match scalar.byte_order() {
            Some(order) => format!("{}{}", order.symbol(), scalar.kind()),
            None => scalar.to_string(),
        })
    }

    fn spelt(&self, scalar: impl FnOnce(Scalar) -> String) -> Result<String> {
        let access = if self.is_writable() { "write" } else { "read" };
        let dtype = match self.dtype().kind() {
            DTypeKind::Scalar(kind) => scalar(kind),
            _ => typestr::print_for_crossdock(self.dtype())?,
        };
        let (shape, strides) = (join(self.layout().shape()), join(self.layout().strides()));
        Ok(format!(
            "offset={}; access={access}; shape={shape}; strides={strides}; dtype={dtype}",
            self.offset()
        ))
    }
}

impl FromStr for Description {
    type Err = Error;

    /// Reads what [`Description::to_text`] writes.
    ///
    /// # Errors
    ///
    /// `is_malformed` if the text is not in this form; as [`Description::new`] and
    /// [`typestr::parse`](crate::element::dialect::typestr::parse) for impossible values.
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.splitn(PARTS.len(), "; ");
        let mut next = |name: &str| {
            let part = parts.next().unwrap_or("");
            let value = part.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
            value.ok_or_else(|| {
                let part = short(part);
                let text = format!("the description of the array has {part} where {name}=… should be");
                Error::new(Kind::Malformed, text)
            })
        };
        let [offset, access, shape, strides, dtype] = PARTS;
        let offset = number(offset, next(offset)?)?;
        let writable = match next(access)? {
            "read" => false,
            "write" => true,
            other => {
                let text = format!("access={} must be read or write", short(other));
                return Err(Error::new(Kind::Malformed, text));
            }
        };
        let shape = numbers::<usize>(shape, next(shape)?)?;
        let strides = numbers::<isize>(strides, next(strides)?)?;
        let dtype: DType = next(dtype)?.parse()?;
        Self::new(dtype, &shape, &strides, offset, writable)
    }
}

fn join(numbers: &[impl Display]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn numbers<T: FromStr>(name: &str, text: &str) -> Result<Vec<T>> {
    if text.is_empty() { Ok(vec![]) } else { text.split(',').map(|one| number(name, one)).collect() }
}

fn number<T: FromStr>(name: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| {
        let range = std::any::type_name::<T>();
        let text = format!("{name}: {} is not a number ({range})", short(text));
        Error::new(Kind::Malformed, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_comes_back_from_its_text() {
        for (dtype, shape, strides, offset, writable) in [
            ("float64", &[2, 3][..], &[-24, 8][..], 100, true),
            (">int16", &[], &[], 0, false),
            ("bfloat16", &[0], &[-7], u64::MAX, false),
            ("S5", &[1], &[isize::MIN], 3, false),
            ("datetime64[25us]", &[4], &[0], 0, true),
            ("[('a; dtype=', '<i4'), (('t', 'b'), '>f8', (2,)), ('', '|V3')]", &[2], &[24], 9, false),
        ] {
            let described =
                Description::new(dtype.parse().unwrap(), shape, strides, offset, writable).unwrap();
            for text in [described.to_text().unwrap(), described.to_portable_text().unwrap()] {
                let again: Description = text.parse().unwrap();
                assert_eq!(again.dtype(), described.dtype(), "{text}");
                assert_eq!((again.layout().shape(), again.layout().strides()), (shape, strides), "{text}");
                assert_eq!((again.offset(), again.is_writable()), (offset, writable), "{text}");
            }
        }
    }

    #[test]
    fn a_text_that_is_none_is_refused_with_the_part_that_is_wrong() {
        let good = "offset=0; access=read; shape=2; strides=8; dtype=float64";
        assert!(good.parse::<Description>().is_ok());
        for (from, to, part) in [
            ("offset=0", "offset=-1", "offset"),
            ("offset=0", "offset=99999999999999999999", "offset"),
            ("offset=0", "offset=", "offset"),
            ("offset=0; ", "", "offset"),
            ("access=read", "access=maybe", "access"),
            ("shape=2", "shape=2,", "shape"),
            ("shape=2", "shape=-2", "shape"),
            ("strides=8", "strides=8.0", "strides"),
            ("strides", "stride", "strides"),
            ("; dtype=float64", "", "dtype"),
            ("float64", "float65", "float65"),
            ("float64", "float64; more", "more"),
        ] {
            let error = good.replace(from, to).parse::<Description>().unwrap_err();
            assert!(error.is_malformed() && error.to_string().contains(part), "{to}: {error}");
        }
        assert!(good.replace("shape=2", "shape=2,2").parse::<Description>().unwrap_err().is_shape());
        assert!(good.replace("strides=8", "strides=-8").parse::<Description>().unwrap_err().is_bounds());
        let far = good.replace("shape=2", &format!("shape={}", isize::MAX));
        assert!(far.parse::<Description>().unwrap_err().is_overflow());
    }

    #[test]
    fn records_of_any_scalars_have_a_text_unless_they_are_too_large() {
        let described = |dtype: &DType| Description::new(dtype.clone(), &[], &[], 0, false).unwrap();
        let record = DType::packed_record([("x", DType::BF16), ("y", DType::I32)]).unwrap();
        for text in [described(&record).to_text().unwrap(), described(&record).to_portable_text().unwrap()] {
            assert_eq!(*text.parse::<Description>().unwrap().dtype(), record, "{text}");
        }
        if usize::BITS < 64 {
            // No record is so large.
            return;
        }
        let half = DType::bytes(1 << 30).unwrap();
        let large = DType::packed_record([("x", half.clone()), ("y", half)]).unwrap();
        let error = described(&large).to_text().unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("2147483648"), "{error}");
    }
}
