//! Assignment between most arrays: on the host, apart, and leased by one atomic step each.
//!
//! Reasons: `DESIGN.md`, "Small work takes no plan".

use crate::array::DArray;
use crate::error::Result;
use crate::kernel::{self, Casting, Gaps};
use crate::memory::LeaseKind;
use crate::memory::overlap::{Extent, OverlapOperand, are_apart};

impl DArray {
    /// [`DArray::assign`] of one run of bytes, if neither a lease nor the overlap takes more than a
    /// few loads and two atomic steps. `None`, with nothing written, in all other cases.
    #[inline]
    pub(super) fn assign_run(&self, source: &Self) -> Option<Result<()>> {
        let nbytes = self.layout().one_run_with(source.layout())?;
        let dtype = self.dtype().as_scalar()?;
        if nbytes > kernel::SMALL_RUN || source.dtype().as_scalar() != Some(dtype) {
            return None;
        }
        if !self.is_apart_at_once(source, [0; 2], [nbytes; 2]) {
            return None;
        }
        let (_ours, _theirs) =
            (self.raw.brief_lease(LeaseKind::Share)?, source.raw.brief_lease(LeaseKind::Pin)?);
        // SAFETY: 1. `one_run_with`: the `nbytes` bytes from element 0 on are the elements of the
        // source (DArray 1), under the Pin lease `_theirs`; 2. and those of this array, under the
        // Share lease `_ours`; 3. no byte belongs to both (`is_apart_at_once`).
        unsafe { kernel::copy_small_run(source.as_ptr(), self.as_ptr().cast_mut(), nbytes) };
        Some(source.check_fault())
    }

    /// [`DArray::assign`] of a few contiguous numbers of another dtype, if neither a lease nor the
    /// overlap takes more than a few loads and two atomic steps. `None` in all other cases, and if
    /// a number does not fit: then any of the others may have been written.
    #[inline(never)]
    pub(super) fn assign_numbers(&self, source: &Self, casting: Casting) -> Option<Result<()>> {
        let (from, to) = (source.dtype().as_scalar()?, self.dtype().as_scalar()?);
        if from == to {
            return None;
        }
        let len = self.layout().same_run_as(source.layout())?;
        if len > kernel::SMALL_NUMBERS {
            return None;
        }
        let nbytes = [len * to.itemsize(), len * from.itemsize()];
        if !self.is_apart_at_once(source, [0; 2], nbytes) {
            return None;
        }
        let (_ours, _theirs) =
            (self.raw.brief_lease(LeaseKind::Share)?, source.raw.brief_lease(LeaseKind::Pin)?);
        let (src, dst) = (source.as_ptr(), self.as_ptr().cast_mut());
        // SAFETY: 1. `same_run_as`: the `len` numbers from element 0 on are the elements of the
        // source (DArray 1), under the Pin lease `_theirs`; 2. and those of this array, under the
        // Share lease `_ours`; 3. no byte belongs to both (`is_apart_at_once`).
        let whole = unsafe { kernel::cast_small_run(src, from, dst, to, len, casting) };
        whole.then(|| source.check_fault())
    }

    /// [`DArray::assign`] of scalars to one run of bytes, from any strides that are not negative,
    /// if neither a lease nor the overlap takes more than a few loads and two atomic steps. `None`,
    /// with nothing written, in all other cases.
    #[inline(never)]
    pub(super) fn assign_over(&self, source: &Self) -> Option<Result<()>> {
        let dtype = self.dtype().as_scalar()?;
        if source.dtype().as_scalar() != Some(dtype) {
            return None;
        }
        let nbytes = self.layout().run_over(source.layout())?;
        if !self.is_apart_at_once(source, [0; 2], nbytes) {
            return None;
        }
        let (_ours, _theirs) =
            (self.raw.brief_lease(LeaseKind::Share)?, source.raw.brief_lease(LeaseKind::Pin)?);
        let (src, dst) = (source.as_ptr(), self.as_ptr().cast_mut());
        // SAFETY: 1. and 2. DArray 1 and 2: the source is loadable under the Pin lease `_theirs`,
        // and this array storable under the Share lease `_ours`, no byte twice, as it is a run. 3.
        // no byte belongs to both (`is_apart_at_once`). 4. `run_over` compared shapes and item
        // sizes.
        unsafe { kernel::copy(src, source.layout(), dst, self.layout()) };
        Some(source.check_fault())
    }

    /// [`DArray::assign`] between direct arrays on the host, if neither a lease nor the overlap
    /// takes more than a few loads and two atomic steps. `None`, with nothing written, in all other
    /// cases.
    #[inline(never)]
    pub(super) fn assign_apart(&self, source: &Self, casting: Casting) -> Option<Result<()>> {
        if self.is_indirect() || source.is_indirect() || !self.layout().is_injective() {
            return None;
        }
        let broadcast;
        let from = if source.shape() == self.shape() {
            source.layout()
        } else {
            broadcast = source.layout().broadcast_to(self.shape()).ok()?;
            &broadcast
        };
        let (ours, theirs) = (self.layout().span(), source.layout().span());
        if !self.is_apart_at_once(source, [ours.low(), theirs.low()], [ours.nbytes(), theirs.nbytes()]) {
            return None;
        }
        let (_ours, _theirs) =
            (self.raw.brief_lease(LeaseKind::Share)?, source.raw.brief_lease(LeaseKind::Pin)?);
        let (src, dst) = (source.as_ptr(), self.as_ptr().cast_mut());
        // SAFETY: DArray 1 and 2: the source is loadable under the Pin lease `_theirs`, also
        // broadcast to this shape, and this array storable under the Share lease `_ours`. No byte
        // belongs to both (`is_apart_at_once`), and none to two elements (`is_injective`).
        let written = unsafe {
            kernel::convert(src, source.dtype(), from, dst, self.dtype(), self.layout(), casting, Gaps::Keep)
        };
        Some(source.check_fault().and(written))
    }

    /// Whether the bytes of two direct arrays on the host certainly do not overlap, as a few loads
    /// tell. `false` says nothing: ask [`DArray::may_overlap`] then. Of each array, this one first,
    /// the bytes are `nbytes` bytes, `low` bytes from element 0 on.
    #[inline(always)]
    fn is_apart_at_once(&self, other: &Self, low: [isize; 2], nbytes: [usize; 2]) -> bool {
        are_apart(self.operand_at(low[0], nbytes[0]), other.operand_at(low[1], nbytes[1]))
    }

    /// `nbytes` bytes on the host, `low` bytes from element 0 on.
    #[inline(always)]
    fn operand_at(&self, low: isize, nbytes: usize) -> OverlapOperand<'_> {
        let start = self.as_ptr().addr().wrapping_add_signed(low);
        OverlapOperand { header: self.raw().handle().header(), extent: Extent::of_host(start, nbytes) }
    }
}

#[cfg(test)]
mod tests {
    use crate::Array;
    use crate::array::DArray;
    use crate::element::DType;
    use crate::kernel::Casting;
    use crate::layout::Order;
    use crate::memory::copied_bytes_here;

    #[test]
    fn few_numbers_are_converted_as_by_hand_and_their_bytes_are_counted() {
        for len in [0, 1, 5, 16, 64, 100, 1000] {
            let numbers: Vec<u8> = (0..len).map(|index| (index * 7 % 251) as u8).collect();
            let source = DArray::from(Array::from_vec(numbers.clone(), [len]).unwrap());
            let target = DArray::zeros(DType::F32, &[len], Order::RowMajor).unwrap();
            let before = copied_bytes_here();
            target.assign(&source, Casting::Checked).unwrap();
            assert_eq!(copied_bytes_here() - before, 4 * len as u64);
            let floats: Array<f32, 1> = target.try_into().unwrap();
            assert!(
                floats.read().unwrap().iter().zip(&numbers).all(|(&got, &number)| got == f32::from(number))
            );
        }
    }

    #[test]
    fn few_numbers_are_refused_as_many_are() {
        let wide = Array::from_vec(vec![1.5_f64, 1e300, 2.5], [3]).unwrap();
        let target = DArray::zeros(DType::F32, &[3], Order::RowMajor).unwrap();
        let error = target.assign(&wide.into(), Casting::Checked).unwrap_err();
        assert!(error.is_value() && error.to_string().starts_with("element [1]: "), "{error}");
        let source = DArray::from(Array::from_vec(vec![1_u8, 2, 3], [3]).unwrap());
        let (buffer, _) = source.buffer().unwrap();
        let writing = buffer.write().unwrap();
        assert!(target.assign(&source, Casting::Checked).unwrap_err().is_conflict());
        drop(writing);
        target.assign(&source, Casting::Checked).unwrap();
        assert_eq!(target.get(&[2]).unwrap().as_f64(), Some(3.0));
    }
}
