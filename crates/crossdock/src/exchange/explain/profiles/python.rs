//! Python itself.

use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::*;
use crate::exchange::explain::subject::Protocol::*;

const MEASURED_ON: &str = "3.11, 3.12 and 3.13";

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "memoryview",
        library: "python",
        measured_on: MEASURED_ON,
        is_tested: true,
        rules: &[
            By(
                &[Buffer],
                &[
                    If(&[Not(&FormatIndexable)], InPlace, "elements of format '{format}' cannot be indexed"),
                    If(&[], InPlace, "{access}"),
                ],
            ),
            If(&[], Refuses, "{refusal of PEP 3118}"),
        ],
    },
    Profile {
        name: "memoryview.tolist",
        library: "python",
        measured_on: MEASURED_ON,
        is_tested: true,
        rules: &[
            By(
                &[Buffer],
                &[
                    // The letter is tested when an element is read.
                    If(&[Empty, FormatLetter("@", "eOgw")], Copies, "no elements"),
                    If(&[Not(&FormatIndexable)], Refuses, "memoryview does not read the format '{format}'"),
                    If(
                        &[Not(&Itemsize(1)), Format(&["b", "B", "c", "?"])],
                        Misreads,
                        "it reads one byte of each item, as the format says",
                    ),
                    If(&[], Copies, "each element becomes a Python object"),
                ],
            ),
            If(&[], Refuses, "{refusal of PEP 3118}"),
        ],
    },
    Profile {
        name: "hashlib, sockets, files",
        library: "python",
        measured_on: MEASURED_ON,
        is_tested: true,
        rules: &[
            If(&[NoBytes], Refuses, "{refusal of bytes}"),
            If(
                &[BytesWithAxes],
                Refuses,
                "a buffer requested without a shape has several axes, which hashlib refuses",
            ),
            Asks(
                &[Buffer],
                &[
                    If(
                        &[Not(&RowMajor)],
                        Misreads,
                        "the producer grants a contiguous buffer with strides {strides}: hashlib hashes other memory, and sockets and files refuse it",
                    ),
                    If(&[], InPlace, "as bytes, whatever the format says"),
                ],
            ),
            If(&[], Refuses, "{refusal of PEP 3118}"),
        ],
    },
];
