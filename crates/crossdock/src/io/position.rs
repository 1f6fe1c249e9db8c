//! Arithmetic of positions in a stream of a known size.

use std::io::SeekFrom;
use std::ops::Range;

use crate::error::{Error, Kind, Result};

/// The target of a seek, within the stream or at its end.
pub(super) fn seek(position: usize, nbytes: usize, to: SeekFrom) -> Result<usize> {
    // No sum of two 64-bit numbers overflows 128 bits.
    let target = match to {
        SeekFrom::Start(offset) => i128::from(offset),
        SeekFrom::Current(offset) => position as i128 + i128::from(offset),
        SeekFrom::End(offset) => nbytes as i128 + i128::from(offset),
    };
    match usize::try_from(target) {
        Ok(target) if target <= nbytes => Ok(target),
        _ => Err(Error::new(
            Kind::Bounds,
            format!("position {target} is out of bounds for a stream of {nbytes} bytes"),
        )),
    }
}

/// The range of `wanted` bytes from `offset` on, cut off at the end of the stream.
pub(super) fn clamped(offset: usize, wanted: usize, nbytes: usize) -> Result<Range<usize>> {
    match nbytes.checked_sub(offset) {
        Some(available) => Ok(offset..offset + wanted.min(available)),
        None => Err(outside(offset, wanted, nbytes)),
    }
}

/// The range of all `wanted` bytes from `offset` on.
pub(super) fn exact(offset: usize, wanted: usize, nbytes: usize) -> Result<Range<usize>> {
    match nbytes.checked_sub(offset) {
        Some(available) if wanted <= available => Ok(offset..offset + wanted),
        _ => Err(outside(offset, wanted, nbytes)),
    }
}

#[cold]
pub(super) fn outside(offset: usize, wanted: usize, nbytes: usize) -> Error {
    Error::new(
        Kind::Bounds,
        format!("{wanted} bytes at byte {offset} are out of bounds for a stream of {nbytes} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeking_ends_within_the_stream_or_at_its_end_and_nothing_overflows() {
        for (to, target) in [
            (SeekFrom::Start(0), Some(0)),
            (SeekFrom::Start(10), Some(10)),
            (SeekFrom::Start(11), None),
            (SeekFrom::Start(u64::MAX), None),
            (SeekFrom::Current(-4), Some(0)),
            (SeekFrom::Current(-5), None),
            (SeekFrom::Current(6), Some(10)),
            (SeekFrom::Current(7), None),
            (SeekFrom::Current(i64::MAX), None),
            (SeekFrom::Current(i64::MIN), None),
            (SeekFrom::End(0), Some(10)),
            (SeekFrom::End(-10), Some(0)),
            (SeekFrom::End(-11), None),
            (SeekFrom::End(1), None),
            (SeekFrom::End(i64::MIN), None),
        ] {
            assert_eq!(seek(4, 10, to).ok(), target, "{to:?}");
        }
        let error = seek(4, 10, SeekFrom::Current(-5)).unwrap_err();
        assert!(error.is_bounds());
        assert_eq!(error.to_string(), "position -1 is out of bounds for a stream of 10 bytes");
    }

    #[test]
    fn ranges_are_short_at_the_end_or_exact() {
        assert_eq!(clamped(3, 4, 10).unwrap(), 3..7);
        assert_eq!(clamped(8, usize::MAX, 10).unwrap(), 8..10);
        assert_eq!(clamped(10, 1, 10).unwrap(), 10..10);
        assert!(clamped(11, 0, 10).unwrap_err().is_bounds());
        assert!(clamped(usize::MAX, usize::MAX, 10).unwrap_err().is_bounds());
        assert_eq!(exact(10, 0, 10).unwrap(), 10..10);
        assert_eq!(exact(3, 7, 10).unwrap(), 3..10);
        assert!(exact(3, 8, 10).unwrap_err().is_bounds());
        assert!(exact(1, usize::MAX, 10).unwrap_err().is_bounds());
        assert!(exact(usize::MAX, 1, 10).unwrap_err().is_bounds());
    }
}
