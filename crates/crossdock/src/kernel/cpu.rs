//! The instruction sets that kernels use.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A set of instructions that a kernel may have an implementation for. Each level includes the ones
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What every CPU of the architecture has: portable code.
    Baseline,
    /// NEON, which every aarch64 has, by registers and instructions that the compiler does not
    /// choose by itself.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// x86-64 with AVX2, FMA, F16C, BMI1 and BMI2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VBMI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The levels of this architecture.
const ALL: &[(Level, &str)] = &[
    (Level::Baseline, "baseline"),
    #[cfg(target_arch = "aarch64")]
    (Level::Neon, "neon"),
    #[cfg(target_arch = "x86_64")]
    (Level::Avx2, "avx2"),
    #[cfg(target_arch = "x86_64")]
    (Level::Avx512, "avx512"),
];

/// Lowers the level: for measurements, for tests, and to find out whether an instruction causes a
/// bug.
const VARIABLE: &str = "CROSSDOCK_CPU";

impl Level {
    /// The best level that this CPU has and the environment permits, detected once.
    #[inline]
    pub(crate) fn current() -> Self {
        /// 0 until it is known, then its index in `ALL` plus 1.
        static KNOWN: AtomicU8 = AtomicU8::new(0);
        match KNOWN.load(Relaxed) {
            0 => {
                let level = Self::permitted();
                KNOWN.store(level as u8 + 1, Relaxed);
                level
            }
            known => ALL[usize::from(known - 1)].0,
        }
    }

    /// All levels that this CPU has and the environment permits, the lowest first.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests run every kernel at each of them"))]
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        ALL.iter().map(|&(level, _)| level).filter(|&level| level <= Self::current())
    }

    #[cold]
    fn permitted() -> Self {
        let wanted = std::env::var(VARIABLE).ok();
        let most = ALL.iter().find(|&&(_, name)| wanted.as_deref() == Some(name));
        let detected = Self::detected();
        most.map_or(detected, |&(level, _)| detected.min(level))
    }

    #[cfg(target_arch = "x86_64")]
    fn detected() -> Self {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi");
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            (false, _) => Self::Baseline,
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn detected() -> Self {
        Self::Neon
    }

    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    fn detected() -> Self {
        Self::Baseline
    }
}

/// Defines the functions `baseline`, `avx2` and `avx512` around one generic body. The body is
/// inlined into each of them, and so compiled for each level.
macro_rules! at_each_level {
    ($generic:ident: $bound:ident, ($($arg:ident: $ty:ty),*) $(-> $result:ty)?, $body:ident) => {
        fn baseline<$generic: $bound>($($arg: $ty),*) $(-> $result)? {
            $body::<$generic>($($arg),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
        fn avx2<$generic: $bound>($($arg: $ty),*) $(-> $result)? {
            $body::<$generic>($($arg),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
        fn avx512<$generic: $bound>($($arg: $ty),*) $(-> $result)? {
            $body::<$generic>($($arg),*)
        }
    };
}

pub(crate) use at_each_level;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_this_processor_lacks_are_told() {
        let available: Vec<_> = Level::available().collect();
        assert_eq!(available.first(), Some(&Level::Baseline));
        for &(level, name) in ALL {
            if !available.contains(&level) {
                assert!(level > Level::current());
                crossdock_testkit::not_run(&format!("kernels for {name}: not on this processor"));
            }
        }
    }
}
