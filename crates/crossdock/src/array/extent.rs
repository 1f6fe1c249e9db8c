//! The byte ranges of arrays, to decide whether two arrays overlap.

use crate::array::{DArray, overlap};
use crate::error::{Error, Kind, Result, try_with_capacity};
use crate::kernel;
use crate::layout::{Layout, Span};
use crate::memory::overlap::{Extent, OverlapOperand, any_meet, is_elsewhere, meet, meet_by_mapping};

/// The addresses of the lowest bytes of all rows behind pointers, and how many bytes a row spans.
struct RowStarts {
    starts: Vec<usize>,
    nbytes: usize,
}

impl DArray {
    /// Whether the two arrays may share bytes, in any allocations. `false` is certain; `true` may
    /// be due to gaps between elements. O(1), or O(rows log rows) if rows lie behind pointers.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` for a list of rows.
    #[doc(hidden)]
    pub fn may_overlap(&self, other: &Self) -> Result<bool> {
        if self.nbytes() == 0 || other.nbytes() == 0 {
            return Ok(false);
        }
        let (own, others) = (self.rows()?, other.rows()?);
        let (here, there) = (self.hull(own.as_ref()), other.hull(others.as_ref()));
        if !meet(here, there) {
            return Ok(meet_by_mapping(self.operand(here), other.operand(there)));
        }
        Ok(match (&own, &others) {
            (None, None) => !self.lies_between(other),
            (Some(rows), None) => meets_any(other.hull(None), self.extents(rows)),
            (None, Some(rows)) => meets_any(self.hull(None), other.extents(rows)),
            (Some(own), Some(others)) => any_meet(self.extents(own), other.extents(others)),
        })
    }

    /// Checks that no two elements share bytes. Behind pointers the check is weaker: rows with gaps
    /// may interleave, so they pass if their first elements do not overlap.
    ///
    /// # Errors
    ///
    /// `is_layout` if elements overlap; `is_out_of_memory` for a list of rows.
    pub(super) fn check_apart(&self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let is_apart = match self.rows()? {
            None => self.layout().is_injective(),
            Some(RowStarts { mut starts, nbytes }) => {
                let depth = self.layout().indirect_axes();
                let (outer, inner) = self.shape().split_at(depth);
                let row = Layout::new(inner, &self.strides()[depth..], self.layout().itemsize())?;
                starts.sort_unstable();
                let least = if row.order().is_some() { nbytes } else { row.itemsize() };
                starts.len() == outer.iter().product::<usize>()
                    && row.is_injective()
                    && starts.windows(2).all(|pair| pair[1] - pair[0] >= least)
            }
        };
        let refusal = || Error::new(Kind::Layout, overlap(self.shape(), self.strides()));
        if is_apart { Ok(()) } else { Err(refusal()) }
    }

    /// Whether the arrays share no element byte although their spans overlap, such as two columns
    /// of one table. Only for memory that is mapped at one address range: a second range could
    /// place the elements differently.
    fn lies_between(&self, other: &Self) -> bool {
        let is_here = |array: &Self| array.place().is_host() && !is_elsewhere(array.hull(None));
        is_here(self)
            && is_here(other)
            && self.layout().interleaves(self.as_ptr().addr(), other.layout(), other.as_ptr().addr())
    }

    /// Whether both show the same elements, with the same dtype, in the same order.
    pub(super) fn is_same_view(&self, other: &Self) -> bool {
        self.as_ptr() == other.as_ptr() && self.layout() == other.layout() && self.dtype() == other.dtype()
    }

    /// All bytes from the lowest to the highest.
    fn hull(&self, rows: Option<&RowStarts>) -> Extent {
        match rows {
            None => self.extent(self.as_ptr().addr(), self.layout().span()),
            Some(RowStarts { starts, nbytes }) => {
                let (low, high) = starts.iter().fold((usize::MAX, 0), |(low, high), &start| {
                    (low.min(start), high.max(start.saturating_add(*nbytes)))
                });
                Extent::of(self.raw().handle(), low, high.saturating_sub(low))
            }
        }
    }

    fn operand(&self, extent: Extent) -> OverlapOperand<'_> {
        OverlapOperand { header: self.raw().handle().header(), extent }
    }

    fn extents(&self, rows: &RowStarts) -> impl Iterator<Item = Extent> {
        rows.starts.iter().map(|&start| Extent::of(self.raw().handle(), start, rows.nbytes))
    }

    fn extent(&self, at: usize, span: Span) -> Extent {
        Extent::of(self.raw().handle(), span.start(at), span.nbytes())
    }

    /// The rows that the pointers of an indirect array lead to; `None` for a direct array. Along
    /// axes that repeat a pointer (stride 0), it is followed once.
    fn rows(&self) -> Result<Option<RowStarts>> {
        // Without elements no pointer may be followed, even if only an axis behind the pointers is
        // empty.
        if !self.is_indirect() || self.is_empty() {
            return Ok(None);
        }
        let (layout, depth) = (self.layout(), self.layout().indirect_axes());
        let (shape, strides) = (layout.shape(), layout.strides());
        let behind = Layout::new(&shape[depth..], &strides[depth..], layout.itemsize())?.span();
        let differs = |(&len, &stride): (&usize, &isize)| if stride == 0 { len.min(1) } else { len };
        let outer: Vec<usize> = shape[..depth].iter().zip(strides).map(differs).collect();
        let count = outer.iter().product();
        let mut starts = try_with_capacity(count)?;
        let mut index = vec![0; shape.len()];
        for row in 0..count {
            kernel::set_index(&mut index[..depth], &outer, row);
            // SAFETY: DArray 1: `layout` goes with this pointer and follows only pointers of this
            // array's table, which are never written (RawArray 3).
            let at = unsafe { kernel::element_at(self.raw().ptr().as_ptr(), layout, &index) }?;
            starts.push(behind.start(at.addr()));
        }
        Ok(Some(RowStarts { starts, nbytes: behind.nbytes() }))
    }
}

fn meets_any(one: Extent, mut others: impl Iterator<Item = Extent>) -> bool {
    others.any(|other| meet(one, other))
}
