//! The parameters of one kernel launch: the struct `Job` in the kernels' source.

use std::ffi::CStr;

/// The maximum number of loops in one launch, and the number of steps that each work-item of all
/// kernels but those of tiles has in flight.
pub(crate) const MOST_AXES: usize = 16;
pub(crate) const AT_ONCE: usize = 4;

/// The maximum number of steps in one launch: indices are below 2^31.
pub(crate) const MOST_STEPS: usize = 1 << 30;

/// Not an index: no element was refused.
pub(crate) const NONE_REFUSED: u32 = u32::MAX;

/// A loop, in the form that kernels use.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobAxis {
    len: u32,
    steps: u32,
    magic: u32,
    shift: u32,
    from: i64,
    to: i64,
}

impl JobAxis {
    /// A loop of `len` elements with strides of `from` and `to` bytes, counted in steps of `side`
    /// elements. It has fewer than 2^31 steps.
    pub(crate) fn new(len: usize, from: isize, to: isize, side: usize) -> Self {
        let steps = len.div_ceil(side) as u32;
        // `(index * magic / 2^32 + index) / 2^shift` is `index / steps` for all indices below 2^31.
        let shift = steps.next_power_of_two().trailing_zeros();
        let magic = (((1_u64 << shift) - u64::from(steps)) << 32) / u64::from(steps) + 1;
        Self { len: len as u32, steps, magic: magic as u32, shift, from: from as i64, to: to as i64 }
    }

    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }
}

/// The work of one launch: the struct `Job` that the kernels' source declares, and that every
/// kernel takes by value as its fourth parameter. An engine passes the bytes to the driver.
///
/// Its size fits the minimum that every driver supports: less than 1024 bytes with three pointers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Job {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) pattern: [u64; 2],
    pub(crate) width: u64,
    pub(crate) count: u32,
    pub(crate) rank: u32,
    pub(crate) swap: u32,
    pub(crate) aligned: u32,
    pub(crate) from_type: u32,
    pub(crate) to_type: u32,
    pub(crate) checked: u32,
    pub(crate) unused: u32,
    pub(crate) axes: [JobAxis; MOST_AXES],
}

impl Job {
    /// The bytes, for drivers that take parameters as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: `Job` has only integers and no padding (the assertion below checks its size), so
        // all its bytes are initialised; `self` is borrowed as long as the slice.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
}

// Every driver supports at least 1024 bytes of parameters.
const _: () = assert!(size_of::<Job>() == 72 + 32 * MOST_AXES && size_of::<Job>() + 3 * 8 <= 1024);

/// A kernel: the name of a function in the text of a [`Program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    name: &'static CStr,
    program: Program,
}

/// A source text of kernels. It is compiled when the first of its kernels is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Copies and fills.
    Copy,
    /// Casts.
    Cast,
}

impl Program {
    /// The text, in a common subset of OpenCL C 1.2, CUDA C++ and C++17. Its first part describes
    /// what a C++ host must provide.
    ///
    /// ```
    /// use crossdock::device::engine::Program;
    ///
    /// assert!(Program::Copy.source().contains("KERNEL void runs("));
    /// assert!(Program::Cast.source().contains("KERNEL void cast("));
    /// ```
    pub const fn source(self) -> &'static str {
        match self {
            Self::Copy => concat!(include_str!("source/dialect.h"), include_str!("source/copy.c")),
            Self::Cast => concat!(include_str!("source/dialect.h"), include_str!("source/cast.c")),
        }
    }
}

impl Kernel {
    /// The number of work-items in a group.
    pub const ITEMS: usize = 256;

    /// Copies elements of one byte that are neighbours in the destination, [`Kernel::WORD`] at a
    /// time.
    pub(crate) const WORDS: Self = Self::of_copy(c"words");
    pub(crate) const WORD: usize = 4;

    pub(crate) const RUNS: Self = Self::of_copy(c"runs");
    pub(crate) const FILL: Self = Self::of_copy(c"fill");
    pub(crate) const CAST: Self = Self { name: c"cast", program: Program::Cast };

    /// Copies elements of a width one by one.
    pub(crate) fn elements(width: usize) -> Self {
        Self::of_copy(match width {
            1 => c"elements_1",
            2 => c"elements_2",
            4 => c"elements_4",
            8 => c"elements_8",
            _ => c"elements_16",
        })
    }

    /// Copies elements of a width in tiles.
    pub(crate) fn tiles(width: usize) -> Self {
        Self::of_copy(match width {
            1 => c"tiles_1",
            2 => c"tiles_2",
            4 => c"tiles_4",
            8 => c"tiles_8",
            _ => c"tiles_16",
        })
    }

    const fn of_copy(name: &'static CStr) -> Self {
        Self { name, program: Program::Copy }
    }

    /// The text that contains the kernel.
    pub fn program(self) -> Program {
        self.program
    }

    /// The name of its function in the text.
    pub fn name(self) -> &'static CStr {
        self.name
    }

    /// The side of a tile.
    pub(crate) fn side(width: usize) -> usize {
        if width <= 4 { 64 } else { 32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_divided_as_kernels_do_it() {
        let divided = |axis: JobAxis, index: u32| {
            let high = ((u64::from(index) * u64::from(axis.magic)) >> 32) as u32;
            high.wrapping_add(index) >> axis.shift
        };
        let most = (1_usize << 31) - 1;
        let mut checked = 0;
        for steps in (1..70).chain([255, 256, 257, 1_000_003, 1 << 30, most - 1, most]) {
            let axis = JobAxis::new(steps, 0, 0, 1);
            for near in [0, steps, 2 * steps, steps.saturating_mul(1000), most / steps * steps, most] {
                for index in [near.saturating_sub(1), near, near.saturating_add(1)]
                    .into_iter()
                    .filter(|&at| at <= most)
                {
                    assert_eq!(divided(axis, index as u32) as usize, index / steps, "{index} / {steps}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 1000, "{checked} quotients");
    }

    #[test]
    fn every_kernel_is_in_the_source() {
        let kernels = [Kernel::WORDS, Kernel::RUNS, Kernel::FILL, Kernel::CAST].into_iter();
        let sized =
            [1, 2, 4, 8, 16].into_iter().flat_map(|width| [Kernel::elements(width), Kernel::tiles(width)]);
        for kernel in kernels.chain(sized) {
            let name = kernel.name().to_str().unwrap();
            let source = kernel.program().source();
            let is_there = source.contains(&format!("{name}(")) || source.contains(&format!("({name},"));
            assert!(is_there, "{name}");
        }
    }
}
