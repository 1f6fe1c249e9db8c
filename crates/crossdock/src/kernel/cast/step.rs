//! One step of a conversion: a loop over a block, compiled once for each level.

use crate::kernel::block::LaneBlock;
use crate::kernel::cast::narrow::Narrow;
use crate::kernel::cast::table::DecodeTable;
use crate::kernel::cpu::{Level, at_each_level};
use crate::memory::Pod;

/// The arguments of the loops. Each loop reads those that it needs.
#[derive(Clone, Copy)]
pub(super) struct StepArgs {
    /// The least and the greatest number that passes. The step defines their meaning: bits of an
    /// integer of the lane's width, of an `f64`, or of an `f32` without its sign.
    pub(super) low: u64,
    pub(super) high: u64,
    /// The integer that replaces values above `high`.
    pub(super) top: u64,
    pub(super) narrow: Narrow,
    pub(super) table: &'static DecodeTable,
}

impl StepArgs {
    pub(super) const NONE: Self =
        Self { low: 0, high: 0, top: 0, narrow: Narrow::NONE, table: &DecodeTable::NONE };

    pub(super) const fn range(low: u64, high: u64) -> Self {
        Self { low, high, ..Self::NONE }
    }
}

/// A step of a conversion.
#[derive(Clone, Copy)]
pub(super) enum CastStep {
    /// Makes one block of another. The last field is the number of lanes that come out.
    Map(unsafe fn(&StepArgs, &LaneBlock, &mut LaneBlock, usize), StepArgs, Grows),
    /// Tests whether any of the lanes would be lost.
    Test(unsafe fn(&StepArgs, &LaneBlock, usize) -> bool, StepArgs),
}

/// How many lanes a step produces from those that it consumes.
#[derive(Clone, Copy)]
pub(super) enum Grows {
    Same,
    Twice,
    Half,
}

impl Grows {
    pub(super) fn of(self, len: usize) -> usize {
        match self {
            Self::Same => len,
            Self::Twice => 2 * len,
            Self::Half => len / 2,
        }
    }
}

/// A loop from one block to another.
pub(super) trait BlockLoop {
    const GROWS: Grows = Grows::Same;

    /// Must be `#[inline(always)]`, so that it is compiled for the level of its caller.
    fn run(args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize);
}

/// A step in which each lane depends on one lane of the source.
pub(super) trait Map {
    type From: Pod;
    type To: Pod;

    fn map(args: &StepArgs, value: Self::From) -> Self::To;
}

impl<M: Map> BlockLoop for M {
    #[inline(always)]
    fn run(args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let (src, dst) = (src.lanes::<M::From>(len), dst.lanes_mut::<M::To>(len));
        let args = *args;
        for (to, &from) in dst.iter_mut().zip(src) {
            *to = M::map(&args, from);
        }
    }
}

/// A test of each lane.
pub(super) trait Test {
    type Of: Pod;

    fn is_lost(args: &StepArgs, value: Self::Of) -> bool;
}

/// The step compiled for a level.
pub(super) fn step<S: BlockLoop>(level: Level, args: StepArgs) -> CastStep {
    #[inline(always)]
    fn body<S: BlockLoop>(args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        S::run(args, src, dst, len);
    }
    at_each_level!(S: BlockLoop, (args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize), body);
    let run: unsafe fn(&StepArgs, &LaneBlock, &mut LaneBlock, usize) = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<S>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<S>,
        _ => baseline::<S>,
    };
    CastStep::Map(run, args, S::GROWS)
}

/// The test compiled for a level.
pub(super) fn test<T: Test>(level: Level, args: StepArgs) -> CastStep {
    #[inline(always)]
    fn body<T: Test>(args: &StepArgs, src: &LaneBlock, len: usize) -> bool {
        let args = *args;
        src.lanes::<T::Of>(len).iter().fold(false, |lost, &value| lost | T::is_lost(&args, value))
    }
    at_each_level!(T: Test, (args: &StepArgs, src: &LaneBlock, len: usize) -> bool, body);
    let run: unsafe fn(&StepArgs, &LaneBlock, usize) -> bool = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<T>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<T>,
        _ => baseline::<T>,
    };
    CastStep::Test(run, args)
}
