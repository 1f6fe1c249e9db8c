//! The choice of steps from one scalar to another.
//!
//! There is no loop for each of the hundreds of pairs. Narrow or byte-swapped scalars first become
//! native numbers (*lanes*), lanes are converted to each other, and lanes become narrow or
//! byte-swapped at the end. No conversion rounds twice: floats of at most 16 bits are made of an
//! `f32` that is rounded to odd, from which the second rounding gives the result of a single one.

use crate::element::{Scalar, ScalarKind};
use crate::kernel::Casting;
use crate::kernel::block::LaneBlock;
#[cfg(target_arch = "x86_64")]
use crate::kernel::cast::by_64;
use crate::kernel::cast::narrow::{
    FromBrain, FromHalf, LostToNarrow, NarrowFormat, PowerOfTwo, ToBrain, ToNarrow8, ToNarrow16,
};
use crate::kernel::cast::number::{
    As, Clamp, Either, Evens, Fit, NonZero, NotWhole, Outside, Swap, ToOdd, TooLarge, WithZeros,
};
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use crate::kernel::cast::step::Grows;
use crate::kernel::cast::step::{BlockLoop, CastStep, StepArgs, step, test};
use crate::kernel::cast::table::FromTable;
use crate::kernel::cpu::Level;

/// A native number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Lane {
    /// The lane of a kind, or the lane that the kind is decoded to.
    fn of(kind: ScalarKind) -> Option<Self> {
        Some(match kind {
            ScalarKind::Int8 => Self::I8,
            ScalarKind::Int16 => Self::I16,
            ScalarKind::Int32 => Self::I32,
            ScalarKind::Int64 => Self::I64,
            ScalarKind::Bool | ScalarKind::UInt8 => Self::U8,
            ScalarKind::UInt16 => Self::U16,
            ScalarKind::UInt32 => Self::U32,
            ScalarKind::UInt64 => Self::U64,
            ScalarKind::Float32 => Self::F32,
            ScalarKind::Float64 => Self::F64,
            narrow => NarrowFormat::of(narrow).map(|_| Self::F32)?,
        })
    }

    fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The least and the greatest integer.
    fn range(self) -> (i128, i128) {
        match self {
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
            Self::F32 | Self::F64 => (i128::MIN, i128::MAX),
        }
    }
}

/// The greatest float of a lane that is at most `max`.
fn float_below(lane: Lane, max: i128) -> f64 {
    let near = if lane == Lane::F32 { f64::from(max as f32) } else { max as f64 };
    match (near as i128 > max, lane) {
        (false, _) => near,
        (true, Lane::F32) => f64::from((near as f32).next_down()),
        (true, _) => near.next_down(),
    }
}

/// The kind of the parts, and how many there are: two for complex numbers.
fn parts(kind: ScalarKind) -> (ScalarKind, usize) {
    match kind {
        ScalarKind::Complex32 => (ScalarKind::Float16, 2),
        ScalarKind::Complex64 => (ScalarKind::Float32, 2),
        ScalarKind::Complex128 => (ScalarKind::Float64, 2),
        one => (one, 1),
    }
}

/// The most steps that a conversion has.
const MOST: usize = 8;

/// The steps of a conversion.
///
/// Invariant 1: `level` is available, and every step was compiled for it or for a lower one.
pub(crate) struct CastPlan {
    level: Level,
    steps: [Option<CastStep>; MOST],
    len: usize,
    /// How many lanes an element has, and how many elements fit a block.
    lanes: usize,
    per_block: usize,
}

impl CastPlan {
    /// The steps from one scalar to another, or `None` if there are no loops for them.
    ///
    /// # Safety
    ///
    /// 1. The level is available (CastPlan 1).
    pub(crate) unsafe fn new(from: Scalar, to: Scalar, casting: Casting, level: Level) -> Option<Self> {
        let ((source, from_parts), (target, to_parts)) = (parts(from.kind()), parts(to.kind()));
        let per_block = LaneBlock::LANES / from_parts.max(to_parts);
        let mut plan = Self { level, steps: [None; MOST], len: 0, lanes: from_parts, per_block };
        if from.kind() == to.kind() {
            // Byte swaps may move anything but text, in which not every number is a letter.
            let known = Lane::of(source).is_some()
                || matches!(source, ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_));
            known.then_some(())?;
            if from != to {
                plan.swap(source);
            }
            return Some(plan);
        }
        Lane::of(source)?;
        Lane::of(target)?;
        let checked = casting == Casting::Checked;
        if from_parts > to_parts {
            if checked {
                return None;
            }
            if target != ScalarKind::Bool {
                plan.evens(source);
            }
        }
        if !from.is_native() {
            plan.swap(source);
        }
        let lane = plan.decode(source)?;
        plan.convert(lane, source, target, checked)?;
        if from_parts > to_parts && target == ScalarKind::Bool {
            plan.push::<Either>(StepArgs::NONE);
        }
        if !to.is_native() {
            plan.swap(target);
        }
        if to_parts > from_parts {
            plan.with_zeros(target);
        }
        Some(plan)
    }

    /// A plan without steps, for elements of any width that fits a block.
    ///
    /// # Safety
    ///
    /// 1. The level is available (CastPlan 1).
    pub(crate) unsafe fn bytes(itemsize: usize, level: Level) -> Option<Self> {
        let per_block = LaneBlock::NBYTES.checked_div(itemsize).filter(|&count| count > 0)?;
        Some(Self { level, steps: [None; MOST], len: 0, lanes: 1, per_block })
    }

    /// Whether a kind is a float of at most 16 bits.
    pub(crate) fn is_narrow(kind: ScalarKind) -> bool {
        NarrowFormat::of(kind).is_some()
    }

    /// Whether loops convert the kind: a number, or a complex one.
    pub(crate) fn is_number(kind: ScalarKind) -> bool {
        Lane::of(parts(kind).0).is_some()
    }

    /// How many elements it converts at once, at most.
    pub(crate) fn per_block(&self) -> usize {
        self.per_block
    }

    /// Converts the elements of the first block, with the second one as scratch space. Returns
    /// which of the two holds the result, or `None` if an element would be lost.
    #[inline]
    pub(crate) fn run(&self, blocks: &mut [LaneBlock; 2], count: usize) -> Option<usize> {
        let (mut at, mut len) = (0, count * self.lanes);
        for step in self.steps[..self.len].iter().flatten() {
            let [first, second] = &mut *blocks;
            let (src, dst) = if at == 0 { (&*first, second) } else { (&*second, first) };
            match step {
                CastStep::Map(run, args, grows) => {
                    // SAFETY: the step was compiled for `self.level` or for a lower one, and that
                    // level is available (CastPlan 1).
                    unsafe { run(args, src, dst, len) };
                    (at, len) = (1 - at, grows.of(len));
                }
                CastStep::Test(is_lost, args) => {
                    // SAFETY: the test was compiled for `self.level` or for a lower one, and that
                    // level is available (CastPlan 1).
                    if unsafe { is_lost(args, src, len) } {
                        return None;
                    }
                }
            }
        }
        Some(at)
    }

    fn add(&mut self, stage: CastStep) {
        self.steps[self.len] = Some(stage);
        self.len += 1;
    }

    fn push<S: BlockLoop>(&mut self, args: StepArgs) {
        self.add(step::<S>(self.level, args));
    }

    fn swap(&mut self, kind: ScalarKind) {
        match kind.component_size() {
            2 => self.push::<Swap<u16>>(StepArgs::NONE),
            4 => self.push::<Swap<u32>>(StepArgs::NONE),
            8 => self.push::<Swap<u64>>(StepArgs::NONE),
            _ => {}
        }
    }

    fn evens(&mut self, kind: ScalarKind) {
        match kind.component_size() {
            2 => self.push::<Evens<u16>>(StepArgs::NONE),
            4 => self.push::<Evens<u32>>(StepArgs::NONE),
            _ => self.push::<Evens<u64>>(StepArgs::NONE),
        }
    }

    fn with_zeros(&mut self, kind: ScalarKind) {
        match kind.component_size() {
            2 => self.push::<WithZeros<u16>>(StepArgs::NONE),
            4 => self.push::<WithZeros<u32>>(StepArgs::NONE),
            _ => self.push::<WithZeros<u64>>(StepArgs::NONE),
        }
    }

    /// Decodes a native kind to its lane.
    fn decode(&mut self, kind: ScalarKind) -> Option<Lane> {
        let lane = Lane::of(kind)?;
        match kind {
            ScalarKind::Bool => self.push::<NonZero<u8>>(StepArgs::NONE),
            ScalarKind::BFloat16 => self.push::<FromBrain>(StepArgs::NONE),
            #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
            ScalarKind::Float16 if self.level > Level::Baseline => {
                self.add(CastStep::Map(super::narrow::half_by_cpu::from_half, StepArgs::NONE, Grows::Same));
            }
            ScalarKind::Float16 => self.push::<FromHalf>(StepArgs::NONE),
            narrow => {
                if let Some(format) = NarrowFormat::of(narrow) {
                    match self.level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512 => {
                            self.add(CastStep::Map(by_64::from_table, format.decode, Grows::Same));
                        }
                        _ => self.push::<FromTable>(format.decode),
                    }
                }
            }
        }
        Some(lane)
    }

    /// Encodes a lane as a native kind.
    fn convert(&mut self, lane: Lane, source: ScalarKind, kind: ScalarKind, checked: bool) -> Option<()> {
        let target = Lane::of(kind)?;
        if kind == ScalarKind::Bool {
            if checked {
                self.test_range(lane, 0, 1);
            }
            self.non_zero(lane);
            return Some(());
        }
        if let Some(format) = NarrowFormat::of(kind) {
            self.round_to_odd(lane);
            let powers = kind == ScalarKind::Float8E8M0Fnu;
            match (checked, powers) {
                (true, true) => self.add(test::<PowerOfTwo>(self.level, format.lost)),
                (true, false) => self.add(test::<LostToNarrow>(self.level, format.lost)),
                (false, _) => {}
            }
            match kind {
                #[cfg(target_arch = "x86_64")]
                ScalarKind::Float16 if self.level == Level::Avx512 => {
                    self.add(CastStep::Map(by_64::to_halves, StepArgs::NONE, Grows::Same));
                }
                #[cfg(target_arch = "x86_64")]
                ScalarKind::BFloat16 if self.level == Level::Avx512 => {
                    self.add(CastStep::Map(by_64::to_brains, StepArgs::NONE, Grows::Same));
                }
                #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
                ScalarKind::Float16 if self.level > Level::Baseline => {
                    self.add(CastStep::Map(super::narrow::half_by_cpu::to_half, StepArgs::NONE, Grows::Same));
                }
                ScalarKind::Float16 => self.push::<ToNarrow16>(format.encode),
                ScalarKind::BFloat16 => self.push::<ToBrain>(StepArgs::NONE),
                _ if powers => self.push::<PowerOfTwo>(StepArgs::NONE),
                #[cfg(target_arch = "x86_64")]
                _ if self.level == Level::Avx512 => {
                    self.add(CastStep::Map(by_64::to_bytes, format.encode, Grows::Same));
                }
                _ => self.push::<ToNarrow8>(format.encode),
            }
            return Some(());
        }
        if target.is_float() {
            if checked && (lane, target) == (Lane::F64, Lane::F32) {
                self.add(test::<TooLarge>(self.level, StepArgs::NONE));
            }
            self.cast(lane, target);
            return Some(());
        }
        // Bools are 0 or 1, which every integer type represents.
        let (least, greatest) = if source == ScalarKind::Bool { (0, 1) } else { lane.range() };
        let (low, high) = target.range();
        let may_be_lost = least < low || greatest > high;
        if checked && may_be_lost {
            self.test_range(lane, low, high);
        }
        if lane.is_float() {
            self.fit(lane, target);
        } else {
            if may_be_lost && !checked {
                self.clamp(lane, low.max(least), high.min(greatest));
            }
            self.cast(lane, target);
        }
        Some(())
    }

    /// Converts a float to an integer type that the CPU supports directly, clamped to the range of
    /// the target, and narrows that.
    fn fit(&mut self, lane: Lane, target: Lane) {
        let wide = match target {
            Lane::I8 | Lane::I16 | Lane::U8 | Lane::U16 => Lane::I32,
            wide => wide,
        };
        let (low, high) = target.range();
        // Both bounds are in range: the lower one is exact, and the upper one is the next float
        // below.
        let (low, below) = ((low as f64).to_bits(), float_below(lane, high).to_bits());
        let args = StepArgs { low, high: below, top: high as u64, ..StepArgs::NONE };
        match (lane, wide) {
            (Lane::F32, Lane::I32) => self.push::<Fit<f32, i32>>(args),
            (Lane::F32, Lane::U32) => self.push::<Fit<f32, u32>>(args),
            (Lane::F32, Lane::I64) => self.push::<Fit<f32, i64>>(args),
            (Lane::F32, _) => self.push::<Fit<f32, u64>>(args),
            (_, Lane::I32) => self.push::<Fit<f64, i32>>(args),
            (_, Lane::U32) => self.push::<Fit<f64, u32>>(args),
            (_, Lane::I64) => self.push::<Fit<f64, i64>>(args),
            _ => self.push::<Fit<f64, u64>>(args),
        }
        self.cast(wide, target);
    }

    fn non_zero(&mut self, lane: Lane) {
        match lane {
            Lane::I8 | Lane::U8 => self.push::<NonZero<u8>>(StepArgs::NONE),
            Lane::I16 | Lane::U16 => self.push::<NonZero<u16>>(StepArgs::NONE),
            Lane::I32 | Lane::U32 => self.push::<NonZero<u32>>(StepArgs::NONE),
            Lane::I64 | Lane::U64 => self.push::<NonZero<u64>>(StepArgs::NONE),
            Lane::F32 => self.push::<NonZero<f32>>(StepArgs::NONE),
            Lane::F64 => self.push::<NonZero<f64>>(StepArgs::NONE),
        }
    }

    /// Converts to an `f32`, rounded to odd.
    fn round_to_odd(&mut self, lane: Lane) {
        match lane {
            Lane::I32 => self.push::<ToOdd<i32>>(StepArgs::NONE),
            Lane::U32 => self.push::<ToOdd<u32>>(StepArgs::NONE),
            Lane::I64 => self.push::<ToOdd<i64>>(StepArgs::NONE),
            Lane::U64 => self.push::<ToOdd<u64>>(StepArgs::NONE),
            Lane::F64 => self.push::<ToOdd<f64>>(StepArgs::NONE),
            exact => self.cast(exact, Lane::F32),
        }
    }

    /// Refuses fractions, and numbers outside of `low..=high`.
    fn test_range(&mut self, lane: Lane, low: i128, high: i128) {
        if lane.is_float() {
            let args = StepArgs::range((low as f64).to_bits(), float_below(lane, high).to_bits());
            return self.add(match lane {
                Lane::F32 => test::<NotWhole<f32>>(self.level, args),
                _ => test::<NotWhole<f64>>(self.level, args),
            });
        }
        let (least, greatest) = lane.range();
        let args = StepArgs::range(low.max(least) as u64, high.min(greatest) as u64);
        self.add(match lane {
            Lane::I8 => test::<Outside<i8>>(self.level, args),
            Lane::I16 => test::<Outside<i16>>(self.level, args),
            Lane::I32 => test::<Outside<i32>>(self.level, args),
            Lane::I64 => test::<Outside<i64>>(self.level, args),
            Lane::U8 => test::<Outside<u8>>(self.level, args),
            Lane::U16 => test::<Outside<u16>>(self.level, args),
            Lane::U32 => test::<Outside<u32>>(self.level, args),
            _ => test::<Outside<u64>>(self.level, args),
        });
    }

    /// Clamps integers to `low..=high`, both of which the lane represents.
    fn clamp(&mut self, lane: Lane, low: i128, high: i128) {
        let args = StepArgs::range(low as u64, high as u64);
        match lane {
            Lane::I8 => self.push::<Clamp<i8>>(args),
            Lane::I16 => self.push::<Clamp<i16>>(args),
            Lane::I32 => self.push::<Clamp<i32>>(args),
            Lane::I64 => self.push::<Clamp<i64>>(args),
            Lane::U8 => self.push::<Clamp<u8>>(args),
            Lane::U16 => self.push::<Clamp<u16>>(args),
            Lane::U32 => self.push::<Clamp<u32>>(args),
            _ => self.push::<Clamp<u64>>(args),
        }
    }

    /// Rust's `as`.
    fn cast(&mut self, from: Lane, to: Lane) {
        // The signedness of a narrower integer does not matter where bits are dropped.
        let pair = match (from, to) {
            (Lane::I16, Lane::I8 | Lane::U8) => (Lane::U16, Lane::U8),
            (Lane::I32, Lane::I8 | Lane::U8) => (Lane::U32, Lane::U8),
            (Lane::I32, Lane::I16 | Lane::U16) => (Lane::U32, Lane::U16),
            (Lane::I64, Lane::I8 | Lane::U8) => (Lane::U64, Lane::U8),
            (Lane::I64, Lane::I16 | Lane::U16) => (Lane::U64, Lane::U16),
            (Lane::I64, Lane::I32 | Lane::U32) => (Lane::U64, Lane::U32),
            (Lane::U16 | Lane::U32 | Lane::U64, Lane::I8) => (from, Lane::U8),
            (Lane::U32 | Lane::U64, Lane::I16) => (from, Lane::U16),
            (Lane::U64, Lane::I32) => (from, Lane::U32),
            // Widening follows the signedness of the source.
            (Lane::U8, Lane::I16) => (from, Lane::U16),
            (Lane::U8 | Lane::U16, Lane::I32) => (from, Lane::U32),
            (Lane::U8 | Lane::U16 | Lane::U32, Lane::I64) => (from, Lane::U64),
            (Lane::I8, Lane::U16) => (from, Lane::I16),
            (Lane::I8 | Lane::I16, Lane::U32) => (from, Lane::I32),
            (Lane::I8 | Lane::I16 | Lane::I32, Lane::U64) => (from, Lane::I64),
            pair => pair,
        };
        macro_rules! pairs {
            ($($from:ident $from_ty:ty => $($to:ident $to_ty:ty),*;)*) => {
                match pair {
                    $($((Lane::$from, Lane::$to) => self.push::<As<$from_ty, $to_ty>>(StepArgs::NONE),)*)*
                    // All other pairs have the same bits.
                    _ => {}
                }
            };
        }
        pairs! {
            I8 i8 => I16 i16, I32 i32, I64 i64, F32 f32, F64 f64;
            I16 i16 => I32 i32, I64 i64, F32 f32, F64 f64;
            I32 i32 => I64 i64, F32 f32, F64 f64;
            I64 i64 => F32 f32, F64 f64;
            U8 u8 => U16 u16, U32 u32, U64 u64, F32 f32, F64 f64;
            U16 u16 => U8 u8, U32 u32, U64 u64, F32 f32, F64 f64;
            U32 u32 => U8 u8, U16 u16, U64 u64, F32 f32, F64 f64;
            U64 u64 => U8 u8, U16 u16, U32 u32, F32 f32, F64 f64;
            F32 f32 => F64 f64;
            F64 f64 => F32 f32;
        }
    }
}
