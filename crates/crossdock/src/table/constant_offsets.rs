//! Offsets in constant memory, compared many at a time.

use std::ops::BitOr;

use crate::table::column_type::OffsetWidth;

/// Offsets in constant memory, one more than the elements that they bound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConstantOffsets<'a> {
    Narrow(&'a [[u8; 4]]),
    Wide(&'a [[u8; 8]]),
}

impl<'a> ConstantOffsets<'a> {
    /// The offsets in these bytes.
    pub(crate) fn new(bytes: &'a [u8], width: OffsetWidth) -> Self {
        match width {
            OffsetWidth::I32 => Self::Narrow(bytes.as_chunks().0),
            OffsetWidth::I64 => Self::Wide(bytes.as_chunks().0),
        }
    }

    /// Whether they do not decrease, from 0 or more to at most `extent`.
    pub(crate) fn increase_within(self, extent: usize) -> bool {
        let (signs, last) = match self {
            Self::Narrow(all) => {
                let (signs, last) = signs(all, i32::from_ne_bytes, i32::wrapping_sub);
                (signs.into(), last.into())
            }
            Self::Wide(all) => signs(all, i64::from_ne_bytes, i64::wrapping_sub),
        };
        signs >= 0i64 && usize::try_from(last).is_ok_and(|last: usize| last <= extent)
    }

    /// The first and the last, if they are within the address space.
    pub(crate) fn ends(self) -> Option<(usize, usize)> {
        fn ends<const N: usize, T: TryInto<usize>>(
            all: &[[u8; N]],
            load: fn([u8; N]) -> T,
        ) -> Option<(usize, usize)> {
            Some((load(*all.first()?).try_into().ok()?, load(*all.last()?).try_into().ok()?))
        }
        match self {
            Self::Narrow(all) => ends(all, i32::from_ne_bytes),
            Self::Wide(all) => ends(all, i64::from_ne_bytes),
        }
    }

    /// Whether a character begins at each, or the bytes end, for offsets that
    /// [`increase_within`](Self::increase_within) these bytes.
    pub(crate) fn begin_characters(self, bytes: &[u8]) -> bool {
        match self {
            Self::Narrow(all) => begin_characters(all, |offset| i32::from_ne_bytes(offset) as usize, bytes),
            Self::Wide(all) => begin_characters(all, |offset| i64::from_ne_bytes(offset) as usize, bytes),
        }
    }
}

/// A byte 10xxxxxx continues a character.
#[inline(always)]
fn begin_characters<const N: usize>(all: &[[u8; N]], load: impl Fn([u8; N]) -> usize, bytes: &[u8]) -> bool {
    // Those of empty elements at the end, and the last one, are the bytes' end.
    let within = all.partition_point(|&offset| load(offset) < bytes.len());
    // No branch for each offset, so that the loads overlap.
    all[..within].iter().fold(true, |ok, &offset| ok & (bytes[load(offset)] & 0xC0 != 0x80))
}

/// The bits of all offsets and of all differences of neighbours, and the last offset. The sign is
/// set if one is negative or less than the one before. No branch and no comparison, so that vector
/// instructions take several offsets at once, of 64 bits too.
#[inline(always)]
fn signs<const N: usize, T: Copy + Default + BitOr<Output = T>>(
    all: &[[u8; N]],
    load: impl Fn([u8; N]) -> T,
    minus: impl Fn(T, T) -> T,
) -> (T, T) {
    let [first, rest @ ..] = all else { return Default::default() };
    let pairs = all.iter().zip(rest).map(|(&one, &next)| (load(one), load(next)));
    let signs = pairs.fold(load(*first), |signs, (one, next)| signs | next | minus(next, one));
    (signs, all.last().map_or_else(T::default, |&last| load(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_compared_with_each_other_and_with_their_extent() {
        let check = |offsets: &[i32], extent: usize| {
            let narrow: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_ne_bytes()).collect();
            let wide: Vec<u8> = offsets.iter().flat_map(|&offset| i64::from(offset).to_ne_bytes()).collect();
            let narrow = ConstantOffsets::new(&narrow, OffsetWidth::I32).increase_within(extent);
            assert_eq!(narrow, ConstantOffsets::new(&wide, OffsetWidth::I64).increase_within(extent));
            narrow
        };
        assert!(check(&[], 0) && check(&[3], 3) && check(&[0, 0, 2, 5], 5));
        assert!(!check(&[4], 3) && !check(&[-1], 3) && !check(&[-1, 2], 3));
        assert!(!check(&[0, 3, 2, 5], 5) && !check(&[0, 1, 6], 5));
    }
}
