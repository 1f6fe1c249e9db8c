//! Decodes floats of at most 8 bits by table.

use std::sync::OnceLock;

use crate::element::{FloatFormat, ScalarKind, narrowed};
use crate::kernel::cast::step::{Map, StepArgs};
use crate::memory::fork::get_or_make;

/// The values of all patterns of a format.
pub(super) struct DecodeTable {
    values: [f32; 256],
    /// The upper halves of the values, by byte. The lower halves are 0, as in a `bfloat16`.
    pub(super) upper: [[[u8; 64]; 4]; 2],
}

impl DecodeTable {
    pub(super) const NONE: Self = Self { values: [0.0; 256], upper: [[[0; 64]; 4]; 2] };

    fn new(format: FloatFormat) -> Self {
        let mut table = Self::NONE;
        for (pattern, value) in table.values.iter_mut().enumerate() {
            *value = narrowed(format.decode(pattern as u16));
            let [low, high, upper @ ..] = value.to_bits().to_le_bytes();
            debug_assert_eq!([low, high], [0; 2], "{value} has more than the upper half");
            for (bytes, byte) in table.upper.iter_mut().zip(upper) {
                bytes[pattern / 64][pattern % 64] = byte;
            }
        }
        table
    }

    /// The table of a kind, computed on first use; `None` unless it has at most 8 bits.
    pub(super) fn of(kind: ScalarKind, format: FloatFormat) -> Option<&'static Self> {
        static TABLES: [OnceLock<DecodeTable>; BYTES.len()] = [const { OnceLock::new() }; BYTES.len()];
        let table = &TABLES[BYTES.iter().position(|&other| other == kind)?];
        Some(get_or_make(table, || Self::new(format)))
    }
}

const BYTES: [ScalarKind; 11] = [
    ScalarKind::Float8E3M4,
    ScalarKind::Float8E4M3,
    ScalarKind::Float8E4M3B11Fnuz,
    ScalarKind::Float8E4M3Fn,
    ScalarKind::Float8E4M3Fnuz,
    ScalarKind::Float8E5M2,
    ScalarKind::Float8E5M2Fnuz,
    ScalarKind::Float8E8M0Fnu,
    ScalarKind::Float6E2M3Fn,
    ScalarKind::Float6E3M2Fn,
    ScalarKind::Float4E2M1Fn,
];

/// Decodes one pattern at a time.
pub(super) struct FromTable;

impl Map for FromTable {
    type From = u8;
    type To = f32;

    #[inline(always)]
    fn map(args: &StepArgs, value: u8) -> f32 {
        args.table.values[usize::from(value)]
    }
}
