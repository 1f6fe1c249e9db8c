//! Where a layout keeps the numbers of its axes: in place up to four axes, and else in a block that
//! clones share.
//!
//! Reasons: `DESIGN.md`, "A hand-over allocates nothing".

use std::sync::Arc;

use crate::layout::INLINE_RANK;

/// The axes of a layout, found once for all of them. Direct arrays have no suboffsets.
pub(super) struct LayoutAxes<'a> {
    pub(super) shape: &'a [usize],
    pub(super) strides: &'a [isize],
    pub(super) suboffsets: &'a [Option<isize>],
}

/// The same to fill in.
pub(super) struct LayoutAxesMut<'a> {
    pub(super) shape: &'a mut [usize],
    pub(super) strides: &'a mut [isize],
    pub(super) suboffsets: &'a mut [Option<isize>],
}

/// The lengths, strides and suboffsets of all axes.
///
/// The rank of few axes is also the tag of the variants: one word, so that it is stored and moved
/// at one width, and no load of a moved array waits for a narrower store.
#[derive(Clone)]
pub(super) enum AxisStorage {
    /// Up to `INLINE_RANK` axes, of which none dereferences.
    Inline(InlineAxes),
    /// More axes, or suboffsets.
    Counted(Arc<AxisBlock>),
}

const _: () = assert!(size_of::<AxisStorage>() == size_of::<usize>() * (1 + 2 * INLINE_RANK));

/// The numbers of few axes.
#[derive(Clone, Copy)]
pub(super) struct InlineAxes {
    rank: InlineRank,
    /// Those of the first `rank` axes.
    shape: [usize; INLINE_RANK],
    strides: [isize; INLINE_RANK],
}

/// A rank of at most `INLINE_RANK`, which the compiler knows: no access checks a bound.
#[repr(usize)]
#[derive(Clone, Copy)]
enum InlineRank {
    Zero,
    One,
    Two,
    Three,
    Four,
}

impl InlineRank {
    const LAST: Self = Self::Four;

    #[inline]
    fn new(rank: usize) -> Option<Self> {
        Some(match rank {
            0 => Self::Zero,
            1 => Self::One,
            2 => Self::Two,
            3 => Self::Three,
            4 => Self::Four,
            _ => return None,
        })
    }
}

const _: () = assert!(InlineRank::LAST as usize == INLINE_RANK);

/// Up to this rank, a block holds all lengths and strides itself.
const BLOCK_RANK: usize = 8;

/// The numbers of many axes, or of axes that dereference. A clone copies the block: it serves
/// [`Arc::make_mut`].
#[derive(Clone)]
pub(super) struct AxisBlock {
    rank: usize,
    /// The lengths and strides, while the rank is at most `BLOCK_RANK`.
    shape: [usize; BLOCK_RANK],
    strides: [isize; BLOCK_RANK],
    /// Those of higher ranks; else empty.
    long_shape: Vec<usize>,
    long_strides: Vec<isize>,
    /// Empty, or one per axis and at least one `Some` (Layout 5).
    suboffsets: Vec<Option<isize>>,
}

impl InlineAxes {
    pub(super) const SCALAR: Self =
        Self { rank: InlineRank::Zero, shape: [0; INLINE_RANK], strides: [0; INLINE_RANK] };

    /// `rank` axes of length 0; `None` if they are too many.
    #[inline]
    fn zeros(rank: usize) -> Option<Self> {
        Some(Self { rank: InlineRank::new(rank)?, ..Self::SCALAR })
    }

    /// Copied axis by axis: a copy of any length is a call of the C library.
    #[inline]
    fn new(shape: &[usize], strides: &[isize]) -> Option<Self> {
        Some(Self {
            rank: InlineRank::new(shape.len())?,
            shape: std::array::from_fn(|axis| shape.get(axis).copied().unwrap_or(0)),
            strides: std::array::from_fn(|axis| strides.get(axis).copied().unwrap_or(0)),
        })
    }

    #[inline]
    pub(super) fn shape(&self) -> &[usize] {
        &self.shape[..self.rank as usize]
    }

    #[inline]
    pub(super) fn strides(&self) -> &[isize] {
        &self.strides[..self.rank as usize]
    }

    /// The offset of an element from element 0; `None` if it does not exist.
    ///
    /// Walks the arrays whole, not the slices of `shape` and `strides`: their length is known, and
    /// so is the number of steps at most.
    #[inline(always)]
    pub(super) fn offset_of(&self, index: &[usize]) -> Option<isize> {
        let mut inside = index.len() == self.rank as usize;
        let mut offset = 0isize;
        for ((&index, &len), &stride) in index.iter().zip(&self.shape).zip(&self.strides) {
            inside &= index < len;
            offset = offset.wrapping_add((index as isize).wrapping_mul(stride));
        }
        inside.then_some(offset)
    }

    /// The length and the stride of an axis. Of an axis beyond the rank, both are some numbers.
    #[inline(always)]
    pub(super) fn axis(&self, axis: usize) -> (usize, isize) {
        match (self.shape.get(axis), self.strides.get(axis)) {
            (Some(&len), Some(&stride)) => (len, stride),
            _ => (0, 0),
        }
    }

    /// Sets the numbers of an axis, which may lie beyond the rank; ignores those beyond
    /// `INLINE_RANK`.
    #[inline(always)]
    pub(super) fn set_axis(&mut self, axis: usize, len: usize, stride: isize) {
        if let (Some(own_len), Some(own_stride)) = (self.shape.get_mut(axis), self.strides.get_mut(axis)) {
            (*own_len, *own_stride) = (len, stride);
        }
    }

    /// Copies all numbers, also those beyond the rank.
    #[inline(always)]
    pub(super) fn copy_to(&self, shape: &mut [usize; INLINE_RANK], strides: &mut [isize; INLINE_RANK]) {
        (*shape, *strides) = (self.shape, self.strides);
    }

    #[inline(always)]
    pub(super) fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Makes the first `rank` axes those of the layout; `None` if they are too many.
    #[inline(always)]
    pub(super) fn set_rank(&mut self, rank: usize) -> Option<()> {
        self.rank = InlineRank::new(rank)?;
        Some(())
    }

    #[inline]
    pub(super) fn dims_mut(&mut self) -> (&mut [usize], &mut [isize]) {
        let rank = self.rank as usize;
        (&mut self.shape[..rank], &mut self.strides[..rank])
    }
}

impl AxisBlock {
    fn zeros(rank: usize, indirect: bool) -> Self {
        let long = if rank > BLOCK_RANK { rank } else { 0 };
        Self {
            rank,
            shape: [0; BLOCK_RANK],
            strides: [0; BLOCK_RANK],
            long_shape: vec![0; long],
            long_strides: vec![0; long],
            suboffsets: if indirect { vec![None; rank] } else { Vec::new() },
        }
    }

    fn shape(&self) -> &[usize] {
        self.shape.get(..self.rank).unwrap_or(&self.long_shape)
    }

    fn strides(&self) -> &[isize] {
        self.strides.get(..self.rank).unwrap_or(&self.long_strides)
    }

    fn axes_mut(&mut self) -> LayoutAxesMut<'_> {
        LayoutAxesMut {
            shape: self.shape.get_mut(..self.rank).unwrap_or(&mut self.long_shape),
            strides: self.strides.get_mut(..self.rank).unwrap_or(&mut self.long_strides),
            suboffsets: &mut self.suboffsets,
        }
    }
}

impl AxisStorage {
    /// Without axes.
    pub(super) const SCALAR: Self = Self::Inline(InlineAxes::SCALAR);

    /// Axes of these lengths and strides, as many of both.
    #[inline]
    pub(super) fn new(shape: &[usize], strides: &[isize]) -> Self {
        match InlineAxes::new(shape, strides) {
            Some(axes) => Self::Inline(axes),
            None => Self::block_of(shape, strides),
        }
    }

    #[inline(never)]
    fn block_of(shape: &[usize], strides: &[isize]) -> Self {
        let mut block = AxisBlock::zeros(shape.len(), false);
        let axes = block.axes_mut();
        axes.shape.copy_from_slice(shape);
        axes.strides.copy_from_slice(strides);
        Self::Counted(Arc::new(block))
    }

    /// `rank` axes of length 0, with suboffsets of `None` if `indirect`.
    #[inline]
    pub(super) fn zeros(rank: usize, indirect: bool) -> Self {
        match InlineAxes::zeros(rank) {
            Some(axes) if !indirect => Self::Inline(axes),
            _ => Self::Counted(Arc::new(AxisBlock::zeros(rank, indirect))),
        }
    }

    /// The numbers, if they are in place: then no axis dereferences.
    #[inline]
    pub(super) fn inline(&self) -> Option<&InlineAxes> {
        match self {
            Self::Inline(axes) => Some(axes),
            Self::Counted(_) => None,
        }
    }

    /// Makes this `rank` axes of length 0, to fill in; `None` if they do not fit in place.
    #[inline]
    pub(super) fn become_inline(&mut self, rank: usize) -> Option<&mut InlineAxes> {
        *self = Self::Inline(InlineAxes::zeros(rank)?);
        match self {
            Self::Inline(axes) => Some(axes),
            Self::Counted(_) => None,
        }
    }

    #[inline]
    pub(super) fn rank(&self) -> usize {
        match self {
            Self::Inline(axes) => axes.rank as usize,
            Self::Counted(block) => block.rank,
        }
    }

    #[inline]
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Self::Inline(axes) => axes.shape(),
            Self::Counted(block) => block.shape(),
        }
    }

    #[inline]
    pub(super) fn strides(&self) -> &[isize] {
        match self {
            Self::Inline(axes) => axes.strides(),
            Self::Counted(block) => block.strides(),
        }
    }

    #[inline]
    pub(super) fn suboffsets(&self) -> Option<&[Option<isize>]> {
        match self {
            Self::Inline(_) => None,
            Self::Counted(block) => Some(&block.suboffsets[..]).filter(|suboffsets| !suboffsets.is_empty()),
        }
    }

    /// The parts of every axis.
    #[inline]
    pub(super) fn axes(&self) -> LayoutAxes<'_> {
        match self {
            Self::Inline(axes) => {
                LayoutAxes { shape: axes.shape(), strides: axes.strides(), suboffsets: &[] }
            }
            Self::Counted(block) => {
                LayoutAxes { shape: block.shape(), strides: block.strides(), suboffsets: &block.suboffsets }
            }
        }
    }

    /// The same to fill in. A block that a clone shares is copied first.
    #[inline]
    pub(super) fn axes_mut(&mut self) -> LayoutAxesMut<'_> {
        match self {
            Self::Inline(axes) => {
                let (shape, strides) = axes.dims_mut();
                LayoutAxesMut { shape, strides, suboffsets: &mut [] }
            }
            Self::Counted(block) => Arc::make_mut(block).axes_mut(),
        }
    }

    /// Drops suboffsets that are all `None`.
    pub(super) fn settle(&mut self) {
        let Self::Counted(block) = self else { return };
        if block.suboffsets.iter().any(Option::is_some) {
            return;
        }
        match InlineAxes::new(block.shape(), block.strides()) {
            Some(axes) => *self = Self::Inline(axes),
            None => Arc::make_mut(block).suboffsets.clear(),
        }
    }
}
