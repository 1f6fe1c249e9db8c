//! A work with its arrays.

use std::sync::Arc;

use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::device::{self, MemoryManager};
use crossdock::element::{DType, DTypeKind};
use crossdock::layout::{Layout, Order};
use crossdock::memory::Place;
use crossdock::{Casting, DArray};

use crate::numbers::Numbers;
use crate::{Operation, Result, Work};

/// Extents up to this one do not shrink: they are an essential part of the work.
const SMALL: usize = 16;
/// The bytes of a cache line.
const LINE: usize = 64;
/// The minimum of larger extents after shrinking.
const LEAST: usize = 32;

/// A work with its arrays. All engines write to the same target, so that they use the same pages.
pub struct Task {
    work: &'static Work,
    shape: Vec<usize>,
    /// The whole array of which the source is a view.
    base: DArray,
    source: DArray,
    target: DArray,
    expected: DArray,
}

impl Task {
    /// Creates the arrays. Each extent is divided by `shrink`.
    ///
    /// # Errors
    ///
    /// If the table is inconsistent, or memory is exhausted.
    pub fn new(work: &'static Work, shrink: usize) -> Result<Self> {
        Self::made(work, shrink, naive)
    }

    /// The same with source and target in memory of a device. The expected result is the library's
    /// own on the host, since a naive one takes too long for so many elements.
    ///
    /// # Errors
    ///
    /// As [`Task::new`]; the device's error.
    pub fn on(memory: &Arc<dyn MemoryManager>, work: &'static Work, shrink: usize) -> Result<Self> {
        let by_the_host =
            |source: &DArray, to: &DType| Ok(source.cast(to, Order::RowMajor, Casting::Saturating)?);
        let Self { base, shape, target, expected, .. } = Self::made(work, shrink, by_the_host)?;
        let (base, target) = (moved(&base, memory)?, moved(&target, memory)?);
        let source = read_from(work, &base, &shape)?;
        Ok(Self { work, shape, base, source, target, expected })
    }

    fn made(
        work: &'static Work,
        shrink: usize,
        answer: impl FnOnce(&DArray, &DType) -> Result<DArray>,
    ) -> Result<Self> {
        let [from, to] = [work.dtype, work.into].map(str::parse::<DType>);
        let (from, to) = (from?, to?);
        let less = |len: &usize| if *len <= SMALL { *len } else { (len / shrink).max(LEAST) };
        let shape: Vec<usize> = work.shape.iter().map(less).collect();
        let base = match work.operation {
            Operation::Assign | Operation::AssignAndRead | Operation::New => numbered(&from, &to, &shape)?,
            Operation::Fill => numbered(&from, &to, &vec![1; shape.len()])?,
        };
        let source = read_from(work, &base, &shape)?;
        let expected = answer(&source, &to)?;
        let target = DArray::zeros(to, source.shape(), Order::RowMajor)?;
        Ok(Self { work, shape, base, source, target, expected })
    }

    /// The work.
    pub fn work(&self) -> &'static Work {
        self.work
    }

    /// The whole array that [`Task::source`] is a view of.
    pub fn base(&self) -> &DArray {
        &self.base
    }

    /// The source.
    pub fn source(&self) -> &DArray {
        &self.source
    }

    /// The target, which is C-contiguous.
    pub fn target(&self) -> &DArray {
        &self.target
    }

    /// The expected content of the target.
    pub fn expected(&self) -> &DArray {
        &self.expected
    }

    /// The mean of the bytes read and written: as many as `memcpy` copies in comparison.
    pub fn nbytes(&self) -> usize {
        self.source.nbytes().midpoint(self.target.nbytes())
    }

    /// The mean of the bytes that are touched: of the target, and of the whole cache lines that
    /// the source has elements in. A target with gaps between its fields is also read: an
    /// assignment leaves the gaps as they are, so the rest of their lines must stay.
    pub fn touched_nbytes(&self) -> usize {
        let read_again = if has_gaps(self.target.dtype()) { self.target.nbytes() } else { 0 };
        (touched_nbytes(&self.source) + read_again).midpoint(self.target.nbytes())
    }

    /// Whether the target equals the source's memory, byte for byte.
    pub fn is_plain_copy(&self) -> bool {
        let is_assigned = matches!(self.work.operation, Operation::Assign | Operation::AssignAndRead);
        let is_straight = self.source.layout().is_contiguous(Order::RowMajor);
        is_assigned
            && is_straight
            && self.source.dtype() == self.target.dtype()
            && self.source.place().is_host()
    }

    /// Reads all of the target with a plain loop that the compiler vectorises, and returns the sum
    /// of its words.
    ///
    /// # Errors
    ///
    /// `is_conflict` while a Write lease is held.
    pub fn read_target(&self) -> Result<usize> {
        let (buffer, _) = self.target.buffer()?;
        let bytes = buffer.read()?;
        // A sum, so that the compiler cannot skip any byte.
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
        Ok(rest.iter().fold(sum, |sum, &byte| sum.wrapping_add(byte.into())) as usize)
    }

    /// Overwrites the target, so that no earlier result is left.
    ///
    /// # Errors
    ///
    /// `is_conflict` while another lease is held.
    pub fn spoil(&self) -> Result {
        let (buffer, _) = self.target.buffer()?;
        if buffer.is_host() {
            buffer.write()?.fill(0);
        } else {
            Buffer::zeroed(buffer.nbytes())?.copy_into(&buffer)?;
        }
        Ok(())
    }

    /// Whether an array is the expected result.
    ///
    /// # Errors
    ///
    /// `is_conflict` while another lease is held.
    pub fn is_done(&self, result: &DArray) -> Result<bool> {
        let [result, expected] = [result, &self.expected].map(DArray::buffer);
        let (mut result, expected) = (result?.0, expected?.0);
        if !result.is_host() {
            result = result.copy_to(&device::memory(Place::CPU)?)?;
        }
        Ok(result.read()?[..] == expected.read()?[..])
    }

    /// Performs the work into the target, as a program that uses the library does.
    ///
    /// # Errors
    ///
    /// As [`DArray::assign`].
    pub fn assign(&self) -> Result<(), crossdock::Error> {
        self.target.assign(&self.source, Casting::Saturating)
    }

    /// The same, into a new array.
    ///
    /// # Errors
    ///
    /// As [`DArray::cast`].
    pub fn cast(&self) -> Result<DArray, crossdock::Error> {
        if self.source.dtype() == self.target.dtype() {
            self.source.to_order(Order::RowMajor)
        } else {
            self.source.cast(self.target.dtype(), Order::RowMajor, Casting::Saturating)
        }
    }
}

/// The bytes of the cache lines in which an array has elements, if its first one begins a line.
fn touched_nbytes(array: &DArray) -> usize {
    let mut axes: Vec<(usize, usize)> = array
        .strides()
        .iter()
        .map(|stride| stride.unsigned_abs())
        .zip(array.shape().iter().copied())
        .collect();
    axes.sort_unstable();
    // The bytes from the first element to the last one of a run without an unused line, and how
    // many such runs there are.
    let (mut run, mut runs) = (array.dtype().itemsize(), 1);
    for (stride, len) in axes {
        if stride <= run.next_multiple_of(LINE) {
            run += stride * (len - 1);
        } else {
            runs *= len;
        }
    }
    if runs == 1 { run } else { runs * run.next_multiple_of(LINE) }
}

/// Whether a record has bytes that belong to no field.
fn has_gaps(dtype: &DType) -> bool {
    let fields = parts(dtype);
    fields.iter().map(|(_, _, field)| field.itemsize()).sum::<usize>() < dtype.itemsize()
}

/// A contiguous copy in other memory.
fn moved(array: &DArray, memory: &Arc<dyn MemoryManager>) -> Result<DArray> {
    let (buffer, at) = array.buffer()?;
    Ok(DArray::from_buffer(buffer.copy_to(memory)?, array.dtype().clone(), array.layout().clone(), at)?)
}

/// The view of the whole array that a work reads.
fn read_from(work: &Work, base: &DArray, shape: &[usize]) -> Result<DArray> {
    if work.operation == Operation::Fill {
        return Ok(base.broadcast_to(shape)?);
    }
    let source = if work.axes.is_empty() { base.clone() } else { base.permute(work.axes)? };
    Ok(if work.at.is_empty() { source } else { source.at(work.at)? })
}

/// The scalars of an element: name of the field, offset, and dtype.
fn parts(dtype: &DType) -> Vec<(&str, usize, &DType)> {
    match dtype.kind() {
        DTypeKind::Record(record) => {
            record.fields().iter().map(|field| (field.name(), field.offset(), field.dtype())).collect()
        }
        _ => vec![("", 0, dtype)],
    }
}

/// An array of numbers that both types can represent.
fn numbered(from: &DType, to: &DType, shape: &[usize]) -> Result<DArray> {
    let itemsize = from.itemsize();
    let mut bytes = MutableBuffer::new()?;
    bytes.resize(shape.iter().product::<usize>() * itemsize)?;
    // Whether a number may be negative also depends on the other type.
    let other = Numbers::of(to).map_or(usize::MAX, |numbers| numbers.len());
    for (place, (_, offset, dtype)) in parts(from).into_iter().enumerate() {
        let numbers = Numbers::of(dtype)?;
        let many = numbers.len().min(other) as u64;
        for (index, element) in bytes.chunks_exact_mut(itemsize).enumerate() {
            let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (place as u64) << 7) >> 33;
            element[offset..][..dtype.itemsize()].copy_from_slice(numbers.get((mixed % many) as usize));
        }
    }
    DArray::from_buffer(
        bytes.freeze(),
        from.clone(),
        Layout::contiguous(shape, itemsize, Order::RowMajor)?,
        0,
    )
    .map_err(Into::into)
}

/// The expected result, element by element: the same number in the other type.
fn naive(source: &DArray, to: &DType) -> Result<DArray> {
    let from = source.dtype();
    let (buffer, first) = source.buffer()?;
    let bytes = buffer.read()?;
    let mut result = vec![0u8; source.len() * to.itemsize()];
    let mut pairs = Vec::new();
    for (name, at, dtype) in parts(to) {
        let field = parts(from).into_iter().find(|(other, ..)| *other == name);
        let (_, from_at, from_dtype) = field.ok_or_else(|| format!("{from} has no field {name:?}"))?;
        pairs.push((from_at, Numbers::of(from_dtype)?, at, Numbers::of(dtype)?, from_dtype == dtype));
    }
    let mut index = vec![0usize; source.rank()];
    for element in result.chunks_exact_mut(to.itemsize()) {
        let steps = index.iter().zip(source.strides()).map(|(&index, stride)| index as isize * stride);
        let offset = first.checked_add_signed(steps.sum()).ok_or("an element lies before its memory")?;
        for (from_at, from, at, to, same) in &pairs {
            let read = &bytes[offset + from_at..][..from.get(0).len()];
            let written = if *same { read } else { to.get(from.find(read).ok_or("no number is there")?) };
            element[*at..][..written.len()].copy_from_slice(written);
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < source.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    let layout = Layout::contiguous(source.shape(), to.itemsize(), Order::RowMajor)?;
    Ok(DArray::from_buffer(Buffer::from_vec(result)?, to.clone(), layout, 0)?)
}

#[cfg(test)]
mod tests {
    use crate::{DEVICE_WORKS, Task, WORKS};

    #[test]
    fn every_work_comes_out_as_the_naive_way_says() {
        for work in WORKS.iter().chain(DEVICE_WORKS) {
            let task = Task::new(work, 1024).unwrap_or_else(|error| panic!("{}: {error}", work.name));
            assert!(task.source().len() >= 32, "{} has {} elements", work.name, task.source().len());
            assert!(!task.is_done(task.target()).unwrap(), "{} is done before it began", work.name);
            task.assign().unwrap_or_else(|error| panic!("{}: {error}", work.name));
            assert!(task.is_done(task.target()).unwrap(), "{}", work.name);
            assert!(task.is_done(&task.cast().unwrap()).unwrap(), "{}", work.name);
            task.spoil().unwrap();
            assert!(!task.is_done(task.target()).unwrap(), "{} is done, although nothing is left", work.name);
        }
    }

    #[test]
    fn bytes_between_the_elements_are_touched_with_their_cache_line() {
        let touched = |name: &str| {
            let task = Task::new(WORKS.iter().find(|work| work.name == name).unwrap(), 64).unwrap();
            (task.source().nbytes(), super::touched_nbytes(task.source()))
        };
        let (every_other, lines) = touched("f32 every other of 32 Mi");
        assert_eq!(lines, 2 * every_other - 4);
        let (field, lines) = touched("i64 field of 24-byte records, 4 Mi");
        assert_eq!(lines, 3 * field - 16);
        // Rows of 48 floats in rows of 64: the last of four lines is never touched.
        assert_eq!(touched("f32 4096 rows of 4080, padded"), (64 * 48 * 4, 64 * 48 * 4));
        let (all, lines) = touched("f64 256^3 permuted 201");
        assert_eq!(lines, all);
        // Gaps between the fields of a target stay, so it is read as well as written.
        let of = |name: &str| {
            let task = Task::new(WORKS.iter().find(|work| work.name == name).unwrap(), 64).unwrap();
            (task.touched_nbytes(), task.source().nbytes(), task.target().nbytes())
        };
        let (touched, packed, aligned) = of("records packed to aligned, 4 Mi");
        assert_eq!(2 * touched, packed + 2 * aligned);
        let (touched, aligned, packed) = of("records aligned to packed, 4 Mi");
        assert_eq!(touched, aligned.midpoint(packed));
    }

    #[test]
    fn extents_that_are_part_of_a_work_stay() {
        let image = WORKS.iter().find(|work| work.name.starts_with("u8 HWC")).unwrap();
        let task = Task::new(image, 60).unwrap();
        assert_eq!((task.base().shape(), task.source().shape()), (&[36, 64, 3][..], &[3, 36, 64][..]));
    }
}
