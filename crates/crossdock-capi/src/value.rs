//! Elements as values: numbers inline, everything longer behind a pointer that the value owns.

use std::ffi::c_char;
use std::mem::ManuallyDrop;

use crossdock::element::{DType, DTypeKind, Scalar, ScalarKind, SubArray, Value};

use crate::error::{
    Failure, Result, XD_ERROR_MALFORMED, XD_ERROR_OVERFLOW, XD_ERROR_UNSUPPORTED, XD_ERROR_VALUE,
};
use crate::foreign::items;
use crate::guard::answer;
use crate::handle::try_collect;

macro_rules! kinds {
    ($($name:ident = $number:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: u8 = $number;
        )*
    };
}

kinds! {
    XD_VALUE_NIL = 0;
    XD_VALUE_INT = 1;
    XD_VALUE_UINT = 2;
    XD_VALUE_FLOAT = 3;
    XD_VALUE_LIST = 4;
    XD_VALUE_BOOL = 5;
    XD_VALUE_COMPLEX = 6;
    XD_VALUE_BYTES = 7;
    XD_VALUE_TEXT = 8;
    XD_VALUE_DATETIME = 9;
    XD_VALUE_TIMEDELTA = 10;
    XD_VALUE_LONG_DOUBLE = 11;
    XD_VALUE_POINTER = 12;
}

/// `xd_value`: 16 bytes, which functions return in two registers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct XdValue {
    /// One of the constants.
    pub kind: u8,
    /// Zeros.
    pub reserved: [u8; 3],
    /// How many items or bytes there are behind the pointer.
    pub len: u32,
    /// Which part is meant, the kind says.
    pub payload: Payload,
}

/// `xd_value.as`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Payload {
    /// Of INT, DATETIME, TIMEDELTA.
    pub i: i64,
    /// Of UINT, BOOL, POINTER.
    pub u: u64,
    /// Of FLOAT.
    pub f: f64,
    /// Of LIST and COMPLEX.
    pub items: *const XdValue,
    /// Of BYTES, TEXT and LONG_DOUBLE.
    pub bytes: *const c_char,
}

const _: () = assert!(size_of::<XdValue>() == 16 && align_of::<XdValue>() == 8);

impl Default for XdValue {
    fn default() -> Self {
        Self::NIL
    }
}

impl XdValue {
    /// Nothing.
    pub const NIL: Self = Self::new(XD_VALUE_NIL, 0, Payload { u: 0 });

    #[inline]
    const fn new(kind: u8, len: u32, payload: Payload) -> Self {
        Self { kind, reserved: [0; 3], len, payload }
    }

    /// A signed integer.
    #[inline]
    pub const fn int(i: i64) -> Self {
        Self::new(XD_VALUE_INT, 0, Payload { i })
    }

    /// An unsigned integer.
    #[inline]
    pub const fn uint(u: u64) -> Self {
        Self::new(XD_VALUE_UINT, 0, Payload { u })
    }

    /// A float.
    #[inline]
    pub const fn float(f: f64) -> Self {
        Self::new(XD_VALUE_FLOAT, 0, Payload { f })
    }
}

/// A value that was made here and is not C's yet.
///
/// # Invariants
///
/// 1. A list's pointer is a boxed slice of `len` of these, and that of bytes is one of `len + 1` bytes, both null for none.
#[repr(transparent)]
pub(crate) struct Owned(XdValue);

impl Owned {
    /// What an element is, as C sees it. Numbers cost nothing; lists, texts and bytes are allocated.
    pub(crate) fn of(value: Value) -> Result<Self> {
        Ok(match value {
            Value::Bool(is) => Self::scalar(XD_VALUE_BOOL, Payload { u: is.into() }),
            Value::Int(i) => Self(XdValue::int(i)),
            Value::UInt(u) => Self(XdValue::uint(u)),
            Value::Float(f) => Self(XdValue::float(f)),
            Value::DateTime { count, .. } => Self::scalar(XD_VALUE_DATETIME, Payload { i: count }),
            Value::TimeDelta { count, .. } => Self::scalar(XD_VALUE_TIMEDELTA, Payload { i: count }),
            Value::Pointer(u) => Self::scalar(XD_VALUE_POINTER, Payload { u }),
            Value::Complex { re, im } => {
                Self::list(XD_VALUE_COMPLEX, [re, im].into_iter().map(|part| Ok(Self(XdValue::float(part)))))?
            }
            Value::ComplexLongDouble(parts) => Self::list(
                XD_VALUE_COMPLEX,
                parts.iter().map(|part| Self::bytes(XD_VALUE_LONG_DOUBLE, part)),
            )?,
            Value::LongDouble(raw) => Self::bytes(XD_VALUE_LONG_DOUBLE, &raw)?,
            Value::Bytes(bytes) | Value::Void(bytes) => Self::bytes(XD_VALUE_BYTES, &bytes)?,
            Value::Text(text) => Self::bytes(XD_VALUE_TEXT, text.as_bytes())?,
            Value::Array(values) => Self::list(XD_VALUE_LIST, values.into_iter().map(Self::of))?,
            Value::Record(fields) => {
                Self::list(XD_VALUE_LIST, fields.into_iter().map(|(_, value)| Self::of(value)))?
            }
            other => {
                let text = format!("a value that C has no kind for: {other}");
                return Err(Failure::of_kind(XD_ERROR_UNSUPPORTED, text));
            }
        })
    }

    fn scalar(kind: u8, payload: Payload) -> Self {
        Self(XdValue::new(kind, 0, payload))
    }

    /// Items behind a pointer.
    pub(crate) fn list(kind: u8, items: impl ExactSizeIterator<Item = Result<Self>>) -> Result<Self> {
        let len = short(items.len())?;
        if len == 0 {
            return Ok(Self(XdValue::new(kind, 0, Payload { items: std::ptr::null() })));
        }
        let list = Box::into_raw(try_collect(items)?);
        // Owned 1.
        Ok(Self(XdValue::new(kind, len, Payload { items: list.cast::<XdValue>() })))
    }

    fn bytes(kind: u8, bytes: &[u8]) -> Result<Self> {
        let len = short(bytes.len())?;
        let ended = try_collect(Ended { bytes, given: 0 })?;
        // Owned 1.
        Ok(Self(XdValue::new(kind, len, Payload { bytes: Box::into_raw(ended).cast::<c_char>() })))
    }

    /// C's from now on.
    pub(crate) fn into_c(self) -> XdValue {
        ManuallyDrop::new(self).0
    }
}

/// Bytes with a zero behind them.
struct Ended<'a> {
    bytes: &'a [u8],
    given: usize,
}

impl Iterator for Ended<'_> {
    type Item = Result<u8>;

    fn next(&mut self) -> Option<Result<u8>> {
        let byte = (self.given <= self.bytes.len())
            .then(|| Ok(self.bytes.get(self.given).copied().unwrap_or_default()));
        self.given += 1;
        byte
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.bytes.len() + 1).saturating_sub(self.given);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Ended<'_> {}

fn short(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| {
        Failure::of_kind(XD_ERROR_OVERFLOW, format!("{len} items are more than a value can count"))
    })
}

impl Drop for Owned {
    fn drop(&mut self) {
        let XdValue { kind, len, payload, .. } = self.0;
        let len = len as usize;
        match kind {
            XD_VALUE_LIST | XD_VALUE_COMPLEX => {
                // SAFETY: the kind says which part is meant.
                let items = unsafe { payload.items }.cast_mut().cast::<Self>();
                if !items.is_null() {
                    // SAFETY: Owned 1.
                    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(items, len)) });
                }
            }
            XD_VALUE_BYTES | XD_VALUE_TEXT | XD_VALUE_LONG_DOUBLE => {
                // SAFETY: the kind says which part is meant.
                let bytes = unsafe { payload.bytes }.cast_mut().cast::<u8>();
                if !bytes.is_null() {
                    // SAFETY: Owned 1.
                    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes, len + 1)) });
                }
            }
            _ => {}
        }
    }
}

/// Frees what a value owns, and makes it nil. Null and nil are fine.
///
/// # Safety
///
/// The value is null, or points to one that a function of this library gave, neither changed nor freed since by a copy of it, or to one without a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_value_free(value: Option<&mut XdValue>) {
    answer(|| value.map(std::mem::take).map(Owned).map(drop).unwrap_or_default());
}

/// A value of C's as an element of this dtype, which says what a list means. Recurses as deep as the dtype is, which is bounded.
///
/// # Safety
///
/// What the value's kind says of its payload is true, and so it is of its items.
pub(crate) unsafe fn to_element(value: &XdValue, dtype: &DType) -> Result<Value> {
    match dtype.kind() {
        // SAFETY: the caller's word.
        DTypeKind::Scalar(scalar) => unsafe { to_scalar(value, scalar) },
        DTypeKind::Record(record) => {
            let fields = record.fields();
            // SAFETY: the caller's word.
            let values = unsafe { list(value, fields.len(), dtype) }?;
            let parts = fields.iter().zip(values).map(|(field, value)| {
                // SAFETY: an item, for which the caller vouches, too.
                Ok((field.name().to_owned(), unsafe { to_element(value, field.dtype()) }?))
            });
            Ok(Value::Record(parts.collect::<Result<_>>()?))
        }
        // SAFETY: the caller's word.
        DTypeKind::SubArray(subarray) => unsafe { to_axis(value, subarray, subarray.shape(), dtype) },
    }
}

/// # Safety
///
/// As [`to_element`].
unsafe fn to_axis(value: &XdValue, subarray: &SubArray, shape: &[usize], dtype: &DType) -> Result<Value> {
    let Some((&len, inner)) = shape.split_first() else {
        // SAFETY: the caller's word.
        return unsafe { to_element(value, subarray.base()) };
    };
    // SAFETY: the caller's word.
    let values = unsafe { list(value, len, dtype) }?;
    // SAFETY: an item, for which the caller vouches, too.
    let parts = values.iter().map(|value| unsafe { to_axis(value, subarray, inner, dtype) });
    Ok(Value::Array(parts.collect::<Result<_>>()?))
}

/// # Safety
///
/// As [`to_element`].
unsafe fn to_scalar(value: &XdValue, scalar: Scalar) -> Result<Value> {
    // SAFETY: the caller's word, here and in each arm below: the kind says which part is meant.
    let bytes = || unsafe { items(value.payload.bytes.cast::<u8>(), value.len as usize, "value") };
    Ok(match value.kind {
        XD_VALUE_INT | XD_VALUE_DATETIME | XD_VALUE_TIMEDELTA => {
            // SAFETY: as above.
            let count = unsafe { value.payload.i };
            match (value.kind, scalar.kind()) {
                (_, ScalarKind::DateTime(unit)) => Value::DateTime { count, unit },
                (_, ScalarKind::TimeDelta(unit)) => Value::TimeDelta { count, unit },
                (XD_VALUE_INT, _) => Value::Int(count),
                _ => return Err(misfit("a date or a duration", scalar)),
            }
        }
        // SAFETY: as above.
        XD_VALUE_UINT => Value::UInt(unsafe { value.payload.u }),
        // SAFETY: as above.
        XD_VALUE_POINTER => Value::Pointer(unsafe { value.payload.u }),
        // SAFETY: as above.
        XD_VALUE_BOOL => Value::Bool(unsafe { value.payload.u } != 0),
        // SAFETY: as above.
        XD_VALUE_FLOAT => Value::Float(unsafe { value.payload.f }),
        XD_VALUE_BYTES if matches!(scalar.kind(), ScalarKind::Void(_)) => Value::Void(bytes()?.to_vec()),
        XD_VALUE_BYTES => Value::Bytes(bytes()?.to_vec()),
        XD_VALUE_TEXT => match std::str::from_utf8(bytes()?) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(error) => {
                let text = format!("a text that is not UTF-8 from byte {} on", error.valid_up_to());
                return Err(Failure::of_kind(XD_ERROR_MALFORMED, text));
            }
        },
        XD_VALUE_LONG_DOUBLE => Value::LongDouble(long_double(bytes()?)?),
        XD_VALUE_COMPLEX => {
            // SAFETY: as above.
            let parts = unsafe { list(value, 2, &scalar.into()) }?;
            match parts {
                // SAFETY: as above.
                [re, im] => unsafe { complex(re, im) }?,
                _ => return Err(misfit("a complex number without two parts", scalar)),
            }
        }
        XD_VALUE_NIL => return Err(misfit("nil", scalar)),
        XD_VALUE_LIST => return Err(misfit("a list", scalar)),
        kind => {
            return Err(Failure::argument(format!(
                "the value's kind, {kind}, is none of those that there are"
            )));
        }
    })
}

/// # Safety
///
/// As [`to_element`].
unsafe fn complex(re: &XdValue, im: &XdValue) -> Result<Value> {
    match (re.kind, im.kind) {
        (XD_VALUE_FLOAT, XD_VALUE_FLOAT) => {
            // SAFETY: the kind says which part is meant.
            let re = unsafe { re.payload.f };
            // SAFETY: as above.
            Ok(Value::Complex { re, im: unsafe { im.payload.f } })
        }
        (XD_VALUE_LONG_DOUBLE, XD_VALUE_LONG_DOUBLE) => {
            // SAFETY: the kind says which part is meant, and how long it is (the caller's word).
            let bytes =
                |part: &XdValue| unsafe { items(part.payload.bytes.cast(), part.len as usize, "value") };
            let parts = [long_double(bytes(re)?)?, long_double(bytes(im)?)?];
            Ok(Value::ComplexLongDouble(Box::new(parts)))
        }
        _ => Err(Failure::of_kind(
            XD_ERROR_VALUE,
            "the parts of a complex number are two floats or two long doubles",
        )),
    }
}

fn long_double(bytes: &[u8]) -> Result<[u8; 16]> {
    let len = bytes.len();
    bytes
        .try_into()
        .map_err(|_| Failure::of_kind(XD_ERROR_VALUE, format!("a long double has 16 bytes, not {len}")))
}

/// The items of a list that has to have so many.
///
/// # Safety
///
/// As [`to_element`].
unsafe fn list<'a>(value: &'a XdValue, len: usize, dtype: &DType) -> Result<&'a [XdValue]> {
    if !matches!(value.kind, XD_VALUE_LIST | XD_VALUE_COMPLEX) {
        let text = format!("a value of kind {} where {dtype} wants a list of {len}", value.kind);
        return Err(Failure::of_kind(XD_ERROR_VALUE, text));
    }
    if value.len as usize != len {
        let text = format!("a list of {} where {dtype} wants one of {len}", value.len);
        return Err(Failure::of_kind(XD_ERROR_VALUE, text));
    }
    // SAFETY: the kind says that it is a list, of so many (the caller's word).
    unsafe { items(value.payload.items, len, "value") }
}

fn misfit(what: &str, scalar: Scalar) -> Failure {
    Failure::of_kind(XD_ERROR_VALUE, format!("{what} does not fit {scalar}"))
}
