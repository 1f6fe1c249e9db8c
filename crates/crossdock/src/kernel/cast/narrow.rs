//! Steps between `f32` and floats of at most 16 bits.
//!
//! Every value of such a float is an `f32`. A table decodes formats of 8 bits; shifts decode those
//! of 16. One loop encodes all formats, with different constants.

use crate::element::{Flavour, FloatFormat, ScalarKind};
use crate::kernel::cast::step::{Map, StepArgs, Test};
use crate::kernel::cast::table::DecodeTable;

const INFINITE: u32 = 0x7f80_0000;

/// The constants with which the loops encode a float format.
///
/// A magnitude is rounded by one addition: a power of two is added whose last bit is the last bit
/// of the result. The sum's lower bits are then the result's mantissa, with the implicit bit.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    /// The greatest magnitude that is told apart, as bits of an `f32`: the next power of two where
    /// the format has an infinity, or the greatest number.
    pub(super) most: u32,
    /// The least normal number, as bits of an `f32`: smaller numbers are rounded at its last bit.
    pub(super) least: u32,
    /// How many bits of the mantissa of an `f32` are dropped.
    pub(super) dropped: u32,
    /// The pattern of NaN, or of 0 in a format without NaN.
    pub(super) nan: u32,
    /// The position of the sign bit.
    pub(super) sign: u32,
    /// Whether zero has a sign.
    pub(super) signed_zero: bool,
}

impl Narrow {
    pub(super) const NONE: Self = Self { most: 0, least: 0, dropped: 0, nan: 0, sign: 0, signed_zero: false };

    fn of(format: FloatFormat) -> Self {
        let greatest = (format.decode(format.max_finite()) as f32).to_bits();
        let has_infinity = format.flavour() == Flavour::Ieee;
        Self {
            most: if has_infinity { (greatest & INFINITE) + (1 << 23) } else { greatest },
            least: ((128 - format.bias()).max(1) as u32) << 23,
            dropped: 23 - format.mantissa_bits(),
            nan: format.nan().unwrap_or(0).into(),
            sign: format.sign().trailing_zeros(),
            signed_zero: format.flavour() != Flavour::NanIsNegativeZero,
        }
    }

    #[inline(always)]
    fn encode(&self, value: f32) -> u32 {
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let most = magnitude.min(self.most);
        let exponent = (most & INFINITE).max(self.least);
        let power = exponent.wrapping_add(self.dropped << 23);
        let sum = (f32::from_bits(most) + f32::from_bits(power)).to_bits();
        let mantissa = sum.wrapping_sub(power);
        let rounded = mantissa.wrapping_add((exponent - self.least).wrapping_shr(self.dropped));
        let signed = self.signed_zero | (rounded != 0);
        let sign = if signed { (bits >> 31).wrapping_shl(self.sign) } else { 0 };
        if magnitude > INFINITE { self.nan } else { rounded | sign }
    }

    /// The magnitudes that the format cannot represent, from `low` to `high`, as bits of an `f32`.
    fn lost(format: FloatFormat) -> StepArgs {
        let max = u32::from(format.max_finite());
        let narrow = Self::of(format);
        // The greatest number, and a half of the step to the next one.
        let greatest = (format.decode(format.max_finite()) as f32).to_bits();
        let tie = greatest + (1 << (narrow.dropped - 1));
        // A tie goes to the even pattern.
        let low = tie + u32::from(max % 2 == 0);
        let high = match format.flavour() {
            Flavour::Ieee => INFINITE - 1,
            Flavour::Finite => u32::MAX >> 1,
            Flavour::FiniteNan | Flavour::NanIsNegativeZero | Flavour::PowerOfTwo => INFINITE,
        };
        StepArgs::range(low.into(), high.into())
    }
}

/// The arguments of the steps to and from a format.
pub(super) struct NarrowFormat {
    pub(super) decode: StepArgs,
    pub(super) encode: StepArgs,
    pub(super) lost: StepArgs,
}

impl NarrowFormat {
    /// The format of a kind that is a float of at most 16 bits.
    pub(super) fn of(kind: ScalarKind) -> Option<Self> {
        let format = FloatFormat::of(kind)?;
        let table = if format.sign() > 0x100 { StepArgs::NONE.table } else { DecodeTable::of(kind, format)? };
        let lost = match format.flavour() {
            Flavour::PowerOfTwo => StepArgs::range(0, u64::from(PowerOfTwo::LIMIT)),
            _ => Narrow::lost(format),
        };
        Some(Self {
            decode: StepArgs { table, ..StepArgs::NONE },
            encode: StepArgs { narrow: Narrow::of(format), ..StepArgs::NONE },
            lost,
        })
    }

    /// The arguments that encode, and find what is lost.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn checked(self) -> StepArgs {
        StepArgs { low: self.lost.low, high: self.lost.high, ..self.encode }
    }
}

/// Replaces every NaN by the one of its sign: narrower formats keep no payload.
#[inline(always)]
fn plain_nan(bits: u32) -> f32 {
    let nan = (bits & 0x8000_0000) | f32::NAN.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > INFINITE { nan } else { bits })
}

/// Decodes a `bfloat16`, the upper half of an `f32`.
pub(super) struct FromBrain;

impl Map for FromBrain {
    type From = u16;
    type To = f32;

    #[inline(always)]
    fn map(_: &StepArgs, value: u16) -> f32 {
        plain_nan(u32::from(value) << 16)
    }
}

/// Decodes a `binary16` with integer operations.
pub(super) struct FromHalf;

impl Map for FromHalf {
    type From = u16;
    type To = f32;

    #[inline(always)]
    fn map(_: &StepArgs, value: u16) -> f32 {
        /// 2^-14, the least normal number, whose mantissa the subnormal numbers extend.
        const LEAST: u32 = (127 - 14) << 23;
        let magnitude = u32::from(value & 0x7fff) << 13;
        let normal = magnitude + ((127 - 15) << 23);
        let subnormal = (f32::from_bits(magnitude + LEAST) - f32::from_bits(LEAST)).to_bits();
        let finite = if magnitude < 1 << 23 { subnormal } else { normal };
        let bits = if value & 0x7c00 == 0x7c00 { magnitude | INFINITE } else { finite };
        plain_nan(bits | (u32::from(value & 0x8000) << 16))
    }
}

/// Encodes a format of at most 8 bits.
pub(super) struct ToNarrow8;

impl Map for ToNarrow8 {
    type From = f32;
    type To = u8;

    #[inline(always)]
    fn map(args: &StepArgs, value: f32) -> u8 {
        args.narrow.encode(value) as u8
    }
}

/// Encodes a `bfloat16`: every number, subnormal or not, is cut off at the same bit.
pub(super) struct ToBrain;

impl Map for ToBrain {
    type From = f32;
    type To = u16;

    #[inline(always)]
    fn map(_: &StepArgs, value: f32) -> u16 {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        (if value.is_nan() { 0x7fc0 } else { rounded }) as u16
    }
}

/// Encodes a format of 16 bits.
pub(super) struct ToNarrow16;

impl Map for ToNarrow16 {
    type From = f32;
    type To = u16;

    #[inline(always)]
    fn map(args: &StepArgs, value: f32) -> u16 {
        args.narrow.encode(value) as u16
    }
}

/// Whether the format cannot represent a magnitude.
pub(super) struct LostToNarrow;

impl Test for LostToNarrow {
    type Of = f32;

    #[inline(always)]
    fn is_lost(args: &StepArgs, value: f32) -> bool {
        let magnitude = value.to_bits() & 0x7fff_ffff;
        (magnitude >= args.low as u32) & (magnitude <= args.high as u32)
    }
}

/// Encodes a bare exponent. What is too small, negative numbers included, becomes the least one; a
/// tie goes up.
pub(super) struct PowerOfTwo;

impl PowerOfTwo {
    /// The greatest number that does not round beyond 2^127, as bits.
    const LIMIT: u32 = (254 << 23) + (1 << 22) - 1;
}

impl Map for PowerOfTwo {
    type From = f32;
    type To = u8;

    #[inline(always)]
    fn map(_: &StepArgs, value: f32) -> u8 {
        /// The middle between 2^-127 and 2^-126, as bits of an `f32`.
        const LEAST_TIE: u32 = 0x0060_0000;
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let rounded = if magnitude < 1 << 23 {
            u32::from(magnitude >= LEAST_TIE)
        } else {
            (magnitude.wrapping_add(1 << 22) >> 23).min(254)
        };
        let positive = if bits >> 31 != 0 { 0 } else { rounded };
        (if magnitude > INFINITE { 255 } else { positive }) as u8
    }
}

impl Test for PowerOfTwo {
    type Of = f32;

    #[inline(always)]
    fn is_lost(args: &StepArgs, value: f32) -> bool {
        let bits = value.to_bits();
        let sayable = (bits != 0) & (bits <= args.high as u32);
        !(sayable | (bits & 0x7fff_ffff > INFINITE))
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod half_by_cpu {
    //! `binary16` by the CPU's own instructions. They keep payloads of NaN, which are dropped here.

    use std::arch::x86_64::{
        __m128i, __m256, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm256_and_ps, _mm256_blendv_ps,
        _mm256_cmp_ps, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_or_ps, _mm256_set1_ps,
    };

    use crate::kernel::block::LaneBlock;
    use crate::kernel::cast::step::StepArgs;

    /// As [`FromHalf`](super::FromHalf), eight lanes.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub(crate) fn from_eight(half: [u16; 8]) -> [f32; 8] {
        let (sign, nan) = (_mm256_set1_ps(-0.0), _mm256_set1_ps(f32::NAN));
        // SAFETY: both types have 16 bytes, and every pattern of 16 bytes is a value of `__m128i`.
        let value = _mm256_cvtph_ps(unsafe { std::mem::transmute::<[u16; 8], __m128i>(half) });
        let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(value, value);
        let plain = _mm256_or_ps(_mm256_and_ps(value, sign), nan);
        let value = _mm256_blendv_ps(value, plain, is_nan);
        // SAFETY: both types have 32 bytes, and every pattern of 32 bytes is a value of `[f32; 8]`.
        unsafe { std::mem::transmute::<__m256, [f32; 8]>(value) }
    }

    /// As [`ToNarrow16`](super::ToNarrow16) for `binary16`, eight lanes.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub(crate) fn to_eight(value: [f32; 8]) -> [u16; 8] {
        // SAFETY: both types have 32 bytes, and every pattern of 32 bytes is a value of `__m256`.
        let value = unsafe { std::mem::transmute::<[f32; 8], __m256>(value) };
        let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(value, value);
        let value = _mm256_blendv_ps(value, _mm256_set1_ps(f32::NAN), is_nan);
        let half = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value);
        // SAFETY: both types have 16 bytes, and every pattern of 16 bytes is a value of `[u16; 8]`.
        unsafe { std::mem::transmute::<__m128i, [u16; 8]>(half) }
    }

    /// [`from_eight`] of a block, which has room for the lanes beyond `len`.
    #[target_feature(enable = "avx2,f16c")]
    pub(crate) fn from_half(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let len = len.next_multiple_of(8);
        let (src, dst) = (src.lanes::<[u16; 8]>(len / 8), dst.lanes_mut::<[f32; 8]>(len / 8));
        for (to, from) in dst.iter_mut().zip(src) {
            *to = from_eight(*from);
        }
    }

    /// [`to_eight`] of a block, which has room for the lanes beyond `len`.
    #[target_feature(enable = "avx2,f16c")]
    pub(crate) fn to_half(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let len = len.next_multiple_of(8);
        let (src, dst) = (src.lanes::<[f32; 8]>(len / 8), dst.lanes_mut::<[u16; 8]>(len / 8));
        for (to, from) in dst.iter_mut().zip(src) {
            *to = to_eight(*from);
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) mod half_by_cpu {
    //! `binary16` by the CPU's own instructions. They keep payloads of NaN, which are dropped here.

    use std::arch::aarch64::{
        float32x4_t, uint16x4_t, vandq_u32, vbslq_f32, vceqq_f32, vdupq_n_f32, vdupq_n_u32, vorrq_u32,
        vreinterpretq_f32_u32, vreinterpretq_u32_f32,
    };
    use std::arch::asm;

    use crate::kernel::block::LaneBlock;
    use crate::kernel::cast::step::StepArgs;

    /// As [`FromHalf`](super::FromHalf), four lanes at a time. The block has room for the lanes
    /// beyond `len`.
    #[target_feature(enable = "neon")]
    pub(crate) fn from_half(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let len = len.next_multiple_of(4);
        let (src, dst) = (src.lanes::<[u16; 4]>(len / 4), dst.lanes_mut::<[f32; 4]>(len / 4));
        let (sign, nan) = (vdupq_n_u32(1 << 31), vreinterpretq_u32_f32(vdupq_n_f32(f32::NAN)));
        for (to, from) in dst.iter_mut().zip(src) {
            // SAFETY: both types have 8 bytes, and every pattern of 8 bytes is a `uint16x4_t`.
            let half = unsafe { std::mem::transmute::<[u16; 4], uint16x4_t>(*from) };
            let value: float32x4_t;
            // SAFETY: the instruction reads and writes registers only.
            unsafe {
                asm!("fcvtl {:v}.4s, {:v}.4h", out(vreg) value, in(vreg) half,
                     options(pure, nomem, nostack, preserves_flags));
            }
            let plain = vorrq_u32(vandq_u32(vreinterpretq_u32_f32(value), sign), nan);
            let value = vbslq_f32(vceqq_f32(value, value), value, vreinterpretq_f32_u32(plain));
            // SAFETY: both types have 16 bytes, and every pattern of 16 bytes is a `[f32; 4]`.
            *to = unsafe { std::mem::transmute::<float32x4_t, [f32; 4]>(value) };
        }
    }

    /// As [`ToNarrow16`](super::ToNarrow16) for `binary16`, four lanes at a time. The block has
    /// room for the lanes beyond `len`.
    #[target_feature(enable = "neon")]
    pub(crate) fn to_half(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
        let len = len.next_multiple_of(4);
        let (src, dst) = (src.lanes::<[f32; 4]>(len / 4), dst.lanes_mut::<[u16; 4]>(len / 4));
        let nan = vdupq_n_f32(f32::NAN);
        for (to, from) in dst.iter_mut().zip(src) {
            // SAFETY: both types have 16 bytes, and every pattern of 16 bytes is a `float32x4_t`.
            let value = unsafe { std::mem::transmute::<[f32; 4], float32x4_t>(*from) };
            let value = vbslq_f32(vceqq_f32(value, value), value, nan);
            let half: uint16x4_t;
            // SAFETY: the instruction reads and writes registers only. It rounds as the program
            // does, to nearest and ties to even.
            unsafe {
                asm!("fcvtn {:v}.4h, {:v}.4s", out(vreg) half, in(vreg) value,
                     options(pure, nomem, nostack, preserves_flags));
            }
            // SAFETY: both types have 8 bytes, and every pattern of 8 bytes is a `[u16; 4]`.
            *to = unsafe { std::mem::transmute::<uint16x4_t, [u16; 4]>(half) };
        }
    }
}
