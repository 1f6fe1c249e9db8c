//! C's `long double` on x86-64: a sign, 15 bits of exponent and 64 of significand with an explicit
//! leading one, little-endian, followed by six bytes of padding.

use crate::element::float::shift_to_even;

const EXPONENT_BIAS: i32 = 16_383;
const SPECIAL: u16 = 0x7fff;

/// The nearest double, ties to even; too large values become infinite.
pub(super) fn to_f64(raw: &[u8; 16]) -> f64 {
    let [m0, m1, m2, m3, m4, m5, m6, m7, low, high, ..] = *raw;
    let significand = u64::from_le_bytes([m0, m1, m2, m3, m4, m5, m6, m7]);
    let top = u16::from_le_bytes([low, high]);
    let (negative, field) = (top & 0x8000 != 0, top & SPECIAL);
    let magnitude = match (field, significand) {
        (_, 0) if field != SPECIAL => 0.0,
        // Infinity, with the leading one or, as the 8087 wrote it, without.
        (SPECIAL, 0 | 0x8000_0000_0000_0000) => f64::INFINITY,
        (SPECIAL, _) => f64::NAN,
        _ => {
            // Subnormals count like the lowest normal exponent.
            let exponent = i32::from(field.max(1)) - EXPONENT_BIAS - 63;
            round(significand, exponent)
        }
    };
    if negative { -magnitude } else { magnitude }
}

/// `significand * 2^exponent`, rounded to a double. `significand` is not zero.
fn round(significand: u64, exponent: i32) -> f64 {
    let leading = significand.leading_zeros();
    let (significand, exponent) = (u128::from(significand << leading), exponent - leading as i32);
    let binade = exponent + 63;
    if binade > 1023 {
        return f64::INFINITY;
    }
    let dropped = binade.max(-1022) - 52 - exponent;
    let kept = if dropped > 65 { 0 } else { shift_to_even(significand, dropped as u32) as u64 };
    // The leading one of a normal significand adds 1 to the exponent field, and so does a carry, up
    // to infinity.
    f64::from_bits((((binade.max(-1022) + 1022) as u64) << 52) + kept)
}

/// Like [`to_f64`]; `None` for a number that is too large for a double.
pub(super) fn fits_f64(raw: &[u8; 16]) -> Option<f64> {
    let near = to_f64(raw);
    let is_special = u16::from_le_bytes([raw[8], raw[9]]) & SPECIAL == SPECIAL;
    (near.is_finite() || is_special).then_some(near)
}

/// A double as an intermediate step to a narrower float; `None` for a number that is too large for
/// a double. An inexact result becomes the neighbour whose last bit is set, so that rounding it
/// once more gives the same result as rounding once (round to odd).
pub(super) fn to_odd(raw: &[u8; 16]) -> Option<f64> {
    let near = fits_f64(raw)?;
    let magnitude = |raw: &[u8; 16]| u128::from_le_bytes(*raw) & ((1 << 79) - 1);
    let (exact, rounded) = (magnitude(raw), magnitude(&from_f64(near)));
    if exact == rounded || !near.is_finite() {
        return Some(near);
    }
    Some(f64::from_bits((near.to_bits() - u64::from(rounded > exact)) | 1))
}

/// The exact integer, if the number is one of magnitude below 2^64.
pub(super) fn to_int(raw: &[u8; 16]) -> Option<i128> {
    let bits = u128::from_le_bytes(*raw);
    let (significand, field) = (bits as u64, (bits >> 64) as u16 & SPECIAL);
    if significand == 0 && field != SPECIAL {
        return Some(0);
    }
    // The number of bits after the binary point.
    let fraction = u32::try_from(EXPONENT_BIAS + 63 - i32::from(field)).ok()?;
    if fraction > 63 || significand.trailing_zeros() < fraction {
        return None;
    }
    let magnitude = i128::from(significand >> fraction);
    Some(if bits >> 79 & 1 == 1 { -magnitude } else { magnitude })
}

/// A double, exactly. A NaN keeps its sign but not its payload.
pub(super) fn from_f64(value: f64) -> [u8; 16] {
    let negative = value.is_sign_negative();
    if value.is_nan() {
        return assemble(negative, SPECIAL, 0xc000_0000_0000_0000);
    }
    if value.is_infinite() {
        return assemble(negative, SPECIAL, 0x8000_0000_0000_0000);
    }
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let significand = if field == 0 { fraction } else { fraction | (1 << 52) };
    from_parts(negative, significand, field.max(1) - 1075)
}

/// An integer, exactly. Its magnitude is below 2^64.
pub(super) fn from_int(value: i128) -> [u8; 16] {
    from_parts(value < 0, value.unsigned_abs() as u64, 0)
}

/// `significand * 2^exponent`, exactly, for exponents of doubles.
fn from_parts(negative: bool, significand: u64, exponent: i32) -> [u8; 16] {
    if significand == 0 {
        return assemble(negative, 0, 0);
    }
    let leading = significand.leading_zeros();
    let field = exponent + 63 - leading as i32 + EXPONENT_BIAS;
    assemble(negative, field as u16, significand << leading)
}

fn assemble(negative: bool, field: u16, significand: u64) -> [u8; 16] {
    let mut raw = [0; 16];
    raw[..8].copy_from_slice(&significand.to_le_bytes());
    raw[8..10].copy_from_slice(&(field | u16::from(negative) << 15).to_le_bytes());
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_and_read_back() {
        for value in [
            0.0,
            -0.0,
            1.0,
            -1.5,
            std::f64::consts::PI,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::from_bits(0x000f_ffff_ffff_ffff),
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            assert_eq!(to_f64(&from_f64(value)).to_bits(), value.to_bits(), "{value:e}");
        }
        assert!(to_f64(&from_f64(f64::NAN)).is_nan());
    }

    #[test]
    fn the_bytes_are_those_of_the_processor() {
        // 1.0L and -2.5L, as gcc writes them.
        assert_eq!(from_f64(1.0)[..10], [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f]);
        assert_eq!(from_f64(-2.5)[..10], [0, 0, 0, 0, 0, 0, 0, 0xa0, 0x00, 0xc0]);
        assert_eq!(from_int(1), from_f64(1.0));
        assert_eq!(from_int(0), from_f64(0.0));
        assert_eq!(to_f64(&from_int(i128::from(u64::MAX))), 2_f64.powi(64));
        assert_eq!(from_int(i128::from(i64::MIN)), from_f64(-(2_f64.powi(63))));
    }

    #[test]
    fn integers_come_back_exactly_and_fractions_are_none() {
        for number in [0, 1, -1, 3, i128::from(i64::MIN), u64::MAX.into(), -i128::from(u64::MAX), 1 << 53 | 1]
        {
            assert_eq!(to_int(&from_int(number)), Some(number));
        }
        for value in [0.5, -1.5, 2_f64.powi(64), 1e300, 1e-300, f64::INFINITY, f64::NAN] {
            assert_eq!(to_int(&from_f64(value)), None, "{value}");
        }
        assert_eq!(to_int(&from_f64(-0.0)), Some(0));
    }

    #[test]
    fn what_becomes_narrower_than_a_double_is_rounded_once() {
        let one = EXPONENT_BIAS as u16;
        // 1 + 2^-24 is a tie between floats, and the extra bit makes it round up; a double would
        // lose that bit.
        let above = assemble(true, one, 0x8000_0080_0000_0001);
        assert_eq!(to_f64(&above) as f32, -1.0);
        assert_eq!(to_odd(&above).unwrap() as f32, -(1.0_f32.next_up()));
        let below = assemble(false, one, 0x8000_0080_0000_0000 - 1);
        assert_eq!(to_odd(&below).unwrap() as f32, 1.0);
        for exact in [0.0, -0.0, 1.5, f64::MAX, f64::INFINITY] {
            assert_eq!(to_odd(&from_f64(exact)).unwrap().to_bits(), exact.to_bits());
        }
        let large = assemble(false, SPECIAL - 1, u64::MAX);
        assert_eq!((to_odd(&large), fits_f64(&large)), (None, None));
    }

    #[test]
    fn what_a_double_cannot_hold_is_rounded_once() {
        let read = |field: u16, significand: u64| to_f64(&assemble(false, field, significand));
        let one = EXPONENT_BIAS as u16;
        // 1 + 2^-53 is a tie and goes to the even 1; a bit more goes up; 1 + 3 * 2^-53 is a tie and
        // goes up.
        assert_eq!(read(one, 0x8000_0000_0000_0400), 1.0);
        assert_eq!(read(one, 0x8000_0000_0000_0401), 1.0_f64.next_up());
        assert_eq!(read(one, 0x8000_0000_0000_0c00), 1.0_f64.next_up().next_up());
        assert_eq!(read(one, u64::MAX), 2.0);
        assert_eq!(read(SPECIAL - 1, u64::MAX), f64::INFINITY);
        assert_eq!(read(one + 1023, u64::MAX), f64::INFINITY);
        // Half of the smallest double is a tie; anything above it is not.
        assert_eq!(read(one - 1075, 0x8000_0000_0000_0000), 0.0);
        assert_eq!(read(one - 1075, 0x8000_0000_0000_0001), f64::from_bits(1));
        assert_eq!(read(one - 1076, u64::MAX), 0.0);
        assert_eq!(read(1, u64::MAX), 0.0);
        assert_eq!(read(0, 1), 0.0);
        assert_eq!(read(0, 0), 0.0);
    }
}
