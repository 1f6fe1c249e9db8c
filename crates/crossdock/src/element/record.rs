//! Elements with parts: records of named fields, and sub-arrays.

use crate::element::{ByteOrder, DType};
use crate::error::{Error, Kind, Result};
use std::collections::HashSet;
use std::fmt;

/// The maximum nesting of parts. Every record and every axis of a sub-array counts one level.
///
/// It bounds the recursion of everything that walks a dtype or a value, dropping included.
pub const MAX_DEPTH: usize = 64;

/// The maximum total number of parts of a record, nested parts included.
pub(crate) const MAX_PARTS: usize = 1 << 20;

/// One named part of a record: its dtype and its offset.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Field {
    name: Box<str>,
    title: Option<Box<str>>,
    offset: usize,
    dtype: DType,
}

impl Field {
    /// A field that begins `offset` bytes into the record.
    pub fn new(name: impl Into<String>, offset: usize, dtype: DType) -> Self {
        Self { name: name.into().into_boxed_str(), title: None, offset, dtype }
    }

    /// The same field with a title, NumPy's second, human-readable name.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into().into_boxed_str()), ..self }
    }

    /// The name for look-ups.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The title, if it has one. Look-ups ignore it.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The offset in bytes from the start of the record.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The dtype.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// One past its last byte. Cannot overflow once the field is in a record.
    pub(crate) fn end(&self) -> usize {
        self.offset + self.dtype.itemsize()
    }
}

/// `name: dtype @offset`; a title in brackets after the name; names that are not plain words in
/// quotes.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.name.chars();
        let plain = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_');
        if plain {
            f.write_str(&self.name)?;
        } else {
            write!(f, "{:?}", self.name)?;
        }
        if let Some(title) = &self.title {
            write!(f, " ({title:?})")?;
        }
        write!(f, ": {} @{}", self.dtype, self.offset)
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({self})")
    }
}

/// An element made of named fields. Bytes that no field covers are padding; fields may overlap,
/// like C's unions.
///
/// Made by [`DType::record`] and [`DType::packed_record`].
#[derive(PartialEq, Eq, Hash)]
pub struct Record {
    /// 1. Names and titles are not empty and all different.
    /// 2. Every field ends at or before `itemsize`.
    fields: Box<[Field]>,
    /// 3. Not above `isize::MAX`.
    itemsize: usize,
    parts: TreeProperties,
}

/// Cached properties of a tree, which make queries O(1) and bound the size of trees.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TreeProperties {
    /// 1. Not above `MAX_DEPTH`.
    depth: usize,
    /// 2. Not above `MAX_PARTS`.
    count: usize,
    /// Whether every scalar is in the machine's byte order.
    native: bool,
}

impl TreeProperties {
    pub(super) fn scalar(native: bool) -> Self {
        Self { depth: 0, count: 1, native }
    }

    pub(super) fn is_native(self) -> bool {
        self.native
    }

    /// One level of `levels` above all of `parts`.
    fn above(levels: usize, parts: impl Iterator<Item = Self>) -> Result<Self> {
        let mut all = Self { depth: 0, count: 1, native: true };
        for part in parts {
            all.depth = all.depth.max(part.depth);
            all.count = all.count.saturating_add(part.count);
            all.native &= part.native;
        }
        all.depth = all.depth.saturating_add(levels);
        if all.depth > MAX_DEPTH {
            return Err(Error::new(
                Kind::Unsupported,
                format!("the dtype is nested {} levels deep; at most {MAX_DEPTH} are supported", all.depth),
            ));
        }
        if all.count > MAX_PARTS {
            return Err(Error::new(
                Kind::Unsupported,
                format!("the record has {} parts; at most {MAX_PARTS} are supported", all.count),
            ));
        }
        Ok(all)
    }
}

impl Record {
    pub(super) fn new(fields: Vec<Field>, itemsize: usize) -> Result<Self> {
        if itemsize > isize::MAX as usize {
            return Err(Error::new(
                Kind::Overflow,
                format!(
                    "a record of {itemsize} bytes is larger than {} bytes, the size of the address space",
                    isize::MAX
                ),
            ));
        }
        let mut names = HashSet::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            if field.name.is_empty() || field.title() == Some("") {
                return Err(Error::new(
                    Kind::DType,
                    format!("field {index} of the record has an empty name or title"),
                ));
            }
            for name in [Some(field.name()), field.title()].into_iter().flatten() {
                if !names.insert(name) {
                    return Err(Error::new(
                        Kind::DType,
                        format!("field {index} of the record: the name or title {name:?} is already taken"),
                    ));
                }
            }
            if field.offset.checked_add(field.dtype.itemsize()).is_none_or(|end| end > itemsize) {
                return Err(Error::new(
                    Kind::DType,
                    format!(
                        "field {:?} of {} bytes at offset {} exceeds the record of {itemsize} bytes",
                        field.name(),
                        field.dtype.itemsize(),
                        field.offset
                    ),
                ));
            }
        }
        let parts = TreeProperties::above(1, fields.iter().map(|field| field.dtype.parts()))?;
        Ok(Self { fields: fields.into_boxed_slice(), itemsize, parts })
    }

    /// The fields, in the order in which they were declared.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of this name. Searches linearly.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name() == name)
    }

    /// The distance from one record to the next in bytes.
    pub fn itemsize(&self) -> usize {
        self.itemsize
    }

    /// Whether the fields follow one another in the order of declaration without gap or overlap, to
    /// the last byte.
    #[doc(hidden)]
    pub fn is_packed(&self) -> bool {
        let mut end = 0;
        self.fields.iter().all(|field| field.offset == std::mem::replace(&mut end, field.end()))
            && end == self.itemsize
    }

    pub(super) fn parts(&self) -> TreeProperties {
        self.parts
    }

    pub(super) fn swapped(&self) -> Self {
        self.with_dtypes(DType::swapped)
    }

    pub(super) fn with_byte_order(&self, order: ByteOrder) -> Self {
        self.with_dtypes(|dtype| dtype.with_byte_order(order))
    }

    /// The same record with other dtypes, which differ only in byte order.
    fn with_dtypes(&self, turned: impl Fn(&DType) -> DType) -> Self {
        let turn = |field: &Field| Field { dtype: turned(&field.dtype), ..field.clone() };
        let fields: Box<[Field]> = self.fields.iter().map(turn).collect();
        let native = fields.iter().all(|field| field.dtype.is_native());
        Self { fields, itemsize: self.itemsize, parts: TreeProperties { native, ..self.parts } }
    }
}

/// `{x: float32 @0, y: float64 @8; 16}`: the fields with their offsets, then the size in bytes.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, field) in self.fields.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{field}")?;
        }
        write!(f, "; {}}}", self.itemsize)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({self})")
    }
}

/// An element that is a small row-major array itself. Made by [`DType::subarray`].
#[derive(PartialEq, Eq, Hash)]
pub struct SubArray {
    /// 1. Not empty. Its non-zero extents times the width of `base` do not exceed `isize::MAX`.
    shape: Box<[usize]>,
    /// 2. Not a sub-array: a sub-array of sub-arrays is held as one.
    base: DType,
    parts: TreeProperties,
}

impl SubArray {
    pub(super) fn new(shape: &[usize], base: DType) -> Result<Self> {
        let (shape, base) = match base.as_subarray() {
            Some(inner) => ([shape, inner.shape()].concat(), inner.base().clone()),
            None => (shape.to_vec(), base),
        };
        // Checked first, so that the shape in the other error's text is short.
        let parts = TreeProperties::above(shape.len(), std::iter::once(base.parts()))?;
        let mut bytes = base.itemsize().max(1);
        for &extent in &shape {
            bytes = bytes
                .checked_mul(extent.max(1))
                .filter(|&bytes| bytes <= isize::MAX as usize)
                .ok_or_else(|| {
                    Error::new(
                        Kind::Overflow,
                        format!(
                            "a sub-array of shape {shape:?} and elements of {} bytes overflows",
                            base.itemsize()
                        ),
                    )
                })?;
        }
        Ok(Self { shape: shape.into_boxed_slice(), base, parts })
    }

    /// The extents in elements, outermost first. Never empty.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The dtype of each element. Never a sub-array.
    pub fn base(&self) -> &DType {
        &self.base
    }

    /// The number of elements.
    #[expect(clippy::len_without_is_empty, reason = "a sub-array is a type, not a container")]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub(super) fn itemsize(&self) -> usize {
        self.len() * self.base.itemsize()
    }

    pub(super) fn parts(&self) -> TreeProperties {
        self.parts
    }

    pub(super) fn swapped(&self) -> Self {
        self.with_base(self.base.swapped())
    }

    pub(super) fn with_byte_order(&self, order: ByteOrder) -> Self {
        self.with_base(self.base.with_byte_order(order))
    }

    /// The same shape with another base, which differs only in byte order.
    fn with_base(&self, base: DType) -> Self {
        let parts = TreeProperties { native: base.is_native(), ..self.parts };
        Self { shape: self.shape.clone(), base, parts }
    }
}

/// `(2, 3)float64`, and `(3,)float64` for one axis.
impl fmt::Display for SubArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, extent) in self.shape.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{extent}")?;
        }
        let comma = if self.shape.len() == 1 { "," } else { "" };
        write!(f, "{comma}){}", self.base)
    }
}

impl fmt::Debug for SubArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SubArray({self})")
    }
}
