//! Imports a buffer that a producer exports.

use crate::element::DType;
use crate::element::dialect::pep3118 as format;
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::view::located::{Describe, Located, malformed};

/// The fields of C's `Py_buffer` as an exporter filled them in. Nothing in them is checked yet.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// The address of element 0.
    pub buf: *mut u8,
    /// The number of bytes of all elements.
    pub len: isize,
    /// The size of one element.
    pub itemsize: isize,
    /// The format, without its NUL. None stands for unsigned bytes, or for opaque bytes if the item
    /// size is not 1.
    pub format: Option<&'a [u8]>,
    /// The lengths of the axes. None stands for one axis.
    pub shape: Option<&'a [isize]>,
    /// The strides in bytes. None stands for row-major order.
    pub strides: Option<&'a [isize]>,
    /// The suboffsets: an axis with a value that is not negative is followed through pointers.
    pub suboffsets: Option<&'a [isize]>,
}

/// If the format describes items of another size than `itemsize`, the items are opaque bytes.
/// ctypes writes such formats for some unions and bit fields, and before Python 3.12 for any struct
/// with padding.
impl Describe for Described<'_> {
    const DOING: &'static str = "importing a buffer";

    #[inline]
    fn first(&self) -> *mut u8 {
        self.buf
    }

    #[inline]
    fn read(&self, layout: &mut Layout) -> Result<DType> {
        let itemsize = usize::try_from(self.itemsize)
            .map_err(|_| malformed(format!("its item size is {} bytes", self.itemsize)))?;
        let dtype = self.dtype(itemsize)?;
        let is_indirect = self.suboffsets.is_some_and(|all| all.iter().any(|&suboffset| suboffset >= 0));
        if is_indirect && self.strides.is_none() {
            return Err(malformed("it has suboffsets, but no strides"));
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
                "its length is {} bytes, but shape {:?} of {itemsize}-byte items takes {}",
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
                    // A valid format, of items of another size.
                    Ok(_) => DType::void(itemsize),
                    Err(_) => Err(error),
                },
            },
        }
    }

    /// One axis, of as many items as the bytes hold.
    #[cold]
    fn list(&self, itemsize: usize) -> Result<Layout> {
        let items =
            usize::try_from(self.len).map_err(|_| malformed(format!("its length is {} bytes", self.len)))?;
        Layout::contiguous(&[items.checked_div(itemsize).unwrap_or(0)], itemsize, Order::RowMajor)
    }
}
