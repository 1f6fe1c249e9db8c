//! The known bugs of Ruby's MemoryView, in the order of their numbers: crashes and wrong results
//! there, and the behaviour here.
//!
//! All tests of the sound behaviour share this list: the tests in Rust use the number, the tests in
//! C and the page for authors use the id. Recorded answers that show a bug are in the lists of
//! deviations, [`vectors`](crate::vectors) and [`layouts`](crate::layouts), whose ids appear here.

/// One bug.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// A short name.
    pub id: &'static str,
    /// What the original does.
    pub original: &'static str,
    /// What this library does.
    pub here: &'static str,
    /// The deviations that show it in recorded answers.
    pub deviations: &'static [&'static str],
}

/// All bugs. Each is reachable from C.
pub const BUGS: &[Bug] = &[
    Bug {
        id: "null-strides",
        original: "contiguity follows null strides: a crash up to 4.0",
        here: "null strides are row-major without gaps",
        deviations: &["contiguous-null-strides"],
    },
    Bug {
        id: "white-space",
        original: "white space between the members of a format writes components beyond the end of their memory",
        here: "it is counted as it is read",
        deviations: &["whitespace-components"],
    },
    Bug {
        id: "no-class",
        original: "looking for the producer of an object without classes above its own is a crash",
        here: "it has none, with a reason; no object and a cycle of classes likewise",
        deviations: &[],
    },
    Bug {
        id: "empty-axis",
        original: "the item of a view with null strides is found by dividing by each length: a crash where one is 0",
        here: "every index is outside of such an axis",
        deviations: &[],
    },
    Bug {
        id: "one-axis-indirect",
        original: "suboffsets are not followed where there is one axis",
        here: "they are followed at any rank",
        deviations: &[],
    },
    Bug {
        id: "overflow",
        original: "counts and totals of a format wrap around, and the place of the error is not set",
        here: "an error, with its place",
        deviations: &["count-overflow", "total-overflow"],
    },
    Bug {
        id: "second-release",
        original: "a second release, also by a copy of the struct, frees components twice or pins a phantom for ever",
        here: "it does nothing and says so; nothing in the struct dangles after the first",
        deviations: &[],
    },
    Bug {
        id: "uninitialised",
        original: "what was in the struct before is taken for the producer's, and freed",
        here: "a producer fills in an empty struct of the hub's; what was there before is not looked at",
        deviations: &[],
    },
    Bug {
        id: "null-callbacks",
        original: "a producer without its functions is registered, and crashes later",
        here: "one without `get_func` is refused; the others mean that there is nothing to do",
        deviations: &[],
    },
    Bug {
        id: "out-of-bounds",
        original: "no index is compared with the length of its axis, nor is the offset checked for overflow",
        here: "an index outside gives nothing, with the axis and its length",
        deviations: &["item-out-of-bounds", "item-offset-wraps", "item-outside-addresses"],
    },
    Bug {
        id: "owner-changes",
        original: "memory is moved, freed and written while it is viewed, and no flag is enforced",
        here: "a view keeps and locks the memory of an array, counts as an export of any object, and keeps to its flags",
        deviations: &[],
    },
    Bug {
        id: "contiguity-rules",
        original: "a product that wraps is contiguous; axes of length 1 and empty arrays follow rules of their own",
        here: "the rules of NumPy; the original's in the functions that end in `strictly`, and no product wraps",
        deviations: &["contiguous-product-wraps", "contiguous-single-axes", "contiguous-empty-axes"],
    },
    Bug {
        id: "exit",
        original: "views that are released when the process ends find their objects freed",
        here: "the hub keeps what a release needs; views may be left, and released in any order",
        deviations: &[],
    },
    Bug {
        id: "char-sign",
        original: "the sign of `c` is that of the platform's `char`",
        here: "`c` has a sign everywhere, `C` has none",
        deviations: &[],
    },
    Bug {
        id: "flags-of-components",
        original: "two flags of a component are bits up to 3.2, and bytes from 3.3 on",
        here: "they are bytes",
        deviations: &[],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{layouts, vectors};

    #[test]
    fn every_deviation_is_one_of_one_bug() {
        let claimed: Vec<_> = BUGS.iter().flat_map(|bug| bug.deviations).copied().collect();
        let recorded = vectors::DEVIATIONS.iter().map(|deviation| deviation.id);
        let recorded: BTreeSet<_> = recorded.chain(layouts::DEVIATIONS.iter().map(|(id, _)| *id)).collect();
        assert_eq!(claimed.iter().copied().collect::<BTreeSet<_>>(), recorded);
        assert_eq!(claimed.len(), recorded.len(), "one is claimed twice");
    }

    #[test]
    fn ids_are_different() {
        let ids: BTreeSet<_> = BUGS.iter().map(|bug| bug.id).collect();
        assert_eq!(ids.len(), BUGS.len());
    }
}
