//! Steps between `f32` and narrower floats, in registers of 64 bytes.
//!
//! The compiler's own code for them stores narrowed lanes by an instruction that is slow on some
//! CPUs, and looks numbers up in memory.
//!
//! Registers are listed one by one: `map` of an array may stay a call, which passes them in memory.

use std::arch::x86_64::*;

use crate::kernel::block::LaneBlock;
use crate::kernel::cast::narrow::Narrow;
use crate::kernel::cast::step::StepArgs;

/// The upper halves of the 32-bit lanes of two registers, in order.
const UPPER: [u16; 32] = {
    let mut lanes = [0; 32];
    let mut lane = 0;
    while lane < lanes.len() {
        lanes[lane] = 2 * lane as u16 + 1;
        lane += 1;
    }
    lanes
};

#[inline]
#[target_feature(enable = "avx512f")]
fn bytes(bytes: [u8; 64]) -> __m512i {
    // SAFETY: both types have 64 bytes, and every pattern of them is a value of `__m512i`.
    unsafe { std::mem::transmute::<[u8; 64], __m512i>(bytes) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn halves(lanes: [u16; 32]) -> __m512i {
    // SAFETY: both types have 64 bytes, and every pattern of them is a value of `__m512i`.
    unsafe { std::mem::transmute::<[u16; 32], __m512i>(lanes) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn four(parts: &[[u8; 64]; 4]) -> [__m512i; 4] {
    [bytes(parts[0]), bytes(parts[1]), bytes(parts[2]), bytes(parts[3])]
}

/// The byte of a table for each pattern.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(table: [__m512i; 4], patterns: __m512i) -> __m512i {
    let positive = _mm512_permutex2var_epi8(table[0], patterns, table[1]);
    let negative = _mm512_permutex2var_epi8(table[2], patterns, table[3]);
    _mm512_mask_blend_epi8(_mm512_movepi8_mask(patterns), positive, negative)
}

/// As [`FromTable`](crate::kernel::cast::table::FromTable), 64 lanes at a time. The block has room
/// for the lanes beyond `len`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn from_table(args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(64);
    let (src, dst) = (src.lanes::<[u8; 64]>(count), dst.lanes_mut::<[[u8; 64]; 4]>(count));
    let [lower, upper] = &args.table.upper;
    let (lower, upper) = (four(lower), four(upper));
    // Each lane gets four patterns of each register of the result, so that these are in order when
    // their bytes have been interleaved within lanes.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let zero = _mm512_setzero_si512();
    for (to, from) in dst.iter_mut().zip(src) {
        let patterns = _mm512_permutexvar_epi32(order, bytes(*from));
        let (lower, upper) = (look_up(lower, patterns), look_up(upper, patterns));
        let (low, high) = (_mm512_unpacklo_epi8(lower, upper), _mm512_unpackhi_epi8(lower, upper));
        let words = [
            _mm512_unpacklo_epi16(zero, low),
            _mm512_unpackhi_epi16(zero, low),
            _mm512_unpacklo_epi16(zero, high),
            _mm512_unpackhi_epi16(zero, high),
        ];
        // SAFETY: both types have 256 bytes, and every pattern of them is a value of the array.
        *to = unsafe { std::mem::transmute::<[__m512i; 4], [[u8; 64]; 4]>(words) };
    }
}

/// The upper halves of 16 lanes, rounded; their lower halves are some bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn brain(part: [u8; 64]) -> __m512i {
    let bits = bytes(part);
    let last = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
    let number = _mm512_castsi512_ps(bits);
    let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(number, number);
    _mm512_mask_mov_epi32(sum, is_nan, _mm512_set1_epi32(0x7fc0_0000))
}

/// As [`ToBrain`](crate::kernel::cast::narrow::ToBrain), 32 lanes at a time. The block has room for
/// the lanes beyond `len`.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn to_brain(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(32);
    let (src, dst) = (src.lanes::<[[u8; 64]; 2]>(count), dst.lanes_mut::<[u8; 64]>(count));
    for (to, from) in dst.iter_mut().zip(src) {
        let (a, b) = (brain(from[0]), brain(from[1]));
        let upper = _mm512_permutex2var_epi16(a, halves(UPPER), b);
        // SAFETY: both types have 64 bytes, and every pattern of them is a value of the array.
        *to = unsafe { std::mem::transmute::<__m512i, [u8; 64]>(upper) };
    }
}

/// As [`to_half`](crate::kernel::cast::narrow::half_by_cpu::to_half), 16 lanes at a time.
#[target_feature(enable = "avx512f")]
pub(crate) fn to_half(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(16);
    let (src, dst) = (src.lanes::<[u8; 64]>(count), dst.lanes_mut::<[u8; 32]>(count));
    for (to, from) in dst.iter_mut().zip(src) {
        let number = _mm512_castsi512_ps(bytes(*from));
        let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(number, number);
        let number = _mm512_mask_mov_ps(number, is_nan, _mm512_set1_ps(f32::NAN));
        let half = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(number);
        // SAFETY: both types have 32 bytes, and every pattern of them is a value of the array.
        *to = unsafe { std::mem::transmute::<__m256i, [u8; 32]>(half) };
    }
}

/// As [`ToNarrow8`](crate::kernel::cast::narrow::ToNarrow8), 64 lanes at a time. The block has room
/// for the lanes beyond `len`.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn to_narrow8(args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    if args.narrow.signed_zero {
        encode::<true>(&args.narrow, src, dst, len);
    } else {
        encode::<false>(&args.narrow, src, dst, len);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn encode<const SIGNED_ZERO: bool>(format: &Narrow, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(64);
    let (src, dst) = (src.lanes::<[[u8; 64]; 4]>(count), dst.lanes_mut::<[u8; 64]>(count));
    let all = |number: u32| _mm512_set1_epi32(number as i32);
    let (one, without_sign) = (all(1), all(u32::MAX >> 1));
    let dropped = all(format.dropped);
    // What rounds a normal number, less the difference of the biases: a normal number is no less.
    let below_half = (1 << (format.dropped - 1)) - 1;
    let rounding = all(u32::wrapping_sub(below_half, format.rebias << format.dropped));
    let (least_normal, magic) = (all(format.least_normal), all(format.magic));
    let (greatest, nan) = (all(format.greatest), all(format.nan));
    let (sign, to_sign) = (all(1 << format.sign), all(31 - format.sign));
    // The bytes of four registers, of which each lane has four of every one.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (to, from) in dst.iter_mut().zip(src) {
        let mut words = [_mm512_setzero_si512(); 4];
        for (word, part) in words.iter_mut().zip(from) {
            let bits = bytes(*part);
            let magnitude = _mm512_and_si512(bits, without_sign);
            let odd = _mm512_and_si512(_mm512_srlv_epi32(magnitude, dropped), one);
            let sum = _mm512_add_epi32(_mm512_add_epi32(magnitude, rounding), odd);
            let normal = _mm512_srlv_epi32(sum, dropped);
            let is_subnormal = _mm512_cmplt_epu32_mask(magnitude, least_normal);
            let sum = _mm512_add_ps(_mm512_castsi512_ps(magnitude), _mm512_castsi512_ps(magic));
            let rounded = _mm512_mask_sub_epi32(normal, is_subnormal, _mm512_castps_si512(sum), magic);
            let rounded = _mm512_min_epu32(rounded, greatest);
            let signs = _mm512_srlv_epi32(bits, to_sign);
            let signed = if SIGNED_ZERO {
                // rounded | (signs & sign)
                _mm512_ternarylogic_epi32::<0xf8>(rounded, signs, sign)
            } else {
                let is_signed = _mm512_test_epi32_mask(rounded, rounded);
                _mm512_mask_or_epi32(rounded, is_signed, rounded, _mm512_and_si512(signs, sign))
            };
            let number = _mm512_castsi512_ps(bits);
            let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(number, number);
            *word = _mm512_mask_mov_epi32(signed, is_nan, nan);
        }
        let [a, b, c, d] = words;
        let packed = _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d));
        let packed = _mm512_permutexvar_epi32(order, packed);
        // SAFETY: both types have 64 bytes, and every pattern of them is a value of the array.
        *to = unsafe { std::mem::transmute::<__m512i, [u8; 64]>(packed) };
    }
}
