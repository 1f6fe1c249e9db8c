//! Elements taken apart, down to scalars that are moved or converted as one.

use crate::element::{DType, DTypeKind, Scalar, ScalarKind, no_field_among};
use crate::error::{Error, Result};
use crate::kernel::Gaps;
use crate::kernel::device::cast::Numbers;
use crate::kernel::records::has_gaps;
use crate::layout::{Layout, Order};

/// Some part of every element of one side: which bytes it has, and what they are.
#[derive(Clone)]
pub(super) struct End {
    pub(super) dtype: DType,
    pub(super) layout: Layout,
    /// Of its first one, in bytes from where the buffer begins.
    pub(super) offset: usize,
}

impl End {
    /// A part of this part.
    fn part(&self, offset: usize, dtype: &DType) -> Self {
        let (layout, _) = self.layout.part(offset, dtype.itemsize());
        Self { dtype: dtype.clone(), layout, offset: self.offset + offset }
    }

    fn elements(&self, shape: &[usize], base: &DType) -> Result<Self> {
        let inner = Layout::contiguous(shape, base.itemsize(), Order::RowMajor)?;
        Ok(Self { dtype: base.clone(), layout: self.layout.with_inner(&inner)?, offset: self.offset })
    }
}

/// What becomes of a leaf.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Moved,
    /// The bytes of parts so wide are turned around.
    Swapped(usize),
    Cast(Numbers),
}

/// A part of the elements that is moved or converted as one.
pub(super) struct Leaf {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) way: Way,
    /// The names of the fields that it is in.
    pub(super) path: String,
    /// How many axes the elements have that it is a part of.
    pub(super) outer_rank: usize,
}

/// Takes elements apart into the leaves that make one of the other: records by the names of the fields of what they become.
///
/// # Errors
///
/// `is_dtype` where a record has no field of a name, `is_unsupported` for what no kernel converts.
pub(super) fn leaves(from: End, to: End, gaps: Gaps) -> Result<Vec<Leaf>> {
    let (mut list, outer_rank) = (Vec::new(), to.layout.rank());
    add(from, to, gaps, ("", outer_rank), &mut list)?;
    Ok(list)
}

/// Recurses as deep as the dtypes are, which is bounded.
fn add(
    from: End,
    to: End,
    gaps: Gaps,
    (path, outer_rank): (&str, usize),
    list: &mut Vec<Leaf>,
) -> Result<()> {
    let way = match (from.dtype.kind(), to.dtype.kind()) {
        _ if from.dtype == to.dtype && (gaps == Gaps::Fill || !has_gaps(&to.dtype)) => Some(Way::Moved),
        (DTypeKind::Record(source), DTypeKind::Record(target)) => {
            for field in target.fields() {
                let name = field.name();
                let found = source.fields().iter().find(|field| field.name() == name);
                let Some(source) = found else {
                    let error = no_field_among(source.fields(), name);
                    return Err(error.within(format_args!("a record cannot be made of another one")));
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
        (DTypeKind::Scalar(source), DTypeKind::Scalar(target)) => way(source, target),
        _ => None,
    };
    let way = way.ok_or_else(|| no_kernel(&from.dtype, &to.dtype))?;
    list.push(Leaf { from, to, way, path: path.to_owned(), outer_rank });
    Ok(())
}

fn way(source: Scalar, target: Scalar) -> Option<Way> {
    if source.kind() != target.kind() {
        return Numbers::new(source, target).map(Way::Cast);
    }
    // Not every number is a letter.
    let is_text = matches!(source.kind(), ScalarKind::Text(_) | ScalarKind::LongDouble);
    (!is_text).then_some(Way::Swapped(source.kind().component_size()))
}

#[cold]
fn no_kernel(from: &DType, to: &DType) -> Error {
    let (from, to) = (from.brief(), to.brief());
    Error::unsupported(format!(
        "no kernel of a device makes {to} of {from}: copy the array to the host, and cast it there"
    ))
}
