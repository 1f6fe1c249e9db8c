//! From a buffer that somebody lends to an array.

use crate::element::DType;
use crate::element::dialect::pep3118 as format;
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::view::located::{Describe, Located, malformed};

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

/// A format that stands for items of another size than they are said to have (ctypes writes some for unions and bit fields, and
/// before Python 3.12 for whatever has padding) says nothing: such items are opaque bytes.
impl Describe for Described<'_> {
    const DOING: &'static str = "importing a buffer";

    #[inline]
    fn first(&self) -> *mut u8 {
        self.buf
    }

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
}

impl Described<'_> {
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
