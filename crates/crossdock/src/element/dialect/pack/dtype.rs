//! Conversions between templates and dtypes.

use crate::element::dialect::pack::component::MAX_ITEM_SIZE;
use crate::element::dialect::pack::{Component, Template, letters};
use crate::element::{ByteOrder, DType, DTypeKind, Field, Record, Scalar, ScalarKind, SubArray};
use crate::error::{Error, Kind, Result};
use std::fmt::{self, Write};

impl Component {
    /// The dtype of its numbers: a scalar, or a sub-array if their count is not 1. O(1).
    ///
    /// # Errors
    ///
    /// `is_malformed` for one that no template has, `is_bounds` for more bytes than the address
    /// space has.
    pub fn to_dtype(&self) -> Result<DType> {
        let (word, _) = self.within(MAX_ITEM_SIZE)?;
        let scalar = DType::scalar(word.kind(), self.byte_order())?;
        if self.repeat == 1 { Ok(scalar) } else { DType::subarray(&[self.repeat], scalar) }
    }
}

impl Template {
    /// The dtype of an item: that of its only component, if it covers the item; otherwise a record
    /// with the fields `f0`, `f1`, … at the offsets of the components.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for more than 1,048,576 components.
    ///
    /// ```
    /// use crossdock::bindings::dialect::pack;
    /// use crossdock::element::DType;
    ///
    /// assert_eq!(pack::parse(b"d")?.to_dtype()?, DType::F64);
    /// assert_eq!(pack::parse(b"n3")?.to_dtype()?.to_string(), "(3,)>uint16");
    /// assert_eq!(pack::parse(b"|cf")?.to_dtype()?.to_string(), "{f0: int8 @0, f1: float32 @4; 8}");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn to_dtype(&self) -> Result<DType> {
        if let [only] = self.components()
            && only.size * only.repeat == self.item_size()
        {
            return only.to_dtype();
        }
        let mut fields = Vec::with_capacity(self.components().len());
        for (index, component) in self.components().iter().enumerate() {
            fields.push(Field::new(format!("f{index}"), component.offset, component.to_dtype()?));
        }
        DType::record(fields, self.item_size())
    }
}

/// Writes a dtype as a template from which [`Template::to_dtype`] makes the same one: without `|`,
/// and with `x` where there is padding.
///
/// Only names may be lost: Ruby has none, so fields are read back as `f0`, `f1`, …
///
/// # Errors
///
/// `is_unsupported`, naming the part for which Ruby has no letter, or whose structure a flat list
/// of numbers does not keep. [`to_pack_approximately`] writes the same numbers in such cases.
///
/// ```
/// use crossdock::bindings::dialect::pack;
/// use crossdock::element::{DType, Field};
///
/// let padded = DType::record([Field::new("kind", 0, DType::U8), Field::new("price", 8, DType::F64)], 16)?;
/// assert_eq!(pack::to_pack(&padded)?, "Cx7d");
/// let error = pack::to_pack(&DType::C64).unwrap_err();
/// assert!(error.is_unsupported() && error.to_string().contains("complex64"));
/// assert_eq!(pack::to_pack_approximately(&DType::C64)?, "ff");
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn to_pack(dtype: &DType) -> Result<String> {
    let mut printer = TemplatePrinter { text: String::new(), approximate: false };
    match dtype.kind() {
        DTypeKind::Record(record) => {
            if let [only] = record.fields()
                && only.dtype().itemsize() == record.itemsize()
            {
                return Err(unsaid("records of a single field", dtype));
            }
            printer.record(record)?;
        }
        _ => printer.part(dtype)?,
    }
    Ok(printer.text)
}

/// Writes a dtype as a template of the same numbers at the same bytes, also where [`to_pack`] fails
/// because Ruby lacks the type: a truth value as a byte `C`, a complex number as its two parts,
/// dates and durations as their counts, a pointer as an integer, text as code points, bytes one by
/// one; records in records and the axes of sub-arrays as one flat list.
///
/// # Errors
///
/// `is_unsupported`, naming the part that has no such numbers: floats of 16 bits and fewer, `long
/// double`; fields that overlap or are not in the order of their offsets.
///
/// ```
/// use crossdock::bindings::dialect::pack;
/// use crossdock::element::DType;
///
/// let point = DType::packed_record([("set", DType::BOOL), ("at", DType::subarray(&[2, 3], DType::C128)?)])?;
/// assert_eq!(pack::to_pack_approximately(&point)?, "Cd12");
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn to_pack_approximately(dtype: &DType) -> Result<String> {
    let mut printer = TemplatePrinter { text: String::new(), approximate: true };
    printer.part(dtype)?;
    Ok(printer.text)
}

/// Repeated records are written out up to this many bytes of text.
const LONGEST: usize = 1 << 24;

struct TemplatePrinter {
    text: String,
    /// Whether to write only the same numbers.
    approximate: bool,
}

impl TemplatePrinter {
    fn part(&mut self, dtype: &DType) -> Result<()> {
        match dtype.kind() {
            DTypeKind::Scalar(scalar) => self.scalar(scalar, 1),
            DTypeKind::SubArray(subarray) => self.subarray(subarray, dtype),
            DTypeKind::Record(record) if self.approximate => self.record(record),
            DTypeKind::Record(_) => Err(unsaid("nested records", dtype)),
        }
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        let mut end = 0;
        for field in record.fields() {
            let Some(gap) = field.offset().checked_sub(end) else {
                return Err(Error::new(
                    Kind::Unsupported,
                    format!(
                        "field {:?} begins at byte {}, before the previous one ends at byte {end}, and a \
                        pack template lists its parts in order",
                        field.name(),
                        field.offset()
                    ),
                ));
            };
            self.padding(gap);
            self.part(field.dtype())
                .map_err(|error| error.within(format_args!("field {:?}", field.name())))?;
            end = field.end();
        }
        self.padding(record.itemsize() - end);
        Ok(())
    }

    fn subarray(&mut self, subarray: &SubArray, whole: &DType) -> Result<()> {
        let len = subarray.len();
        if !self.approximate && (subarray.shape().len() != 1 || len == 1) {
            return Err(unsaid("sub-arrays of several axes or of one element", whole));
        }
        if let DTypeKind::Scalar(scalar) = subarray.base().kind() {
            return self.scalar(scalar, len);
        }
        // An element of several parts is written out once per repetition.
        let start = self.text.len();
        self.part(subarray.base())?;
        let body = self.text.split_off(start);
        match body.len().checked_mul(len) {
            Some(nbytes) if nbytes <= LONGEST.saturating_sub(start) => self.text.push_str(&body.repeat(len)),
            _ => return Err(unsaid(format_args!("room to repeat a record {len} times"), whole)),
        }
        Ok(())
    }

    fn scalar(&mut self, scalar: Scalar, len: usize) -> Result<()> {
        let kind = scalar.kind();
        let (number, each) = if self.approximate { numbers(kind) } else { (kind, 1) };
        let order = scalar.byte_order().unwrap_or(ByteOrder::NATIVE);
        let (letter, mark) = letters::spelling(number, order)
            .ok_or_else(|| unsaid("letter for this dtype", &scalar.into()))?;
        // Ruby code with complex numbers writes them as two parts.
        let is_pair = len == 1 && matches!(kind, ScalarKind::Complex64 | ScalarKind::Complex128);
        for _ in 0..if is_pair { 2 } else { 1 } {
            self.text.push(letter);
            self.text.extend(mark);
        }
        // The numbers have the bytes of the sub-array, or none, so the product fits.
        let count = if is_pair { 1 } else { len * each };
        if count != 1 {
            self.count(count);
        }
        Ok(())
    }

    fn padding(&mut self, nbytes: usize) {
        if nbytes > 0 {
            self.text.push('x');
        }
        if nbytes > 1 {
            self.count(nbytes);
        }
    }

    fn count(&mut self, count: usize) {
        // Writing into a string does not fail.
        let _ = write!(self.text, "{count}");
    }
}

/// The kind and the count of the numbers that make up a scalar.
fn numbers(kind: ScalarKind) -> (ScalarKind, usize) {
    match kind {
        ScalarKind::Bool => (ScalarKind::UInt8, 1),
        ScalarKind::Complex64 => (ScalarKind::Float32, 2),
        ScalarKind::Complex128 => (ScalarKind::Float64, 2),
        ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_) => (ScalarKind::Int64, 1),
        ScalarKind::Pointer => (ScalarKind::UInt64, 1),
        ScalarKind::Text(len) => (ScalarKind::UInt32, len as usize),
        ScalarKind::Bytes(len) | ScalarKind::Void(len) => (ScalarKind::UInt8, len as usize),
        other => (other, 1),
    }
}

#[cold]
fn unsaid(what: impl fmt::Display, dtype: &DType) -> Error {
    Error::new(Kind::Unsupported, format!("a pack template has no {what}: {}", dtype.brief()))
}
