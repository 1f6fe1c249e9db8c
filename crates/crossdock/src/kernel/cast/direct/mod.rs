//! Conversions of contiguous elements by one loop, without a plan and without blocks.
//!
//! Pairs of scalars that are common and take one step have such a loop. It serves small arrays, for
//! which a plan would take longer than the conversion, and large ones, where each group of elements
//! is loaded, converted and stored in registers.
//!
//! Reasons: `DESIGN.md`, "Numbers are converted in blocks".

mod group;
#[cfg(target_arch = "x86_64")]
mod narrow;
mod registers;

#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use self::group::{GROUP, GroupCast, any, each};
use self::registers::CastRegisters;
#[cfg(target_arch = "x86_64")]
use crate::element::FloatFormat;
use crate::element::{Scalar, ScalarKind};
use crate::kernel::block::STREAMED;
#[cfg(target_arch = "x86_64")]
use crate::kernel::cast::narrow::{FromBrain, NarrowFormat};
use crate::kernel::cast::number::{As, Swap, TooLarge};
use crate::kernel::cast::step::{Map, StepArgs, Test};
use crate::kernel::cpu::Level;
use crate::kernel::pair::{PER_PART, SHARED};
use crate::kernel::{Casting, Racy, threads};
#[cfg(target_arch = "x86_64")]
use crate::memory::racy;

/// A loop over groups, compiled for a level.
type DirectLoop = unsafe fn(&StepArgs, *const u8, *mut u8, usize, bool) -> bool;

/// One loop that converts contiguous elements.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "only loops of x86-64 have arguments, which depend on the kinds")
)]
pub(crate) struct DirectCast {
    chosen: ChosenLoop,
    from: ScalarKind,
    to: ScalarKind,
}

/// A loop with what it needs, in two registers: it is chosen for each small array.
///
/// # Invariants
///
/// 1. `run` was compiled for a level that is available. It converts numbers of these sizes, of
///    which each element has `lanes`.
#[derive(Clone, Copy)]
struct ChosenLoop {
    run: DirectLoop,
    lanes: u8,
    from_size: u8,
    to_size: u8,
    args: LoopArgs,
}

/// Which arguments a loop takes.
#[derive(Clone, Copy)]
enum LoopArgs {
    None,
    /// Those that decode the kind of the source.
    #[cfg(target_arch = "x86_64")]
    Decode,
    /// Those that encode the kind of the target, with what it loses.
    #[cfg(target_arch = "x86_64")]
    Encode,
}

/// Elements that are converted before a thread looks whether another one has lost an element.
const CHUNK: usize = 1 << 14;

impl DirectCast {
    /// The loop from one scalar to another, or `None` if there is none. The baseline, which is for
    /// old CPUs, has none: its loops would be a tenth of the library.
    ///
    /// # Safety
    ///
    /// 1. The level is available.
    #[inline]
    pub(crate) unsafe fn new(from: Scalar, to: Scalar, casting: Casting, level: Level) -> Option<Self> {
        if level == Level::Baseline {
            return None;
        }
        let at = LoopChoice { level, checked: casting == Casting::Checked };
        let chosen = if from.kind() == to.kind() {
            (from != to).then(|| at.swap(from.kind()))??
        } else if from.is_native() && to.is_native() {
            at.numbers(from.kind(), to.kind()).or_else(|| at.narrow(from.kind(), to.kind()))?
        } else {
            return None;
        };
        Some(Self { chosen, from: from.kind(), to: to.kind() })
    }

    /// Calls `f` with the arguments of the loop.
    #[inline]
    fn with_args<R>(&self, f: impl FnOnce(&StepArgs) -> R) -> R {
        match self.chosen.args {
            LoopArgs::None => f(&StepArgs::NONE),
            #[cfg(target_arch = "x86_64")]
            LoopArgs::Decode => {
                f(&NarrowFormat::of(self.from).map_or(StepArgs::NONE, |format| format.decode))
            }
            #[cfg(target_arch = "x86_64")]
            LoopArgs::Encode => f(&NarrowFormat::of(self.to).map_or(StepArgs::NONE, NarrowFormat::checked)),
        }
    }

    /// Whether the loop is no slower than blocks for a destination of so many bytes: other
    /// architectures stream blocks only.
    pub(crate) fn suits(&self, nbytes: usize) -> bool {
        cfg!(target_arch = "x86_64") || nbytes < STREAMED
    }

    /// Converts `len` contiguous elements; large work on several threads. Returns whether none was
    /// lost. If one was, any of them may have been written.
    ///
    /// # Safety
    ///
    /// 1. `len` elements at `src` may be loaded racily, on any thread.
    /// 2. `len` elements at `dst` may be stored racily, on any thread. They do not overlap those at
    ///    `src`, or are the same ones, of one size.
    pub(crate) unsafe fn run(&self, src: *const u8, dst: *mut u8, len: usize) -> bool {
        let [lanes, from_size, to_size] = self.chosen.sizes();
        let lanes = len * lanes;
        let streams = lanes * to_size >= STREAMED;
        let parts = threads::parts(len, SHARED, PER_PART);
        let (src, dst, whole) = (Racy(src.cast_mut()), Racy(dst), AtomicBool::new(true));
        let each = lanes.div_ceil(parts).next_multiple_of(GROUP);
        self.with_args(|args| {
            let part = |part: usize| {
                let first = (part * each).min(lanes);
                let count = each.min(lanes - first);
                let src = src.at((first * from_size) as isize).cast_const();
                let dst = dst.at((first * to_size) as isize);
                // SAFETY: clauses 1 and 2 of `# Safety`: these are `count` of the numbers, from
                // `first` on, and no other part has them.
                unsafe { self.chosen.part(args, src, dst, count, streams, &whole) };
            };
            if parts == 1 { part(0) } else { threads::each(parts, part) }
        });
        whole.into_inner()
    }

    /// Like [`run`](Self::run), on this thread and through the caches.
    ///
    /// # Safety
    ///
    /// Clauses 1 and 2 of [`run`](Self::run).
    #[inline]
    pub(crate) unsafe fn run_here(&self, src: *const u8, dst: *mut u8, len: usize) -> bool {
        let ChosenLoop { run, lanes, .. } = self.chosen;
        // SAFETY: clauses 1 and 2 of `run`, for the numbers of `len` elements; ChosenLoop 1 covers
        // the level and the sizes; it does not stream.
        self.with_args(|args| unsafe { run(args, src, dst, len * usize::from(lanes), false) })
    }
}

impl ChosenLoop {
    /// The numbers of an element, and the bytes of a number on both sides.
    fn sizes(&self) -> [usize; 3] {
        [self.lanes, self.from_size, self.to_size].map(usize::from)
    }

    /// Converts `count` numbers, up to a lossy one, for which `whole` becomes false.
    ///
    /// # Safety
    ///
    /// Clauses 1 and 2 of [`DirectCast::run`], for `count` numbers.
    unsafe fn part(
        &self,
        args: &StepArgs,
        src: *const u8,
        dst: *mut u8,
        count: usize,
        streams: bool,
        whole: &AtomicBool,
    ) {
        let [_, from_size, to_size] = self.sizes();
        let gap = dst.addr().wrapping_neg() % 64;
        let streams = streams && gap.is_multiple_of(to_size);
        let mut done = 0;
        // The first numbers, so that the others are aligned.
        let mut some = if streams && gap > 0 { gap / to_size } else { CHUNK };
        while done < count && whole.load(Relaxed) {
            some = some.min(count - done);
            let (src, dst) = (src.wrapping_add(done * from_size), dst.wrapping_add(done * to_size));
            let streams = streams && dst.addr().is_multiple_of(64);
            // SAFETY: clauses 1 and 2 of `# Safety`: `some` of the numbers, from `done` on;
            // ChosenLoop 1 covers the level and the sizes; it streams only what was found aligned,
            // and this function fences.
            if !unsafe { (self.run)(args, src, dst, some, streams) } {
                whole.store(false, Relaxed);
            }
            (done, some) = (done + some, CHUNK);
        }
        #[cfg(target_arch = "x86_64")]
        if streams {
            racy::vector::fence();
        }
    }
}

/// Each element by a step; refuses what the test finds.
struct Each<M, T = Never<M>>(PhantomData<(M, T)>);

/// A test that finds nothing.
struct Never<M>(PhantomData<M>);

impl<M: Map> Test for Never<M> {
    type Of = M::From;

    #[inline(always)]
    fn is_lost(_: &StepArgs, _: M::From) -> bool {
        false
    }
}

impl<M: Map, T: Test<Of = M::From>> GroupCast for Each<M, T> {
    type From = M::From;
    type To = M::To;

    #[inline(always)]
    unsafe fn convert<R: CastRegisters>(args: &StepArgs, from: &[M::From; GROUP]) -> [M::To; GROUP] {
        each::<M>(args, from)
    }

    #[inline(always)]
    fn is_lost(args: &StepArgs, from: &[M::From; GROUP]) -> bool {
        any::<T>(args, from)
    }
}

/// The choice of a loop for a level.
///
/// Invariant 1: the level is available.
#[derive(Clone, Copy)]
struct LoopChoice {
    level: Level,
    checked: bool,
}

impl LoopChoice {
    fn direct<C: GroupCast>(self, args: LoopArgs, lanes: u8) -> ChosenLoop {
        let (from_size, to_size) = (size_of::<C::From>() as u8, size_of::<C::To>() as u8);
        ChosenLoop { run: compiled::<C>(self.level), lanes, from_size, to_size, args }
    }

    fn each<M: Map>(self, lanes: u8) -> ChosenLoop {
        self.direct::<Each<M>>(LoopArgs::None, lanes)
    }

    /// Byte swaps, which may move anything but text, in which not every number is a letter.
    fn swap(self, kind: ScalarKind) -> Option<ChosenLoop> {
        use ScalarKind::*;
        let lanes = match kind {
            Int16 | Int32 | Int64 | UInt16 | UInt32 | UInt64 | Float16 | BFloat16 | Float32 | Float64
            | DateTime(_) | TimeDelta(_) => 1,
            Complex32 | Complex64 | Complex128 => 2,
            _ => return None,
        };
        Some(match kind.component_size() {
            2 => self.each::<Swap<u16>>(lanes),
            4 => self.each::<Swap<u32>>(lanes),
            _ => self.each::<Swap<u64>>(lanes),
        })
    }

    /// Conversions that lose nothing but the last bits of a float, of which the signedness of the
    /// target does not matter.
    fn numbers(self, from: ScalarKind, to: ScalarKind) -> Option<ChosenLoop> {
        use ScalarKind::*;
        macro_rules! pairs {
            ($($from:ident $from_ty:ty => $($to_ty:ty: $($to:ident)|*),*;)*) => {
                match from {
                    $($from => match to {
                        $($($to)|* => Some(self.each::<As<$from_ty, $to_ty>>(1)),)*
                        _ => None,
                    },)*
                    Float64 if to == Float32 => Some(match self.checked {
                        true => self.direct::<Each<As<f64, f32>, TooLarge>>(LoopArgs::None, 1),
                        false => self.each::<As<f64, f32>>(1),
                    }),
                    Complex64 if to == Complex128 => Some(self.each::<As<f32, f64>>(2)),
                    _ => None,
                }
            };
        }
        pairs! {
            Int8 i8 => i16: Int16, i32: Int32, i64: Int64, f32: Float32, f64: Float64;
            Int16 i16 => i32: Int32, i64: Int64, f32: Float32, f64: Float64;
            Int32 i32 => i64: Int64, f32: Float32, f64: Float64;
            Int64 i64 => f32: Float32, f64: Float64;
            UInt8 u8 => u16: Int16 | UInt16, u32: Int32 | UInt32, u64: Int64 | UInt64, f32: Float32, f64: Float64;
            UInt16 u16 => u32: Int32 | UInt32, u64: Int64 | UInt64, f32: Float32, f64: Float64;
            UInt32 u32 => u64: Int64 | UInt64, f32: Float32, f64: Float64;
            UInt64 u64 => f32: Float32, f64: Float64;
            Float32 f32 => f64: Float64;
        }
    }

    /// Conversions between `f32` and narrower floats.
    #[cfg(target_arch = "x86_64")]
    fn narrow(self, from: ScalarKind, to: ScalarKind) -> Option<ChosenLoop> {
        use LoopArgs::{Decode, Encode};
        use ScalarKind::*;
        match (from, to) {
            // Bare exponents are rounded in a way of their own.
            (Float32, Float8E8M0Fnu) => None,
            (Float32, _) => {
                FloatFormat::of(to)?;
                Some(match (to, self.checked) {
                    (Float16, false) => self.direct::<narrow::ToHalf<false>>(Encode, 1),
                    (Float16, true) => self.direct::<narrow::ToHalf<true>>(Encode, 1),
                    (BFloat16, false) => self.direct::<narrow::ToBrains<false>>(Encode, 1),
                    (BFloat16, true) => self.direct::<narrow::ToBrains<true>>(Encode, 1),
                    (_, false) => self.direct::<narrow::ToByte<false>>(Encode, 1),
                    (_, true) => self.direct::<narrow::ToByte<true>>(Encode, 1),
                })
            }
            (Float16, Float32) => Some(self.direct::<narrow::FromHalves>(LoopArgs::None, 1)),
            (BFloat16, Float32) => Some(self.each::<FromBrain>(1)),
            (_, Float32) => {
                FloatFormat::of(from)?;
                Some(self.direct::<narrow::FromByte>(Decode, 1))
            }
            _ => None,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn narrow(self, _: ScalarKind, _: ScalarKind) -> Option<ChosenLoop> {
        None
    }
}

/// The loop compiled for a level.
fn compiled<C: GroupCast>(level: Level) -> DirectLoop {
    let _ = level;
    macro_rules! at {
        ($name:ident, $registers:ty $(, $features:literal)?) => {
            /// # Safety
            ///
            /// Clauses 1 to 4 of [`group::run`].
            $(#[target_feature(enable = $features)])?
            unsafe fn $name<C: GroupCast>(
                args: &StepArgs,
                src: *const u8,
                dst: *mut u8,
                len: usize,
                streams: bool,
            ) -> bool {
                // SAFETY: clauses 1 to 4 of `group::run` are passed on unchanged.
                unsafe { group::run::<$registers, C>(args, src, dst, len, streams) }
            }
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    at!(portable, registers::Portable);
    #[cfg(target_arch = "x86_64")]
    at!(avx2, registers::Avx2, "avx2,fma,f16c,bmi1,bmi2");
    #[cfg(target_arch = "x86_64")]
    at!(avx512, registers::Avx512, "avx2,fma,f16c,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi");
    #[cfg(not(target_arch = "x86_64"))]
    return portable::<C>;
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx512 { avx512::<C> } else { avx2::<C> }
}
