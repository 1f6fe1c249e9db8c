//! Dtypes: the type tree of an element, read from and written in each dialect.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::Error;
use crossdock::bindings::dialect::{dlpack, pack, typestr};
use crossdock::element::{ByteOrder, DType, DTypeKind, Field, ScalarKind};

use crate::error::Result;
use crate::foreign::{Item, emptied, given, items, lengths, string, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};

macro_rules! kinds {
    ($($name:ident = $number:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: i32 = $number;
        )*
    };
}

kinds! {
    XD_DTYPE_NONE = 0;
    XD_DTYPE_BOOL = 1;
    XD_DTYPE_INT = 2;
    XD_DTYPE_UINT = 3;
    XD_DTYPE_FLOAT = 4;
    XD_DTYPE_COMPLEX = 5;
    XD_DTYPE_BFLOAT = 6;
    XD_DTYPE_SMALL_FLOAT = 7;
    XD_DTYPE_LONG_DOUBLE = 8;
    XD_DTYPE_COMPLEX_LONG_DOUBLE = 9;
    XD_DTYPE_BYTES = 10;
    XD_DTYPE_TEXT = 11;
    XD_DTYPE_VOID = 12;
    XD_DTYPE_DATETIME = 13;
    XD_DTYPE_TIMEDELTA = 14;
    XD_DTYPE_POINTER = 15;
    XD_DTYPE_RECORD = 16;
    XD_DTYPE_SUBARRAY = 17;
    XD_DTYPE_OTHER = 18;
}

/// `xd_field`: one part of a record. Its pointers are valid as long as the dtype.
#[repr(C)]
pub struct XdField {
    /// UTF-8, without a terminating zero.
    pub name: *const c_char,
    /// The length of the name in bytes.
    pub name_len: usize,
    /// The offset in the record, in bytes.
    pub offset: usize,
    /// The dtype of the field. Must not be freed.
    pub dtype: *const DType,
}

impl XdField {
    /// An empty field, for a failed query.
    const NONE: Self = Self { name: std::ptr::null(), name_len: 0, offset: 0, dtype: std::ptr::null() };

    fn of(field: &Field) -> Self {
        Self {
            name: field.name().as_ptr().cast(),
            name_len: field.name().len(),
            offset: field.offset(),
            dtype: field.dtype(),
        }
    }
}

// ===== creation

/// A dtype by its name, or in NumPy's spelling.
///
/// # Safety
///
/// `typestr` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_dtype_parse(typestr: *const c_char, error: ErrorOut<'_>) -> Handle<DType> {
    // SAFETY: `# Safety`: `typestr` is null or a C string; the result is used during this call
    // only, while nothing writes it.
    fallible(error, || hand_over(unsafe { text(typestr, "typestr") }?.parse::<DType>()?))
}

/// A dtype in Ruby's spelling.
///
/// # Safety
///
/// `pack` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_dtype_parse_pack(pack: *const c_char, error: ErrorOut<'_>) -> Handle<DType> {
    fallible(error, || {
        // SAFETY: `# Safety`: `pack` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let template = unsafe { text(pack, "pack") }?;
        hand_over(pack::parse(template.as_bytes()).map_err(Error::from)?.to_dtype()?)
    })
}

/// A dtype in DLPack's numbers.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_from_dlpack(code: u8, bits: u8, lanes: u16, error: ErrorOut<'_>) -> Handle<DType> {
    fallible(error, || hand_over(dlpack::from_dlpack(code, bits, lanes, true)?))
}

/// A record.
///
/// # Safety
///
/// During the call, nothing writes what the pointers lead to:
///
/// 1. `names` is null or points to `count` pointers, each null or to a C string.
/// 2. `dtypes` is null or points to `count` handles, each null or a dtype.
/// 3. `offsets` is null or points to `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_dtype_record(
    count: usize,
    names: *const *const c_char,
    dtypes: *const Option<&DType>,
    offsets: *const usize,
    itemsize: usize,
    error: ErrorOut<'_>,
) -> Handle<DType> {
    fallible(error, || {
        // SAFETY: clause 1 of `# Safety`: `names` is null or points to `count` pointers, which
        // nothing writes during the call.
        let names = unsafe { items(names, count, "names") }?;
        // SAFETY: clause 2 of `# Safety`: `dtypes` is null or points to `count` handles, each null
        // or a dtype.
        let dtypes = unsafe { items(dtypes, count, "dtypes") }?;
        let parts = names.iter().zip(dtypes).enumerate().map(|(index, (&name, dtype))| {
            // SAFETY: clause 1 of `# Safety`: `name` is one of the `count` pointers, and so null or
            // a C string that nothing writes during the call.
            let name = unsafe { text(name, Item("names", index)) }?;
            Ok((name, given(*dtype, Item("dtypes", index))?.clone()))
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        if offsets.is_null() {
            return hand_over(DType::packed_record(parts)?);
        }
        // SAFETY: clause 3 of `# Safety`: `offsets`, which is not null here, points to `count`
        // numbers.
        let offsets = unsafe { items(offsets, count, "offsets") }?;
        let fields = parts.into_iter().zip(offsets);
        let fields = fields.map(|((name, dtype), &offset)| Field::new(name, offset, dtype));
        hand_over(DType::record(fields, itemsize)?)
    })
}

/// A sub-array.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_dtype_subarray(
    base: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    error: ErrorOut<'_>,
) -> Handle<DType> {
    fallible(error, || {
        let base = given(base, "base")?;
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers, which nothing writes
        // during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        hand_over(DType::subarray(shape.as_slice(), base.clone())?)
    })
}

/// The same dtype, with all numbers in one byte order.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_with_byte_order(
    dtype: Option<&DType>,
    order: c_char,
    error: ErrorOut<'_>,
) -> Handle<DType> {
    fallible(error, || hand_over(given(dtype, "dtype")?.with_byte_order(byte_order_of(order)?)))
}

/// The byte order that a letter of NumPy means.
pub(crate) fn byte_order_of(order: c_char) -> Result<ByteOrder> {
    match order as u8 {
        b'<' => Ok(ByteOrder::Little),
        b'>' => Ok(ByteOrder::Big),
        b'=' => Ok(ByteOrder::NATIVE),
        other => {
            let text = format!("the argument `order` is byte {other}; it must be '<', '>' or '='");
            Err(crate::error::Failure::argument(text))
        }
    }
}

/// Another handle.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_clone(dtype: Option<&DType>, error: ErrorOut<'_>) -> Handle<DType> {
    fallible(error, || hand_over(given(dtype, "dtype")?.clone()))
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_free(dtype: Handle<DType>) {
    answer(|| drop(dtype));
}

// ===== queries

/// The kind of the dtype.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_kind(dtype: Option<&DType>) -> i32 {
    answer(|| dtype.map_or(XD_DTYPE_NONE, kind))
}

fn kind(dtype: &DType) -> i32 {
    use ScalarKind::*;
    let scalar = match dtype.kind() {
        DTypeKind::Record(_) => return XD_DTYPE_RECORD,
        DTypeKind::SubArray(_) => return XD_DTYPE_SUBARRAY,
        DTypeKind::Scalar(scalar) => scalar.kind(),
    };
    match scalar {
        Bool => XD_DTYPE_BOOL,
        Int8 | Int16 | Int32 | Int64 => XD_DTYPE_INT,
        UInt8 | UInt16 | UInt32 | UInt64 => XD_DTYPE_UINT,
        Float16 | Float32 | Float64 => XD_DTYPE_FLOAT,
        Complex32 | Complex64 | Complex128 => XD_DTYPE_COMPLEX,
        BFloat16 => XD_DTYPE_BFLOAT,
        Float8E3M4 | Float8E4M3 | Float8E4M3B11Fnuz | Float8E4M3Fn | Float8E4M3Fnuz | Float8E5M2
        | Float8E5M2Fnuz | Float8E8M0Fnu | Float6E2M3Fn | Float6E3M2Fn | Float4E2M1Fn => XD_DTYPE_SMALL_FLOAT,
        LongDouble => XD_DTYPE_LONG_DOUBLE,
        ComplexLongDouble => XD_DTYPE_COMPLEX_LONG_DOUBLE,
        Bytes(_) => XD_DTYPE_BYTES,
        Text(_) => XD_DTYPE_TEXT,
        Void(_) => XD_DTYPE_VOID,
        DateTime(_) => XD_DTYPE_DATETIME,
        TimeDelta(_) => XD_DTYPE_TIMEDELTA,
        Pointer => XD_DTYPE_POINTER,
        _ => XD_DTYPE_OTHER,
    }
}

/// The bytes of one element.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_itemsize(dtype: Option<&DType>) -> usize {
    answer(|| dtype.map_or(0, DType::itemsize))
}

/// The natural alignment, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_alignment(dtype: Option<&DType>) -> usize {
    answer(|| dtype.map_or(0, DType::alignment))
}

/// `<` or `>`; 0 where byte order does not apply.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_byte_order(dtype: Option<&DType>) -> c_char {
    answer(|| dtype.and_then(DType::byte_order).map_or(0, |order| order.symbol() as c_char))
}

/// Whether two dtypes describe the same bytes with the same names.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_equals(a: Option<&DType>, b: Option<&DType>) -> bool {
    answer(|| matches!((a, b), (Some(a), Some(b)) if a == b))
}

/// The number of fields of a record.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_field_count(dtype: Option<&DType>) -> usize {
    answer(|| dtype.and_then(DType::as_record).map_or(0, |record| record.fields().len()))
}

/// The field at an index.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_field(
    dtype: Option<&DType>,
    index: usize,
    field: Option<&mut MaybeUninit<XdField>>,
) -> bool {
    let field = emptied(field, XdField::NONE);
    answer(|| found(dtype.and_then(DType::as_record).and_then(|record| record.fields().get(index)), field))
}

/// The field with a name.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_dtype_find_field(
    dtype: Option<&DType>,
    name: *const c_char,
    field: Option<&mut MaybeUninit<XdField>>,
) -> bool {
    let field = emptied(field, XdField::NONE);
    answer(|| {
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let Ok(name) = (unsafe { text(name, "name") }) else { return false };
        found(dtype.and_then(|dtype| dtype.field(name)), field)
    })
}

fn found(found: Option<&Field>, out: Option<&mut XdField>) -> bool {
    if let (Some(field), Some(out)) = (found, out) {
        *out = XdField::of(field);
    }
    found.is_some()
}

/// The dtype of a sub-array's elements. Valid as long as the dtype, and must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_base(dtype: Option<&DType>) -> *const DType {
    answer(|| {
        let subarray = dtype.and_then(DType::as_subarray);
        subarray.map_or(std::ptr::null(), |subarray| std::ptr::from_ref(subarray.base()))
    })
}

/// The number of axes of a sub-array.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_ndim(dtype: Option<&DType>) -> usize {
    answer(|| dtype.and_then(DType::as_subarray).map_or(0, |subarray| subarray.shape().len()))
}

/// The lengths of a sub-array's axes. Valid as long as the dtype.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_shape(dtype: Option<&DType>) -> *const isize {
    answer(|| {
        let subarray = dtype.and_then(DType::as_subarray);
        // No length exceeds `isize::MAX`, so the cast keeps its value.
        subarray.map_or(std::ptr::null(), |subarray| subarray.shape().as_ptr().cast())
    })
}

// ===== output

/// For people to read.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_to_text(dtype: Option<&DType>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(given(dtype, "dtype")?.to_string()))
}

/// In NumPy's spelling.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_to_typestr(dtype: Option<&DType>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(typestr::print(given(dtype, "dtype")?)?))
}

/// In Ruby's spelling.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_to_pack(
    dtype: Option<&DType>,
    approximately: bool,
    error: ErrorOut<'_>,
) -> *mut c_char {
    fallible(error, || {
        let dtype = given(dtype, "dtype")?;
        let print = if approximately { pack::to_pack_approximately } else { pack::to_pack };
        string(print(dtype)?)
    })
}

/// In DLPack's numbers.
#[unsafe(no_mangle)]
pub extern "C" fn xd_dtype_to_dlpack(
    dtype: Option<&DType>,
    code: Option<&mut MaybeUninit<u8>>,
    bits: Option<&mut MaybeUninit<u8>>,
    lanes: Option<&mut MaybeUninit<u16>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (code, bits, lanes) = (emptied(code, 0), emptied(bits, 0), emptied(lanes, 0));
        let numbers = dlpack::to_dlpack(given(dtype, "dtype")?)?;
        if let Some(code) = code {
            *code = numbers.0;
        }
        if let Some(bits) = bits {
            *bits = numbers.1;
        }
        if let Some(lanes) = lanes {
            *lanes = numbers.2;
        }
        Ok(true)
    })
}
