//! Imports an array that the array interface describes.

use crate::element::DType;
use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::array_interface::abi::{NOTSWAPPED, PyArrayInterface};
use crate::layout::Layout;
use crate::view::located::{Describe, Located, importing, malformed};

/// A producer's description. Nothing in it is checked yet.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// The type string.
    pub typestr: &'a str,
    /// The fields, as a Python literal. Used if the type string is opaque bytes.
    pub descr: Option<&'a str>,
    /// The name of the type elsewhere at the producer. Used if the type string loses the type:
    /// opaque bytes, or not a type of NumPy's.
    pub name: Option<&'a str>,
    /// The address of element 0.
    pub data: *mut u8,
    /// The lengths of the axes.
    pub shape: &'a [isize],
    /// The strides in bytes. None stands for row-major order.
    pub strides: Option<&'a [isize]>,
}

impl Describe for Described<'_> {
    const DOING: &'static str = "importing an array interface";

    fn first(&self) -> *mut u8 {
        self.data
    }

    fn read(&self, layout: &mut Layout) -> Result<DType> {
        let dtype = self.dtype()?;
        let located = Located { shape: self.shape, strides: self.strides, suboffsets: None };
        located.layout_to(dtype.itemsize(), layout)?;
        Ok(dtype)
    }
}

impl Described<'_> {
    /// The element type and the layout from element 0 on, for data that are part of a buffer. The
    /// address is not checked.
    ///
    /// # Errors
    ///
    /// As [`import`](super::import()), except for the address.
    pub fn checked(&self) -> Result<(DType, Layout)> {
        let mut layout = Layout::scalar(0);
        let dtype = self.read(&mut layout).map_err(importing::<Self>)?;
        Ok((dtype, layout))
    }

    fn dtype(&self) -> Result<DType> {
        let plain = typestr::parse(self.typestr);
        let size = match &plain {
            Ok(dtype) if !is_opaque(dtype) => return plain,
            // Object references stay unsupported, under any name.
            Err(error) if error.is_unsupported() => return plain,
            Ok(dtype) => Some(dtype.itemsize()),
            Err(_) => None,
        };
        if let (Some(descr), Some(size)) = (self.descr, size) {
            let fields = typestr::parse(descr)?;
            // NumPy describes a type without fields as one entry without a name.
            if fields.as_record().is_none_or(|record| !record.fields().is_empty()) {
                return match size == fields.itemsize() {
                    true => Ok(fields),
                    false => Err(malformed(format!(
                        "its fields {} have {} bytes, but its type string is {:?}",
                        fields.brief(),
                        fields.itemsize(),
                        self.typestr
                    ))),
                };
            }
        }
        let Some(name) = self.name.filter(|name| !name.starts_with("void")) else { return plain };
        match name.parse::<DType>() {
            Ok(dtype) if size.is_none_or(|size| size == dtype.itemsize()) => Ok(dtype),
            _ => Err(Error::new(
                Kind::Unsupported,
                format!("elements of type {name:?} (type string {:?}) are unknown", self.typestr),
            )),
        }
    }
}

/// Whether a type string of this dtype may stand for another type.
fn is_opaque(dtype: &DType) -> bool {
    typestr::print(dtype).is_ok_and(|text| text.starts_with("|V"))
}

/// The type string of a C struct's elements.
///
/// # Errors
///
/// `is_malformed` for a struct that does not begin with 2, a negative size, and an unknown kind;
/// `is_unsupported` for dates and durations, whose unit the struct lacks.
pub fn type_string(described: &PyArrayInterface) -> Result<String> {
    let PyArrayInterface { two, typekind, itemsize, flags, .. } = *described;
    if two != 2 {
        return Err(malformed(format!("the struct of an array interface begins with {two}, not with 2")));
    }
    // C's `char` is signed on some platforms.
    let kind = char::from(u8::from_ne_bytes(typekind.to_ne_bytes()));
    let bytes = match kind {
        'M' | 'm' => {
            return Err(Error::new(
                Kind::Unsupported,
                format!("elements of kind {kind:?} have a unit, which the struct does not contain"),
            ));
        }
        // The size counts bytes; a letter has four.
        'U' => itemsize / 4,
        _ => itemsize,
    };
    if !kind.is_ascii_alphabetic() || itemsize < 0 || kind == 'U' && itemsize % 4 != 0 {
        return Err(malformed(format!("elements of kind {kind:?} cannot have {itemsize} bytes")));
    }
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let other = if cfg!(target_endian = "little") { '>' } else { '<' };
    let order = match kind {
        'b' | 'S' | 'V' => '|',
        _ if itemsize == 1 => '|',
        _ if flags & NOTSWAPPED != 0 => native,
        _ => other,
    };
    Ok(format!("{order}{kind}{bytes}"))
}
