//! Loops over packed bits: count, combine, one byte for each, and back.
//!
//! Bit `i` is bit `i % 8` of byte `i / 8`, the least significant bit first. On x86-64 each loop is
//! compiled a second time for newer CPUs, which is chosen at run time.

use std::mem::MaybeUninit;

/// Bits of constant bytes.
///
/// # Invariants
///
/// 1. Bits `start..start + len` lie within the bytes, and `start` is less than 8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitRun<'a> {
    bytes: &'a [u8],
    start: usize,
    len: usize,
}

impl<'a> BitRun<'a> {
    /// The `len` bits from bit `start` on. Panics if the bytes have fewer.
    pub(crate) fn new(bytes: &'a [u8], start: usize, len: usize) -> Self {
        let (first, start) = (start / 8, start % 8);
        Self { bytes: &bytes[first..first + (start + len).div_ceil(8)], start, len }
    }

    pub(crate) fn len(self) -> usize {
        self.len
    }

    pub(crate) fn get(self, index: usize) -> bool {
        let bit = self.start + index;
        self.bytes[bit / 8] >> (bit % 8) & 1 != 0
    }

    /// The bits from one on, whose number is at most `self.len()`.
    pub(crate) fn skip(self, count: usize) -> Self {
        Self::new(self.bytes, self.start + count, self.len - count)
    }

    pub(crate) fn count_ones(self) -> usize {
        let Some((&first, rest)) = self.bytes.split_first() else { return 0 };
        let first = first & (0xFF << self.start);
        let beyond = 8 * self.bytes.len() - self.start - self.len;
        let keep = 0xFF >> beyond;
        match rest.split_last() {
            None => (first & keep).count_ones() as usize,
            Some((&last, rest)) => {
                (first.count_ones() + (last & keep).count_ones()) as usize + count_ones(rest)
            }
        }
    }

    /// Eight bits from bit `8 * index` on; bits after the last are 0.
    pub(crate) fn byte(self, index: usize) -> u8 {
        let next = self.bytes.get(index + 1).copied().unwrap_or_default();
        let byte = (u16::from_le_bytes([self.bytes[index], next]) >> self.start) as u8;
        byte & (0xFF >> 8usize.saturating_sub(self.len - 8 * index))
    }

    /// The bits, or those that are also 1 in `other`, from bit 0 of `out` on. Bits after the last
    /// are 0. `out` has as many bytes as the bits need, `other` as many bits.
    pub(crate) fn copy_to(self, other: Option<Self>, out: &mut [MaybeUninit<u8>]) {
        let other = other.unwrap_or(self);
        // A word is combined from two loads, of which the second begins a byte after the first.
        let words = |bytes: &[u8]| bytes.len().saturating_sub(1) / 8;
        let whole = words(self.bytes).min(words(other.bytes)).min(self.len / 64);
        combine(whole, self, other, out);
        for (index, out) in out.iter_mut().enumerate().skip(8 * whole) {
            out.write(self.byte(index) & other.byte(index));
        }
    }

    /// A byte of 0 or 1 for each bit. `out` has as many bytes as there are bits.
    pub(crate) fn expand(self, out: &mut [MaybeUninit<u8>]) {
        let head = (self.start.wrapping_neg() % 8).min(self.len);
        let (first, out) = out.split_at_mut(head);
        let rest = self.skip(head);
        let (body, last) = out.split_at_mut(rest.len / 8 * 8);
        expand(&rest.bytes[..body.len() / 8], body);
        first.iter_mut().enumerate().for_each(|(k, out)| _ = out.write(self.get(k).into()));
        let done = body.len();
        last.iter_mut().enumerate().for_each(|(k, out)| _ = out.write(rest.get(done + k).into()));
    }
}

/// Compiles a loop for the CPU that the compiler assumes and for newer ones, and calls the best.
macro_rules! for_each_cpu {
    ($name:ident, $body:ident, ($($arg:ident: $ty:ty),*) $(-> $result:ty)?) => {
        fn $name($($arg: $ty),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,popcnt")]
                fn avx2($($arg: $ty),*) $(-> $result)? {
                    $body($($arg),*)
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                    // SAFETY: the CPU has both features (checked above).
                    return unsafe { avx2($($arg),*) };
                }
            }
            $body($($arg),*)
        }
    };
}

for_each_cpu!(count_ones, count_ones_by_words, (bytes: &[u8]) -> usize);
for_each_cpu!(combine, combine_words, (words: usize, one: BitRun<'_>, other: BitRun<'_>, out: &mut [MaybeUninit<u8>]));

#[inline(always)]
fn count_ones_by_words(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: usize = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones() as usize).sum();
    words + rest.iter().map(|byte| byte.count_ones() as usize).sum::<usize>()
}

/// The bits as words of 64, of as many bytes. There is a byte more than these.
#[inline(always)]
fn loads(run: BitRun<'_>, nbytes: usize) -> impl Iterator<Item = u64> {
    let lows = run.bytes[..nbytes].as_chunks::<8>().0;
    let highs = run.bytes[1..=nbytes].as_chunks::<8>().0;
    let start = run.start as u32;
    lows.iter().zip(highs).map(move |(low, high)| {
        // The high part supplies the topmost `start` bits; its others are those of the low one.
        u64::from_le_bytes(*low) >> start | u64::from_le_bytes(*high) << (8 - start)
    })
}

/// So many words of 64 bits. Both have a byte more than these.
#[inline(always)]
fn combine_words(words: usize, one: BitRun<'_>, other: BitRun<'_>, out: &mut [MaybeUninit<u8>]) {
    let nbytes = 8 * words;
    if words == 0 {
        return;
    }
    let out = out[..nbytes].as_chunks_mut::<8>().0;
    for (out, (one, other)) in out.iter_mut().zip(loads(one, nbytes).zip(loads(other, nbytes))) {
        *out = (one & other).to_le_bytes().map(MaybeUninit::new);
    }
}

/// Eight bytes of 0 or 1 for each byte of bits.
fn expand(bits: &[u8], out: &mut [MaybeUninit<u8>]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has the feature (checked above).
        return unsafe { avx2::expand(bits, out) };
    }
    expand_by_table(bits, out);
}

/// The bytes of all eight bits together.
static EXPANDED: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte][bit] = (byte >> bit & 1) as u8;
            bit += 1;
        }
        byte += 1;
    }
    table
};

fn expand_by_table(bits: &[u8], out: &mut [MaybeUninit<u8>]) {
    let (out, _) = out.as_chunks_mut::<8>();
    for (out, &byte) in out.iter_mut().zip(bits) {
        *out = EXPANDED[usize::from(byte)].map(MaybeUninit::new);
    }
}

/// Packs booleans, eight into each byte. `out` has a byte for each eight of them.
pub(crate) fn pack(values: &[bool], out: &mut [MaybeUninit<u8>]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has the feature (checked above).
        return unsafe { avx2::pack(values, out) };
    }
    pack_by_words(values, out);
}

fn pack_by_words(values: &[bool], out: &mut [MaybeUninit<u8>]) {
    // Gathers eight bytes of 0 or 1 in the highest byte: the summand 2^(56 - 7k) moves byte k,
    // which is bit 8k, to bit 56 + k, and no two products meet.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (values, _) = values.as_chunks::<8>();
    for (out, values) in out.iter_mut().zip(values) {
        let word = u64::from_le_bytes(values.map(u8::from));
        out.write((word.wrapping_mul(GATHER) >> 56) as u8);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    #[target_feature(enable = "avx2")]
    pub(super) fn expand(bits: &[u8], out: &mut [MaybeUninit<u8>]) {
        let byte_of_lane = _mm256_set_epi64x(
            0x0303_0303_0303_0303,
            0x0202_0202_0202_0202,
            0x0101_0101_0101_0101,
            0x0000_0000_0000_0000,
        );
        let bit_of_lane = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let one = _mm256_set1_epi8(1);
        let (words, rest) = bits.as_chunks::<4>();
        let (lanes, last) = out.split_at_mut(32 * words.len());
        for (word, lanes) in words.iter().zip(lanes.as_chunks_mut::<32>().0) {
            let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(i32::from_le_bytes(*word)), byte_of_lane);
            let values = _mm256_min_epu8(_mm256_and_si256(bytes, bit_of_lane), one);
            // SAFETY: `lanes` has 32 writable bytes; the store needs no alignment.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), values) };
        }
        super::expand_by_table(rest, last);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn pack(values: &[bool], out: &mut [MaybeUninit<u8>]) {
        let (lanes, rest) = values.as_chunks::<32>();
        let (words, last) = out.split_at_mut(4 * lanes.len());
        for (lanes, word) in lanes.iter().zip(words.as_chunks_mut::<4>().0) {
            // SAFETY: `lanes` has 32 readable bytes; the load needs no alignment.
            let lanes = unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) };
            // A boolean is 0 or 1: bit 0 moves to bit 7 of its byte, and none to the next byte.
            let bits = _mm256_movemask_epi8(_mm256_slli_epi16::<7>(lanes));
            *word = bits.to_le_bytes().map(MaybeUninit::new);
        }
        super::pack_by_words(rest, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_testkit::seed;

    fn uninit(nbytes: usize) -> Vec<MaybeUninit<u8>> {
        vec![MaybeUninit::new(0xAA); nbytes]
    }

    fn bytes(written: Vec<MaybeUninit<u8>>) -> Vec<u8> {
        // SAFETY: `uninit` initialised each byte.
        written.into_iter().map(|byte| unsafe { byte.assume_init() }).collect()
    }

    #[test]
    fn loops_over_bits_agree_with_one_bit_at_a_time() {
        let mut random = fastrand::Rng::with_seed(seed());
        let all: Vec<u8> = (0..400).map(|_| random.u8(..)).collect();
        let other: Vec<u8> = (0..400).map(|_| random.u8(..)).collect();
        let bit = |bytes: &[u8], i: usize| bytes[i / 8] >> (i % 8) & 1 != 0;
        let packed = |bits: &[bool]| -> Vec<u8> {
            bits.chunks(8).map(|bits| (0..bits.len()).map(|i| u8::from(bits[i]) << i).sum()).collect()
        };
        for _ in 0..crossdock_testkit::cases(2000) {
            let (start, at) = (random.usize(..1000), random.usize(..1000));
            let most = if random.bool() { 70 } else { 2000 };
            let len = random.usize(..=most);
            let run = BitRun::new(&all, start, len);
            let wanted: Vec<bool> = (start..start + len).map(|i| bit(&all, i)).collect();
            assert_eq!(run.count_ones(), wanted.iter().filter(|&&bit| bit).count());
            let mut out = uninit(len);
            run.expand(&mut out);
            assert_eq!(bytes(out), wanted.iter().map(|&bit| u8::from(bit)).collect::<Vec<_>>());
            let mut out = uninit(len.div_ceil(8));
            run.copy_to(None, &mut out);
            assert_eq!(bytes(out), packed(&wanted));
            let both: Vec<bool> = (0..len).map(|i| wanted[i] && bit(&other, at + i)).collect();
            let mut out = uninit(len.div_ceil(8));
            run.copy_to(Some(BitRun::new(&other, at, len)), &mut out);
            assert_eq!(bytes(out), packed(&both));
        }
    }

    #[test]
    fn portable_loops_give_the_same_as_those_for_this_processor() {
        let mut random = fastrand::Rng::with_seed(seed());
        for nbytes in (0..70).chain([1000]) {
            let bits: Vec<u8> = (0..nbytes).map(|_| random.u8(..)).collect();
            let (mut one, mut other) = (uninit(8 * nbytes), uninit(8 * nbytes));
            expand(&bits, &mut one);
            expand_by_table(&bits, &mut other);
            let (one, other) = (bytes(one), bytes(other));
            assert_eq!(one, other);
            assert_eq!(count_ones(&bits), count_ones_by_words(&bits));
            let values: Vec<bool> = one.iter().map(|&value| value != 0).collect();
            let (mut one, mut other) = (uninit(nbytes), uninit(nbytes));
            pack(&values, &mut one);
            pack_by_words(&values, &mut other);
            assert_eq!(bytes(one), bits);
            assert_eq!(bytes(other), bits);
        }
    }
}
