//! ConstantOffsets in constant memory, compared many at a time.

use crate::table::column_type::OffsetWidth;

/// ConstantOffsets in constant memory, one more than the elements that they bound.
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
        match self {
            Self::Narrow(all) => increase_within(all, i32::from_ne_bytes, extent),
            Self::Wide(all) => increase_within(all, i64::from_ne_bytes, extent),
        }
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

    /// Whether a character begins at each, or the bytes end. A byte 10xxxxxx continues one.
    pub(crate) fn begin_characters(self, bytes: &[u8]) -> bool {
        // No branch for each offset, so that the loads overlap.
        let begins =
            |all: bool, offset: usize| all & (bytes.get(offset).copied().unwrap_or_default() & 0xC0 != 0x80);
        match self {
            Self::Narrow(all) => {
                all.iter().fold(true, |ok, offset| begins(ok, i32::from_ne_bytes(*offset) as usize))
            }
            Self::Wide(all) => {
                all.iter().fold(true, |ok, offset| begins(ok, i64::from_ne_bytes(*offset) as usize))
            }
        }
    }
}

/// Without a branch for each, so that several are compared at once.
fn increase_within<const N: usize, T>(all: &[[u8; N]], load: fn([u8; N]) -> T, extent: usize) -> bool
where
    T: PartialOrd + TryInto<usize>,
{
    let [first, .., last] = all else { return all.iter().all(|&only| is_within(load(only), extent)) };
    let pairs = all[..all.len() - 1].iter().zip(&all[1..]);
    let increase = pairs.fold(true, |ok, (one, next)| ok & (load(*one) <= load(*next)));
    increase && is_within(load(*first), extent) && is_within(load(*last), extent)
}

fn is_within(offset: impl TryInto<usize>, extent: usize) -> bool {
    offset.try_into().is_ok_and(|offset| offset <= extent)
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
