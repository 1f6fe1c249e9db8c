//! Rounds floats to whole numbers, in place.

use crate::kernel::cpu::{Level, at_each_level};

/// A direction in which floats are rounded to whole numbers, under NumPy's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, ties to the even one: IEEE 754's `roundToIntegralTiesToEven`.
    Rint,
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// Towards zero.
    Trunc,
}

/// Rounds native floats of 4 or, if `is_double`, 8 bytes. NaN and infinities stay.
pub(crate) fn round(rounding: Rounding, bytes: &mut [u8], is_double: bool) {
    match rounding {
        Rounding::Rint => each::<Rint>(bytes, is_double),
        Rounding::Floor => each::<Floor>(bytes, is_double),
        Rounding::Ceil => each::<Ceil>(bytes, is_double),
        Rounding::Trunc => each::<Trunc>(bytes, is_double),
    }
}

trait Round {
    fn single(value: f32) -> f32;
    fn double(value: f64) -> f64;
}

macro_rules! rounds {
    ($($name:ident: $method:ident;)*) => {
        $(
            struct $name;

            impl Round for $name {
                #[inline(always)]
                fn single(value: f32) -> f32 {
                    value.$method()
                }

                #[inline(always)]
                fn double(value: f64) -> f64 {
                    value.$method()
                }
            }
        )*
    };
}

rounds! {
    Rint: round_ties_even;
    Floor: floor;
    Ceil: ceil;
    Trunc: trunc;
}

fn each<R: Round>(bytes: &mut [u8], is_double: bool) {
    #[inline(always)]
    fn body<R: Round>(bytes: &mut [u8], is_double: bool) {
        if is_double {
            for lane in bytes.as_chunks_mut().0 {
                *lane = R::double(f64::from_ne_bytes(*lane)).to_ne_bytes();
            }
        } else {
            for lane in bytes.as_chunks_mut().0 {
                *lane = R::single(f32::from_ne_bytes(*lane)).to_ne_bytes();
            }
        }
    }
    at_each_level!(R: Round, (bytes: &mut [u8], is_double: bool), body);
    match Level::current() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::current` is a level of this CPU.
        Level::Avx512 => unsafe { avx512::<R>(bytes, is_double) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::current` is a level of this CPU.
        Level::Avx2 => unsafe { avx2::<R>(bytes, is_double) },
        _ => baseline::<R>(bytes, is_double),
    }
}
