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
        is_tested: false,
        rules: &[
            By(
                &[Buffer],
                &[
                    If(&[FormatHas(">")], Refuses, "non-native byte order"),
                    If(&[Swapped], Refuses, "non-native byte order"),
                    If(
                        &[Not(&FormatOf("?cbBhHiIlLqQfdgZOspTx{}(),<=!@^0123456789"))],
                        Refuses,
                        "Cython does not read the format '{format}'",
                    ),
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
        is_tested: false,
        rules: &[
            By(
                &[Buffer],
                &[
                    If(
                        &[Not(&FormatLetter("@=<>!", "?cbBhHiIlLqQnNefd"))],
                        Refuses,
                        "no type for the format '{format}'",
                    ),
                    If(&[Swapped], Refuses, "no type for the format '{format}'"),
                    If(&[Kind(&["V"])], Refuses, "no type for the format '{format}'"),
                    If(&[], InPlace, "{access}"),
                ],
            ),
            If(&[], Refuses, "{refusal of PEP 3118}"),
        ],
    },
];
