//! Time zones as offsets.

/// The minutes east of UTC that a zone states: `+02:00` or `-0330`. `None` for a zone with a name,
/// whose offset depends on the day. Source: Arrow's `Schema.fbs`, "Timestamp".
pub fn offset_minutes(zone: &str) -> Option<i32> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (&[a, b, c, d] | &[a, b, b':', c, d]) = digits.as_bytes() else { return None };
    let number = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| 10 * i32::from(tens - b'0') + i32::from(ones - b'0'))
    };
    let (hours, minutes) = (number(a, b)?, number(c, d)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_an_offset_or_a_name() {
        let offsets = [("+02:00", 120), ("-0330", -210), ("+23:59", 1439), ("-00:00", 0)];
        for (zone, minutes) in offsets {
            assert_eq!(offset_minutes(zone), Some(minutes), "{zone}");
        }
        for zone in [
            "", "UTC", "+", "+2", "+24:00", "+02:60", "02:00", "+é0:00", "++2:00", "+2:00", "+02:0", "+-2+0",
            "+02:000", "+0200:",
        ] {
            assert_eq!(offset_minutes(zone), None, "{zone}");
        }
    }
}
