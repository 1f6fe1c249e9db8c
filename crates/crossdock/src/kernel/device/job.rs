//! What one launch of a kernel is told: the numbers that its source calls a job.

use crate::kernel::copy;

/// The most loops of one launch, the items of a group, and how many elements each item of most kernels has under way.
pub(super) const MOST_AXES: usize = 16;
pub(crate) const ITEMS: usize = 256;
pub(super) const AT_ONCE: usize = 4;

/// The most steps of one launch: indices are numbers below 2^31.
pub(super) const MOST_STEPS: usize = 1 << 30;

/// A loop, as kernels are told of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axis {
    len: u32,
    steps: u32,
    magic: u32,
    shift: u32,
    from: i64,
    to: i64,
}

impl Axis {
    /// A loop that is counted in steps of `side` at a time. It has fewer than 2^31 of them.
    pub(super) fn of(axis: copy::Axis, side: usize) -> Self {
        let steps = axis.len.div_ceil(side) as u32;
        // `(index * magic / 2^32 + index) / 2^shift` is `index / steps` for all indices below 2^31.
        let shift = steps.next_power_of_two().trailing_zeros();
        let magic = (((1_u64 << shift) - u64::from(steps)) << 32) / u64::from(steps) + 1;
        Self {
            len: axis.len as u32,
            steps,
            magic: magic as u32,
            shift,
            from: axis.from as i64,
            to: axis.to as i64,
        }
    }

    pub(super) fn steps(&self) -> u32 {
        self.steps
    }
}

/// What one launch is to do. The source of the kernels declares the same struct.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Job {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) pattern: [u64; 2],
    pub(super) width: u64,
    pub(super) count: u32,
    pub(super) rank: u32,
    pub(super) swap: u32,
    pub(super) aligned: u32,
    pub(super) from_type: u32,
    pub(super) to_type: u32,
    pub(super) checked: u32,
    pub(super) unused: u32,
    pub(super) axes: [Axis; MOST_AXES],
}

// A driver takes parameters of 1024 bytes at least.
const _: () = assert!(size_of::<Job>() == 72 + 32 * MOST_AXES && size_of::<Job>() + 3 * 8 <= 1024);

/// The kernels, by what they do and the width of their elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    Elements(usize),
    Tiles(usize),
    Runs,
    Fill,
    Cast,
}

/// Which part of the source a kernel is in: each is built when the first of its kernels is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Program {
    Copy,
    Cast,
}

#[cfg(any(test, feature = "opencl"))]
impl Program {
    /// What it is put together of.
    pub(in crate::kernel::device) fn source(self) -> [&'static str; 2] {
        const DIALECT: &str = include_str!("source/dialect.h");
        match self {
            Self::Copy => [DIALECT, include_str!("source/copy.c")],
            Self::Cast => [DIALECT, include_str!("source/cast.c")],
        }
    }
}

impl Kernel {
    pub(crate) fn program(self) -> Program {
        if self == Self::Cast { Program::Cast } else { Program::Copy }
    }

    /// What it is called in the source.
    pub(crate) fn name(self) -> &'static std::ffi::CStr {
        match self {
            Self::Elements(1) => c"elements_1",
            Self::Elements(2) => c"elements_2",
            Self::Elements(4) => c"elements_4",
            Self::Elements(8) => c"elements_8",
            Self::Elements(_) => c"elements_16",
            Self::Tiles(1) => c"tiles_1",
            Self::Tiles(2) => c"tiles_2",
            Self::Tiles(4) => c"tiles_4",
            Self::Tiles(8) => c"tiles_8",
            Self::Tiles(_) => c"tiles_16",
            Self::Runs => c"runs",
            Self::Fill => c"fill",
            Self::Cast => c"cast",
        }
    }

    /// The side of a tile.
    pub(super) fn side(width: usize) -> usize {
        if width <= 4 { 64 } else { 32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_divided_as_kernels_do_it() {
        let divided = |axis: Axis, index: u32| {
            let high = ((u64::from(index) * u64::from(axis.magic)) >> 32) as u32;
            high.wrapping_add(index) >> axis.shift
        };
        let most = (1_usize << 31) - 1;
        let mut checked = 0;
        for steps in (1..70).chain([255, 256, 257, 1_000_003, 1 << 30, most - 1, most]) {
            let axis = Axis::of(copy::Axis { len: steps, from: 0, to: 0 }, 1);
            for near in [0, steps, 2 * steps, 1000 * steps, most / steps * steps, most] {
                for index in [near.saturating_sub(1), near, near + 1].into_iter().filter(|&at| at <= most) {
                    assert_eq!(divided(axis, index as u32) as usize, index / steps, "{index} / {steps}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 1000, "{checked} quotients");
    }

    #[test]
    fn every_kernel_is_in_the_source() {
        let kernels = [Kernel::Runs, Kernel::Fill, Kernel::Cast].into_iter();
        let sized =
            [1, 2, 4, 8, 16].into_iter().flat_map(|width| [Kernel::Elements(width), Kernel::Tiles(width)]);
        for kernel in kernels.chain(sized) {
            let name = kernel.name().to_str().unwrap();
            let source = kernel.program().source();
            assert!(
                source
                    .iter()
                    .any(|part| part.contains(&format!("{name}(")) || part.contains(&format!("({name},"))),
                "{name}"
            );
        }
    }
}
