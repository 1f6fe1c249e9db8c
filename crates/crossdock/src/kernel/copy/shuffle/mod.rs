//! Elements that lie a few bytes apart: every other one, reversed ones, fields of small records,
//! channels that are split or interleaved. In all cases a register of the destination is made of
//! bytes of a few registers of the source, always the same ones, block after block.
//!
//! A table, made once for each copy, maps each byte of a block of the destination to a byte of the
//! source.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod table;

use crate::kernel::copy::elements::{self, offset};
use crate::kernel::copy::plan::CopyAxis;
use crate::kernel::copy::run;
pub(super) use crate::kernel::copy::shuffle::table::AxisShuffle;
use crate::kernel::copy::shuffle::table::{Input, Output, Pass, ShuffleBlocks};
use crate::kernel::cpu::Level;
use crate::layout::sort_few;

/// The registers of a level: the number of lanes within which bytes can change places, and the
/// bytes of a lane.
#[derive(Clone, Copy)]
struct Registers {
    lanes: usize,
    lane: usize,
    /// Whether some bytes of a register can be left unwritten.
    masks: bool,
}

impl Registers {
    fn of(level: Level) -> Option<Self> {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Some(Self { lanes: 1, lane: 64, masks: true }),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Some(Self { lanes: 2, lane: 16, masks: false }),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Some(Self { lanes: 2, lane: 16, masks: false }),
            _ => None,
        }
    }

    fn nbytes(self) -> usize {
        self.lanes * self.lane
    }
}

/// The most registers of the destination in a block, and of the source for each of them.
const MOST: usize = 16;

/// A byte without a source.
const NONE: u8 = 0x80;

impl AxisShuffle {
    /// The table for two axes. The destination must be contiguous along `along` or, where `beside`
    /// is the innermost, along both as one. Returns `None` where element by element is as good: at
    /// a level without such instructions, for few elements, or for too many registers of the
    /// source.
    pub(super) fn new(
        level: Level,
        width: usize,
        along: CopyAxis,
        beside: CopyAxis,
        stream: bool,
    ) -> Option<Self> {
        let registers = Registers::of(level)?;
        let size = registers.nbytes();
        let inner = beside.to.unsigned_abs() < along.to.unsigned_abs();
        // A row of the destination has the elements of one step of the long axis or, where each of
        // these has a plane of its own, one element.
        let (pitch, planes) = if inner { (along.to.unsigned_abs(), 1) } else { (width, beside.len) };
        let row = if inner { beside.len * width } else { width };
        let gapless = along.to == row as isize;
        let apart = inner && beside.len > 1 && beside.to != width as isize;
        if along.to < row as isize || apart || !(gapless || inner && registers.masks) {
            return None;
        }
        let unit = if pitch.is_multiple_of(width) { width } else { pitch };
        let block = size / gcd(size, unit);
        let count = block * pitch / size;
        if along.len < block || count * planes > MOST {
            return None;
        }
        // The source of a byte of one row.
        let source = |plane: usize, byte: usize| {
            let (step, rest) = (byte / pitch, byte % pitch);
            let (element, byte) = if inner { (rest / width, rest % width) } else { (plane, rest) };
            (element < beside.len)
                .then(|| step as isize * along.from + element as isize * beside.from + byte as isize)
        };
        let mut outputs = Vec::with_capacity(count * planes);
        for plane in 0..planes {
            for register in 0..count {
                let bytes: Vec<Option<isize>> =
                    (0..size).map(|byte| source(plane, register * size + byte)).collect();
                let to = if inner { 0 } else { plane as isize * beside.to };
                let named = bytes.iter().rev().fold(0, |named, byte| named << 1 | u64::from(byte.is_some()));
                let to = to + (register * size) as isize;
                if named != 0 {
                    outputs.push(Output { to, inputs: inputs(registers, &bytes), named });
                }
            }
        }
        let inputs = outputs.iter().map(|output| output.inputs.len()).max()?;
        // The cost of the shuffles against a load and a store of each element.
        let elements = block * beside.len;
        if inputs > MOST || 4 * inputs * outputs.len() > 3 * elements {
            return None;
        }
        for output in &mut outputs {
            let idle = Input { from: output.inputs[0].from, table: [NONE; 64] };
            output.inputs.resize(inputs, idle);
        }
        let (store, stream_pass) = passes(level, inputs, outputs.len())?;
        let stream = stream && gapless && (inner || planes == 1 || beside.to % run::LINE as isize == 0);
        Some(Self {
            width,
            along,
            beside,
            block,
            reach: reach(registers, &outputs)?,
            limits: limits(width, along, beside),
            outputs,
            stream,
            store,
            stream_pass,
        })
    }

    /// # Safety
    ///
    /// 1. The elements of both axes, and the bytes between them in the source, may be loaded from
    ///    `src` racily.
    /// 2. The elements of both axes may be stored to `dst` racily.
    /// 3. The CPU has the level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8) {
        let CopyAxis { len, from, .. } = self.along;
        // A block may begin where its loads stay within the bytes of the elements.
        let fits = |start: usize| {
            let start = start as isize * from;
            start + self.reach.0 >= self.limits.0 && start + self.reach.1 <= self.limits.1
        };
        let last = len - self.block;
        let (mut first, mut end) = (0, last + 1);
        while first < end && !fits(first) {
            first += 1;
        }
        while end > first && !fits(end - 1) {
            end -= 1;
        }
        if first == end {
            // SAFETY: clauses 1 and 2 of `# Safety`: 0 to `len` are all steps of the long axis.
            return unsafe { self.one_by_one(src, dst, 0, len) };
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: `first` is at most `last`, so these are steps of
        // the long axis.
        unsafe { self.one_by_one(src, dst, 0, first) };
        // SAFETY: clauses 1 to 3 of `# Safety`: `fits` holds at `first` and at `end - 1`, hence
        // between them, so the blocks load only bytes among the elements.
        let done = unsafe { self.blocks(src, dst, first, end - 1) };
        // SAFETY: clauses 1 and 2 of `# Safety`: `done` is the end of a block that ends within the
        // axis, so these are the last steps.
        unsafe { self.one_by_one(src, dst, done, len - done) };
    }

    /// Copies the blocks that begin at the elements from `first` to `last`, both included. Returns
    /// where the last block ends.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 to 3 of [`AxisShuffle::copy`].
    /// 2. Blocks that begin at `first`, at `last` and between them load only bytes among the
    ///    elements, and end within the axis.
    unsafe fn blocks(&self, src: *const u8, dst: *mut u8, first: usize, last: usize) -> usize {
        let at = |start: usize, count: usize| {
            let (src, dst) = offset(src, dst, self.along, start);
            ShuffleBlocks { src, dst, count }
        };
        let mut start = first;
        let mut pass = self.store;
        if self.stream {
            let step = self.along.to.unsigned_abs();
            let aligned = (0..=last - first)
                .take(self.block + 1)
                .find(|skip| dst.addr().wrapping_add((first + skip) * step).is_multiple_of(run::LINE));
            if let Some(skip) = aligned {
                if skip != 0 {
                    // SAFETY: clauses 1 and 2 of `# Safety` cover the block at `first`. Some of its
                    // elements are stored again later.
                    unsafe { (self.store)(self, at(first, 1)) };
                }
                start += skip;
                pass = self.stream_pass;
            }
        }
        let count = (last - start) / self.block + 1;
        // SAFETY: clauses 1 and 2 of `# Safety`: the last of the `count` blocks begins at `last` at
        // most. `stream_pass` begins a line (`skip`), and `new` allowed it only for contiguous
        // outputs.
        unsafe { pass(self, at(start, count)) };
        let done = start + count * self.block;
        if done < last + self.block {
            // SAFETY: clauses 1 and 2 of `# Safety` cover the block at `last`. Some of its elements
            // were stored before.
            unsafe { (self.store)(self, at(last, 1)) };
        }
        last + self.block
    }

    /// The distance from one block to the next, in the source and in the destination.
    fn steps(&self) -> (isize, isize) {
        (self.block as isize * self.along.from, self.block as isize * self.along.to)
    }

    /// # Safety
    ///
    /// Clauses 1 and 2 of [`AxisShuffle::copy`], for the `len` steps of the long axis from `start`
    /// on.
    unsafe fn one_by_one(&self, src: *const u8, dst: *mut u8, start: usize, len: usize) {
        for step in start..start + len {
            let (src, dst) = offset(src, dst, self.along, step);
            // SAFETY: clauses 1 and 2 of `copy`: these are the neighbours at one step of the long
            // axis. Every CPU has `Level::Baseline`.
            unsafe { elements::line(src, dst, self.width, self.beside, run::run(Level::Baseline, false)) };
        }
    }
}

#[cfg_attr(
    not(any(target_arch = "aarch64", target_arch = "x86_64")),
    expect(unused_variables, reason = "the portable level has none")
)]
fn passes(level: Level, inputs: usize, outputs: usize) -> Option<(Pass, Pass)> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Some(avx512::passes(inputs, outputs)),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Some(avx2::passes(inputs, outputs)),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => Some(neon::passes(inputs, outputs)),
        _ => None,
    }
}

/// The range of bytes that the inputs of a block load, from element 0 of the block.
fn reach(registers: Registers, outputs: &[Output]) -> Option<(isize, isize)> {
    let inputs = outputs.iter().flat_map(|output| &output.inputs);
    let loads = inputs.flat_map(|input| &input.from[..registers.lanes]);
    Some((*loads.clone().min()?, *loads.max()? + registers.lane as isize))
}

/// The range of bytes that the elements of both axes occupy in the source, from element 0 of all.
fn limits(width: usize, along: CopyAxis, beside: CopyAxis) -> (isize, isize) {
    let last = |axis: CopyAxis| (axis.len - 1) as isize * axis.from;
    let (a, b) = (last(along), last(beside));
    (a.min(0) + b.min(0), a.max(0) + b.max(0) + width as isize)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The registers of the source that hold these bytes.
fn inputs(registers: Registers, bytes: &[Option<isize>]) -> Vec<Input> {
    let mut inputs: Vec<Input> = Vec::new();
    for (lane, bytes) in bytes.chunks(registers.lane).enumerate() {
        let mut wanted: Vec<isize> = bytes.iter().copied().flatten().collect();
        sort_few(&mut wanted, |&byte| byte);
        let mut count = 0;
        while let Some(&low) = wanted.first() {
            // As far back as all of its bytes fit one lane, so that nothing behind the last one is
            // loaded.
            let within = wanted.iter().take_while(|&&byte| byte < low + registers.lane as isize);
            let high = within.clone().last().copied().unwrap_or(low);
            let start = if wanted.len() == within.clone().count() {
                (high + 1 - registers.lane as isize).max(first_of(bytes)).min(low)
            } else {
                low
            };
            let covered = wanted.iter().take_while(|&&byte| byte < start + registers.lane as isize).count();
            if inputs.len() == count {
                inputs.push(Input { from: [start; 2], table: [NONE; 64] });
            }
            let input = &mut inputs[count];
            input.from[lane] = start;
            for (place, byte) in bytes.iter().enumerate() {
                if let Some(byte) = byte
                    && wanted[..covered].binary_search(byte).is_ok()
                {
                    input.table[lane * registers.lane + place] = (byte - start) as u8;
                }
            }
            wanted.drain(..covered);
            count += 1;
        }
    }
    inputs
}

fn first_of(bytes: &[Option<isize>]) -> isize {
    bytes.iter().copied().flatten().min().unwrap_or(0)
}
