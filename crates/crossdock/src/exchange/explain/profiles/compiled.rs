//! How compiled extensions use buffers: Cython's typed memoryviews and PyO3's `PyBuffer`.

use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::*;
use crate::exchange::explain::subject::Protocol::*;

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "Cython memoryview",
        library: "cython",
        measured_on: "3.3",
        is_tested: true,
        rules: &[
            By(
                &[Buffer],
                &[
                    If(&[Indirect], Refuses, "suboffsets: typed memoryviews follow no pointers by default"),
                    If(&[Rank(0)], Refuses, "a typed memoryview has one to eight axes, and the array none"),
                    If(
                        &[RankAbove(8)],
                        Refuses,
                        "a typed memoryview has one to eight axes, and the array {rank}",
                    ),
                    If(&[FormatHas(">")], Refuses, "non-native byte order"),
                    If(&[Swapped], Refuses, "non-native byte order"),
                    If(
                        &[Not(&FormatOf("?cbBhHiIlLqQfdgZOspTx{}(),<=!@^0123456789"))],
                        Refuses,
                        "Cython does not read the format '{format}'",
                    ),
                    If(
                        &[Kind(&["S"]), Not(&Itemsize(1))],
                        Refuses,
                        "no type of elements for the format '{format}'",
                    ),
                    If(
                        &[Kind(&["V"])],
                        Refuses,
                        "the format '{format}' does not describe the {itemsize} bytes of an item",
                    ),
                    If(&[Kind(&["O"]), ReadOnly], Refuses, "there are no const memoryviews of objects"),
                    If(&[ReadOnly], InPlace, "only as const"),
                    If(&[], InPlace, ""),
                ],
            ),
            If(&[], Refuses, "{refusal of PEP 3118}"),
        ],
    },
    Profile {
        name: "PyO3 PyBuffer<T>",
        library: "pyo3",
        measured_on: "0.30",
        is_tested: true,
        rules: &[
            By(
                &[Buffer],
                &[
                    If(&[Rank(0)], Refuses, "the shape of an array without axes is null"),
                    If(&[NullStrides], Refuses, "the strides are null"),
                    If(
                        &[Not(&FormatLetter("@=>", "cbBhHiIlLqQnNfd"))],
                        Refuses,
                        "no type for the format '{format}'",
                    ),
                    If(&[Kind(&["V"])], Refuses, "no type for the format '{format}'"),
                    If(&[Not(&Aligned)], Refuses, "unaligned"),
                    If(&[Swapped], Misreads, "PyO3 takes '>' for the native byte order"),
                    If(&[], InPlace, "{access}"),
                ],
            ),
            If(&[], Refuses, "{refusal of PEP 3118}"),
        ],
    },
];
