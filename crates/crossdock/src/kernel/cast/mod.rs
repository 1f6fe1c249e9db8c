//! Conversion of elements from one dtype to another.
//!
//! ```text
//!   src ──racy──> block ──step──> block ──step──> block ──racy──> dst
//!                 bytes swapped · narrow floats decoded · numbers converted · encoded · bytes swapped
//! ```
//!
//! Contiguous numbers of common pairs are converted by one loop ([`direct`]); loops over blocks
//! convert all others, and [`plan`] chooses these loops. Parts of records and sub-arrays
//! are strided arrays themselves, and each is converted as one. Everything else is converted
//! element by element through [`Value`](crate::element::Value), which also describes an element
//! that does not fit.
//!
//! Reasons: `DESIGN.md`, "Numbers are converted in blocks".

#[cfg(target_arch = "x86_64")]
mod by_64;
mod by_value;
mod direct;
mod narrow;
mod number;
mod plan;
mod step;
mod table;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) use self::direct::DirectCast;
pub(crate) use self::plan::CastPlan;
use crate::element::{DType, DTypeKind, Record, Scalar, SubArray};
use crate::error::{Error, Kind, Result};
use crate::kernel::block::{BlockReader, LaneBlock, STREAMED, Writer};
use crate::kernel::cpu::Level;
use crate::kernel::indirection::Endpoint;
use crate::kernel::pair::{LayoutPair, PER_PART, SHARED};
use crate::kernel::records::has_gaps;
use crate::kernel::{Casting, Racy, each_direct, fill, in_element, index_of, one_of_all, threads};
use crate::layout::{Layout, Order};
use crate::memory::count_copied;

/// Converts the elements of one strided array to another dtype, into another array of the same
/// shape. Copies, and counts, the bytes of the destination. Padding of records becomes zeros.
///
/// # Errors
///
/// `is_dtype` where only one of the two has fields or items, or where these differ: then nothing is
/// written. `is_value`, with an index, for the first element in row-major order that `casting`
/// refuses: any of the others may have been written.
///
/// # Safety
///
/// 1. `from_layout`, of elements of the dtype `from`, applied at `src`, reaches only bytes that may
///    be loaded racily. Pointers that it follows are as for
///    [`element_at`](crate::kernel::element_at).
/// 2. `to_layout`, of elements of the dtype `to`, applied at `dst`, reaches only bytes that may be
///    stored racily. Pointers that it follows are as for [`element_at`](crate::kernel::element_at).
/// 3. The two do not overlap, or the item sizes are equal and each element replaces the one in its
///    place.
/// 4. The shapes are equal.
pub(crate) unsafe fn cast(
    src: *const u8,
    from: &DType,
    from_layout: &Layout,
    dst: *mut u8,
    to: &DType,
    to_layout: &Layout,
    casting: Casting,
) -> Result<()> {
    let cast = Cast { casting, level: Level::current() };
    // SAFETY: clauses 1 to 4 of `# Safety`: the pointers, the layouts and the dtypes are passed on
    // unchanged.
    unsafe { cast.run(src, from, from_layout, dst, to, to_layout) }
}

/// The most numbers of a run that [`cast_small_run`] converts.
pub(crate) const SMALL_NUMBERS: usize = 1 << 16;

/// Converts `len` contiguous numbers, at most [`SMALL_NUMBERS`], by one loop, and counts the bytes
/// that it wrote. Returns `false` if there is no loop for them, or if a number does not fit: then
/// any of the others may have been written.
///
/// # Safety
///
/// 1. `len` numbers of the dtype `from` at `src` may be loaded racily.
/// 2. `len` numbers of the dtype `to` at `dst` may be stored racily.
/// 3. The two do not overlap.
#[inline]
pub(crate) unsafe fn cast_small_run(
    src: *const u8,
    from: Scalar,
    dst: *mut u8,
    to: Scalar,
    len: usize,
    casting: Casting,
) -> bool {
    // SAFETY: clause 1 of `new`: `Level::current` is a level of this CPU.
    let Some(direct) = (unsafe { DirectCast::new(from, to, casting, Level::current()) }) else {
        return false;
    };
    // SAFETY: clauses 1 to 3 of `# Safety`: `len` numbers at both pointers, apart.
    let whole = unsafe { direct.run_here(src, dst, len) };
    if whole {
        count_copied(len * to.itemsize());
    }
    whole
}

/// The most elements of a block where much is read, and less is written: while one block is
/// converted, the CPU reads no more than the next one.
const NARROWED: usize = 128;

/// The first element, in row-major order, that does not fit.
struct Lost {
    position: usize,
    error: Error,
}

/// How to convert.
///
/// Invariant 1: `level` is available.
#[derive(Clone, Copy)]
struct Cast {
    casting: Casting,
    level: Level,
}

impl Cast {
    /// # Errors
    ///
    /// As [`cast`].
    ///
    /// # Safety
    ///
    /// Clauses 1 to 4 of [`cast`].
    unsafe fn run(
        self,
        src: *const u8,
        from: &DType,
        from_layout: &Layout,
        dst: *mut u8,
        to: &DType,
        to_layout: &Layout,
    ) -> Result<()> {
        if !is_alike(from, to) {
            return Err(unlike(from, to));
        }
        let in_place = src.addr() == dst.addr();
        let zeros = if has_gaps(to) && !in_place { vec![0; to.itemsize()] } else { vec![] };
        let convert = |first, (src, from_layout): Endpoint<'_>, (dst, to_layout): Endpoint<'_>| {
            if !zeros.is_empty() {
                // SAFETY: clause 2 of `cast`: `each_direct` passes a direct part of the
                // destination; `zeros` has the item size of `to`.
                unsafe { fill(dst, to_layout, &zeros) }?;
            }
            // SAFETY: clauses 1 to 4 of `cast`: `each_direct` passes direct parts of both arrays,
            // which have one shape.
            let lost = unsafe { self.any(src, from, from_layout, dst, to, to_layout) }?;
            Ok(lost.map(|Lost { position, error }| Lost { position: first + position, error }))
        };
        // SAFETY: clauses 1, 2 and 4 of `cast`: both layouts go with their pointers, and their
        // shapes are equal.
        match unsafe { each_direct((src.cast_mut(), from_layout), (dst, to_layout), convert) }? {
            Some(Lost { position, error }) => Err(in_element(error, &index_of(to_layout.shape(), position))),
            None => {
                count_copied(to_layout.nbytes());
                Ok(())
            }
        }
    }

    /// Converts a direct array.
    ///
    /// # Safety
    ///
    /// Clauses 1 to 4 of [`cast`], for direct layouts.
    unsafe fn any(
        self,
        src: *const u8,
        from: &DType,
        from_layout: &Layout,
        dst: *mut u8,
        to: &DType,
        to_layout: &Layout,
    ) -> Result<Option<Lost>> {
        if from_layout.itemsize() == 0 && to_layout.itemsize() == 0 && to_layout.len() > 1 {
            let (one, other) = (one_of_all(from_layout)?, one_of_all(to_layout)?);
            // SAFETY: the elements have size 0, so `one` and `other` reach no byte; their shapes
            // are equal because the layouts' are (clause 4 of `cast`).
            return unsafe { self.any(src, from, &one, dst, to, &other) };
        }
        match (from.kind(), to.kind()) {
            (DTypeKind::Scalar(source), DTypeKind::Scalar(target)) => {
                // SAFETY: clause 1 of `new`: Cast 1: the level is available.
                let direct = unsafe { DirectCast::new(source, target, self.casting, self.level) };
                if let Some(direct) = direct
                    && direct.suits(to_layout.nbytes())
                    && is_one_run(from_layout, to_layout)
                    // SAFETY: clauses 1 to 3 of `cast`: both arrays are contiguous, in one order.
                    && unsafe { direct.run(src, dst, to_layout.len()) }
                {
                    return Ok(None);
                }
                // SAFETY: clause 1 of `new`: Cast 1: the level is available.
                if let Some(plan) = unsafe { CastPlan::new(source, target, self.casting, self.level) } {
                    let numbers = NumberCast { plan: &plan, from, to, level: self.level };
                    // SAFETY: clauses 1 to 4 of `cast`: the arrays are passed on unchanged, and the
                    // plan converts scalars of their dtypes.
                    return unsafe { numbers.run(src, from_layout, dst, to_layout) };
                }
            }
            (DTypeKind::Record(source), DTypeKind::Record(target)) if same_names(source, target) => {
                // SAFETY: clauses 1 to 4 of `cast`: the arrays are passed on unchanged, and the
                // guard compared the names of the fields.
                return unsafe { self.fields(src, source, from_layout, dst, target, to_layout) };
            }
            (DTypeKind::SubArray(source), DTypeKind::SubArray(target))
                if source.shape() == target.shape() && source.len() > 0 =>
            {
                let inner = |outer: &Layout, part: &SubArray| {
                    let itemsize = part.base().itemsize();
                    let inner = Layout::contiguous(part.shape(), itemsize, Order::RowMajor)?;
                    outer.with_inner(&inner)
                };
                // Element by element below, where both sets of axes together exceed what one layout
                // can have.
                if let (Ok(inner_from), Ok(inner_to)) = (inner(from_layout, source), inner(to_layout, target))
                {
                    let (from, to) = (source.base(), target.base());
                    // SAFETY: clauses 1 to 4 of `cast`: the inner layouts reach the same bytes, as
                    // elements of the base dtypes, and the shapes of both sub-arrays are equal.
                    let lost = unsafe { self.any(src, from, &inner_from, dst, to, &inner_to) }?;
                    return Ok(lost.map(|lost| lost.in_subarray(target)));
                }
            }
            _ => {}
        }
        // SAFETY: clauses 1 to 4 of `cast`: the pointers, the layouts and the dtypes are passed on
        // unchanged.
        unsafe { by_value::cast(src, from, from_layout, dst, to, to_layout, self.casting) }
    }

    /// # Safety
    ///
    /// 1. Clauses 1 to 4 of [`cast`], for direct layouts of elements of these records.
    /// 2. The fields of both have the same names.
    unsafe fn fields(
        self,
        src: *const u8,
        from: &Record,
        from_layout: &Layout,
        dst: *mut u8,
        to: &Record,
        to_layout: &Layout,
    ) -> Result<Option<Lost>> {
        let mut first: Option<Lost> = None;
        for (source, target) in from.fields().iter().zip(to.fields()) {
            let part = |layout: &Layout, dtype: &DType| {
                Layout::new(layout.shape(), layout.strides(), dtype.itemsize())
            };
            let (inner_from, inner_to) =
                (part(from_layout, source.dtype())?, part(to_layout, target.dtype())?);
            let (src, dst) = (src.wrapping_add(source.offset()), dst.wrapping_add(target.offset()));
            // SAFETY: clauses 1 to 4 of `cast`: a field lies within its record, so both parts reach
            // bytes of the arrays, and they keep the shapes.
            let lost = unsafe { self.any(src, source.dtype(), &inner_from, dst, target.dtype(), &inner_to) }?;
            if let Some(Lost { position, error }) = lost
                && first.as_ref().is_none_or(|first| position < first.position)
            {
                let error = error.within(format_args!("field {:?}", target.name()));
                first = Some(Lost { position, error });
            }
        }
        Ok(first)
    }
}

impl Lost {
    /// The error for an array of sub-arrays, of whose items this is one.
    #[cold]
    fn in_subarray(self, subarray: &SubArray) -> Self {
        let (position, within) = (self.position / subarray.len(), self.position % subarray.len());
        let index = index_of(subarray.shape(), within);
        let error =
            index.iter().rev().fold(self.error, |error, at| error.within(format_args!("element {at}")));
        Self { position, error }
    }
}

/// Whether the bytes of an element can be swapped in place: no byte belongs to two numbers, and
/// loops do the work.
pub(crate) fn turns_in_place(dtype: &DType) -> bool {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => {
            scalar.byte_order().is_none()
                // SAFETY: clause 1 of `new`: every CPU has the baseline.
                || unsafe { CastPlan::new(scalar, scalar.swapped(), Casting::Checked, Level::Baseline) }
                    .is_some()
        }
        DTypeKind::SubArray(subarray) => turns_in_place(subarray.base()),
        DTypeKind::Record(record) => {
            let mut ends: Vec<_> =
                record.fields().iter().map(|field| (field.offset(), field.end())).collect();
            ends.sort_unstable();
            let apart = ends.windows(2).all(|pair| pair[0].1 <= pair[1].0);
            apart && record.fields().iter().all(|field| turns_in_place(field.dtype()))
        }
    }
}

/// Whether both arrays are contiguous, in the same order.
fn is_one_run(from: &Layout, to: &Layout) -> bool {
    let both = |order| from.is_contiguous(order) && to.is_contiguous(order);
    both(Order::RowMajor) || both(Order::ColumnMajor)
}

/// Whether both have the same fields and items; their scalars may differ.
fn is_alike(from: &DType, to: &DType) -> bool {
    match (from.kind(), to.kind()) {
        (DTypeKind::Scalar(_), DTypeKind::Scalar(_)) => true,
        (DTypeKind::Record(from), DTypeKind::Record(to)) => {
            let mut fields = from.fields().iter().zip(to.fields());
            same_names(from, to) && fields.all(|(from, to)| is_alike(from.dtype(), to.dtype()))
        }
        (DTypeKind::SubArray(from), DTypeKind::SubArray(to)) => {
            from.shape() == to.shape() && is_alike(from.base(), to.base())
        }
        _ => false,
    }
}

/// The error for two dtypes that differ in their fields or items.
#[cold]
pub(super) fn unlike(from: &DType, to: &DType) -> Error {
    let (from, to) = (from.brief(), to.brief());
    Error::new(
        Kind::DType,
        format!("{from} cannot be cast to {to}: both must have the same fields and sub-arrays"),
    )
}

fn same_names(from: &Record, to: &Record) -> bool {
    let names = |record: &Record| record.fields().len();
    names(from) == names(to) && from.fields().iter().zip(to.fields()).all(|(a, b)| a.name() == b.name())
}

/// A conversion by loops over blocks.
///
/// Invariant 1: `level` is available, and the plan was made for it.
struct NumberCast<'a> {
    plan: &'a CastPlan,
    from: &'a DType,
    to: &'a DType,
    level: Level,
}

impl NumberCast<'_> {
    /// # Safety
    ///
    /// Clauses 1 to 4 of [`cast`], for direct layouts and scalars that the plan converts.
    unsafe fn run(&self, src: *const u8, from: &Layout, dst: *mut u8, to: &Layout) -> Result<Option<Lost>> {
        let parts = threads::parts(to.len(), SHARED, PER_PART);
        let is_run = from.is_contiguous(Order::RowMajor) && to.is_contiguous(Order::RowMajor);
        if is_run && parts == 1 && to.nbytes() < STREAMED {
            let itemsizes = [from.itemsize(), to.itemsize()];
            // SAFETY: clauses 1 to 4 of `cast`: both arrays are contiguous, in one order.
            return if unsafe { self.walk_run(src, dst, to.len(), itemsizes) } {
                Ok(None)
            } else {
                // SAFETY: clauses 1 to 4 of `cast`: the pointers and the layouts are passed on
                // unchanged.
                unsafe { self.find_lost(src, from, dst, to) }
            };
        }
        let pair = LayoutPair::arranged(from, to)?;
        let (src_at, dst_at, nbytes) = (Racy(src.cast_mut()), Racy(dst), to.nbytes());
        let whole = AtomicBool::new(true);
        let walk = |pair: &LayoutPair| {
            let src = src_at.at(pair.from_offset).cast_const();
            // SAFETY: clauses 1 to 4 of `cast`: a part of a split pair holds elements of both
            // arrays, and no other part holds them.
            let done =
                unsafe { self.walk(src, &pair.from, dst_at.at(pair.to_offset), &pair.to, nbytes, &whole) };
            if done.is_err() {
                whole.store(false, Relaxed);
            }
        };
        if parts == 1 {
            walk(&pair);
        } else {
            let parts = pair.split(parts)?;
            threads::each(parts.len(), |part| walk(&parts[part]));
        }
        if whole.into_inner() {
            return Ok(None);
        }
        // SAFETY: clauses 1 to 4 of `cast`: the pointers and the layouts are passed on unchanged.
        unsafe { self.find_lost(src, from, dst, to) }
    }

    /// Converts `count` contiguous elements, of these item sizes. Returns whether none was lost.
    ///
    /// # Safety
    ///
    /// Clauses 1 to 4 of [`cast`], for contiguous elements that the plan converts.
    unsafe fn walk_run(&self, src: *const u8, dst: *mut u8, count: usize, itemsizes: [usize; 2]) -> bool {
        let [from, to] = itemsizes;
        let mut room = MaybeUninit::uninit();
        let blocks = LaneBlock::make(&mut room, count, from.max(to));
        let mut done = 0;
        while done < count {
            let some = self.plan.per_block().min(count - done);
            // SAFETY: clause 1 of `cast` covers these of the `count` elements at `src`; the level
            // is available (NumberCast 1).
            unsafe { blocks[0].load_run(self.level, src.wrapping_add(done * from), some * from) };
            let Some(result) = self.plan.run(blocks, some) else { return false };
            // SAFETY: clause 2 of `cast` covers these of the `count` elements at `dst`; the level
            // is available (NumberCast 1).
            unsafe { blocks[result].store_run(self.level, dst.wrapping_add(done * to), some * to) };
            done += some;
        }
        true
    }

    /// Converts all blocks up to the first that holds a lossy element, for which `whole` becomes
    /// false; then other threads end, too.
    ///
    /// # Safety
    ///
    /// Clauses 1 to 4 of [`cast`], for direct layouts and scalars that the plan converts.
    unsafe fn walk(
        &self,
        src: *const u8,
        from: &Layout,
        dst: *mut u8,
        to: &Layout,
        whole_nbytes: usize,
        whole: &AtomicBool,
    ) -> Result<()> {
        let mut reader = BlockReader::new(self.level, src, from)?;
        let mut writer = Writer::new(self.level, dst, to, whole_nbytes)?;
        let mut room = MaybeUninit::uninit();
        let blocks = LaneBlock::make(&mut room, to.len(), from.itemsize().max(to.itemsize()));
        let per_block = match whole_nbytes >= STREAMED && to.itemsize() < from.itemsize() {
            true => self.plan.per_block().min(NARROWED),
            false => self.plan.per_block(),
        };
        let (mut left, mut most) = (to.len(), writer.first(per_block));
        while left > 0 && whole.load(Relaxed) {
            let count = left.min(most);
            // SAFETY: clause 1 of `cast` covers `from` at `src`, from which the reader was made;
            // the level is available (NumberCast 1).
            unsafe { reader.load(&mut blocks[0], count) };
            let Some(result) = self.plan.run(blocks, count) else {
                whole.store(false, Relaxed);
                break;
            };
            // SAFETY: clause 2 of `cast` covers `to` at `dst`, from which the writer was made; the
            // level is available (NumberCast 1).
            unsafe { writer.store(&blocks[result], count) };
            (left, most) = (left - count, per_block);
        }
        writer.finish();
        Ok(())
    }

    /// Converts everything again, in row-major order, up to the first element that does not fit.
    /// There may be none by now, as other threads may write the source.
    ///
    /// # Safety
    ///
    /// Clauses 1 to 4 of [`cast`], for direct layouts and scalars that the plan converts.
    #[cold]
    unsafe fn find_lost(
        &self,
        src: *const u8,
        from: &Layout,
        dst: *mut u8,
        to: &Layout,
    ) -> Result<Option<Lost>> {
        let mut reader = BlockReader::new(self.level, src, from)?;
        let mut writer = Writer::new(self.level, dst, to, 0)?;
        let mut room = MaybeUninit::uninit();
        let blocks = LaneBlock::make(&mut room, to.len(), from.itemsize().max(to.itemsize()));
        let mut bytes = vec![0; self.to.itemsize()];
        let mut done = 0;
        while done < to.len() {
            let count = self.plan.per_block().min(to.len() - done);
            // SAFETY: clause 1 of `cast` covers `from` at `src`, from which the reader was made;
            // the level is available (NumberCast 1).
            unsafe { reader.load(&mut blocks[0], count) };
            if let Some(result) = self.plan.run(blocks, count) {
                // SAFETY: clause 2 of `cast` covers `to` at `dst`, from which the writer was made;
                // the level is available (NumberCast 1).
                unsafe { writer.store(&blocks[result], count) };
            } else {
                for position in done..done + count {
                    let index = index_of(to.shape(), position);
                    let (src, dst) = (
                        src.wrapping_offset(from.offset_of(&index)?),
                        dst.wrapping_offset(to.offset_of(&index)?),
                    );
                    // SAFETY: clauses 1 and 2 of `cast`: `index` is an index of both shapes, which
                    // are equal (clause 4); `bytes` has the item size of `to`.
                    let one = unsafe {
                        by_value::cast_one(src, self.from, dst, self.to, &mut bytes, Casting::Checked)
                    };
                    if let Err(error) = one {
                        return Ok(Some(Lost { position, error }));
                    }
                }
                writer.skip(count);
            }
            done += count;
        }
        Ok(None)
    }
}
