//! Sums of whole blocks in place, with AVX-512.
//!
//! Another process may write a mapped file meanwhile, so vectors are loaded racily.
//! Numbers of up to 16 bits are added up as integers, wider ones as doubles: their sum in one block
//! is exact for integers of 32 bits. Squares of numbers that are far from zero and near each other
//! would lose digits: such a block is added up again, by distances from its first element, and so
//! is a block with NaN.

use std::arch::x86_64::*;

use crossdock::bindings::racy::load64;
use crossdock::element::ScalarKind;

use crate::inspect::statistics::floats::Floats;
use crate::inspect::statistics::integers::Integers;
use crate::inspect::statistics::moments::Moments;

/// The bytes of a block. Its sums of small integers do not overflow, and it stays in the nearest
/// cache for the second time.
pub(super) const BLOCK: usize = 1 << 14;

/// A block whose squared deviations are less than this part of its squares is added up by
/// distances.
const CANCELLED: f64 = 1.0 / 1024.0;

/// A block of numbers, added up as doubles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubles<T> {
    least: T,
    greatest: T,
    zeros: u32,
    /// The numbers, without NaN.
    numbers: u32,
    /// The number from which the distances are.
    origin: f64,
    sum: f64,
    squares: f64,
}

impl<T> Doubles<T> {
    fn moments(&self) -> Moments {
        Moments::of(self.numbers.into(), self.origin, self.sum, self.squares)
    }

    /// Whether the sums are exact enough, which those with NaN are not.
    fn is_exact(&self) -> bool {
        let deviations = self.squares - self.sum / f64::from(self.numbers) * self.sum;
        deviations >= self.squares * CANCELLED
    }
}

/// A block of small integers, added up exactly.
#[derive(Clone, Copy, Debug)]
struct Exact {
    range: (i64, i64),
    zeros: u32,
    sum: i64,
    squares: i64,
}

/// Whether the CPU has the instructions.
pub(super) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512vl")
}

/// Adds up numbers of at least 32 bits: a vector of them is one vector of doubles, or two.
macro_rules! doubles {
    (
        $name:ident: $ty:ty, $limits:expr, $from:expr, $min:ident, $max:ident, $least:expr, $greatest:expr,
        $doubles:expr, $zeros:expr, $numbers:expr
    ) => {
        /// # Safety
        ///
        /// 1. The bytes of a block at `start` may be loaded racily.
        /// 2. The CPU has the instructions: [`is_available`].
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $name<const BY_DISTANCE: bool>(start: *const u8) -> Doubles<$ty> {
            const PARTS: usize = 8 / size_of::<$ty>();
            let (low, high) = $limits;
            let (mut least, mut greatest) = ([high; 2], [low; 2]);
            let (mut zeros, mut numbers) = (0, 0);
            let mut sum = [[_mm512_setzero_pd(); PARTS]; 2];
            let mut squares = sum;
            // SAFETY: clause 1 of `# Safety`: the first 64 bytes lie within the block.
            let first = _mm512_cvtsd_f64(($doubles)(($from)(unsafe { load64(start) }))[0]);
            let origin = if BY_DISTANCE && first.is_finite() { first } else { 0.0 };
            let origins = _mm512_set1_pd(origin);
            for at in (0..BLOCK).step_by(128) {
                for lane in 0..2 {
                    // SAFETY: clause 1 of `# Safety`: these 64 bytes end within the block.
                    let values = ($from)(unsafe { load64(start.wrapping_add(at + 64 * lane)) });
                    // If the first one is NaN, these return the second.
                    least[lane] = $min(values, least[lane]);
                    greatest[lane] = $max(values, greatest[lane]);
                    zeros += ($zeros)(values);
                    let mask: u16 = if BY_DISTANCE { ($numbers)(values) } else { 0 };
                    numbers += mask.count_ones();
                    for (part, mut double) in ($doubles)(values).into_iter().enumerate() {
                        if BY_DISTANCE {
                            double = _mm512_maskz_sub_pd((mask >> (8 * part)) as u8, double, origins);
                        }
                        sum[lane][part] = _mm512_add_pd(sum[lane][part], double);
                        squares[lane][part] = _mm512_fmadd_pd(double, double, squares[lane][part]);
                    }
                }
            }
            let (mut sums, mut totals) = (_mm512_setzero_pd(), _mm512_setzero_pd());
            for lane in 0..2 {
                for part in 0..PARTS {
                    sums = _mm512_add_pd(sums, sum[lane][part]);
                    totals = _mm512_add_pd(totals, squares[lane][part]);
                }
            }
            Doubles {
                least: ($least)($min(least[0], least[1])),
                greatest: ($greatest)($max(greatest[0], greatest[1])),
                zeros,
                numbers: if BY_DISTANCE { numbers } else { (BLOCK / size_of::<$ty>()) as u32 },
                origin,
                sum: _mm512_reduce_add_pd(sums),
                squares: _mm512_reduce_add_pd(totals),
            }
        }
    };
}

doubles! {
    add_f32: f32, (_mm512_set1_ps(f32::NEG_INFINITY), _mm512_set1_ps(f32::INFINITY)),
    |bytes| _mm512_castsi512_ps(bytes), _mm512_min_ps, _mm512_max_ps,
    |lanes| _mm512_reduce_min_ps(lanes), |lanes| _mm512_reduce_max_ps(lanes),
    |values| [
        _mm512_cvtps_pd(_mm512_castps512_ps256(values)),
        _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(values)),
    ],
    |values| _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(values, _mm512_setzero_ps()).count_ones(),
    |values| _mm512_cmp_ps_mask::<_CMP_ORD_Q>(values, values)
}

doubles! {
    add_f64: f64, (_mm512_set1_pd(f64::NEG_INFINITY), _mm512_set1_pd(f64::INFINITY)),
    |bytes| _mm512_castsi512_pd(bytes), _mm512_min_pd, _mm512_max_pd,
    |lanes| _mm512_reduce_min_pd(lanes), |lanes| _mm512_reduce_max_pd(lanes),
    |values| [values],
    |values| _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(values, _mm512_setzero_pd()).count_ones(),
    |values| _mm512_cmp_pd_mask::<_CMP_ORD_Q>(values, values).into()
}

doubles! {
    add_i32: i32, (_mm512_set1_epi32(i32::MIN), _mm512_set1_epi32(i32::MAX)),
    |bytes| bytes, _mm512_min_epi32, _mm512_max_epi32,
    |lanes| _mm512_reduce_min_epi32(lanes), |lanes| _mm512_reduce_max_epi32(lanes),
    |values| [
        _mm512_cvtepi32_pd(_mm512_castsi512_si256(values)),
        _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64::<1>(values)),
    ],
    |values| _mm512_testn_epi32_mask(values, values).count_ones(),
    |_| u16::MAX
}

doubles! {
    add_u32: u32, (_mm512_setzero_si512(), _mm512_set1_epi32(-1)),
    |bytes| bytes, _mm512_min_epu32, _mm512_max_epu32,
    |lanes| _mm512_reduce_min_epu32(lanes), |lanes| _mm512_reduce_max_epu32(lanes),
    |values| [
        _mm512_cvtepu32_pd(_mm512_castsi512_si256(values)),
        _mm512_cvtepu32_pd(_mm512_extracti64x4_epi64::<1>(values)),
    ],
    |values| _mm512_testn_epi32_mask(values, values).count_ones(),
    |_| u16::MAX
}

doubles! {
    add_i64: i64, (_mm512_set1_epi64(i64::MIN), _mm512_set1_epi64(i64::MAX)),
    |bytes| bytes, _mm512_min_epi64, _mm512_max_epi64,
    |lanes| _mm512_reduce_min_epi64(lanes), |lanes| _mm512_reduce_max_epi64(lanes),
    |values| [_mm512_cvtepi64_pd(values)],
    |values| _mm512_testn_epi64_mask(values, values).count_ones(),
    |_| u8::MAX.into()
}

doubles! {
    add_u64: u64, (_mm512_setzero_si512(), _mm512_set1_epi64(-1)),
    |bytes| bytes, _mm512_min_epu64, _mm512_max_epu64,
    |lanes| _mm512_reduce_min_epu64(lanes), |lanes| _mm512_reduce_max_epu64(lanes),
    |values| [_mm512_cvtepu64_pd(values)],
    |values| _mm512_testn_epi64_mask(values, values).count_ones(),
    |_| u8::MAX.into()
}

/// The exact sum of integers of 64 bits.
///
/// # Safety
///
/// 1. The bytes of a block at `start` may be loaded racily.
/// 2. The CPU has the instructions: [`is_available`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn sum_64<const SIGNED: bool>(start: *const u8) -> i128 {
    let (mut low, mut high) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    let mask = _mm512_set1_epi64(0xffff_ffff);
    for at in (0..BLOCK).step_by(64) {
        // SAFETY: clause 1 of `# Safety`: these 64 bytes end within the block.
        let values = unsafe { load64(start.wrapping_add(at)) };
        let upper = if SIGNED { _mm512_srai_epi64::<32>(values) } else { _mm512_srli_epi64::<32>(values) };
        low = _mm512_add_epi64(low, _mm512_and_si512(values, mask));
        high = _mm512_add_epi64(high, upper);
    }
    (i128::from(_mm512_reduce_add_epi64(high)) << 32) + i128::from(_mm512_reduce_add_epi64(low))
}

/// Adds up integers of 8 or 16 bits. Unsigned ones are made signed ones by flipping the highest
/// bit, and the results are moved back.
macro_rules! exact {
    (
        $name:ident: $bits:literal, $flip:expr, $min:ident, $max:ident, $add:expr, $zeros:expr, $lanes:ty
    ) => {
        /// # Safety
        ///
        /// 1. The bytes of a block at `start` may be loaded racily.
        /// 2. The CPU has the instructions: [`is_available`].
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn $name<const SIGNED: bool>(start: *const u8) -> Exact {
            let flip = $flip;
            let mut zeros = 0;
            let (mut sum, mut squares) = (_mm512_setzero_si512(), _mm512_setzero_si512());
            // SAFETY: clause 1 of `# Safety`: the first 64 bytes lie within the block.
            let first = unsafe { load64(start) };
            let first = if SIGNED { first } else { _mm512_xor_si512(first, flip) };
            let (mut least, mut greatest) = (first, first);
            for at in (0..BLOCK).step_by(64) {
                // SAFETY: clause 1 of `# Safety`: these 64 bytes end within the block.
                let bytes = unsafe { load64(start.wrapping_add(at)) };
                zeros += ($zeros)(bytes);
                let values = if SIGNED { bytes } else { _mm512_xor_si512(bytes, flip) };
                least = $min(values, least);
                greatest = $max(values, greatest);
                ($add)(values, &mut sum, &mut squares);
            }
            let ends = |lanes: __m512i| -> [$lanes; 64 / size_of::<$lanes>()] {
                // SAFETY: both types are 64 bytes, of which every pattern is a value.
                unsafe { std::mem::transmute(lanes) }
            };
            let range = [ends(least).into_iter().min(), ends(greatest).into_iter().max()];
            let [low, high] = range.map(|end| i64::from(end.unwrap_or_default()));
            let (sum, squares) = (_mm512_reduce_add_epi64(sum), _mm512_reduce_add_epi64(squares));
            let count = (BLOCK / size_of::<$lanes>()) as i64;
            let moved: i64 = if SIGNED { 0 } else { 1 << ($bits - 1) };
            Exact {
                range: (low + moved, high + moved),
                zeros,
                sum: sum + moved * count,
                squares: squares + 2 * moved * sum + moved * moved * count,
            }
        }
    };
}

exact! {
    add_8: 8, _mm512_set1_epi8(i8::MIN), _mm512_min_epi8, _mm512_max_epi8,
    |values: __m512i, sum: &mut __m512i, squares: &mut __m512i| {
        // Every second one, as integers of 16 bits.
        let odd = _mm512_srai_epi16::<8>(values);
        let even = _mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(values));
        let squared = _mm512_add_epi32(_mm512_madd_epi16(odd, odd), _mm512_madd_epi16(even, even));
        let pairs = _mm512_madd_epi16(_mm512_add_epi16(odd, even), _mm512_set1_epi16(1));
        *sum = _mm512_add_epi64(*sum, halves(pairs));
        *squares = _mm512_add_epi64(*squares, halves(squared));
    },
    |bytes| _mm512_testn_epi8_mask(bytes, bytes).count_ones(), i8
}

exact! {
    add_16: 16, _mm512_set1_epi16(i16::MIN), _mm512_min_epi16, _mm512_max_epi16,
    |values: __m512i, sum: &mut __m512i, squares: &mut __m512i| {
        let pairs = _mm512_madd_epi16(values, _mm512_set1_epi16(1));
        *sum = _mm512_add_epi64(*sum, halves(pairs));
        // Two squares of -32768 are 2^31, which is no signed integer of 32 bits, but an unsigned
        // one.
        let squared = _mm512_madd_epi16(values, values);
        let even = _mm512_and_si512(squared, _mm512_set1_epi64(0xffff_ffff));
        *squares = _mm512_add_epi64(*squares, _mm512_add_epi64(even, _mm512_srli_epi64::<32>(squared)));
    },
    |bytes| _mm512_testn_epi16_mask(bytes, bytes).count_ones(), i16
}

/// The sums of the two signed integers of 32 bits in each 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn halves(values: __m512i) -> __m512i {
    let even = _mm512_srai_epi64::<32>(_mm512_slli_epi64::<32>(values));
    _mm512_add_epi64(even, _mm512_srai_epi64::<32>(values))
}

/// Adds up a block, by distances if that keeps digits.
macro_rules! adaptive {
    ($name:ident, $start:ident) => {{
        // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
        let block = unsafe { $name::<false>($start) };
        if block.is_exact() {
            block
        } else {
            // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
            unsafe { $name::<true>($start) }
        }
    }};
}

/// Adds a block of integers in native byte order.
///
/// # Safety
///
/// 1. The bytes of a block at `start` may be loaded racily.
/// 2. The CPU has the instructions: [`is_available`].
pub(super) unsafe fn add_integers(tally: &mut Integers, start: *const u8, kind: ScalarKind) {
    match kind {
        // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
        ScalarKind::Int8 => add_exact(tally, unsafe { add_8::<true>(start) }, BLOCK),
        // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
        ScalarKind::UInt8 => add_exact(tally, unsafe { add_8::<false>(start) }, BLOCK),
        // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
        ScalarKind::Int16 => add_exact(tally, unsafe { add_16::<true>(start) }, BLOCK / 2),
        // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
        ScalarKind::UInt16 => add_exact(tally, unsafe { add_16::<false>(start) }, BLOCK / 2),
        ScalarKind::Int32 => add_doubles(tally, &adaptive!(add_i32, start), None),
        ScalarKind::UInt32 => add_doubles(tally, &adaptive!(add_u32, start), None),
        ScalarKind::Int64 => {
            // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
            let sum = unsafe { sum_64::<true>(start) };
            add_doubles(tally, &adaptive!(add_i64, start), Some(sum));
        }
        _ => {
            // SAFETY: clauses 1 and 2 of `# Safety` are those of the callee.
            let sum = unsafe { sum_64::<false>(start) };
            add_doubles(tally, &adaptive!(add_u64, start), Some(sum));
        }
    }
}

fn add_exact(tally: &mut Integers, block: Exact, len: usize) {
    let (low, high) = block.range;
    let range = (low.into(), high.into());
    tally.add_narrow(len, block.zeros, range, block.sum.into(), block.squares.into());
}

/// Adds a block whose sum is exact as a double, unless another one is given.
fn add_doubles<T: Into<i128> + Copy>(tally: &mut Integers, block: &Doubles<T>, sum: Option<i128>) {
    let count = i128::from(block.numbers);
    let sum = sum.unwrap_or_else(|| block.sum as i128 + block.origin as i128 * count);
    let range = (block.least.into(), block.greatest.into());
    tally.add_block(block.numbers.into(), block.zeros.into(), range, sum);
    tally.moments.merge(block.moments());
}

/// Adds a block of floats of 32 bits in native byte order, or of 64 bits.
///
/// # Safety
///
/// 1. The bytes of a block at `start` may be loaded racily.
/// 2. The CPU has the instructions: [`is_available`].
pub(super) unsafe fn add_floats(tally: &mut Floats, start: *const u8, nbytes: usize) {
    match nbytes {
        4 => add_block(tally, &adaptive!(add_f32, start), BLOCK / 4),
        _ => add_block(tally, &adaptive!(add_f64, start), BLOCK / 8),
    }
}

fn add_block<T: Into<f64> + Copy>(tally: &mut Floats, block: &Doubles<T>, len: usize) {
    let count = u64::from(block.numbers);
    tally.nan += len as u64 - count;
    if count == 0 {
        return;
    }
    tally.count += count;
    tally.zeros += u64::from(block.zeros);
    tally.least = tally.least.min(block.least.into());
    tally.greatest = tally.greatest.max(block.greatest.into());
    tally.sum += block.sum + block.origin * count as f64;
    tally.moments.merge(block.moments());
}

#[cfg(test)]
mod tests {
    use crossdock::element::DType;
    use fastrand::Rng;

    use super::*;
    use crate::inspect::statistics::sample::Sample;
    use crate::inspect::statistics::tally::Tally;
    use crate::inspect::statistics::{Found, Numbers};

    /// The results for two blocks, in place and as bytes.
    fn both(dtype: &str, bytes: &[u8]) -> [Numbers; 2] {
        let dtype: DType = dtype.parse().unwrap();
        let scalar = dtype.as_scalar().unwrap();
        let (mut in_place, mut packed) = (Tally::new(scalar), Tally::new(scalar));
        assert_eq!(in_place.block(), Some(BLOCK));
        for block in bytes.chunks_exact(BLOCK) {
            // SAFETY: the slice is a block, and `Tally::block` returned its size.
            unsafe { in_place.add_in_place(block.as_ptr()) };
        }
        packed.add(bytes);
        [in_place, packed].map(|tally| match tally.finish(scalar, Sample::default()).unwrap() {
            Found::Numbers(numbers) => numbers,
            other => panic!("{other:?}"),
        })
    }

    fn check(dtype: &str, bytes: &[u8]) {
        // At any address.
        let moved = [&[0u8; 3][..], bytes].concat();
        let [own, wanted] = both(dtype, &moved[3..]);
        let [least, greatest] = [&own, &wanted].map(|found| (found.least.clone(), found.greatest.clone()));
        assert_eq!((least, own.nan, own.zeros), (greatest, wanted.nan, wanted.zeros), "{dtype}");
        for (own, wanted) in [(own.mean, wanted.mean), (own.std, wanted.std)] {
            let near = |own: f64, wanted: f64| (own - wanted).abs() <= wanted.abs() * 1e-12;
            let is_same = own.zip(wanted).is_none_or(|(own, wanted)| {
                own.to_bits() == wanted.to_bits() || own.is_nan() && wanted.is_nan() || near(own, wanted)
            });
            assert!(own.is_some() == wanted.is_some() && is_same, "{dtype}: {own:?} {wanted:?}");
        }
    }

    #[test]
    fn blocks_in_place_add_up_as_bytes_do() {
        if !is_available() {
            return crossdock_testkit::not_run("AVX-512");
        }
        let mut rng = Rng::with_seed(7);
        let random: Vec<u8> = (0..2 * BLOCK).map(|_| rng.u8(..)).collect();
        for dtype in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"] {
            check(dtype, &random);
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                check(dtype, &[byte; 2 * BLOCK]);
            }
        }
        let numbers = || (0..BLOCK / 4).map(|at| (at * 7 % 1000) as f64);
        let bytes =
            |numbers: &[f64]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
        let narrow = |numbers: &[f64]| {
            numbers.iter().flat_map(|number| (*number as f32).to_ne_bytes()).collect::<Vec<_>>()
        };
        for (far, scale) in [(0.0, 1.0), (-500.0, 0.25), (1e6, 1.0), (3.0, 0.0), (0.0, 0.0)] {
            let numbers: Vec<f64> = numbers().map(|number| far + number * scale).collect();
            check("f8", &bytes(&numbers));
            check("f4", &narrow(&numbers));
        }
        for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for places in [vec![0], vec![5, 6], (0..BLOCK / 4).collect()] {
                let mut numbers: Vec<f64> = numbers().collect();
                places.iter().for_each(|&place| numbers[place] = special);
                check("f8", &bytes(&numbers));
                check("f4", &narrow(&numbers));
            }
        }
    }
}
