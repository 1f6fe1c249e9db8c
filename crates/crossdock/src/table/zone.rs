//! Time zones as offsets.

/// The minutes east of UTC that a zone states: `+02:00` or `-0330`. `None` for a zone with a name,
/// whose offset depends on the day. Source: Arrow's `Schema.fbs`, "Timestamp".
pub fn offset_minutes(zone: &str) -> Option<i32> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':').or_else(|| digits.split_at_checked(2))?;
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then(|| sign * i32::from(hours * 60 + minutes))
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
        for zone in ["", "UTC", "+", "+2", "+24:00", "+02:60", "02:00", "+é0:00"] {
            assert_eq!(offset_minutes(zone), None, "{zone}");
        }
    }
}
