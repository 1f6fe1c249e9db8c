//! From a buffer that somebody lends to an array.

use crate::array::DArray;
use crate::element::DType;
use crate::element::dialect::pep3118 as format;
use crate::error::{Error, Kind, Result};
use crate::layout::{Layout, MAX_RANK, Order};
use crate::memory::{Birth, Buffer, Place};

/// What an exporter filled in, as it stands in C's `Py_buffer`. About nothing of it is anything known.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// The address of element 0.
    pub buf: *mut u8,
    /// The number of bytes of all elements.
    pub len: isize,
    /// The size of one.
    pub itemsize: isize,
    /// The format, without the NUL behind it. None stands for unsigned bytes, unless the items have another size.
    pub format: Option<&'a [u8]>,
    /// The lengths of the axes. None stands for one axis.
    pub shape: Option<&'a [isize]>,
    /// The distances between neighbours along each axis, in bytes. None stands for row-major order.
    pub strides: Option<&'a [isize]>,
    /// Where pointers have to be followed: an axis of which the number is not negative.
    pub suboffsets: Option<&'a [isize]>,
}

/// Takes over a buffer that was lent. O(rank), and copies nothing.
///
/// `release` is called exactly once: when the last handle or lease goes, on whichever thread that is, or before this returns an error.
///
/// A format that stands for items of another size than they are said to have (ctypes writes some for unions and bit fields, and before
/// Python 3.12 for whatever has padding) says nothing: such items are opaque bytes.
///
/// # Errors
///
/// `is_malformed` for a null address with elements, a negative length or size, a number of bytes that is not what shape and size
/// make; `is_overflow` where shape and strides leave the address space; `is_unsupported` for elements that no other program may
/// touch, and for more than 64 axes; `is_out_of_memory`; as [`parse`](crate::element::dialect::pep3118::parse) for formats that are none.
///
/// # Safety
///
/// Until `release` is called, all elements that shape and strides reach from `buf` are initialised memory, valid for reads, and
/// unless `readonly` is said for writes. If `birth` is `Sole`, nobody else touches them; if `Constant`, nobody writes them; if
/// `Aliased`, others may write them in ways that this program's memory model does not see or that are atomic. Where there are
/// suboffsets, the pointers may be followed now, and each leads to the bytes from the lowest to the highest element behind it.
pub unsafe fn import(
    described: &Described<'_>,
    readonly: bool,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<DArray> {
    let release = OnDrop(Some(release));
    let (dtype, layout) = described.checked().map_err(|error| error.within("importing a buffer"))?;
    if layout.suboffsets().is_some() {
        let release = move || drop(release);
        // SAFETY: the caller's word.
        let array = unsafe { DArray::from_indirect(described.buf, dtype, &layout, birth, release) }?;
        return Ok(if readonly { array.into_readonly() } else { array });
    }
    let span = layout.span();
    let begin = described.buf.wrapping_offset(span.low());
    // SAFETY: from the lowest byte that is reached to the highest, which `checked` found to lie in the address space, the memory is to
    // be used so until `release` is called (the caller's word).
    let buffer =
        unsafe { Buffer::from_foreign(begin, span.nbytes(), Place::CPU, birth, move || drop(release)) }?;
    let array = DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs())?;
    Ok(if readonly { array.into_readonly() } else { array })
}

/// Calls it when it goes.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

impl Described<'_> {
    /// The one check of what an exporter filled in.
    fn checked(&self) -> Result<(DType, Layout)> {
        let itemsize = usize::try_from(self.itemsize)
            .map_err(|_| malformed(format!("its items have {} bytes", self.itemsize)))?;
        let dtype = self.dtype(itemsize)?;
        let is_indirect = self.suboffsets.is_some_and(|all| all.iter().any(|&suboffset| suboffset >= 0));
        if is_indirect && self.strides.is_none() {
            return Err(malformed("it has suboffsets, and no strides to go along before them"));
        }
        let layout = self.layout(itemsize)?;
        if !isize::try_from(layout.nbytes()).is_ok_and(|nbytes| nbytes == self.len) {
            return Err(malformed(format!(
                "it says {} bytes; shape {:?} of items of {itemsize} has {}",
                self.len,
                layout.shape(),
                layout.nbytes()
            )));
        }
        let (low, high) = (layout.span().low(), layout.span().high());
        let first = self.buf.addr();
        if first == 0 && high > low {
            return Err(malformed(format!("its address is null, for {} elements", layout.len())));
        }
        if first.checked_add_signed(low).is_none_or(|low| low == 0 && high > 0)
            || first.checked_add_signed(high).is_none()
        {
            let text =
                format!("address {:p}, bytes {low}..{high} from there, leaves the address space", self.buf);
            return Err(Error::new(Kind::Overflow, text));
        }
        Ok((dtype, layout))
    }

    fn dtype(&self, itemsize: usize) -> Result<DType> {
        match self.format {
            None if itemsize == 1 => Ok(DType::U8),
            None => DType::void(itemsize),
            Some(text) => match format::parse_sized(text, itemsize) {
                Ok(dtype) => Ok(dtype),
                Err(error) => match format::parse(text) {
                    // Well said, of something else.
                    Ok(_) => DType::void(itemsize),
                    Err(_) => Err(error),
                },
            },
        }
    }

    fn layout(&self, itemsize: usize) -> Result<Layout> {
        let Some(given) = self.shape else {
            let items =
                usize::try_from(self.len).map_err(|_| malformed(format!("it has {} bytes", self.len)))?;
            let len = items.checked_div(itemsize).unwrap_or(0);
            return Layout::contiguous(&[len], itemsize, Order::RowMajor);
        };
        if given.len() > MAX_RANK {
            let text = format!("it has {} axes, and {MAX_RANK} is the most", given.len());
            return Err(Error::new(Kind::Unsupported, text));
        }
        let mut shape = [0; MAX_RANK];
        let shape = &mut shape[..given.len()];
        for (axis, (len, &given)) in shape.iter_mut().zip(given).enumerate() {
            *len = usize::try_from(given)
                .map_err(|_| malformed(format!("axis {axis} has the length {given}")))?;
        }
        match self.strides {
            Some(strides) if strides.len() != shape.len() => {
                Err(malformed(format!("it has {} strides for {} axes", strides.len(), shape.len())))
            }
            // Without elements the strides are never used, whatever they are.
            Some(strides) if !shape.contains(&0) => match self.suboffsets {
                Some(all) if all.iter().any(|&suboffset| suboffset >= 0) => {
                    let followed = |&suboffset: &isize| (suboffset >= 0).then_some(suboffset);
                    let suboffsets: Vec<_> = all.iter().map(followed).collect();
                    Layout::with_suboffsets(shape, strides, &suboffsets, itemsize)
                }
                _ => Layout::new(shape, strides, itemsize),
            },
            _ => Layout::contiguous(shape, itemsize, Order::RowMajor),
        }
    }
}

#[cold]
fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}
