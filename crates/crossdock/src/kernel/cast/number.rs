//! Steps between native integers and floats, and byte swaps.

use std::marker::PhantomData;

use crate::element::{narrowed, widened};
use crate::kernel::block::LaneBlock;
use crate::kernel::cast::step::{BlockLoop, Grows, Map, StepArgs, Test};
use crate::memory::Pod;

/// Rust's `as` without saturation: integers wrap, and a number becomes the nearest float, ties to
/// even, with the sign and the payload of a NaN.
pub(super) struct As<S, D>(PhantomData<(S, D)>);

macro_rules! as_by {
    ($from:ty, $to:ty, |$value:ident| $result:expr) => {
        impl Map for As<$from, $to> {
            type From = $from;
            type To = $to;

            #[inline(always)]
            fn map(_: &StepArgs, $value: $from) -> $to {
                $result
            }
        }
    };
}

macro_rules! as_of {
    ($($from:ty => $($to:ty),*;)*) => { $($(as_by!($from, $to, |value| value as $to);)*)* };
}

as_of! {
    i8 => i16, i32, i64, f32, f64;
    i16 => i32, i64, f32, f64;
    i32 => i64, f32, f64;
    i64 => f32, f64;
    u8 => u16, u32, u64, f32, f64;
    u16 => u8, u32, u64, f32, f64;
    u32 => u8, u16, u64, f32, f64;
    u64 => u8, u16, u32, f32, f64;
}

as_by!(f32, f64, |value| widened(value));
as_by!(f64, f32, |value| narrowed(value));

/// Truncates a float to an integer. Values outside of the doubles `low..=high` become `low` or
/// `top`, and NaN becomes 0. Rust's `as` gives the same for whole types, but compilers do not
/// vectorise it.
pub(super) struct Fit<S, D>(PhantomData<(S, D)>);

macro_rules! fit {
    ($($from:ty => $($to:ty),*;)*) => {
        $($(
            impl Map for Fit<$from, $to> {
                type From = $from;
                type To = $to;

                #[inline(always)]
                fn map(args: &StepArgs, value: $from) -> $to {
                    let (low, high) = (f64::from_bits(args.low) as $from, f64::from_bits(args.high) as $from);
                    let within = if value > low { value } else { low };
                    let within = if within < high { within } else { high };
                    // SAFETY: the two comparisons replace NaN by `low` and clamp to `low..=high`,
                    // and the integer type represents both bounds (`CastPlan::fit`).
                    let near = unsafe { within.to_int_unchecked::<$to>() };
                    let near = if value > high { args.top as $to } else { near };
                    if value.is_nan() { 0 } else { near }
                }
            }
        )*)*
    };
}

fit! {
    f32 => i32, i64, u32, u64;
    f64 => i32, i64, u32, u64;
}

/// Clamps integers to `low..=high`.
pub(super) struct Clamp<T>(PhantomData<T>);

/// Whether an integer is outside of `low..=high`.
pub(super) struct Outside<T>(PhantomData<T>);

/// Whether a number is not 0, as 1 or 0 in a byte. NaN counts as not 0.
pub(super) struct NonZero<T>(PhantomData<T>);

/// Reverses the bytes.
pub(super) struct Swap<T>(PhantomData<T>);

/// Puts a zero after each lane.
pub(super) struct WithZeros<T>(PhantomData<T>);

/// Keeps every other lane, from the first.
pub(super) struct Evens<T>(PhantomData<T>);

macro_rules! integers {
    ($($ty:ty),*) => {
        $(
            impl Map for Clamp<$ty> {
                type From = $ty;
                type To = $ty;

                #[inline(always)]
                fn map(args: &StepArgs, value: $ty) -> $ty {
                    value.max(args.low as $ty).min(args.high as $ty)
                }
            }

            impl Test for Outside<$ty> {
                type Of = $ty;

                #[inline(always)]
                fn is_lost(args: &StepArgs, value: $ty) -> bool {
                    (value < args.low as $ty) | (value > args.high as $ty)
                }
            }
        )*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! words {
    ($($ty:ty),*) => {
        $(
            impl Map for NonZero<$ty> {
                type From = $ty;
                type To = u8;

                #[inline(always)]
                fn map(_: &StepArgs, value: $ty) -> u8 {
                    u8::from(value != 0)
                }
            }

            impl Map for Swap<$ty> {
                type From = $ty;
                type To = $ty;

                #[inline(always)]
                fn map(_: &StepArgs, value: $ty) -> $ty {
                    value.swap_bytes()
                }
            }
        )*
    };
}

words!(u8, u16, u32, u64);

impl<T: Pod + Default> BlockLoop for WithZeros<T> {
    const GROWS: Grows = Grows::Twice;

    #[inline(always)]
    fn run(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let (src, dst) = (src.lanes::<T>(len), dst.lanes_mut::<T>(2 * len));
        for (pair, &value) in dst.chunks_exact_mut(2).zip(src) {
            (pair[0], pair[1]) = (value, T::default());
        }
    }
}

impl<T: Pod> BlockLoop for Evens<T> {
    const GROWS: Grows = Grows::Half;

    #[inline(always)]
    fn run(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let (src, dst) = (src.lanes::<T>(len), dst.lanes_mut::<T>(len / 2));
        for (value, pair) in dst.iter_mut().zip(src.chunks_exact(2)) {
            *value = pair[0];
        }
    }
}

/// Whether either byte of a pair is not 0.
pub(super) struct Either;

impl BlockLoop for Either {
    const GROWS: Grows = Grows::Half;

    #[inline(always)]
    fn run(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let (src, dst) = (src.lanes::<u8>(len), dst.lanes_mut::<u8>(len / 2));
        for (value, pair) in dst.iter_mut().zip(src.chunks_exact(2)) {
            *value = pair[0] | pair[1];
        }
    }
}

/// Whether a float is fractional or outside of `low..=high`, which are doubles.
pub(super) struct NotWhole<T>(PhantomData<T>);

/// Rounds a number to an `f32` on the way to a narrower float. Bits beyond the 24 of the mantissa
/// set the last of these, so the second rounding goes the way of a single one.
pub(super) struct ToOdd<T>(PhantomData<T>);

macro_rules! floats {
    ($($ty:ty, $bits:ty;)*) => {
        $(
            impl Map for NonZero<$ty> {
                type From = $ty;
                type To = u8;

                #[inline(always)]
                fn map(_: &StepArgs, value: $ty) -> u8 {
                    u8::from(value != 0.0)
                }
            }

            impl Test for NotWhole<$ty> {
                type Of = $ty;

                #[inline(always)]
                fn is_lost(args: &StepArgs, value: $ty) -> bool {
                    let (low, high) = (f64::from_bits(args.low) as $ty, f64::from_bits(args.high) as $ty);
                    !((value >= low) & (value <= high) & (value.trunc() == value))
                }
            }
        )*
    };
}

floats! {
    f32, u32;
    f64, u64;
}

#[inline(always)]
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    let outward = back.abs() > value.abs();
    let inexact = (back != value) & !value.is_nan();
    let odd = (near.to_bits() - u32::from(outward & inexact)) | u32::from(inexact);
    f32::from_bits(odd)
}

/// An integer as a double: all of it, or the 53 highest bits with the last of them set if any lower
/// bit is.
macro_rules! to_odd_of_long {
    ($value:ident, $ty:ty, $magnitude:expr) => {{
        const BELOW: $ty = (1 << 11) - 1;
        let cut = ($value & !BELOW) | (<$ty>::from($value & BELOW != 0) << 11);
        if $magnitude < 1 << 53 { $value as f64 } else { cut as f64 }
    }};
}

macro_rules! to_odd {
    ($($ty:ty, |$value:ident| $double:expr;)*) => {
        $(
            impl Map for ToOdd<$ty> {
                type From = $ty;
                type To = f32;

                #[inline(always)]
                fn map(_: &StepArgs, $value: $ty) -> f32 {
                    to_odd($double)
                }
            }
        )*
    };
}

to_odd! {
    f64, |value| value;
    i32, |value| f64::from(value);
    u32, |value| f64::from(value);
    i64, |value| to_odd_of_long!(value, i64, value.unsigned_abs());
    u64, |value| to_odd_of_long!(value, u64, value);
}

/// Whether a finite double becomes an infinite `f32`.
pub(super) struct TooLarge;

impl Test for TooLarge {
    type Of = f64;

    #[inline(always)]
    fn is_lost(_: &StepArgs, value: f64) -> bool {
        // The middle between the greatest `f32` and the next step. The tie goes to the even one,
        // which is infinite.
        const LIMIT: f64 = (f32::MAX as f64) + (1_u128 << 103) as f64;
        (value.abs() >= LIMIT) & (value.abs() < f64::INFINITY)
    }
}
