//! Columns: `ArrayData` of a fixed-width type, and fixed-size lists of such columns.

use std::sync::Arc;

use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field};

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::{DType, NAT, ScalarKind};
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::crates::arrow::buffer::lend_elements;
use crate::exchange::crates::arrow::dtype::{from_arrow, to_arrow};
use crate::layout::{Layout, Order};
use crate::memory::count_copied;

impl TryFrom<&ArrayData> for DArray {
    type Error = Error;

    /// Keeps the elements, read-only. Each level of fixed-size lists becomes a further axis.
    /// O(rank); if the column has nulls, their bitmap is counted.
    ///
    /// Timestamps, dates in milliseconds and durations keep their integer values. The least
    /// integer, which is a valid time in Arrow, is NaT here, and a null of that value is accepted.
    ///
    /// To obtain writable elements, take the column apart (`ArrayData::into_parts`) and convert its
    /// buffer to a [`Buffer`].
    ///
    /// # Errors
    ///
    /// `is_value` for null elements, with their number; `is_unsupported` for types without a fixed
    /// width, booleans, and types without a dtype; `is_malformed` and `is_bounds` if the parts
    /// contradict each other; `is_out_of_memory`.
    fn try_from(theirs: &ArrayData) -> Result<Self> {
        let Values { buffer, dtype, shape, start } = Values::of(theirs)?;
        let layout = Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor)?;
        // An empty layout reads no element, so its offset does not matter.
        let offset = if layout.is_empty() { Some(0) } else { start.checked_mul(dtype.itemsize()) };
        let offset = offset.ok_or_else(|| too_long(theirs))?;
        // `ArrayData` shares the buffer, so `try_from` keeps it instead of adopting it.
        Self::from_buffer(Buffer::try_from(buffer.clone())?, dtype, layout, offset)
    }
}

/// The values at the innermost level of nested lists.
struct Values<'a> {
    buffer: &'a arrow_buffer::Buffer,
    dtype: DType,
    /// The length of the column and of each level of lists.
    shape: Vec<usize>,
    /// The index of the first value.
    start: usize,
}

impl<'a> Values<'a> {
    fn of(column: &'a ArrayData) -> Result<Self> {
        let mut shape = vec![column.len()];
        // The range of elements of `data` that the column uses, not counting `data`'s own offset.
        let (mut data, mut start, mut len) = (column, 0, column.len());
        while let DataType::FixedSizeList(_, size) = data.data_type() {
            check_nulls(data, start, len)?;
            let negative = |_| Error::new(Kind::Malformed, format!("a list cannot have {size} elements"));
            let size = usize::try_from(*size).map_err(negative)?;
            let [child] = data.child_data() else {
                return Err(missing("child", data.child_data().len()));
            };
            start = data
                .offset()
                .checked_add(start)
                .and_then(|start| start.checked_mul(size))
                .ok_or_else(|| too_long(column))?;
            len = len.checked_mul(size).ok_or_else(|| too_long(column))?;
            if start.checked_add(len).is_none_or(|end| end > child.len()) {
                return Err(Error::new(
                    Kind::Bounds,
                    format!(
                        "the lists cover elements {start}..{start}+{len}, but the child column has {}",
                        child.len()
                    ),
                ));
            }
            shape.push(size);
            data = child;
        }
        let dtype = from_arrow(data.data_type())?;
        let [buffer] = data.buffers() else {
            return Err(missing("buffer", data.buffers().len()));
        };
        if !is_moment(&dtype) || !nulls_are_no_times(data, buffer, start, len) {
            check_nulls(data, start, len)?;
        }
        let start = data.offset().checked_add(start).ok_or_else(|| too_long(column))?;
        Ok(Self { buffer, dtype, shape, start })
    }
}

/// Refuses null elements within the range that the column uses.
fn check_nulls(data: &ArrayData, start: usize, len: usize) -> Result<()> {
    let Some(nulls) = data.nulls() else { return Ok(()) };
    if start.checked_add(len).is_none_or(|end| end > nulls.len()) {
        let text = format!(
            "the validity bitmap has {} bits, but the column covers elements {start}..{start}+{len}",
            nulls.len()
        );
        return Err(Error::new(Kind::Malformed, text));
    }
    match nulls.slice(start, len).null_count() {
        0 => Ok(()),
        count => Err(Error::new(
            Kind::Value,
            format!("{count} of {len} elements are null, which no dtype expresses"),
        )
        .advising(Advice::FillNulls)),
    }
}

/// Whether every null date or duration also has the integer value of NaT.
fn nulls_are_no_times(data: &ArrayData, counts: &[u8], start: usize, len: usize) -> bool {
    let (counts, _) = counts.as_chunks::<8>();
    let Some(nulls) =
        data.nulls().filter(|nulls| start.checked_add(len).is_some_and(|end| end <= nulls.len()))
    else {
        return false;
    };
    let Some(first) = data.offset().checked_add(start) else { return false };
    let Some(counts) = first.checked_add(len).and_then(|end| counts.get(first..end)) else { return false };
    let nulls = nulls.slice(start, len);
    counts.iter().enumerate().all(|(index, count)| nulls.is_valid(index) || i64::from_ne_bytes(*count) == NAT)
}

fn missing(what: &str, count: usize) -> Error {
    Error::new(Kind::Malformed, format!("the column must have one {what}, but has {count}"))
}

fn too_long(column: &ArrayData) -> Error {
    let text = format!("{} elements from {} on exceed the address space", column.len(), column.offset());
    Error::new(Kind::Overflow, text)
}

impl TryFrom<&DArray> for ArrayData {
    type Error = Error;

    /// The same elements, under a Read lease that ends when the last clone is dropped: axis 0 is
    /// the column, and each further axis, including those of sub-arrays, a fixed-size list of
    /// elements that are not null. O(rank²), with a few small heap blocks per axis. Dates and
    /// durations are read once: a NaT becomes a null, in a bitmap that is allocated only if there
    /// is one.
    ///
    /// # Errors
    ///
    /// `is_layout` if the array is not C-contiguous (row-major); `is_alignment`; `is_shape` for
    /// rank 0; `is_unsupported` for a dtype that Arrow does not have; `is_overflow` for lists of
    /// 2³¹ or more elements; otherwise as [`Array::read`](crate::Array::read).
    fn try_from(ours: &DArray) -> Result<Self> {
        let (dtype, inner) = match ours.dtype().as_subarray() {
            Some(subarray) => (subarray.base(), subarray.shape()),
            None => (ours.dtype(), &[][..]),
        };
        let Some((&rows, lists)) = ours.shape().split_first() else {
            return Err(
                Error::new(Kind::Shape, "an array of rank 0 is no column").advising(Advice::InsertAxis)
            );
        };
        if !ours.is_contiguous(Order::RowMajor) {
            return Err(no_column(ours));
        }
        let mut data_type = to_arrow(dtype)?;
        let mut levels = Vec::with_capacity(lists.len() + inner.len());
        let mut len = rows;
        for &list in lists.iter().chain(inner) {
            levels.push((list_size(list)?, len));
            len = len.checked_mul(list).ok_or_else(|| {
                Error::new(Kind::Overflow, format!("shape {:?} of {}", ours.shape(), ours.dtype().brief()))
            })?;
        }
        // SAFETY: the array is C-contiguous, as checked above, so its elements take the `nbytes`
        // bytes from element 0 on.
        let buffer = unsafe { lend_elements(ours.raw(), ours.nbytes(), dtype.alignment()) }?;
        // Arrow has no integer value for NaT, so a bitmap marks them as nulls.
        let nulls = match is_moment(dtype) {
            true => times(&buffer),
            false => None,
        };
        let mut is_nullable = nulls.is_some();
        let builder = Self::builder(data_type.clone()).len(len).add_buffer(buffer).nulls(nulls);
        let mut data = builder.build().map_err(refused)?;
        for (size, len) in levels.into_iter().rev() {
            let item = Field::new_list_field(data_type, std::mem::take(&mut is_nullable));
            data_type = DataType::FixedSizeList(Arc::new(item), size);
            data = Self::builder(data_type.clone()).len(len).add_child_data(data).build().map_err(refused)?;
        }
        Ok(data)
    }
}

/// Whether elements are dates or durations.
fn is_moment(dtype: &DType) -> bool {
    let kind = dtype.as_scalar().map(|scalar| scalar.kind());
    matches!(kind, Some(ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_)))
}

/// A validity bitmap in which each NaT is null; `None` without any NaT. The bitmap counts as copied
/// bytes.
fn times(counts: &[u8]) -> Option<NullBuffer> {
    let (counts, _) = counts.as_chunks::<8>();
    let is_time = |count: &[u8; 8]| i64::from_ne_bytes(*count) != NAT;
    if counts.iter().all(is_time) {
        return None;
    }
    count_copied(counts.len().div_ceil(8));
    Some(counts.iter().map(is_time).collect::<Vec<bool>>().into())
}

fn list_size(list: usize) -> Result<i32> {
    let too_long = |_| {
        let text = format!("lists of {list} elements are too long; an Arrow list has at most {}", i32::MAX);
        Error::new(Kind::Overflow, text)
    };
    i32::try_from(list).map_err(too_long)
}

#[cold]
fn no_column(ours: &DArray) -> Error {
    let pointers = match ours.layout().suboffsets() {
        Some(suboffsets) => format!(" through pointers (suboffsets {suboffsets:?})"),
        None => String::new(),
    };
    Error::new(
        Kind::Layout,
        format!(
            "elements of shape {:?} with strides {:?}{pointers} are not C-contiguous (row-major), as Arrow requires",
            ours.shape(),
            ours.strides()
        ),
    )
    .advising(Advice::Copy)
}

#[cold]
fn refused(error: ArrowError) -> Error {
    Error::caused(Kind::Unsupported, format!("Arrow rejects the column: {error}"), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::device::Device as _;
    use crate::device::fenced::FencedDevice;
    use crate::memory::{Birth, Protocols, copied_bytes_here};
    use crate::s;

    fn column(data_type: DataType, len: usize, buffer: arrow_buffer::Buffer) -> ArrayData {
        ArrayData::builder(data_type).len(len).add_buffer(buffer).build().unwrap()
    }

    fn lists(size: i32, len: usize, child: ArrayData) -> ArrayData {
        let field = Arc::new(Field::new_list_field(child.data_type().clone(), true));
        ArrayData::builder(DataType::FixedSizeList(field, size))
            .len(len)
            .add_child_data(child)
            .build()
            .unwrap()
    }

    fn counted() -> ArrayData {
        column(DataType::Int32, 24, (0..24).collect::<Vec<i32>>().into())
    }

    // ===== import

    #[test]
    fn a_column_is_kept_read_only_where_it_lies() {
        let theirs = counted().slice(3, 5);
        let copied = copied_bytes_here();
        let ours = DArray::try_from(&theirs).unwrap();
        assert_eq!(ours.as_ptr().addr(), theirs.buffers()[0].as_ptr().addr() + 12);
        assert_eq!((ours.shape(), ours.birth(), ours.is_readonly()), (&[5][..], Birth::Constant, true));
        drop(theirs);
        let ours = Array::<i32, 1>::try_from(ours).unwrap();
        assert_eq!(ours.read().unwrap().as_slice(), Some(&[3, 4, 5, 6, 7][..]));
        assert!(ours.write().unwrap_err().is_read_only());
        assert_eq!(copied_bytes_here(), copied);
    }

    #[test]
    fn a_column_is_given_back_with_the_last_handle() {
        let theirs = counted();
        let ours = DArray::try_from(&theirs).unwrap();
        let slice = ours.slice(s![2..4]).unwrap();
        assert_eq!(theirs.buffers()[0].strong_count(), 2);
        drop(ours);
        assert_eq!(theirs.buffers()[0].strong_count(), 2);
        drop(slice);
        assert_eq!(theirs.buffers()[0].strong_count(), 1);
    }

    #[test]
    fn lists_of_a_fixed_size_are_axes_and_every_offset_counts() {
        // 24 numbers, of which a slice keeps 20; as 10 pairs, of which a slice keeps 8; as 4 rows
        // of 2, of which a slice keeps 2.
        let pairs = lists(2, 10, counted().slice(4, 20)).slice(2, 8);
        let rows = lists(2, 4, pairs).slice(2, 2);
        let ours = DArray::try_from(&rows).unwrap();
        assert_eq!((ours.shape(), ours.strides()), (&[2, 2, 2][..], &[16, 8, 4][..]));
        let ours = Array::<i32, 3>::try_from(ours).unwrap();
        let first = 4 + 2 * 2 + 2 * 4;
        assert!(ours.read().unwrap().iter().copied().eq(first..first + 8));
    }

    #[test]
    fn dates_and_bytes_are_what_they_are() {
        use crate::element::{TimeUnit, Value};
        let millis = DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, None);
        let theirs = column(millis, 2, vec![0i64, 1000].into());
        let ours = DArray::try_from(&theirs).unwrap();
        assert_eq!(*ours.dtype(), DType::datetime(TimeUnit::MILLISECOND));
        assert_eq!(ours.get(&[1]).unwrap().to_string(), "1970-01-01T00:00:01.000");
        let theirs = column(DataType::FixedSizeBinary(3), 2, vec![1u8, 2, 3, 4, 5, 6].into());
        let ours = DArray::try_from(&theirs).unwrap();
        assert_eq!((ours.dtype().to_string().as_str(), ours.strides()), ("V3", &[3][..]));
        let halves = column(DataType::Float16, 1, vec![0x3c00u16].into());
        assert_eq!(DArray::try_from(&halves).unwrap().get(&[0]).unwrap(), Value::from(1.0f64));
    }

    #[test]
    fn moments_that_are_not_a_time_are_null_and_come_back_as_they_are() {
        use crate::element::TimeUnit;
        let counts = DArray::from_vec(vec![1, NAT, 3, 4, 5, NAT], &[3, 2]).unwrap();
        let ours = counts.view_as(&DType::datetime(TimeUnit::SECOND)).unwrap();
        let theirs = ArrayData::try_from(&ours).unwrap();
        theirs.validate_full().unwrap();
        assert_eq!((theirs.null_count(), theirs.child_data()[0].null_count()), (0, 2));
        let back = DArray::try_from(&theirs).unwrap();
        assert!(back.view_as(&DType::I64).unwrap().equals(&counts).unwrap());
        assert_eq!(
            (back.as_ptr(), DArray::try_from(&theirs.slice(2, 1)).unwrap().shape()),
            (ours.as_ptr(), &[1, 2][..])
        );
        // A null is refused if its integer value is a valid time.
        let millis = DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, None);
        let theirs = column(millis, 2, vec![0i64, NAT].into());
        for (valid, is_taken) in [([true, false], true), ([false, true], false)] {
            let theirs = theirs.clone().into_builder().nulls(Some(NullBuffer::from(valid.to_vec()))).build();
            assert_eq!(DArray::try_from(&theirs.unwrap()).is_ok(), is_taken);
        }
        let numbers = ArrayData::try_from(&counts).unwrap();
        assert_eq!(numbers.child_data()[0].null_count(), 0);
    }

    #[test]
    fn columns_without_elements_are_taken() {
        for (theirs, shape) in [
            (counted().slice(24, 0), &[0][..]),
            (lists(0, 3, counted().slice(0, 0)), &[3, 0]),
            (lists(4, 0, counted().slice(0, 0)), &[0, 4]),
            (ArrayData::new_empty(&DataType::Float64), &[0]),
            (column(DataType::FixedSizeBinary(0), 5, Vec::<u8>::new().into()), &[5]),
        ] {
            let ours = DArray::try_from(&theirs).unwrap();
            assert_eq!(ours.shape(), shape);
        }
    }

    #[test]
    fn nulls_are_refused_with_their_number_and_a_bitmap_without_nulls_is_not() {
        let with = |valid: Vec<bool>| {
            counted().slice(0, 4).into_builder().nulls(Some(NullBuffer::from(valid))).build().unwrap()
        };
        let theirs = with(vec![true, false, false, true]);
        let error = DArray::try_from(&theirs).unwrap_err();
        assert!(error.is_value() && error.to_string().contains("2 of 4"), "{error}");
        assert!(DArray::try_from(&theirs.slice(3, 1)).is_ok(), "this one is not null");
        assert!(DArray::try_from(&with(vec![true; 4])).is_ok());
        // Only elements within the lists count.
        let pairs = lists(2, 2, theirs);
        let error = DArray::try_from(&pairs.slice(1, 1)).unwrap_err();
        assert!(error.to_string().contains("1 of 2"), "{error}");
        let singles = lists(1, 4, with(vec![true, false, false, true]));
        assert!(DArray::try_from(&singles.slice(3, 1)).is_ok());
        // Null lists are refused, too.
        let none =
            lists(2, 2, counted()).into_builder().nulls(Some(NullBuffer::new_null(2))).build().unwrap();
        assert!(DArray::try_from(&none).unwrap_err().to_string().contains("2 of 2"));
    }

    #[test]
    fn what_no_strides_lead_to_is_refused() {
        let bits = column(DataType::Boolean, 3, vec![5u8].into());
        assert!(DArray::try_from(&bits).unwrap_err().to_string().contains("booleans are bits"));
        let fields = vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)];
        let both = ArrayData::builder(DataType::Struct(fields.into())).len(24);
        let both = both.add_child_data(counted()).add_child_data(counted()).build().unwrap();
        let error = DArray::try_from(&both).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("2 columns"), "{error}");
        assert!(error.to_string().contains("from_columns"), "{error}");
        let mut deep = counted();
        for _ in 0..64 {
            deep = lists(1, 24, deep);
        }
        let error = DArray::try_from(&deep).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("65"), "{error}");
    }

    #[test]
    fn parts_that_contradict_each_other_are_refused() {
        // Invalid data that `ArrayData`'s own checks would reject.
        let unchecked = |builder: arrow_data::ArrayDataBuilder| {
            // SAFETY: only `DArray::try_from`, which checks each part before it reads, uses the
            // data; Arrow reads none of it.
            unsafe { builder.build_unchecked() }
        };
        let int = || ArrayData::builder(DataType::Int32);
        let field = || Arc::new(Field::new_list_field(DataType::Int32, true));
        let list = |size| ArrayData::builder(DataType::FixedSizeList(field(), size));
        let three: arrow_buffer::Buffer = vec![1i32, 2, 3].into();
        let huge = usize::MAX;
        for (theirs, says) in [
            (int().len(4).add_buffer(three.clone()), "0..16"),
            (int().len(2).offset(2).add_buffer(three.clone()), "8..16"),
            (int().len(1).offset(huge).add_buffer(three.clone()), "18446744073709551615"),
            (int().len(huge).add_buffer(three.clone()), "18446744073709551615"),
            (int().len(1), "must have one buffer, but has 0"),
            (
                int().len(1).add_buffer(three.clone()).add_buffer(three.clone()),
                "must have one buffer, but has 2",
            ),
            (int().len(3).add_buffer(three.clone()).nulls(Some(NullBuffer::new_null(2))), "2 bits"),
            (list(2).len(1), "must have one child, but has 0"),
            (list(-2).len(1).add_child_data(counted()), "-2"),
            (list(2).len(13).add_child_data(counted()), "0..0+26, but the child column has 24"),
            (list(2).len(1).offset(huge).add_child_data(counted()), "18446744073709551615"),
            (list(2).len(huge).add_child_data(counted()), "18446744073709551615"),
        ] {
            let error = DArray::try_from(&unchecked(theirs)).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.is_bounds() || error.is_overflow() || error.is_malformed(), "{error:?}");
        }
    }

    // ===== export

    #[test]
    fn an_array_goes_out_as_lists_and_comes_back() {
        let vec: Vec<f64> = (0..24).map(f64::from).collect();
        let address = vec.as_ptr();
        let copied = copied_bytes_here();
        let ours = DArray::from_vec(vec, &[2, 3, 4]).unwrap();
        let theirs = ArrayData::try_from(&ours).unwrap();
        theirs.validate_full().unwrap();
        assert_eq!((theirs.len(), theirs.data_type().to_string().matches("FixedSizeList").count()), (2, 2));
        let inner = &theirs.child_data()[0].child_data()[0];
        assert_eq!((inner.len(), inner.buffers()[0].as_ptr()), (24, address.cast()));
        let back = DArray::try_from(&theirs).unwrap();
        assert_eq!(
            (back.shape(), back.strides(), back.as_ptr()),
            (ours.shape(), ours.strides(), ours.as_ptr())
        );
        assert!(back.equals(&ours).unwrap());
        assert_eq!(copied_bytes_here(), copied);
    }

    #[test]
    fn arrow_may_rely_on_constancy_until_its_last_clone_is_gone() {
        let ours = DArray::from_vec(vec![1u16, 2, 3], &[3]).unwrap();
        let theirs = ArrayData::try_from(&ours).unwrap();
        let slice = theirs.slice(1, 2);
        drop(theirs);
        let error = ours.set(&[0], &9u16.into()).unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("a Rust crate"), "{error}");
        assert!(ours.exported().contains(Protocols::CRATE));
        drop(slice);
        ours.set(&[0], &9u16.into()).unwrap();
        // The lease keeps the memory alive in the other direction, too.
        let theirs = ArrayData::try_from(&ours).unwrap();
        drop(ours);
        assert_eq!(theirs.buffer::<u16>(0), [9, 2, 3]);
    }

    #[test]
    fn sub_arrays_are_lists_too() {
        let ours = DArray::from(Array::from_vec(vec![[[1u8, 2], [3, 4], [5, 6]]; 4], [2, 2]).unwrap());
        let theirs = ArrayData::try_from(&ours).unwrap();
        let back = DArray::try_from(&theirs).unwrap();
        assert_eq!((back.shape(), back.dtype()), (&[2, 2, 3, 2][..], &DType::U8));
        assert_eq!(back.as_ptr(), ours.as_ptr());
    }

    #[test]
    fn arrays_without_elements_go_out_from_any_address() {
        for shape in [&[0][..], &[0, 3], &[3, 0, 2], &[0, usize::MAX >> 40]] {
            let theirs = ArrayData::try_from(&DArray::from_vec(Vec::<u64>::new(), shape).unwrap()).unwrap();
            assert_eq!(DArray::try_from(&theirs).unwrap().shape(), shape);
        }
        let bytes = || Buffer::zeroed(0).unwrap();
        for (dtype, shape) in [(DType::void(0).unwrap(), &[5][..]), (DType::void(0).unwrap(), &[2, 3])] {
            let ours = DArray::from_buffer_in_order(bytes(), dtype, shape, Order::RowMajor).unwrap();
            let theirs = ArrayData::try_from(&ours).unwrap();
            assert_eq!((theirs.len(), DArray::try_from(&theirs).unwrap().shape()), (shape[0], shape));
        }
        let bytes = Buffer::from_vec(vec![0u8; 9]).unwrap().slice(1..1).unwrap();
        let nowhere = DArray::from_buffer_in_order(bytes, DType::F64, &[0], Order::RowMajor).unwrap();
        assert!(ArrayData::try_from(&nowhere).unwrap().is_empty());
    }

    #[track_caller]
    fn refused(ours: &DArray, says: &str) -> Error {
        let error = ArrayData::try_from(ours).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        error
    }

    #[test]
    fn what_is_no_column_is_refused_with_its_numbers() {
        let ours = DArray::from_vec((0..24).collect::<Vec<i32>>(), &[4, 6]).unwrap();
        assert!(refused(&ours.transpose().unwrap(), "[4, 24]").is_layout());
        assert!(refused(&ours.slice(s![.., ..3]).unwrap(), "[24, 4]").is_layout());
        assert!(refused(&ours.reverse(0).unwrap(), "-24").is_layout());
        assert!(refused(&ours.slice(s![0, 0]).unwrap(), "rank 0").is_shape());
        assert!(ArrayData::try_from(&ours.slice(s![1..3, ..]).unwrap()).is_ok(), "rows of it are a column");
        let bytes = Buffer::from_vec(vec![0u8; 9]).unwrap().slice(1..).unwrap();
        let unaligned = DArray::from_buffer_in_order(bytes, DType::F64, &[1], Order::RowMajor).unwrap();
        assert!(refused(&unaligned, "multiple of 8").is_alignment());
        let long = DArray::from_buffer_in_order(
            Buffer::zeroed(0).unwrap(),
            DType::U8,
            &[0, 1 << 31],
            Order::RowMajor,
        );
        assert!(refused(&long.unwrap(), "2147483648").is_overflow());
        assert!(
            refused(&DArray::from_vec(vec![crate::element::Bool8::from(true)], &[1]).unwrap(), "bool")
                .is_unsupported()
        );
    }

    #[test]
    fn memory_that_others_may_write_is_refused_and_goes_once_it_is_sealed() {
        let shared =
            DArray::from_buffer_in_order(Buffer::shared(8).unwrap(), DType::I32, &[2], Order::RowMajor);
        let shared = shared.unwrap();
        assert!(refused(&shared, "another owner").is_conflict());
        assert!(ArrayData::try_from(&shared.into_sealed().unwrap()).is_ok());
        let ours = DArray::from_vec(vec![1i32], &[1]).unwrap();
        let writer = ours.lease(crate::memory::LeaseKind::Write).unwrap();
        assert!(refused(&ours, "1 write lease").is_conflict());
        drop(writer);
        let pin = ours.lease(crate::memory::LeaseKind::Pin).unwrap();
        assert!(ArrayData::try_from(&ours).is_ok());
        drop(pin);
    }

    #[test]
    fn memory_of_a_device_is_refused() {
        let device = FencedDevice::new(0);
        for len in [0, 2] {
            let there = Buffer::from_vec(vec![1i32; len]).unwrap().copy_to(&device.memory()).unwrap();
            let there = DArray::from_buffer_in_order(there, DType::I32, &[len], Order::RowMajor).unwrap();
            assert!(refused(&there, "ext_dev:0").is_place());
        }
    }
}
