//! Elements as values: numbers inline, longer values behind a pointer that the value owns.
//!
//! Reasons: `DESIGN.md`, "A value of C packs kind and length in one word".

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;

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
    /// C's `kind` (one of the constants), three zeros, and `len`, the number of items or bytes
    /// behind the pointer. One integer, because registers that are assembled in memory are slow to
    /// read back.
    pub head: u64,
    /// C's union `as`: a pointer, or the bits of a number. (A pointer can hold either, and is read
    /// without unsafe code.)
    pub payload: *const c_void,
}

const _: () = assert!(size_of::<XdValue>() == 16 && size_of::<*const c_void>() == 8);

impl Default for XdValue {
    fn default() -> Self {
        Self::NIL
    }
}

impl XdValue {
    /// Nothing.
    pub const NIL: Self = Self::number(XD_VALUE_NIL, 0);

    #[inline]
    const fn number(kind: u8, bits: u64) -> Self {
        Self::pointer(kind, 0, ptr::without_provenance(bits as usize))
    }

    #[inline]
    const fn pointer(kind: u8, len: u32, payload: *const c_void) -> Self {
        let head = match cfg!(target_endian = "little") {
            true => kind as u64 | (len as u64) << 32,
            false => (kind as u64) << 56 | len as u64,
        };
        Self { head, payload }
    }

    /// C's `kind`.
    #[inline]
    pub const fn kind(&self) -> u8 {
        self.head.to_ne_bytes()[0]
    }

    /// C's `len`.
    #[inline]
    pub const fn len(&self) -> usize {
        let [_, _, _, _, len @ ..] = self.head.to_ne_bytes();
        u32::from_ne_bytes(len) as usize
    }

    /// Whether there is nothing behind the pointer.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A signed integer.
    #[inline]
    pub const fn int(i: i64) -> Self {
        Self::number(XD_VALUE_INT, i as u64)
    }

    /// An unsigned integer.
    #[inline]
    pub const fn uint(u: u64) -> Self {
        Self::number(XD_VALUE_UINT, u)
    }

    /// A float.
    #[inline]
    pub const fn float(f: f64) -> Self {
        Self::number(XD_VALUE_FLOAT, f.to_bits())
    }

    /// C's `as.u`.
    #[inline]
    pub fn bits(&self) -> u64 {
        self.payload.addr() as u64
    }

    /// C's `as.i`.
    #[inline]
    pub fn signed(&self) -> i64 {
        self.bits().cast_signed()
    }

    /// C's `as.f`.
    #[inline]
    pub fn real(&self) -> f64 {
        f64::from_bits(self.bits())
    }
}

/// A value that Rust still owns, before C gets it.
///
/// # Invariants
///
/// 1. The pointer of a list is a boxed slice of `len` of these; that of bytes is one of `len + 1`
///    bytes. An empty list has a null pointer.
#[repr(transparent)]
pub(crate) struct Owned(XdValue);

impl Owned {
    /// An element as a value for C. Numbers allocate nothing; lists, texts and bytes do.
    pub(crate) fn of(value: Value) -> Result<Self> {
        Ok(match value {
            Value::Bool(is) => Self::scalar(XD_VALUE_BOOL, is.into()),
            Value::Int(i) => Self(XdValue::int(i)),
            Value::UInt(u) => Self(XdValue::uint(u)),
            Value::Float(f) => Self(XdValue::float(f)),
            Value::DateTime { count, .. } => Self::scalar(XD_VALUE_DATETIME, count as u64),
            Value::TimeDelta { count, .. } => Self::scalar(XD_VALUE_TIMEDELTA, count as u64),
            Value::Pointer(u) => Self::scalar(XD_VALUE_POINTER, u),
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
                let text = format!("the value {other} has no kind in C");
                return Err(Failure::of_kind(XD_ERROR_UNSUPPORTED, text));
            }
        })
    }

    /// No value.
    pub(crate) fn nil() -> Self {
        Self(XdValue::NIL)
    }

    fn scalar(kind: u8, bits: u64) -> Self {
        Self(XdValue::number(kind, bits))
    }

    /// A list of items.
    pub(crate) fn list(kind: u8, items: impl ExactSizeIterator<Item = Result<Self>>) -> Result<Self> {
        let len = short(items.len())?;
        if len == 0 {
            return Ok(Self::scalar(kind, 0));
        }
        let list = Box::into_raw(try_collect(items)?);
        // Owned 1: `list` is a boxed slice of `len` items.
        Ok(Self(XdValue::pointer(kind, len, list.cast::<c_void>())))
    }

    /// A list of numbers, which own nothing.
    pub(crate) fn of_numbers(numbers: Vec<XdValue>) -> Result<XdValue> {
        let len = short(numbers.len())?;
        if len == 0 {
            return Ok(XdValue::number(XD_VALUE_LIST, 0));
        }
        // Owned 1: `Owned` is transparent, so this is a boxed slice of `len` of them.
        let list = Box::into_raw(numbers.into_boxed_slice());
        Ok(XdValue::pointer(XD_VALUE_LIST, len, list.cast::<c_void>()))
    }

    fn bytes(kind: u8, bytes: &[u8]) -> Result<Self> {
        let len = short(bytes.len())?;
        let ended = try_collect(Ended { bytes, given: 0 })?;
        // Owned 1: `Ended` yields `len + 1` bytes, the last of them zero.
        Ok(Self(XdValue::pointer(kind, len, Box::into_raw(ended).cast::<c_void>())))
    }

    /// Passes ownership to C.
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
        Failure::of_kind(XD_ERROR_OVERFLOW, format!("{len} items are more than a value can have"))
    })
}

impl Drop for Owned {
    fn drop(&mut self) {
        let (kind, len, payload) = (self.0.kind(), self.0.len(), self.0.payload);
        match kind {
            _ if payload.is_null() => {}
            XD_VALUE_LIST | XD_VALUE_COMPLEX => {
                let items = ptr::slice_from_raw_parts_mut(payload.cast_mut().cast::<Self>(), len);
                // SAFETY: Owned 1: the pointer of a list, not null here, is a boxed slice of `len`
                // of these, and this drop alone frees it.
                drop(unsafe { Box::from_raw(items) });
            }
            XD_VALUE_BYTES | XD_VALUE_TEXT | XD_VALUE_LONG_DOUBLE => {
                let bytes = ptr::slice_from_raw_parts_mut(payload.cast_mut().cast::<u8>(), len + 1);
                // SAFETY: Owned 1: the pointer of bytes, not null here, is a boxed slice of `len +
                // 1` bytes, and this drop alone frees it.
                drop(unsafe { Box::from_raw(bytes) });
            }
            _ => {}
        }
    }
}

/// Frees the memory that a value owns, and sets it to nil. Null and nil are fine.
///
/// # Safety
///
/// The value is null, has no pointer, or was returned by a function of this library; neither it nor
/// a copy of it was changed or freed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_value_free(value: Option<&mut XdValue>) {
    answer(|| value.map(std::mem::take).map(Owned).map(drop).unwrap_or_default());
}

/// A value from C as an element of this dtype, which decides what a list means. The depth of the
/// recursion is that of the dtype, which is bounded.
///
/// # Safety
///
/// 1. The payload of `value` is what its kind says: for a list or a complex number, null or a
///    pointer to `len` values for which this clause holds too; for a text, bytes or a long double,
///    null or a pointer to `len` bytes.
/// 2. Nothing writes them during the call.
pub(crate) unsafe fn to_element(value: &XdValue, dtype: &DType) -> Result<Value> {
    match dtype.kind() {
        // SAFETY: `# Safety` is the contract of `to_scalar`: the payload of `value`, and of its
        // items, is what its kind says.
        DTypeKind::Scalar(scalar) => unsafe { to_scalar(value, scalar) },
        DTypeKind::Record(record) => {
            let fields = record.fields();
            // SAFETY: `# Safety` is the contract of `list`: the payload of `value`, and of its
            // items, is what its kind says.
            let values = unsafe { list(value, fields.len(), dtype) }?;
            let parts = fields.iter().zip(values).map(|(field, value)| {
                // SAFETY: `value` is an item of the list, so by `# Safety` its payload is what its
                // kind says, too.
                Ok((field.name().to_owned(), unsafe { to_element(value, field.dtype()) }?))
            });
            Ok(Value::Record(parts.collect::<Result<_>>()?))
        }
        // SAFETY: `# Safety` is the contract of `to_axis`: the payload of `value`, and of its
        // items, is what its kind says.
        DTypeKind::SubArray(subarray) => unsafe { to_axis(value, subarray, subarray.shape(), dtype) },
    }
}

/// # Safety
///
/// The contract of [`to_element`] holds for `value`.
unsafe fn to_axis(value: &XdValue, subarray: &SubArray, shape: &[usize], dtype: &DType) -> Result<Value> {
    let Some((&len, inner)) = shape.split_first() else {
        // SAFETY: `# Safety` is the contract of `to_element` for this value: its payload is what
        // its kind says.
        return unsafe { to_element(value, subarray.base()) };
    };
    // SAFETY: `# Safety` is the contract of `list` for this value: its payload is what its kind
    // says.
    let values = unsafe { list(value, len, dtype) }?;
    // SAFETY: `value` is an item of the list, so by clause 1 of `to_element` its payload is what
    // its kind says, too.
    let parts = values.iter().map(|value| unsafe { to_axis(value, subarray, inner, dtype) });
    Ok(Value::Array(parts.collect::<Result<_>>()?))
}

/// # Safety
///
/// The contract of [`to_element`] holds for `value`.
unsafe fn to_scalar(value: &XdValue, scalar: Scalar) -> Result<Value> {
    Ok(match (value.kind(), scalar.kind()) {
        (XD_VALUE_INT | XD_VALUE_DATETIME, ScalarKind::DateTime(unit)) => {
            Value::DateTime { count: value.signed(), unit }
        }
        (XD_VALUE_INT | XD_VALUE_TIMEDELTA, ScalarKind::TimeDelta(unit)) => {
            Value::TimeDelta { count: value.signed(), unit }
        }
        (XD_VALUE_INT, _) => Value::Int(value.signed()),
        (XD_VALUE_UINT, _) => Value::UInt(value.bits()),
        (XD_VALUE_POINTER, _) => Value::Pointer(value.bits()),
        (XD_VALUE_BOOL, _) => Value::Bool(value.bits() != 0),
        (XD_VALUE_FLOAT, _) => Value::Float(value.real()),
        // SAFETY: the kind is bytes, so by clause 1 of `to_element` the payload points to `len`
        // bytes: the contract of `bytes`.
        (XD_VALUE_BYTES, ScalarKind::Void(_)) => Value::Void(unsafe { bytes(value) }?.to_vec()),
        // SAFETY: the kind is bytes, so by clause 1 of `to_element` the payload points to `len`
        // bytes: the contract of `bytes`.
        (XD_VALUE_BYTES, _) => Value::Bytes(unsafe { bytes(value) }?.to_vec()),
        // SAFETY: the kind is a text, so by clause 1 of `to_element` the payload points to `len`
        // bytes: the contract of `bytes`.
        (XD_VALUE_TEXT, _) => match std::str::from_utf8(unsafe { bytes(value) }?) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(error) => {
                let text = format!("the text is not UTF-8 from byte {} on", error.valid_up_to());
                return Err(Failure::of_kind(XD_ERROR_MALFORMED, text));
            }
        },
        // SAFETY: the kind is a long double, so by clause 1 of `to_element` the payload points to
        // `len` bytes.
        (XD_VALUE_LONG_DOUBLE, _) => Value::LongDouble(unsafe { long_double(value) }?),
        (XD_VALUE_COMPLEX, _) => {
            // SAFETY: the contract of `to_element` is that of `list` for this value: its payload is
            // what its kind says.
            let parts = unsafe { list(value, 2, &scalar.into()) }?;
            match [&parts[0], &parts[1]] {
                [re, im] if [re.kind(), im.kind()] == [XD_VALUE_LONG_DOUBLE; 2] => {
                    // SAFETY: `re` is an item whose kind is a long double, so by clause 1 of
                    // `to_element` its payload points to `len` bytes.
                    let re = unsafe { long_double(re) }?;
                    // SAFETY: `im` is an item whose kind is a long double, so by clause 1 of
                    // `to_element` its payload points to `len` bytes.
                    Value::ComplexLongDouble(Box::new([re, unsafe { long_double(im) }?]))
                }
                [re, im] if [re.kind(), im.kind()] == [XD_VALUE_FLOAT; 2] => {
                    Value::Complex { re: re.real(), im: im.real() }
                }
                _ => {
                    return Err(misfit(
                        "a complex number whose parts are not two floats or two long doubles",
                        scalar,
                    ));
                }
            }
        }
        (XD_VALUE_NIL, _) => return Err(misfit("nil", scalar)),
        (XD_VALUE_LIST, _) => return Err(misfit("a list", scalar)),
        (XD_VALUE_DATETIME, _) => return Err(misfit("a date", scalar)),
        (XD_VALUE_TIMEDELTA, _) => return Err(misfit("a duration", scalar)),
        (kind, _) => {
            let text = format!("the value's kind is {kind}, which is not one of the constants");
            return Err(Failure::argument(text));
        }
    })
}

/// # Safety
///
/// The kind of `value` is bytes, a text or a long double, and the contract of [`to_element`] holds
/// for it.
unsafe fn bytes(value: &XdValue) -> Result<&[u8]> {
    // SAFETY: the kind has bytes, so by clause 1 of `to_element` the payload is null or points to
    // `len` bytes; clause 2: nothing writes them during the call.
    unsafe { items(value.payload.cast(), value.len(), "value.as.bytes") }
}

/// # Safety
///
/// The kind of `value` is a long double, and the contract of [`to_element`] holds for it.
unsafe fn long_double(value: &XdValue) -> Result<[u8; 16]> {
    // SAFETY: `# Safety` is the contract of `bytes`: a long double's payload points to `len` bytes.
    let bytes = unsafe { bytes(value) }?;
    let misfit = |_| format!("a long double has 16 bytes, not {}", bytes.len());
    bytes.try_into().map_err(misfit).map_err(|text| Failure::of_kind(XD_ERROR_VALUE, text))
}

/// The items of a list that must have `len` of them.
///
/// # Safety
///
/// The contract of [`to_element`] holds for `value`.
unsafe fn list<'a>(value: &'a XdValue, len: usize, dtype: &DType) -> Result<&'a [XdValue]> {
    if !matches!(value.kind(), XD_VALUE_LIST | XD_VALUE_COMPLEX) {
        let text =
            format!("a value of kind {} does not fit {dtype}, which requires a list of {len}", value.kind());
        return Err(Failure::of_kind(XD_ERROR_VALUE, text));
    }
    if value.len() != len {
        let text = format!("a list of {} does not fit {dtype}, which requires a list of {len}", value.len());
        return Err(Failure::of_kind(XD_ERROR_VALUE, text));
    }
    // SAFETY: the checks above show a list or a complex number of `len` items, so by clause 1 of
    // `to_element` the payload is null or points to as many values; clause 2: nothing writes them.
    unsafe { items(value.payload.cast(), len, "value.as.items") }
}

fn misfit(what: &str, scalar: Scalar) -> Failure {
    Failure::of_kind(XD_ERROR_VALUE, format!("{what} does not fit {scalar}"))
}
