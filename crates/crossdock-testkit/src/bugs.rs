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
    /// The behaviour of Ruby.
    pub original: &'static str,
    /// The behaviour of this library.
    pub here: &'static str,
    /// The deviations that show it in recorded answers.
    pub deviations: &'static [&'static str],
}

/// All bugs. Each is reachable from C.
pub const BUGS: &[Bug] = &[
    Bug {
        id: "null-strides",
        original: "the contiguity check dereferences null strides, and crashes up to 4.0",
        here: "reads null strides as row-major without gaps",
        deviations: &["contiguous-null-strides"],
    },
    Bug {
        id: "white-space",
        original: "white space between the members of a format makes it write components beyond their memory",
        here: "counts white space as it parses it",
        deviations: &["whitespace-components"],
    },
    Bug {
        id: "no-class",
        original: "the search for the producer of an object without a superclass crashes",
        here: "finds none, and reports the reason; null objects and cycles of classes likewise",
        deviations: &[],
    },
    Bug {
        id: "empty-axis",
        original: "finding an item of a view with null strides divides by each length, and crashes if one is 0",
        here: "every index is out of bounds for such an axis",
        deviations: &[],
    },
    Bug {
        id: "one-axis-indirect",
        original: "ignores suboffsets if there is one axis",
        here: "follows them at any rank",
        deviations: &[],
    },
    Bug {
        id: "overflow",
        original: "counts and totals of a format wrap around, and the error has no position",
        here: "fails with the position",
        deviations: &["count-overflow", "total-overflow"],
    },
    Bug {
        id: "second-release",
        original: "a second release, also through a copy of the struct, frees components twice or leaves a stale entry pinned for ever",
        here: "ignores it and reports it; the first release leaves no dangling pointer in the struct",
        deviations: &[],
    },
    Bug {
        id: "uninitialised",
        original: "takes stale contents of the struct for the producer's, and frees them",
        here: "a producer fills in an empty struct of the hub, which ignores previous contents",
        deviations: &[],
    },
    Bug {
        id: "null-callbacks",
        original: "registers a producer without functions, and crashes later",
        here: "refuses one without `get_func`; the other functions are optional",
        deviations: &[],
    },
    Bug {
        id: "out-of-bounds",
        original: "compares no index with the length of its axis, and does not check offsets for overflow",
        here: "refuses the index, with the axis and its length",
        deviations: &["item-out-of-bounds", "item-offset-wraps", "item-outside-addresses"],
    },
    Bug {
        id: "owner-changes",
        original: "moves, frees and writes memory during a view, and enforces no flag",
        here: "a view keeps and locks the memory of an array, counts as an export of any object, and obeys its flags",
        deviations: &[],
    },
    Bug {
        id: "contiguity-rules",
        original: "a product that wraps counts as contiguous; axes of length 1 and empty arrays have special rules",
        here: "follows NumPy's rules, and no product wraps; functions that end in `strictly` follow Ruby's",
        deviations: &["contiguous-product-wraps", "contiguous-single-axes", "contiguous-empty-axes"],
    },
    Bug {
        id: "exit",
        original: "a view that is released when the process ends finds its object freed",
        here: "the hub keeps what a release needs; views may be released in any order, or never",
        deviations: &[],
    },
    Bug {
        id: "char-sign",
        original: "`c` has the sign of the platform's `char`",
        here: "`c` is signed and `C` is unsigned on all platforms",
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
