//! Moves the bytes of records: one record at a time, or a register full of records by byte
//! shuffles.
//!
//! A shuffle makes a register of the result out of a few windows of the source, each as wide as a
//! register, whatever the fields are. A record of 15 bytes that becomes one of 24 costs one load,
//! one shuffle and one store for 64 bytes. The pattern repeats after as many records as fill a
//! whole number of registers.

use crate::kernel::block::STREAMED;
use crate::kernel::cpu::Level;
use crate::memory::racy;

/// Bytes of a record that are copied from one place of another record, or zeroed if `from` is
/// `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteRun {
    pub(super) from: Option<usize>,
    pub(super) to: usize,
    pub(super) nbytes: usize,
}

/// How records are moved.
///
/// Invariant 1: `runs` lie within records of `from_size` and `to_size` bytes, and the shuffles were
/// made of them, for an available level.
pub(super) struct RecordProgram {
    runs: Vec<ByteRun>,
    from_size: usize,
    to_size: usize,
    shuffles: Shuffles,
}

enum Shuffles {
    /// None: the level has no instructions for them, some bytes must not be written, or records are
    /// too large for it to pay.
    No,
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    By16(Pattern<16>),
    #[cfg(target_arch = "x86_64")]
    By64(Pattern<64>),
}

impl RecordProgram {
    /// # Safety
    ///
    /// 1. The runs lie within records of these sizes, and the level is available (RecordProgram 1).
    pub(super) unsafe fn new(level: Level, runs: Vec<ByteRun>, from_size: usize, to_size: usize) -> Self {
        let shuffles = Shuffles::new(level, &runs, from_size, to_size);
        Self { runs, from_size, to_size, shuffles }
    }

    /// Makes `len` records out of as many. `whole_nbytes` is the size of the whole job.
    ///
    /// # Safety
    ///
    /// 1. `len` records at `src`, `from_stride` bytes apart, may be loaded racily.
    /// 2. `len` records at `dst`, `to_stride` bytes apart, may be stored racily.
    /// 3. The two do not overlap.
    /// 4. The level is available.
    #[cfg_attr(
        not(any(target_arch = "aarch64", target_arch = "x86_64")),
        expect(unused_variables, unused_macros, reason = "no other processor has its shuffles here")
    )]
    pub(super) unsafe fn run(
        &self,
        src: *const u8,
        from_stride: isize,
        dst: *mut u8,
        to_stride: isize,
        len: usize,
        whole_nbytes: usize,
    ) {
        let dense = from_stride == self.from_size as isize && to_stride == self.to_size as isize;
        let large = whole_nbytes >= STREAMED;
        let (from_size, to_size) = (self.from_size, self.to_size);
        let one_by_one = |records: std::ops::Range<usize>| {
            for index in records {
                let src = src.wrapping_offset(index as isize * from_stride);
                let dst = dst.wrapping_offset(index as isize * to_stride);
                // SAFETY: clauses 1 and 2 of `# Safety`: `index` is below `len`, so both pointers
                // lead to one of the records.
                unsafe { self.one(src, dst) };
            }
        };
        macro_rules! shuffled {
            ($pattern:ident, $by:path) => {{
                let head = $pattern.head(dst.addr(), to_size, len, large);
                one_by_one(0..head.records);
                let groups = $pattern.groups(from_size, to_size, len - head.records);
                let steps = ($pattern.records * from_size, $pattern.records * to_size);
                let src = src.wrapping_add(head.records * from_size);
                let dst = dst.wrapping_add(head.records * to_size);
                // SAFETY: clauses 1 and 2: the records are contiguous (`dense`), and `groups`
                // counts those whose windows and registers fit. `head` aligned `dst` if it streams.
                // Clause 4 covers the level.
                unsafe { $by($pattern, src, dst, groups, (large, head.streams), steps) };
                one_by_one(head.records + groups * $pattern.records..len);
            }};
        }
        match &self.shuffles {
            #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
            Shuffles::By16(pattern) if dense => shuffled!(pattern, registers::by_16),
            #[cfg(target_arch = "x86_64")]
            Shuffles::By64(pattern) if dense => shuffled!(pattern, registers::by_64),
            _ => one_by_one(0..len),
        }
    }

    /// # Safety
    ///
    /// Clauses 1 to 3 of [`RecordProgram::run`], for one record.
    unsafe fn one(&self, src: *const u8, dst: *mut u8) {
        macro_rules! word {
            ($word:ty, $src:expr, $dst:expr) => {{
                // SAFETY: clause 1 of `run`: the run lies within the record at the source (Program
                // 1), and is as wide as the word.
                let word: $word = unsafe { racy::load($src.cast()) };
                // SAFETY: clause 2 of `run`: the run lies within the record at the destination
                // (RecordProgram 1), and is as wide as the word.
                unsafe { racy::store($dst.cast(), word) }
            }};
        }
        for run in &self.runs {
            let dst = dst.wrapping_add(run.to);
            match (run.from.map(|from| src.wrapping_add(from)), run.nbytes) {
                (Some(src), 1) => word!(u8, src, dst),
                (Some(src), 2) => word!(u16, src, dst),
                (Some(src), 4) => word!(u32, src, dst),
                (Some(src), 8) => word!(u64, src, dst),
                // SAFETY: clauses 1 and 2 of `run`: the run, of `nbytes` bytes, lies within both
                // records (RecordProgram 1).
                (Some(src), nbytes) => unsafe { racy::copy(src, dst, nbytes) },
                (None, nbytes) => {
                    const ZEROS: [u8; 64] = [0; 64];
                    for start in (0..nbytes).step_by(ZEROS.len()) {
                        let few = ZEROS.len().min(nbytes - start);
                        // SAFETY: clause 2 of `run`: the run lies within the record
                        // (RecordProgram 1), and `start + few` is at most `nbytes`; `ZEROS` has
                        // `few` bytes.
                        unsafe { racy::copy(ZEROS.as_ptr(), dst.wrapping_add(start), few) };
                    }
                }
            }
        }
    }
}

impl Shuffles {
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    fn new(level: Level, runs: &[ByteRun], from_size: usize, to_size: usize) -> Self {
        /// Larger records have long runs, and their table does not pay.
        const LARGEST: usize = 4096;
        if level == Level::Baseline || to_size == 0 || to_size > LARGEST || from_size > LARGEST {
            return Self::No;
        }
        let mut table = vec![Byte::Foreign; to_size];
        for run in runs {
            for byte in 0..run.nbytes {
                table[run.to + byte] = run.from.map_or(Byte::Zero, |from| Byte::From(from + byte));
            }
        }
        #[cfg(target_arch = "x86_64")]
        if level == Level::Avx512 {
            return Pattern::new(&table, from_size).map_or(Self::No, Self::By64);
        }
        Pattern::new(&table, from_size).map_or(Self::No, Self::By16)
    }

    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    fn new(_level: Level, _runs: &[ByteRun], _from_size: usize, _to_size: usize) -> Self {
        Self::No
    }
}

/// The source of a byte of the result.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    From(usize),
    Zero,
    /// Not part of the result, or not written by moving.
    Foreign,
}

/// Moves some bytes of one window to their places in a register.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
#[repr(C, align(16))]
struct WindowShuffle<const W: usize> {
    /// Which byte of the window each byte of the register is; 0x80 where `mask` has no bit.
    index: [u8; W],
    mask: u64,
    /// The offset of the window in the group.
    window: usize,
}

/// The shuffles for a group of records, `W` bytes at a time.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
struct Pattern<const W: usize> {
    /// Invariant 1: every window ends within `reach` bytes from the beginning of a group.
    shuffles: Vec<WindowShuffle<W>>,
    /// For each register of the group, the index after its last shuffle.
    ends: Vec<usize>,
    records: usize,
    reach: usize,
    /// Whether a group fills its registers exactly.
    is_whole: bool,
    /// For each register, the bytes that are written, if some are not.
    masks: Option<Vec<u64>>,
}

/// The records before the first group.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
struct LeadingRecords {
    records: usize,
    streams: bool,
}

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
impl<const W: usize> Pattern<W> {
    /// More would evict the data from the L1 cache.
    const MOST_SHUFFLES: usize = 256;

    /// `None` if some bytes must not be written and no instruction leaves them out, or if the
    /// records are too large.
    fn new(table: &[Byte], from_size: usize) -> Option<Self> {
        if W < 64 && table.contains(&Byte::Foreign) {
            return None;
        }
        // As many records as fill whole registers. If those are too many: one, whose last register
        // reaches into the next record.
        let common = (table.len() & table.len().wrapping_neg()).min(W);
        Self::of_records(W / common, table, from_size)
            .or_else(|| if table.len() >= 4 * W { Self::of_records(1, table, from_size) } else { None })
    }

    fn of_records(records: usize, table: &[Byte], from_size: usize) -> Option<Self> {
        let (from_nbytes, to_nbytes) = (records * from_size, records * table.len());
        let source = |place: usize| match table[place % table.len()] {
            Byte::From(from) => Some(place / table.len() * from_size + from),
            Byte::Zero | Byte::Foreign => None,
        };
        let is_whole = to_nbytes.is_multiple_of(W);
        let mut pattern = Self { shuffles: vec![], ends: vec![], records, reach: 0, is_whole, masks: None };
        for start in (0..to_nbytes).step_by(W) {
            let mut wanted: Vec<(usize, usize)> = (start..(start + W).min(to_nbytes))
                .filter_map(|place| source(place).map(|from| (from, place - start)))
                .collect();
            wanted.sort_unstable();
            let mut rest = &wanted[..];
            while let Some(&(first, _)) = rest.first() {
                // Within the group, if that is long enough, so that the last group of an array can
                // be loaded, too.
                let window = first.min(from_nbytes.saturating_sub(W));
                let (taken, left) = rest.split_at(rest.partition_point(|&(from, _)| from < window + W));
                let mut shuffle = WindowShuffle { index: [0x80; W], mask: 0, window };
                for &(from, place) in taken {
                    shuffle.index[place] = (from - window) as u8;
                    shuffle.mask |= 1 << place;
                }
                pattern.shuffles.push(shuffle);
                pattern.reach = pattern.reach.max(window + W);
                rest = left;
            }
            if pattern.shuffles.len() > Self::MOST_SHUFFLES || pattern.ends.len() > Self::MOST_SHUFFLES {
                return None;
            }
            pattern.ends.push(pattern.shuffles.len());
        }
        pattern.masks = table.contains(&Byte::Foreign).then(|| {
            let ours = |place: &usize| *place < to_nbytes && table[place % table.len()] != Byte::Foreign;
            let bits = |start: usize| {
                (start..start + W).filter(ours).fold(0, |mask, place| mask | 1 << (place - start))
            };
            (0..to_nbytes).step_by(W).map(bits).collect()
        });
        Some(pattern)
    }

    /// How many of `len` records precede the first whole register, so that all groups can be
    /// streamed.
    fn head(&self, dst: usize, to_size: usize, len: usize, streams: bool) -> LeadingRecords {
        let aligns = |records: &usize| (dst + records * to_size).is_multiple_of(W);
        let records = if streams && self.is_whole && self.masks.is_none() {
            (0..W.min(len)).find(aligns)
        } else {
            None
        };
        LeadingRecords { records: records.unwrap_or(0), streams: records.is_some() }
    }

    /// How many groups fit `len` records, with everything that is loaded and stored for them.
    fn groups(&self, from_size: usize, to_size: usize, len: usize) -> usize {
        let fit = |nbytes: usize, group: usize, reach: usize| match nbytes.checked_sub(reach) {
            None => 0,
            Some(rest) => rest.checked_div(group).map_or(usize::MAX, |more| more + 1),
        };
        let (from_group, to_group) = (self.records * from_size, self.records * to_size);
        let loads = fit(len * from_size, from_group, self.reach.max(from_group));
        loads.min(fit(len * to_size, to_group, self.ends.len() * W))
    }
}

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod registers {
    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::{uint8x16_t as Register16, vdupq_n_u8, vqtbx1q_u8};
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::{__m128i as Register16, *};

    use super::Pattern;
    use crate::kernel::copy::run;
    use crate::memory::racy::vector;

    /// A register of 16 bytes has no masked store, so [`Pattern::new`] makes no masks for it.
    ///
    /// # Safety
    ///
    /// No requirements: it accesses nothing.
    unsafe fn never(_: *mut u8, _: u64, _: Register16) {
        unreachable!("a pattern of 16 bytes with masks")
    }

    /// Prefetches the lines from `line` up to `end`, [`run::AHEAD`] bytes further on. Returns the
    /// first one beyond.
    #[inline(always)]
    fn prefetched(mut line: *const u8, end: usize, prefetch: fn(*const u8)) -> *const u8 {
        while line.addr() < end {
            prefetch(line.wrapping_add(run::AHEAD));
            line = line.wrapping_add(run::LINE);
        }
        line
    }

    macro_rules! shuffle {
        ($name:ident, $width:literal, $register:ty, $features:literal, $load:ident, $store:ident, $stream:ident, $masked:path, $zero:expr, $step:expr) => {
            /// # Safety
            ///
            /// 1. `groups` groups of contiguous records at `src` may be loaded racily, with the
            ///    `reach` bytes from the last group on.
            /// 2. `groups` groups of contiguous records at `dst` may be stored racily, with all
            ///    registers of the last group; where there are masks, only the bytes in them.
            /// 3. If it streams, `dst` and the steps are aligned to the register.
            /// 4. The CPU has the instructions.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $name(
                pattern: &Pattern<$width>,
                mut src: *const u8,
                mut dst: *mut u8,
                groups: usize,
                (large, streams): (bool, bool),
                (from_step, to_step): (usize, usize),
            ) {
                let (mut ahead, mut written) = (src, dst.cast_const());
                for _ in 0..groups {
                    if large {
                        // Windows overlap lines, and masked stores read theirs: the CPU does not
                        // read far ahead of either by itself.
                        ahead = prefetched(ahead, src.addr() + from_step, vector::prefetch_to_second);
                        if pattern.masks.is_some() {
                            let end = dst.addr() + to_step;
                            written = prefetched(written, end, vector::prefetch_to_write);
                        }
                    }
                    let (mut first, mut place) = (0, dst);
                    for (number, &end) in pattern.ends.iter().enumerate() {
                        let mut register = $zero;
                        for shuffle in &pattern.shuffles[first..end] {
                            // SAFETY: clause 1 of `# Safety`: the window ends within `reach` bytes
                            // from the beginning of this group (Pattern 1).
                            let window = unsafe { vector::$load(src.wrapping_add(shuffle.window)) };
                            let index = shuffle.index.as_ptr().cast::<$register>();
                            // SAFETY: `index` is an array of as many bytes as the register has; the
                            // read needs no alignment.
                            let index = unsafe { index.read_unaligned() };
                            register = $step(register, window, index, shuffle.mask);
                        }
                        if let Some(masks) = &pattern.masks {
                            // SAFETY: clause 2 of `# Safety`: the mask has only bytes of this
                            // register that may be stored; the others are not accessed.
                            unsafe { $masked(place, masks[number], register) };
                        } else if streams {
                            // SAFETY: clause 2 of `# Safety`: this is one of the group's registers,
                            // all of which may be stored; clause 3 aligns it.
                            unsafe { vector::$stream(place, register) };
                        } else {
                            // SAFETY: clause 2 of `# Safety`: this is one of the group's registers,
                            // all of which may be stored, at any alignment.
                            unsafe { vector::$store(place, register) };
                        }
                        (first, place) = (end, place.wrapping_add($width));
                    }
                    (src, dst) = (src.wrapping_add(from_step), dst.wrapping_add(to_step));
                }
                if streams {
                    run::fence();
                }
            }
        };
    }

    // One register has no streaming store, so it streams none.
    #[cfg(target_arch = "aarch64")]
    shuffle!(
        by_16,
        16,
        Register16,
        "neon",
        load16,
        store16,
        store16,
        never,
        vdupq_n_u8(0),
        |register, window, index, _mask| vqtbx1q_u8(register, window, index)
    );
    #[cfg(target_arch = "x86_64")]
    shuffle!(
        by_16,
        16,
        Register16,
        "avx2",
        load16,
        store16,
        stream16,
        never,
        _mm_setzero_si128(),
        |register, window, index, _mask| _mm_or_si128(register, _mm_shuffle_epi8(window, index))
    );
    #[cfg(target_arch = "x86_64")]
    shuffle!(
        by_64,
        64,
        __m512i,
        "avx512f,avx512bw,avx512vbmi",
        load64,
        store64,
        stream64,
        vector::store64_masked,
        _mm512_setzero_si512(),
        |register, window, index, mask| _mm512_mask_permutexvar_epi8(register, mask, index, window)
    );
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    /// Random runs, no two of which write the same byte. If `whole`, they cover every byte.
    fn runs(rng: &mut Rng, from_size: usize, to_size: usize, whole: bool) -> Vec<ByteRun> {
        let mut runs = vec![];
        let mut to = 0;
        while to < to_size {
            let longest = if rng.u8(0..4) == 0 { 40 } else { 9 };
            let nbytes = rng.usize(1..=longest).min(to_size - to);
            if nbytes <= from_size && rng.u8(0..5) > 0 {
                runs.push(ByteRun { from: Some(rng.usize(0..=from_size - nbytes)), to, nbytes });
            } else if whole || rng.bool() {
                runs.push(ByteRun { from: None, to, nbytes });
            }
            to += nbytes;
        }
        rng.shuffle(&mut runs);
        runs
    }

    #[test]
    fn every_level_moves_the_bytes_that_the_runs_say_and_no_others() {
        let mut rng = Rng::with_seed(41);
        let mut shuffled = 0;
        let cases = crossdock_testkit::rounds(1000);
        for case in 0..cases {
            let sizes = if case % 10 == 0 { 0..600 } else { 0..40 };
            let (from_size, to_size) = (rng.usize(sizes.clone()), rng.usize(sizes));
            let whole = rng.u8(0..4) > 0;
            let runs = runs(&mut rng, from_size, to_size, whole);
            let len = rng.usize(0..200);
            let (gap, start) = (rng.usize(0..3) * 5, rng.usize(0..70));
            let (from_stride, to_stride) = (from_size + gap, to_size + gap);
            let (mut src, mut before) = (vec![0; len * from_stride], vec![0; start + len * to_stride + 70]);
            rng.fill(&mut src);
            rng.fill(&mut before);
            let mut wanted = before.clone();
            for record in 0..len {
                for run in &runs {
                    let bytes = &mut wanted[start + record * to_stride + run.to..][..run.nbytes];
                    match run.from {
                        Some(from) => {
                            let from = record * from_stride + from;
                            bytes.copy_from_slice(&src[from..from + run.nbytes]);
                        }
                        None => bytes.fill(0),
                    }
                }
            }
            for level in Level::available() {
                // SAFETY: clause 1 of `new`: the runs were made for these sizes, and the level is
                // one of `Level::available`.
                let program = unsafe { RecordProgram::new(level, runs.clone(), from_size, to_size) };
                shuffled += usize::from(gap == 0 && len > 64 && !matches!(program.shuffles, Shuffles::No));
                for whole_nbytes in [0, STREAMED] {
                    let mut memory = before.clone();
                    let dst = memory.as_mut_ptr().wrapping_add(start);
                    let strides = (from_stride as isize, to_stride as isize);
                    // SAFETY: both vectors hold `len` records at these strides, no other thread
                    // accesses them, and the level is available.
                    unsafe { program.run(src.as_ptr(), strides.0, dst, strides.1, len, whole_nbytes) };
                    assert!(memory == wanted, "{level:?} {from_size} -> {to_size}, {len} records, {runs:?}");
                    let first = len.saturating_sub(1);
                    let mut memory = before.clone();
                    let dst = memory.as_mut_ptr().wrapping_add(start + first * to_stride);
                    let src = src.as_ptr().wrapping_add(first * from_stride);
                    // SAFETY: these are the same records, from the last one backwards; no other
                    // thread accesses them, and the level is available.
                    unsafe { program.run(src, -strides.0, dst, -strides.1, len, whole_nbytes) };
                    assert!(
                        memory == wanted,
                        "{level:?} backwards {from_size} -> {to_size}, {len} records, {runs:?}"
                    );
                }
            }
        }
        // Each level above the baseline has byte shuffles.
        let levels = Level::available().count() - 1;
        assert!(shuffled * 10 >= cases * levels, "{shuffled} of {cases} cases, {levels} levels");
    }
}
