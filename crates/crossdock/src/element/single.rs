//! Conversions between `f32` and `f64` that keep the sign and the payload of a NaN.
//!
//! Most processors' instructions do. Those of RISC-V make every NaN the same one (The RISC-V
//! Instruction Set Manual, volume I, "NaN Generation and Propagation"), so there it is converted by
//! its bits.

const ONE_NAN: bool = cfg!(any(target_arch = "riscv32", target_arch = "riscv64"));

/// The same number. A NaN keeps its sign and has its payload at the upper end, and is quiet but on
/// POWER.
#[inline(always)]
pub(crate) fn widened(value: f32) -> f64 {
    if ONE_NAN && value.is_nan() { widened_nan(value) } else { value.into() }
}

/// The nearest number, ties to even; too large ones become infinite. A NaN keeps its sign and the
/// upper end of its payload, and is quiet.
#[inline(always)]
pub(crate) fn narrowed(value: f64) -> f32 {
    if ONE_NAN && value.is_nan() { narrowed_nan(value) } else { value as f32 }
}

fn widened_nan(value: f32) -> f64 {
    let bits = u64::from(value.to_bits());
    f64::from_bits((bits >> 31) << 63 | f64::NAN.to_bits() | (bits & 0x007f_ffff) << 29)
}

fn narrowed_nan(value: f64) -> f32 {
    let bits = value.to_bits();
    let (sign, payload) = (bits >> 63 << 31, bits >> 29 & 0x007f_ffff);
    f32::from_bits((sign | payload) as u32 | f32::NAN.to_bits())
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn a_nan_by_its_bits_is_what_instructions_give() {
        let mut compared = 0;
        for shift in 0..23 {
            for sign in [0, 1 << 31] {
                let single = f32::from_bits(0x7f80_0000 | sign | 1 << shift);
                let double = f64::from_bits(widened_nan(single).to_bits() | 1);
                assert_eq!(single.is_sign_negative(), widened_nan(single).is_sign_negative());
                assert_eq!(narrowed_nan(double).to_bits(), single.to_bits() | 1 << 22);
                if ONE_NAN {
                    continue;
                }
                // POWER loads a signalling NaN without making it quiet.
                let quiet = f64::from(black_box(single)).to_bits() | 1 << 51;
                assert_eq!(widened_nan(single).to_bits(), quiet);
                assert_eq!(narrowed_nan(double).to_bits(), (black_box(double) as f32).to_bits());
                compared += 2;
            }
        }
        assert_eq!(compared, if ONE_NAN { 0 } else { 92 });
    }

    #[test]
    fn numbers_are_converted_as_by_rust() {
        for value in [0.0, -0.0, 1.5, f32::MIN_POSITIVE / 2.0, f32::MAX, f32::NEG_INFINITY] {
            assert_eq!(widened(value).to_bits(), f64::from(value).to_bits());
            assert_eq!(narrowed(value.into()).to_bits(), value.to_bits());
        }
        assert_eq!(narrowed(1e300), f32::INFINITY);
    }
}
