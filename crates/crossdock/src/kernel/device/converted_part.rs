//! Divides elements into parts that are moved or converted as one.

use crate::element::{DType, DTypeKind, Scalar, ScalarKind, no_field_among};
use crate::error::{Advice, Error, Result};
use crate::kernel::Gaps;
use crate::kernel::device::cast::DeviceCast;
use crate::kernel::records::has_gaps;
use crate::layout::{Layout, Order};

/// A part of every element of the source or of the destination: its dtype and its place.
#[derive(Clone)]
pub(super) struct PartEndpoint {
    pub(super) dtype: DType,
    pub(super) layout: Layout,
    /// The offset of the first one, in bytes from the start of the buffer.
    pub(super) offset: usize,
}

impl PartEndpoint {
    /// A part of this part, `offset` bytes into it.
    fn part(&self, offset: usize, dtype: &DType) -> Self {
        let (layout, _) = self.layout.part(offset, dtype.itemsize());
        Self { dtype: dtype.clone(), layout, offset: self.offset + offset }
    }

    fn elements(&self, shape: &[usize], base: &DType) -> Result<Self> {
        let inner = Layout::contiguous(shape, base.itemsize(), Order::RowMajor)?;
        Ok(Self { dtype: base.clone(), layout: self.layout.with_inner(&inner)?, offset: self.offset })
    }
}

/// How a part is converted.
#[derive(Clone, Copy)]
pub(super) enum PartConversion {
    Moved,
    /// The bytes of parts of this width are swapped.
    Swapped(usize),
    Cast(DeviceCast),
}

/// A part of the elements that is moved or converted as one.
pub(super) struct ConvertedPart {
    pub(super) from: PartEndpoint,
    pub(super) to: PartEndpoint,
    pub(super) conversion: PartConversion,
    /// The names of the fields that contain it.
    pub(super) path: String,
    /// The rank of the array of elements that it is a part of.
    pub(super) outer_rank: usize,
}

/// Divides elements into the parts that convert one dtype to the other: records by the names of the
/// destination's fields.
///
/// # Errors
///
/// `is_dtype` where a record lacks a field, `is_unsupported` for dtypes that no kernel converts.
pub(super) fn converted_parts(
    from: PartEndpoint,
    to: PartEndpoint,
    gaps: Gaps,
) -> Result<Vec<ConvertedPart>> {
    let (mut list, outer_rank) = (Vec::new(), to.layout.rank());
    add(from, to, gaps, ("", outer_rank), &mut list)?;
    Ok(list)
}

/// Recurses to the depth of the dtypes, which is bounded.
fn add(
    from: PartEndpoint,
    to: PartEndpoint,
    gaps: Gaps,
    (path, outer_rank): (&str, usize),
    list: &mut Vec<ConvertedPart>,
) -> Result<()> {
    let conversion = match (from.dtype.kind(), to.dtype.kind()) {
        _ if from.dtype == to.dtype && (gaps == Gaps::Fill || !has_gaps(&to.dtype)) => {
            Some(PartConversion::Moved)
        }
        (DTypeKind::Record(source), DTypeKind::Record(target)) => {
            for field in target.fields() {
                let name = field.name();
                let found = source.fields().iter().find(|field| field.name() == name);
                let Some(source) = found else {
                    let error = no_field_among(source.fields(), name);
                    return Err(
                        error.within(format_args!("a record cannot be converted to a different record"))
                    );
                };
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                let parts =
                    (from.part(source.offset(), source.dtype()), to.part(field.offset(), field.dtype()));
                add(parts.0, parts.1, gaps, (&path, outer_rank), list)?;
            }
            return Ok(());
        }
        (DTypeKind::SubArray(source), DTypeKind::SubArray(target)) if source.shape() == target.shape() => {
            let from = from.elements(source.shape(), source.base())?;
            let to = to.elements(target.shape(), target.base())?;
            return add(from, to, gaps, (path, outer_rank), list);
        }
        (DTypeKind::Scalar(source), DTypeKind::Scalar(target)) => conversion(source, target),
        _ => None,
    };
    let conversion = conversion.ok_or_else(|| no_kernel(&from.dtype, &to.dtype))?;
    list.push(ConvertedPart { from, to, conversion, path: path.to_owned(), outer_rank });
    Ok(())
}

fn conversion(source: Scalar, target: Scalar) -> Option<PartConversion> {
    if source.kind() != target.kind() {
        return DeviceCast::new(source, target).map(PartConversion::Cast);
    }
    // Swaps may move anything but text, in which not every number is a letter.
    let is_text = matches!(source.kind(), ScalarKind::Text(_) | ScalarKind::LongDouble);
    (!is_text).then_some(PartConversion::Swapped(source.kind().component_size()))
}

#[cold]
fn no_kernel(from: &DType, to: &DType) -> Error {
    let (from, to) = (from.brief(), to.brief());
    Error::unsupported(format!("devices have no kernel that casts {from} to {to}"))
        .advising(Advice::CastOnCpu)
}
