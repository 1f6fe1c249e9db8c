//! Conversions between `f32` and narrower floats, in registers of 64 bytes, and the steps over
//! blocks that are made of them.
//!
//! The compiler's own code for them stores narrowed lanes by an instruction that is slow on some
//! CPUs, and looks numbers up in memory.
//!
//! Registers are listed one by one: `map` of an array may stay a call, which passes them in memory.

use std::arch::x86_64::*;

use crate::kernel::block::LaneBlock;
use crate::kernel::cast::narrow::Narrow;
use crate::kernel::cast::step::StepArgs;
use crate::kernel::cast::table::DecodeTable;

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

/// The tables of [`from_byte`].
#[derive(Clone, Copy)]
pub(super) struct ByteTables {
    lower: [__m512i; 4],
    upper: [__m512i; 4],
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn byte_tables(table: &DecodeTable) -> ByteTables {
    let [lower, upper] = &table.upper;
    ByteTables { lower: four(lower), upper: four(upper) }
}

/// As [`FromTable`](crate::kernel::cast::table::FromTable), 64 lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn from_byte(tables: &ByteTables, patterns: __m512i) -> [__m512i; 4] {
    // Each lane gets four patterns of each register of the result, so that these are in order when
    // their bytes have been interleaved within lanes.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let zero = _mm512_setzero_si512();
    let patterns = _mm512_permutexvar_epi32(order, patterns);
    let (lower, upper) = (look_up(tables.lower, patterns), look_up(tables.upper, patterns));
    let (low, high) = (_mm512_unpacklo_epi8(lower, upper), _mm512_unpackhi_epi8(lower, upper));
    [
        _mm512_unpacklo_epi16(zero, low),
        _mm512_unpackhi_epi16(zero, low),
        _mm512_unpacklo_epi16(zero, high),
        _mm512_unpackhi_epi16(zero, high),
    ]
}

/// The upper halves of 16 lanes, rounded; their lower halves are some bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn brain(bits: __m512i) -> __m512i {
    let last = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
    let number = _mm512_castsi512_ps(bits);
    let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(number, number);
    _mm512_mask_mov_epi32(sum, is_nan, _mm512_set1_epi32(0x7fc0_0000))
}

/// As [`ToBrain`](crate::kernel::cast::narrow::ToBrain), 32 lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn to_brain(a: __m512i, b: __m512i) -> __m512i {
    _mm512_permutex2var_epi16(brain(a), halves(UPPER), brain(b))
}

/// As [`half_by_cpu`](crate::kernel::cast::narrow::half_by_cpu), 16 lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn to_half(bits: __m512i) -> __m256i {
    let number = _mm512_castsi512_ps(bits);
    let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(number, number);
    let number = _mm512_mask_mov_ps(number, is_nan, _mm512_set1_ps(f32::NAN));
    _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(number)
}

/// As [`half_by_cpu`](crate::kernel::cast::narrow::half_by_cpu), 16 lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn from_half(half: __m256i) -> __m512i {
    let number = _mm512_cvtph_ps(half);
    let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(number, number);
    let sign = _mm512_and_ps(number, _mm512_set1_ps(-0.0));
    let plain = _mm512_mask_or_ps(number, is_nan, sign, _mm512_set1_ps(f32::NAN));
    _mm512_castps_si512(plain)
}

/// The constants of a format, in registers.
#[derive(Clone, Copy)]
pub(super) struct ByteFormat {
    most: __m512,
    least: __m512i,
    /// 2 to the power of how many bits are dropped.
    power: __m512,
    dropped: __m512i,
    /// What the lowest byte of a rounded number is too large by.
    excess: __m512i,
    nan: __m512i,
    /// How far the sign is right of the highest bit of a byte, and where that is.
    to_sign: __m128i,
    sign: __m512i,
    signed_zero: bool,
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn byte_format(format: &Narrow) -> ByteFormat {
    let all = |number: u32| _mm512_set1_epi32(number as i32);
    let excess = (format.least + (format.dropped << 23)) >> format.dropped;
    ByteFormat {
        most: _mm512_castsi512_ps(all(format.most)),
        least: all(format.least),
        power: _mm512_castsi512_ps(all((127 + format.dropped) << 23)),
        dropped: all(format.dropped),
        excess: _mm512_set1_epi8(excess as i8),
        nan: _mm512_set1_epi8(format.nan as i8),
        to_sign: _mm_cvtsi32_si128(7 - format.sign as i32),
        sign: _mm512_set1_epi8((1_u8 << format.sign) as i8),
        signed_zero: format.signed_zero,
    }
}

/// As [`ToNarrow8`](crate::kernel::cast::narrow::ToNarrow8), 64 lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(super) fn to_byte(format: &ByteFormat, words: [__m512i; 4]) -> __m512i {
    let [a, b, c, d] = words;
    let rounded = pack_low(rounded(format, a), rounded(format, b), rounded(format, c), rounded(format, d));
    let rounded = _mm512_sub_epi8(rounded, format.excess);
    // Saturation keeps the sign.
    let signs = _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    let signs = _mm512_srl_epi16(signs, format.to_sign);
    let packed = if format.signed_zero {
        // rounded | (signs & sign)
        _mm512_ternarylogic_epi32::<0xf8>(rounded, signs, format.sign)
    } else {
        let is_signed = _mm512_test_epi8_mask(rounded, rounded);
        let signed = _mm512_ternarylogic_epi32::<0xf8>(rounded, signs, format.sign);
        _mm512_mask_mov_epi8(rounded, is_signed, signed)
    };
    // The bytes of four registers, of which each lane has four of every one.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let packed = _mm512_permutexvar_epi32(order, packed);
    let unordered = |a, b| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b));
    if unordered(a, b) | unordered(c, d) == 0 {
        return packed;
    }
    let is_nan = |part| u64::from(unordered(part, part));
    let is_nan = is_nan(a) | is_nan(b) << 16 | is_nan(c) << 32 | is_nan(d) << 48;
    _mm512_mask_mov_epi8(packed, is_nan, format.nan)
}

/// 16 magnitudes, rounded: the lowest byte of each, less the excess. The other bytes are some bits.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn rounded(format: &ByteFormat, bits: __m512i) -> __m512i {
    /// The lesser magnitude of both, without its sign.
    const LESSER: i32 = 0b1010;
    let infinite = _mm512_set1_epi32(0x7f80_0000);
    let most = _mm512_range_ps::<LESSER>(_mm512_castsi512_ps(bits), format.most);
    let exponent = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(most), infinite), format.least);
    let sum = _mm512_fmadd_ps(_mm512_castsi512_ps(exponent), format.power, most);
    let sum = _mm512_castps_si512(sum);
    _mm512_add_epi32(sum, _mm512_srlv_epi32(sum, format.dropped))
}

/// The lowest bytes of the lanes, four of each register after the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pack_low(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    let lowest = _mm512_set1_epi32(0xff);
    let ab = _mm512_packus_epi32(_mm512_and_si512(a, lowest), _mm512_and_si512(b, lowest));
    let cd = _mm512_packus_epi32(_mm512_and_si512(c, lowest), _mm512_and_si512(d, lowest));
    _mm512_packus_epi16(ab, cd)
}

/// The registers of a part of a block.
macro_rules! registers {
    ($part:expr, $from:ty => $to:ty) => {
        // SAFETY: both types have as many bytes (`transmute` compares them), and every pattern of
        // these is a value of either.
        unsafe { std::mem::transmute::<$from, $to>($part) }
    };
}
pub(super) use registers;

/// [`from_byte`] of a block, which has room for the lanes beyond `len`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn from_table(args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(64);
    let (src, dst) = (src.lanes::<[u8; 64]>(count), dst.lanes_mut::<[[u8; 64]; 4]>(count));
    let tables = byte_tables(args.table);
    for (to, from) in dst.iter_mut().zip(src) {
        *to = registers!(from_byte(&tables, bytes(*from)), [__m512i; 4] => [[u8; 64]; 4]);
    }
}

/// [`to_brain`] of a block, which has room for the lanes beyond `len`.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn to_brains(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(32);
    let (src, dst) = (src.lanes::<[[u8; 64]; 2]>(count), dst.lanes_mut::<[u8; 64]>(count));
    for (to, from) in dst.iter_mut().zip(src) {
        *to = registers!(to_brain(bytes(from[0]), bytes(from[1])), __m512i => [u8; 64]);
    }
}

/// [`to_half`] of a block, which has room for the lanes beyond `len`.
#[target_feature(enable = "avx512f")]
pub(crate) fn to_halves(_: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(16);
    let (src, dst) = (src.lanes::<[u8; 64]>(count), dst.lanes_mut::<[u8; 32]>(count));
    for (to, from) in dst.iter_mut().zip(src) {
        *to = registers!(to_half(bytes(*from)), __m256i => [u8; 32]);
    }
}

/// [`to_byte`] of a block, which has room for the lanes beyond `len`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(crate) fn to_bytes(args: &StepArgs, src: &LaneBlock, dst: &mut LaneBlock, len: usize) {
    let count = len.div_ceil(64);
    let (src, dst) = (src.lanes::<[[u8; 64]; 4]>(count), dst.lanes_mut::<[u8; 64]>(count));
    let format = byte_format(&args.narrow);
    for (to, from) in dst.iter_mut().zip(src) {
        *to = registers!(to_byte(&format, four(from)), __m512i => [u8; 64]);
    }
}
