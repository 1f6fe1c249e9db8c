//! An array as Arrow's columns: some are lists of a fixed size, some structs of other columns.

use std::ffi::CString;

use crate::array::DArray;
use crate::element::dialect::arrow::{BOOL8, FIXED_SHAPE_TENSOR, TensorShape, to_format};
use crate::element::{DType, DTypeKind, Field, ScalarKind};
use crate::error::{Advice, Error, Explanation, Result};
use crate::exchange::protocol::arrow::event::SyncEvent;
use crate::exchange::protocol::arrow::metadata::Extension;
use crate::exchange::protocol::arrow::validity::Nulls;
use crate::layout::{Order, sort_few};
use crate::memory::{Lease, LeaseKind, Place, Protocols};
use crate::view::{Access, Reach, Reason, Terms};

/// Arrow's consumers rely on constant memory, on any device, and order themselves after in-flight
/// work by an event.
pub(super) const TERMS: Terms =
    Terms { reach: Reach::Ordered, ..Terms::new(Protocols::ARROW, Access::Only(LeaseKind::Read)) };

/// A column to export.
pub(super) struct ArrayColumn {
    pub(super) format: CString,
    pub(super) name: CString,
    pub(super) extension: Option<Extension>,
    /// The number of elements.
    pub(super) len: usize,
    /// The null elements, if there are any.
    pub(super) nulls: Option<Nulls>,
    /// The event to wait for before access; only the outermost column has one.
    pub(super) event: Option<Box<SyncEvent>>,
    pub(super) body: Body,
}

impl ArrayColumn {
    /// Marks as null the elements that a mask of the array's shape, in memory order, marks; dates
    /// and durations that are not a time stay null.
    pub(super) fn add_nulls(&mut self, nulls: Option<Nulls>) -> Result<()> {
        // A tensor's elements are its child column.
        let column = match &mut self.body {
            Body::List(item) => item,
            Body::Values { .. } | Body::Struct(_) => self,
        };
        column.nulls = match (column.nulls.take(), nulls) {
            (Some(own), Some(more)) => Some(own.or(more, column.len)?),
            (own, more) => own.or(more),
        };
        Ok(())
    }
}

pub(super) enum Body {
    /// Contiguous elements, and the lease under which they are exported.
    Values { data: *const u8, lease: Lease },
    /// Each element is a list of so many elements of the one column (`+w`).
    List(Box<ArrayColumn>),
    /// Each element has one element of each of the columns (`+s`).
    Struct(Vec<ArrayColumn>),
}

/// An array split into the arrays that Arrow has columns for: those whose elements have no parts.
///
/// # Invariants
///
/// 1. The leading axes of every part are those of the whole array.
pub(super) enum SplitArray {
    /// Elements without parts.
    Values(DArray),
    /// The fields of records, and the shape of the whole array.
    Fields(Vec<usize>, Vec<(String, SplitArray)>),
}

impl SplitArray {
    /// Splits an array in place. O(rank) for each field.
    pub(super) fn of(array: DArray) -> Result<Self> {
        let array = with_inner_axes(array)?;
        let Some(record) = array.dtype().as_record() else { return Ok(Self::Values(array)) };
        let part = |field: &Field| Ok((field.name().to_owned(), Self::of(array.field(field.name())?)?));
        let fields = record.fields().iter().map(part).collect::<Result<_>>()?;
        Ok(Self::Fields(array.shape().to_vec(), fields))
    }

    /// Copies of the parts, C-contiguous, each in its own memory; and the number of bytes copied,
    /// which counts nested records once for each level.
    pub(super) fn copied(array: &DArray) -> Result<(Self, usize)> {
        let base = array.dtype().as_subarray().map_or(array.dtype(), |subarray| subarray.base());
        if base.as_record().is_none() {
            let copy = array.to_order(Order::RowMajor)?;
            let nbytes = copy.nbytes();
            return Ok((Self::Values(with_inner_axes(copy)?), nbytes));
        }
        let array = with_inner_axes(array.clone())?;
        let (mut fields, mut nbytes) = (Vec::new(), 0);
        for (name, column) in array.to_columns()? {
            nbytes += column.nbytes();
            let column = with_inner_axes(column)?;
            let part = match column.dtype().as_record() {
                None => Self::Values(column),
                Some(_) => {
                    let (part, copied) = Self::copied(&column)?;
                    nbytes += copied;
                    part
                }
            };
            fields.push((name, part));
        }
        Ok((Self::Fields(array.shape().to_vec(), fields), nbytes))
    }

    /// The place of the first part, which is that of all; the CPU if there are none.
    pub(super) fn place(&self) -> Place {
        match self {
            Self::Values(array) => array.place(),
            Self::Fields(_, fields) => fields.first().map_or(Place::CPU, |(_, part)| part.place()),
        }
    }

    /// The event after which a consumer uses the parts. If there are several, this waits for their
    /// work instead and returns none.
    pub(super) fn event(&self) -> Result<Option<Box<SyncEvent>>, Reason> {
        match self {
            Self::Values(array) => SyncEvent::after(array),
            Self::Fields(_, fields) => fields.iter().try_for_each(|(_, part)| part.settle()).map(|()| None),
        }
    }

    /// Waits for in-flight work that writes the parts.
    fn settle(&self) -> Result<(), Reason> {
        match self {
            Self::Values(array) => array.raw().handle().await_work(LeaseKind::Read).map_err(Reason::Lease),
            Self::Fields(_, fields) => fields.iter().try_for_each(|(_, part)| part.settle()),
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Values(array) => array.shape(),
            Self::Fields(shape, _) => shape,
        }
    }

    /// The parts as a column: the first `rows` axes are its elements, the others tensors within
    /// them.
    ///
    /// # Errors
    ///
    /// `Layout` if elements are not C-contiguous, or are unaligned; `Unsupported` for types that
    /// Arrow does not have; `Lease`.
    pub(super) fn into_column(
        self,
        name: String,
        rows: usize,
        permutation: Option<Vec<usize>>,
    ) -> Result<ArrayColumn, Reason> {
        let (outer, inner) = self.shape().split_at(rows);
        let len = count(outer)?;
        let name = c_string(name)?;
        if !inner.is_empty() {
            let tensor = TensorShape::new(inner.to_vec(), permutation).map_err(Reason::Failed)?;
            let list = list_len(inner)?;
            let rank = self.shape().len();
            return Ok(ArrayColumn {
                format: c_string(format!("+w:{list}"))?,
                name,
                extension: Some(Extension::new(FIXED_SHAPE_TENSOR, tensor.to_string())),
                len,
                nulls: None,
                event: None,
                body: Body::List(Box::new(self.into_column("item".to_owned(), rank, None)?)),
            });
        }
        match self {
            Self::Values(array) => values(name, len, &array),
            Self::Fields(_, fields) => {
                let column = |(name, part): (String, Self)| part.into_column(name, rows, None);
                let columns = fields.into_iter().map(column).collect::<Result<_, _>>()?;
                Ok(ArrayColumn {
                    format: c"+s".to_owned(),
                    name,
                    extension: None,
                    len,
                    nulls: None,
                    event: None,
                    body: Body::Struct(columns),
                })
            }
        }
    }
}

/// Appends the axes of elements that are arrays to the array's own axes.
fn with_inner_axes(array: DArray) -> Result<DArray> {
    if array.dtype().as_subarray().is_none() {
        return Ok(array);
    }
    const VALUE: &str = "value";
    let whole = DType::record([Field::new(VALUE, 0, array.dtype().clone())], array.dtype().itemsize())?;
    array.view_as(&whole)?.field(VALUE)
}

/// The axes in memory order, the first of them unchanged; `None` if they are in that order already.
///
/// # Errors
///
/// `Layout` if no order of these axes makes the elements contiguous.
pub(super) fn in_order(array: &DArray) -> Result<Option<Vec<usize>>, Reason> {
    let layout = array.layout();
    if array.is_contiguous(Order::RowMajor) {
        return Ok(None);
    }
    let normal = layout.normalized();
    let mut axes: Vec<usize> = (0..array.rank()).collect();
    sort_few(&mut axes[1..], |&axis| std::cmp::Reverse(normal.strides()[axis].unsigned_abs()));
    match layout.suboffsets().is_none()
        && layout.permute(&axes).is_ok_and(|it| it.is_contiguous(Order::RowMajor))
    {
        true => Ok(Some(axes)),
        false => Err(Reason::Layout(not_in_order(array).into())),
    }
}

/// The permutation as a tensor describes it: axis `i` of the tensor is axis `k` after the first in
/// memory, where `axes[k]` is `i`, both counted after the first.
pub(super) fn permutation_of(axes: &[usize]) -> Vec<usize> {
    let mut permutation = vec![0; axes.len() - 1];
    for (k, &axis) in axes.iter().enumerate().skip(1) {
        permutation[axis - 1] = k - 1;
    }
    permutation
}

#[cold]
fn not_in_order(array: &DArray) -> String {
    let pointers = match array.layout().suboffsets() {
        Some(suboffsets) => format!(" through pointers (suboffsets {suboffsets:?})"),
        None => String::new(),
    };
    format!(
        "Arrow requires contiguous elements, with axis 0 the slowest and the others in any order; shape \
        {:?} with strides {:?}{pointers} is not contiguous",
        array.shape(),
        array.strides()
    )
}

/// Elements without parts, as a column.
fn values(name: CString, len: usize, array: &DArray) -> Result<ArrayColumn, Reason> {
    let is_bool = *array.dtype() == DType::BOOL;
    let format = match is_bool {
        true => c"c".to_owned(),
        false => c_string(to_format(array.dtype()).map_err(unsupported)?.into_owned())?,
    };
    if !array.is_contiguous(Order::RowMajor) {
        return Err(Reason::Layout(
            format!(
                "column {name:?} must be contiguous in Arrow, but its elements of {} bytes have strides {:?}",
                array.dtype().itemsize(),
                array.strides()
            )
            .into(),
        ));
    }
    let (address, align) = (array.as_ptr().addr(), array.dtype().alignment());
    let is_empty = array.nbytes() == 0;
    if !is_empty && !address.is_multiple_of(align) {
        return Err(Reason::Layout(
            format!(
                "the address {address:#x} of column {name:?} is not a multiple of {align}, as Arrow requires"
            )
            .into(),
        ));
    }
    let lease = TERMS.lease(array.raw()).map_err(Reason::Lease)?;
    // Arrow has no NaT: as a number it would be a date 292 years away.
    let nulls = match is_moment(array.dtype()) {
        true => Nulls::of_times(array).map_err(Reason::Failed)?,
        false => None,
    };
    Ok(ArrayColumn {
        format,
        name,
        extension: is_bool.then(|| Extension::new(BOOL8, String::new())),
        len,
        nulls,
        event: None,
        body: Body::Values { data: if is_empty { std::ptr::null() } else { array.as_ptr() }, lease },
    })
}

/// Whether elements are dates or durations.
pub(super) fn is_moment(dtype: &DType) -> bool {
    let kind = dtype.as_scalar().map(|scalar| scalar.kind());
    matches!(kind, Some(ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_)))
}

/// Whether a dtype contains dates or durations, at any depth.
pub(super) fn has_moments(dtype: &DType) -> bool {
    match dtype.kind() {
        DTypeKind::Scalar(_) => is_moment(dtype),
        DTypeKind::SubArray(subarray) => has_moments(subarray.base()),
        DTypeKind::Record(record) => record.fields().iter().any(|field| has_moments(field.dtype())),
    }
}

/// Whether Arrow has a type for every part of a dtype: checked before a copy.
///
/// # Errors
///
/// `Unsupported`, naming the part.
pub(super) fn check_words(dtype: &DType) -> Result<(), Reason> {
    match dtype.kind() {
        DTypeKind::Scalar(_) if *dtype == DType::BOOL => Ok(()),
        DTypeKind::Scalar(_) => to_format(dtype).map(drop).map_err(unsupported),
        DTypeKind::SubArray(subarray) => {
            list_len(subarray.shape())?;
            check_words(subarray.base())
        }
        DTypeKind::Record(record) => record.fields().iter().try_for_each(|field| {
            c_string(field.name())?;
            check_words(field.dtype())
        }),
    }
}

fn unsupported(error: Error) -> Reason {
    Reason::Unsupported(error.to_explanation())
}

/// Text as a C string.
fn c_string(text: impl Into<Vec<u8>>) -> Result<CString, Reason> {
    CString::new(text).map_err(|error| {
        let text = String::from_utf8_lossy(error.into_vec().as_slice()).into_owned();
        Reason::Unsupported(
            format!("the name {text:?} contains a NUL, which ends text in C; rename the field").into(),
        )
    })
}

/// The product of lengths, as a column counts them. A layout has it, so it does not overflow.
fn count(shape: &[usize]) -> Result<usize, Reason> {
    let product = match shape.contains(&0) {
        true => Some(0),
        false => shape.iter().try_fold(1usize, |product, &len| product.checked_mul(len)),
    };
    product.filter(|&len| i64::try_from(len).is_ok()).ok_or_else(|| {
        Reason::Unsupported(
            format!("shape {shape:?} has more elements than Arrow can count (63 bits)").into(),
        )
    })
}

/// The length of the lists that are tensors. Arrow's libraries count it with 31 bits, and all
/// elements with 63.
pub(super) fn list_len(shape: &[usize]) -> Result<usize, Reason> {
    let len = count(shape)?;
    if i32::try_from(len).is_err() {
        return Err(Reason::Unsupported(
            format!("tensors of shape {shape:?} have {len} elements; an Arrow list has at most {}", i32::MAX)
                .into(),
        ));
    }
    Ok(len)
}

/// Why an array without axes is not exported.
pub(super) fn no_rows() -> Explanation {
    Explanation::new("an array of rank 0 is no column", Advice::InsertAxisOrWhole)
}
