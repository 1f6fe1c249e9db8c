//! Python's spelling for buffers: `d`, `3i`, `T{i:a:4xd:b:}`.
//!
//! The letters are those of Python's module `struct`, with what [PEP
//! 3118](https://peps.python.org/pep-3118/) adds: complex numbers (`Zf`, `Zd`, `Zg`; CPython 3.14
//! has `F`, `D`, `G`, too), `g` for `long double`, `w` for code points of 4 bytes, sub-arrays
//! `(2,3)d`, records `T{…}`, and names `:name:` after their items. A mark applies until the next
//! one:
//!
//! | mark | widths | byte order | padding |
//! |---|---|---|---|
//! | `@`, or none | C's own | native | as in a C struct, also after the last item of a record |
//! | `^` | C's own | native | none |
//! | `=` `<` `>` `!` | `l` has 4 bytes, `q` 8 | native, little, big, big | none |
//!
//! Consumers support different subsets. [`print`](fn@print) writes what most of them read: a single
//! letter without a mark for a native number, and records with explicit padding.
//!
//! | read | is |
//! |---|---|
//! | `c` | one byte, `S1` |
//! | `l`, `q` | the same `int64` if C's `long` has 8 bytes; written as it was read, else as `l` |
//! | `5s`, `5w` | one element of five bytes or code points, `S5`, `U5` |
//! | `5p` | a length-prefixed string: opaque bytes, `V5` |
//! | `5x` | padding; with a name, or alone, opaque bytes, `V5` |
//! | `g` | C's `long double`: `float64` where it has 8 bytes (Windows, macOS on ARM), else 16 |
//! | `3d`, `(3)d` | a sub-array |
//! | several items outside a record | a record with the fields `f0`, `f1`, … |

mod letters;
mod read;
mod write;

use self::letters::{Mode, named, number, spelling};
use self::read::FormatReader;
use crate::element::{DType, Scalar};
use crate::error::{Error, Kind, Result};
use std::ffi::CStr;

impl DType {
    /// Reads the format of a Python buffer, such as `<d` or `T{b:kind:(2)d:at:}`.
    ///
    /// ```
    /// use crossdock::element::DType;
    ///
    /// let record = DType::from_pep3118(b"T{b:kind:(2)d:at:}")?;
    /// assert_eq!(record.to_string(), "{kind: int8 @0, at: (2,)float64 @8; 24}");
    /// assert_eq!(DType::from_pep3118(DType::F64.to_pep3118()?.as_bytes())?, DType::F64);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`is_malformed`](Error::is_malformed) for an invalid format, with the byte offset;
    /// [`is_unsupported`](Error::is_unsupported) for object references, typed pointers, bit fields
    /// and formats nested too deep.
    pub fn from_pep3118(format: &[u8]) -> Result<Self> {
        parse(format)
    }

    /// The format of this dtype for a Python buffer.
    ///
    /// # Errors
    ///
    /// [`is_unsupported`](Error::is_unsupported), naming the part that PEP 3118 cannot spell, such
    /// as dates.
    pub fn to_pep3118(&self) -> Result<String> {
        print(self)
    }
}

/// Reads a format. Items outside a record have no trailing padding, as in Python's `struct`.
///
/// # Errors
///
/// `is_malformed` for an invalid format, with the byte offset; `is_unsupported` for object
/// references, typed pointers, bit fields, `u`, and formats nested too deep; `is_dtype` for a
/// repeated name; `is_overflow`.
///
/// ```
/// use crossdock::bindings::dialect::pep3118;
/// use crossdock::element::DType;
///
/// assert_eq!(pep3118::parse(b"<d")?.with_byte_order(crossdock::element::ByteOrder::NATIVE), DType::F64);
/// let record = pep3118::parse(b"T{b:kind:(2)d:at:h:n:}")?;
/// assert_eq!(record.to_string(), "{kind: int8 @0, at: (2,)float64 @8, n: int16 @24; 32}");
/// assert!(pep3118::parse(b"O").unwrap_err().is_unsupported());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn parse(format: &[u8]) -> Result<DType> {
    read(format, None)
}

/// Reads a format with a known item size. Producers differ in trailing padding outside records:
/// both forms are accepted.
///
/// # Errors
///
/// As [`parse`]; `is_malformed` if the item has another size. Some producers' formats omit padding,
/// or have another meaning: import such items as opaque bytes.
///
/// ```
/// use crossdock::bindings::dialect::pep3118;
///
/// assert_eq!(pep3118::parse_sized(b"dc", 9)?.itemsize(), 9);
/// assert_eq!(pep3118::parse_sized(b"dc", 16)?.itemsize(), 16);
/// assert!(pep3118::parse_sized(b"dc", 12).unwrap_err().is_malformed());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn parse_sized(format: &[u8], itemsize: usize) -> Result<DType> {
    read(format, Some(itemsize))
}

fn read(format: &[u8], itemsize: Option<usize>) -> Result<DType> {
    // Most formats are one letter.
    if let [letter] = *format
        && let Some(kind) = number(letter, Mode::Aligned)
        && itemsize.is_none_or(|size| size == kind.itemsize())
    {
        let scalar = Scalar::new(kind, Mode::Aligned.byte_order())?;
        return Ok(named(scalar, letter, Mode::Aligned).into());
    }
    let items = FormatReader::new(format).items(None, 0)?;
    if items.is_nothing() && !format.contains(&b'x') {
        return Err(Error::new(Kind::Malformed, "the format has no item"));
    }
    let (end, padded) = items.sizes();
    match itemsize {
        None => items.into_dtype(end),
        Some(size) if size == end || size == padded => items.into_dtype(size),
        Some(size) => {
            let format = format[..format.len().min(60)].escape_ascii();
            let text = format!("the format \"{format}\" has {end} bytes, but the item size is {size}");
            Err(Error::new(Kind::Malformed, text))
        }
    }
}

/// Writes a dtype as a format from which [`parse`] makes the same one, for elements that are
/// aligned as C aligns them. Only titles of fields are lost.
///
/// # Errors
///
/// `is_unsupported`, naming the part that has no letter (`bfloat16` and narrower floats,
/// `complex32`, dates), that consumers do not support at its position (pointers in records, a
/// byte-swapped `long double`), or that has no spelling: fields that overlap or are not in the
/// order of their offsets, names with a colon, and sub-arrays of opaque bytes outside of records.
///
/// ```
/// use crossdock::bindings::dialect::pep3118;
/// use crossdock::element::{DType, Field};
///
/// assert_eq!(pep3118::print(&DType::C128)?, "Zd");
/// let padded = DType::record([Field::new("kind", 0, DType::U8), Field::new("price", 8, DType::F64)], 16)?;
/// assert_eq!(pep3118::print(&padded)?, "T{B:kind:7xd:price:}");
/// let packed = DType::packed_record([("kind", DType::U8), ("price", DType::F64)])?;
/// assert_eq!(pep3118::print(&packed)?, "T{^B:kind:d:price:}");
/// assert!(pep3118::print(&DType::BF16).unwrap_err().to_string().contains("bfloat16"));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn print(dtype: &DType) -> Result<String> {
    write::write(dtype, true)
}

/// Like [`print`](fn@print), for elements at any address: marked as unaligned.
///
/// # Errors
///
/// As [`print`](fn@print).
///
/// ```
/// use crossdock::bindings::dialect::pep3118;
/// use crossdock::element::DType;
///
/// assert_eq!(pep3118::print_unaligned(&DType::F64)?, if cfg!(target_endian = "little") { "<d" } else { ">d" });
/// assert_eq!(pep3118::print_unaligned(&DType::U8)?, "B");
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn print_unaligned(dtype: &DType) -> Result<String> {
    write::write(dtype, false)
}

/// The format that [`print`](fn@print) writes, if it has only letters: for native scalars of fixed
/// width. O(1), without allocation.
///
/// ```
/// use crossdock::bindings::dialect::pep3118;
/// use crossdock::element::DType;
///
/// assert_eq!(pep3118::print_static(&DType::F64), Some(c"d"));
/// assert_eq!(pep3118::print_static(&DType::F64.swapped()), None);
/// ```
#[inline]
pub fn print_static(dtype: &DType) -> Option<&'static CStr> {
    spelling(dtype.as_scalar().filter(|scalar| scalar.is_native())?, Mode::Aligned)
}
