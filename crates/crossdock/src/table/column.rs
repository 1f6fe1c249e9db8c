//! A column: buffers and the rules of a type.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::array::DArray;
use crate::buffer::{Bitmap, Buffer, resolve_in};
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::layout::{Layout, Order};
use crate::memory::{Birth, Place};
use crate::table::column_type::{ColumnType, Storage};

/// The parts of a new column.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::table::{Checks, Column, ColumnParts, ColumnType};
///
/// let offsets = Buffer::from_vec(vec![0i32, 2, 2, 5])?;
/// let text = Buffer::from_static(b"onone")?;
/// let parts = ColumnParts { len: 3, buffers: vec![offsets, text], ..ColumnParts::default() };
/// let column = Column::new(ColumnType::utf8(), parts, Checks::Full)?;
/// assert_eq!((column.len(), column.null_count()?), (3, 0));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ColumnParts {
    /// The number of elements.
    pub len: usize,
    /// How many elements of validity, buffers, and the children of structs, fixed-size lists and
    /// sparse unions precede the first.
    pub offset: usize,
    /// Bits that are false where an element is null; `None` if no element is null.
    pub validity: Option<Buffer>,
    /// The buffers of the type, without validity: elements, bits, indices or identifiers; offsets,
    /// then bytes, sizes or nothing; views, then any number of buffers. They may be longer than
    /// required.
    pub buffers: Vec<Buffer>,
    /// The children of the type.
    pub children: Vec<Column>,
    /// The values of a dictionary.
    pub dictionary: Option<Column>,
}

/// A column of a table: elements of any [`ColumnType`], some of them null.
///
/// A column is buffers plus rules; it has no memory of its own kind. It holds them as arrays do:
/// cloning and slicing are O(1), every clone keeps the memory alive, and access takes a lease. The
/// elements of a type with a fixed width are an array, in place ([`Column::array`]).
///
/// Offsets, views, indices and text in memory that another party may write (a mapped file) can
/// change after a check. This library checks each when it uses it.
///
/// ```
/// use crossdock::Array;
/// use crossdock::table::Column;
///
/// let column = Column::from_array(Array::from_vec(vec![1.5f64, 2.5, 3.5], [3])?)?; // in place
/// assert_eq!(column.column_type().to_string(), "float64");
/// let rest: Array<f64, 1> = column.slice(1..)?.array()?.try_into()?;
/// assert_eq!(rest.get([0])?, 2.5);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. The parts met `check_shape` for the type, with an offset and a length that cover these.
/// 2. `validity` begins at bit `offset` of its buffer, and has `len` bits.
/// 3. `is_checked` is set if these elements met `Checks::Full`, in memory that is constant.
pub struct Column {
    parts: Arc<SharedParts>,
    offset: usize,
    len: usize,
    validity: Option<Bitmap>,
    is_checked: AtomicBool,
}

/// What slices of a column have in common.
struct SharedParts {
    ty: ColumnType,
    buffers: Vec<Buffer>,
    children: Vec<Column>,
    dictionary: Option<Column>,
    /// Set once the run ends were found to increase.
    are_runs_checked: AtomicBool,
}

impl Clone for Column {
    fn clone(&self) -> Self {
        Self {
            parts: self.parts.clone(),
            validity: self.validity.clone(),
            is_checked: AtomicBool::new(self.is_checked()),
            ..*self
        }
    }
}

impl Column {
    /// A column whose parts met Column 1.
    pub(super) fn of_checked(ty: ColumnType, parts: ColumnParts) -> Result<Self> {
        let ColumnParts { len, offset, validity, buffers, children, dictionary } = parts;
        let validity = validity.map(|bits| Bitmap::new(bits, offset, len)).transpose()?;
        let are_runs_checked = AtomicBool::new(false);
        let parts = Arc::new(SharedParts { ty, buffers, children, dictionary, are_runs_checked });
        Ok(Self { parts, offset, len, validity, is_checked: AtomicBool::new(false) })
    }

    // ===== queries

    /// The type.
    pub fn column_type(&self) -> &ColumnType {
        &self.parts.ty
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many elements of the buffers precede the first.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The validity of these elements: false where one is null. `None` if the type has no bitmap,
    /// or no element is null.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// The number of nulls by the column's own bitmap; all elements for the type null. (Values of
    /// dictionaries, runs and unions may be null nevertheless.) O(n / 8) at first, and again where
    /// the memory is not constant.
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Write lease is held; `is_fault` if a guarded file shrank; `is_place`
    /// on a device.
    pub fn null_count(&self) -> Result<usize> {
        match &self.validity {
            Some(validity) => self.or_fault(validity.count_false()),
            None if self.parts.ty == ColumnType::Null => Ok(self.len),
            None => Ok(0),
        }
    }

    /// The buffers of the type, without validity, in the order of [`ColumnParts::buffers`]. The
    /// first element of the column is element [`offset`](Column::offset) of them.
    pub fn buffers(&self) -> &[Buffer] {
        &self.parts.buffers
    }

    /// The children. Those of structs, fixed-size lists and sparse unions are not sliced with the
    /// column: element `i` belongs to element `offset + i` of them.
    pub fn children(&self) -> &[Column] {
        &self.parts.children
    }

    /// The children, moved if no slice or clone of the column shares them.
    pub(crate) fn into_children(self) -> Vec<Self> {
        match Arc::try_unwrap(self.parts) {
            Ok(parts) => parts.children,
            Err(parts) => parts.children.clone(),
        }
    }

    /// The values, if the column is encoded by a dictionary.
    pub fn dictionary(&self) -> Option<&Column> {
        self.parts.dictionary.as_ref()
    }

    /// The place of the first buffer of the column or of a child of it; the CPU if there is none.
    pub fn place(&self) -> Place {
        let own = self.buffers().iter().chain(self.validity.as_ref().map(Bitmap::buffer));
        let below = self.children().iter().chain(self.dictionary());
        let place = own.map(Buffer::place).next();
        place.unwrap_or_else(|| {
            below.map(Self::place).find(|&place| place != Place::CPU).unwrap_or(Place::CPU)
        })
    }

    /// Whether the CPU can address the first buffer.
    pub(crate) fn is_host(&self) -> bool {
        self.place().is_host()
    }

    /// Whether both are the same elements of the same buffers.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts) && (self.offset, self.len) == (other.offset, other.len)
    }

    /// Whether no party writes any of the memory, ever.
    pub(crate) fn is_constant(&self) -> bool {
        let mut own = self.buffers().iter().chain(self.validity.as_ref().map(Bitmap::buffer));
        own.all(|buffer| buffer.birth() == Birth::Constant)
            && self.children().iter().chain(self.dictionary()).all(Self::is_constant)
    }

    /// Whether another owner may write any of the memory at any time.
    #[cfg(feature = "arrow-ipc")]
    pub(crate) fn is_aliased(&self) -> bool {
        let mut own = self.buffers().iter().chain(self.validity.as_ref().map(Bitmap::buffer));
        own.any(|buffer| buffer.nbytes() > 0 && buffer.birth() == Birth::Aliased)
            || self.children().iter().chain(self.dictionary()).any(Self::is_aliased)
    }

    /// Whether these elements met [`Checks::Full`](crate::table::Checks::Full) for ever (Column 3).
    pub(super) fn is_checked(&self) -> bool {
        self.is_checked.load(Ordering::Relaxed)
    }

    pub(super) fn mark_checked(&self) {
        self.is_checked.store(true, Ordering::Relaxed);
    }

    /// Whether the run ends were found to increase.
    pub(super) fn are_runs_checked(&self) -> bool {
        self.parts.are_runs_checked.load(Ordering::Relaxed)
    }

    pub(super) fn mark_runs_checked(&self) {
        self.parts.are_runs_checked.store(true, Ordering::Relaxed);
    }

    // ===== in place

    /// The elements as an array, in place, if they have a fixed width of whole bytes: without the
    /// nulls' validity, and with the dtype of [`ColumnType::dtype`]. For a dictionary, its indices.
    /// Lists of a fixed size are further axes. O(1) for each axis.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for other types.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use crossdock::Array;
    /// use crossdock::table::{Checks, Column, ColumnParts, ColumnType, Field};
    ///
    /// let items = Column::from_array(Array::from_vec((0..6u8).collect(), [6])?)?;
    /// let item = Arc::new(Field::new("item", items.column_type().clone())?);
    /// let parts = ColumnParts { len: 3, children: vec![items], ..ColumnParts::default() };
    /// let pairs = Column::new(ColumnType::FixedList { item, len: 2 }, parts, Checks::Shape)?;
    /// assert_eq!(pairs.slice(1..)?.array()?.to_string(), "[[2 3]\n [4 5]]");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn array(&self) -> Result<DArray> {
        let ty = &self.parts.ty;
        match (ty.storage(), ty.dtype()) {
            (Storage::Fixed(nbytes), Some(dtype)) => self.elements(0, dtype, self.len, nbytes),
            (Storage::FixedList(len), _) => {
                // Column 1: the child has `len` elements for each up to the last.
                let start = self.offset * len;
                let items = self.parts.children[0].slice(start..start + self.len * len)?.array()?;
                let mut shape = vec![self.len, len];
                shape.extend(&items.shape()[1..]);
                items.reshape(&shape)
            }
            _ => {
                let text = format!("elements of type {ty} have no fixed width, as an array requires");
                Err(Error::new(Kind::Unsupported, text))
            }
        }
    }

    /// The offsets of text, bytes or lists as an array, in place: one more than there are elements.
    /// For views of lists and dense unions, one for each element. O(1).
    ///
    /// Other parties may have written them since any check, unless the memory is constant.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for types without offsets, and for no elements without offsets.
    pub fn offsets(&self) -> Result<DArray> {
        use crate::table::column_type::UnionMode::Dense;
        let (buffer, nbytes, len) = match self.parts.ty.storage() {
            Storage::Bytes(width, _) | Storage::List(width) => (0, width.nbytes(), self.len + 1),
            Storage::ListView(width) => (0, width.nbytes(), self.len),
            Storage::Union(Dense) => (1, 4, self.len),
            _ => {
                let text = format!("type {} has no offsets", self.parts.ty);
                return Err(Error::new(Kind::Unsupported, text));
            }
        };
        self.elements(buffer, if nbytes == 4 { DType::I32 } else { DType::I64 }, len, nbytes)
    }

    /// Elements of a buffer from the column's first on.
    fn elements(&self, buffer: usize, dtype: DType, len: usize, nbytes: usize) -> Result<DArray> {
        let layout = Layout::contiguous(&[len], nbytes, Order::RowMajor)?;
        DArray::from_buffer(self.parts.buffers[buffer].try_clone()?, dtype, layout, self.offset * nbytes)
    }

    /// Some of the elements. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_exhausted` where no more handles can be counted.
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::table::Column;
    ///
    /// let column = Column::from_array(Array::from_vec((0..9u8).collect(), [9])?)?;
    /// let part = column.slice(3..6)?;
    /// assert_eq!((part.offset(), part.len()), (3, 3));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = resolve_in(&range, self.len, ["elements", "a column of", "elements"])?;
        Ok(Self {
            parts: self.parts.clone(),
            // Column 1: the range lies within the elements.
            offset: self.offset + range.start,
            len: range.len(),
            validity: self.validity.as_ref().map(|bits| bits.slice(range)).transpose()?,
            is_checked: AtomicBool::new(self.is_checked()),
        })
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({}; {} elements from {} on)", self.parts.ty, self.len, self.offset)
    }
}
