//! From a buffer that somebody lends to an array.

use std::mem::MaybeUninit;

use crate::array::DArray;
use crate::element::DType;
use crate::element::dialect::pep3118 as format;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::memory::{Birth, Place};
use crate::view::located::{Located, adopt, adopt_to, malformed};

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
    // SAFETY: the caller's word.
    unsafe { adopt((Place::CPU, described.buf), |layout| described.read(layout), readonly, birth, release) }
        .map_err(importing)
}

/// As [`import`](import()), made where it is to stay, whose owner drops it: for objects of an interpreter.
///
/// # Errors
///
/// As [`import`](import()); nothing is in the place then.
///
/// # Safety
///
/// As for [`import`](import()).
#[inline]
pub unsafe fn import_to<'a>(
    place: &'a mut MaybeUninit<DArray>,
    described: &Described<'_>,
    readonly: bool,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<&'a mut DArray> {
    // SAFETY: the caller's word.
    unsafe {
        adopt_to(
            place,
            (Place::CPU, described.buf),
            |layout| described.read(layout),
            readonly,
            birth,
            release,
        )
    }
    .map_err(importing)
}

#[cold]
fn importing(error: Error) -> Error {
    error.within("importing a buffer")
}

impl Described<'_> {
    /// The one check of what an exporter filled in, but for the address.
    #[inline]
    fn read(&self, layout: &mut Layout) -> Result<DType> {
        let itemsize = usize::try_from(self.itemsize)
            .map_err(|_| malformed(format!("its items have {} bytes", self.itemsize)))?;
        let dtype = self.dtype(itemsize)?;
        let is_indirect = self.suboffsets.is_some_and(|all| all.iter().any(|&suboffset| suboffset >= 0));
        if is_indirect && self.strides.is_none() {
            return Err(malformed("it has suboffsets, and no strides to go along before them"));
        }
        match self.shape {
            Some(shape) => {
                let located = Located { shape, strides: self.strides, suboffsets: self.suboffsets };
                located.layout_to(itemsize, layout)?;
            }
            None => *layout = self.list(itemsize)?,
        }
        if layout.nbytes() != self.len.cast_unsigned() {
            return Err(malformed(format!(
                "it says {} bytes; shape {:?} of items of {itemsize} has {}",
                self.len,
                layout.shape(),
                layout.nbytes()
            )));
        }
        Ok(dtype)
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

    /// One axis, of as many items as there are bytes for.
    #[cold]
    fn list(&self, itemsize: usize) -> Result<Layout> {
        let items = usize::try_from(self.len).map_err(|_| malformed(format!("it has {} bytes", self.len)))?;
        Layout::contiguous(&[items.checked_div(itemsize).unwrap_or(0)], itemsize, Order::RowMajor)
    }
}
