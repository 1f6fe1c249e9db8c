//! From a description in the words of the array interface to an array.

use crate::array::DArray;
use crate::element::DType;
use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::array_interface::abi::{NOTSWAPPED, PyArrayInterface};
use crate::layout::Layout;
use crate::memory::{Birth, Place};
use crate::view::located::{Located, adopt, malformed};

/// What a producer says. About nothing of it is anything known.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// The type string.
    pub typestr: &'a str,
    /// The fields, as a Python literal. It counts where the type string is one of opaque bytes.
    pub descr: Option<&'a str>,
    /// What the producer calls the type elsewhere. It counts where the type string loses what it is: opaque bytes, or none of NumPy's.
    pub name: Option<&'a str>,
    /// The address of element 0.
    pub data: *mut u8,
    /// The lengths of the axes.
    pub shape: &'a [isize],
    /// The distances between neighbours along each axis, in bytes. None stands for row-major order.
    pub strides: Option<&'a [isize]>,
}

/// Takes over what was described. O(rank), and copies nothing.
///
/// `release` is called exactly once: when the last handle or lease goes, on whichever thread that is, or before this returns an error.
///
/// # Errors
///
/// `is_malformed` for a null address with elements, negative lengths, strides for another number of axes, type strings and fields that are
/// none, or contradict each other; `is_unsupported` for object references, types without a fixed width, more than 64 axes, and opaque bytes
/// under a name that is not known; `is_overflow`; `is_out_of_memory`.
///
/// # Safety
///
/// Until `release` is called, all elements that shape and strides reach from `data` are initialised memory, valid for reads, and
/// unless `readonly` is said for writes. If `birth` is `Sole`, nobody else touches them; if `Constant`, nobody writes them; if
/// `Aliased`, others may write them in ways that this program's memory model does not see or that are atomic.
pub unsafe fn import(
    described: &Described<'_>,
    readonly: bool,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<DArray> {
    // SAFETY: the caller's word.
    unsafe { adopt((Place::CPU, described.data), |layout| described.read(layout), readonly, birth, release) }
        .map_err(importing)
}

impl Described<'_> {
    /// What elements there are, and how they lie from element 0 on; about the address nothing is checked. For data that are part of a buffer.
    ///
    /// # Errors
    ///
    /// As [`import`](import()), but for the address.
    pub fn checked(&self) -> Result<(DType, Layout)> {
        let mut layout = Layout::scalar(0);
        let dtype = self.read(&mut layout).map_err(importing)?;
        Ok((dtype, layout))
    }

    pub(super) fn read(&self, layout: &mut Layout) -> Result<DType> {
        let dtype = self.dtype()?;
        let located = Located { shape: self.shape, strides: self.strides, suboffsets: None };
        located.layout_to(dtype.itemsize(), layout)?;
        Ok(dtype)
    }

    fn dtype(&self) -> Result<DType> {
        let plain = typestr::parse(self.typestr);
        let size = match &plain {
            Ok(dtype) if !is_opaque(dtype) => return plain,
            // Object references stay what they are, under whichever name.
            Err(error) if error.is_unsupported() => return plain,
            Ok(dtype) => Some(dtype.itemsize()),
            Err(_) => None,
        };
        if let (Some(descr), Some(size)) = (self.descr, size) {
            let fields = typestr::parse(descr)?;
            // One entry without a name, as NumPy gives it for what has no fields, says nothing.
            if fields.as_record().is_none_or(|record| !record.fields().is_empty()) {
                return match size == fields.itemsize() {
                    true => Ok(fields),
                    false => Err(malformed(format!(
                        "its fields {} have {} bytes, and its type string is {:?}",
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
                format!("elements of the type {name:?} (type string {:?}) are not known", self.typestr),
            )),
        }
    }
}

#[cold]
pub(super) fn importing(error: Error) -> Error {
    error.within("importing an array interface")
}

/// Whether a type string of this dtype may stand for something else.
fn is_opaque(dtype: &DType) -> bool {
    typestr::print(dtype).is_ok_and(|text| text.starts_with("|V"))
}

/// The type string of what a C struct describes.
///
/// # Errors
///
/// `is_malformed` for a struct that does not begin with 2, a negative size, a letter that is none; `is_unsupported` for dates and durations,
/// of which the struct does not say the unit.
pub fn type_string(described: &PyArrayInterface) -> Result<String> {
    let PyArrayInterface { two, typekind, itemsize, flags, .. } = *described;
    if two != 2 {
        return Err(malformed(format!("the struct of an array interface begins with {two}, and not with 2")));
    }
    let kind = char::from(typekind.cast_unsigned());
    let bytes = match kind {
        'M' | 'm' => {
            return Err(Error::new(
                Kind::Unsupported,
                format!("elements of the kind {kind:?} have a unit, which the struct does not say"),
            ));
        }
        // Letters, of four bytes each.
        'U' => itemsize / 4,
        _ => itemsize,
    };
    if !kind.is_ascii_alphabetic() || itemsize < 0 || kind == 'U' && itemsize % 4 != 0 {
        return Err(malformed(format!("elements of the kind {kind:?} with {itemsize} bytes")));
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
