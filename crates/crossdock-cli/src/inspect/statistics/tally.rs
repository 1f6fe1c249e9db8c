//! The counts and sums of one scalar, by its type.

use crossdock::element::{ByteOrder, DType, Scalar, ScalarKind, Value};

use crate::failure::Failure;
use crate::inspect::statistics::floats::Floats;
use crate::inspect::statistics::integers::Integers;
use crate::inspect::statistics::longs::Longs;
use crate::inspect::statistics::sample::{Sample, counts_time};
#[cfg(target_arch = "x86_64")]
use crate::inspect::statistics::vectors;
use crate::inspect::statistics::{Found, Numbers};

/// The counts so far.
#[derive(Debug)]
pub(super) enum Tally {
    /// Integers of up to 64 bits, including dates and durations.
    Integers(Integers, ScalarKind, ByteOrder),
    /// Floats of 32 and 64 bits.
    Narrow(Floats, ByteOrder),
    Double(Floats, ByteOrder),
    /// How often each pattern of one or two bytes occurs: floats narrower than 32 bits, and
    /// booleans.
    Patterns {
        width: usize,
        counts: Vec<u64>,
    },
    /// Floats of more than 64 bits, one by one.
    Wide(Longs, DType),
    Nothing,
}

impl Tally {
    pub(super) fn new(scalar: Scalar) -> Self {
        use ScalarKind as Kind;
        let order = scalar.byte_order().unwrap_or(ByteOrder::NATIVE);
        match scalar.kind() {
            kind @ (Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64) => {
                Self::Integers(Integers::default(), kind, order)
            }
            kind @ (Kind::UInt8 | Kind::UInt16 | Kind::UInt32 | Kind::UInt64) => {
                Self::Integers(Integers::default(), kind, order)
            }
            kind if counts_time(kind) => Self::Integers(Integers::default(), kind, order),
            Kind::Float32 => Self::Narrow(Floats::NONE, order),
            Kind::Float64 => Self::Double(Floats::NONE, order),
            Kind::LongDouble => Self::Wide(Longs::NONE, scalar.into()),
            Kind::Bytes(_) | Kind::Text(_) | Kind::Void(_) | Kind::Pointer => Self::Nothing,
            _ => match scalar.itemsize() {
                width @ 1..=2 => Self::Patterns { width, counts: vec![0; 1 << (8 * width)] },
                _ => Self::Nothing,
            },
        }
    }

    /// Adds packed bytes, by the widest instructions that the CPU has.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        if vectors::is_available() {
            // SAFETY: the CPU has these parts of AVX-512, by the check above.
            return unsafe { self.add_avx512(bytes) };
        }
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has AVX2, by the check above.
            return unsafe { self.add_avx2(bytes) };
        }
        self.add_any(bytes);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn add_avx2(&mut self, bytes: &[u8]) {
        self.add_any(bytes);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl")]
    fn add_avx512(&mut self, bytes: &[u8]) {
        self.add_any(bytes);
    }

    #[inline(always)]
    fn add_any(&mut self, bytes: &[u8]) {
        use ByteOrder::{Big, Little};
        match self {
            Self::Integers(tally, kind, Little) => tally.add(bytes, *kind, Little),
            Self::Integers(tally, kind, Big) => tally.add(bytes, *kind, Big),
            Self::Narrow(tally, Little) => tally.add(bytes, f32::from_le_bytes),
            Self::Narrow(tally, Big) => tally.add(bytes, f32::from_be_bytes),
            Self::Double(tally, Little) => tally.add(bytes, f64::from_le_bytes),
            Self::Double(tally, Big) => tally.add(bytes, f64::from_be_bytes),
            Self::Patterns { width: 1, counts } => {
                bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            }
            Self::Patterns { counts, .. } => {
                for &word in bytes.as_chunks().0 {
                    counts[usize::from(u16::from_ne_bytes(word))] += 1;
                }
            }
            Self::Wide(tally, dtype) => {
                for element in bytes.chunks_exact(dtype.itemsize()) {
                    // The bytes of a long double are always one.
                    let _ = Value::read(dtype, element).map(|value| tally.add(value));
                }
            }
            Self::Nothing => {}
        }
    }

    /// The bytes that [`Tally::add_in_place`] adds; `None` if this CPU or this type has no
    /// instructions for it.
    pub(super) fn block(&self) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if vectors::is_available() {
            return match self {
                Self::Integers(_, kind, ByteOrder::NATIVE) if kind.is_integer() => Some(vectors::BLOCK),
                Self::Narrow(_, ByteOrder::NATIVE) | Self::Double(_, ByteOrder::NATIVE) => {
                    Some(vectors::BLOCK)
                }
                _ => None,
            };
        }
        None
    }

    /// Adds a block of bytes that another process may write.
    ///
    /// # Safety
    ///
    /// 1. The bytes of a block at `start` may be loaded racily.
    /// 2. [`Tally::block`] returned its size.
    pub(super) unsafe fn add_in_place(&mut self, start: *const u8) {
        #[cfg(target_arch = "x86_64")]
        match self {
            // SAFETY: clause 1 of `# Safety`; by clause 2, the CPU has the instructions.
            Self::Integers(tally, kind, _) => unsafe { vectors::add_integers(tally, start, *kind) },
            // SAFETY: clause 1 of `# Safety`; by clause 2, the CPU has the instructions.
            Self::Narrow(tally, _) => unsafe { vectors::add_floats(tally, start, 4) },
            // SAFETY: clause 1 of `# Safety`; by clause 2, the CPU has the instructions.
            Self::Double(tally, _) => unsafe { vectors::add_floats(tally, start, 8) },
            _ => {}
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = start;
    }

    /// Adds the counts of another part of the same array.
    pub(super) fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Integers(tally, ..), Self::Integers(other, ..)) => tally.merge(other),
            (Self::Narrow(tally, _), Self::Narrow(other, _))
            | (Self::Double(tally, _), Self::Double(other, _)) => tally.merge(other),
            (Self::Wide(tally, _), Self::Wide(other, _)) => tally.merge(other),
            (Self::Patterns { counts, .. }, Self::Patterns { counts: others, .. }) => {
                counts.iter_mut().zip(others).for_each(|(count, other)| *count += other);
            }
            _ => {}
        }
    }

    pub(super) fn finish(self, scalar: Scalar, sample: Sample) -> Result<Found, Failure> {
        Ok(match self {
            Self::Integers(tally, kind, _) => {
                let range = tally.range.map(|(low, high)| (low as f64, high as f64));
                let counts = !counts_time(kind) && tally.count > 0;
                Found::Numbers(Numbers {
                    least: tally.range.map(|(low, _)| Integers::value(kind, low)),
                    greatest: tally.range.map(|(_, high)| Integers::value(kind, high)),
                    mean: counts.then(|| tally.sum as f64 / tally.count as f64),
                    std: tally.moments.std().filter(|_| counts),
                    nan: tally.nat,
                    zeros: tally.zeros,
                    distribution: sample.distribution(range),
                    outside: 0,
                })
            }
            Self::Narrow(tally, _) | Self::Double(tally, _) => Found::Numbers(numbers(tally, sample)),
            Self::Wide(Longs { floats, zeros, least, greatest, outside }, _) => {
                let found = Numbers { zeros, least, greatest, outside, ..numbers(floats, sample) };
                Found::Numbers(match outside {
                    0 => found,
                    // Doubles cannot stand for the numbers, nor can what is computed of them.
                    _ => Numbers { mean: None, std: None, distribution: None, ..found },
                })
            }
            Self::Patterns { counts, .. } if scalar.kind() == ScalarKind::Bool => {
                Found::Truths { no: counts[0], yes: counts[1..].iter().sum() }
            }
            Self::Patterns { width, counts } => {
                let (dtype, mut tally, mut all) = (DType::from(scalar), Floats::NONE, Vec::new());
                for (pattern, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
                    let bytes = (pattern as u16).to_ne_bytes();
                    // A single byte is the pattern itself on any machine.
                    let bytes = if width == 1 { &[pattern as u8][..] } else { &bytes };
                    let value = Value::read(&dtype, bytes)?.as_f64().unwrap_or(f64::NAN);
                    tally.add_one(value, count);
                    all.push((value, count));
                }
                Found::Numbers(numbers(tally, Sample::of_all(all)))
            }
            Self::Nothing => Found::Nothing,
        })
    }
}

fn numbers(tally: Floats, sample: Sample) -> Numbers {
    let some = |value: f64| (tally.count > 0).then_some(value);
    Numbers {
        least: some(tally.least).map(Value::Float),
        greatest: some(tally.greatest).map(Value::Float),
        mean: some(tally.sum / tally.count as f64),
        std: tally.moments.std(),
        nan: tally.nan,
        zeros: tally.zeros,
        distribution: sample.distribution(some(tally.least).zip(some(tally.greatest))),
        outside: 0,
    }
}
