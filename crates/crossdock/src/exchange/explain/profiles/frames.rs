//! Data frames: pandas, Polars and xarray, and PyArrow's functions.

use crate::exchange::explain::profiles::arrays::{ARRAYS, DESCRIBED, MIXED, NUMPY};
use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::{self, *};
use crate::exchange::explain::subject::Protocol::*;

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "pandas.Series",
        library: "pandas",
        measured_on: "3.1.1",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Class(NUMPY), Kind(&["records"])], Refuses, "no Series of records"),
                    If(&[Class(NUMPY), Kind(&["V"]), Itemsize(8)], Unknown, OPAQUE),
                    If(&[Rank(0)], Misreads, "an array without axes becomes one value"),
                    If(&[RankAbove(1)], Refuses, "a Series has one axis, and the array {rank}"),
                    If(&[Class(NUMPY), Lossy], Misreads, MASK),
                    If(&[Kind(&["U"])], Copies, "texts become a column of strings"),
                    When(&[Kind(&["M", "m"])], PANDAS_DATES),
                    If(&[Class(NUMPY), Kind(&["O"]), Item(&["str"])], Unknown, TEXTS),
                    If(&[Class(NUMPY)], Copies, "pandas copies arrays of NumPy"),
                    If(&[], InPlace, SHARED),
                ],
            ),
            If(&[], Refuses, "NumPy has no type for it"),
        ],
    },
    Profile {
        name: "pandas.DataFrame",
        library: "pandas",
        measured_on: "3.1.1",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Rank(0)], Refuses, "a frame has rows"),
                    If(&[Class(NUMPY), Kind(&["records", "V"])], Unknown, RECORDS),
                    If(&[RankAbove(2)], Refuses, "a frame has two axes, and the array {rank}"),
                    If(
                        &[Not(&Class(NUMPY)), FirstLength(0)],
                        Misreads,
                        "an array without rows loses its columns",
                    ),
                    If(
                        &[LastLength(0), Not(&DType(&["float64"]))],
                        Misreads,
                        "without columns, {dtype} is lost",
                    ),
                    If(&[Class(NUMPY), Lossy], Misreads, MASK),
                    When(&[Kind(&["M", "m"])], PANDAS_DATES),
                    If(&[Class(NUMPY), Kind(&["O"]), Item(&["str"])], Unknown, TEXTS),
                    If(&[], Copies, "pandas copies arrays"),
                ],
            ),
            If(&[], Refuses, "NumPy has no type for it"),
        ],
    },
    Profile {
        name: "pandas.Index",
        library: "pandas",
        measured_on: "3.1.1",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Kind(&["records", "V"])], Unknown, RECORDS),
                    If(&[Rank(0)], Refuses, "an Index has one axis, and the array none"),
                    If(
                        &[RankAbove(1), Not(&Kind(NUMBERS)), Not(&DType(&["float8_e5m2"]))],
                        Misreads,
                        "an Index of rows as Python objects",
                    ),
                    If(&[RankAbove(1)], Refuses, "an Index has one axis, and the array {rank}"),
                    If(&[Kind(&["f"]), Itemsize(1)], Refuses, "no Index of {dtype}"),
                    If(&[DType(&["float16", "float8_e5m2"])], Refuses, "no Index of {dtype}"),
                    If(&[Class(NUMPY), Lossy], Misreads, MASK),
                    If(&[Class(NUMPY), Kind(&["O"]), Item(&["str"])], Unknown, TEXTS),
                    If(&[Not(&Kind(NUMBERS))], Copies, "as Python objects"),
                    When(&[Kind(&["M", "m"])], PANDAS_DATES),
                    If(&[Class(NUMPY), Kind(&["O"]), Item(&["str"])], Unknown, TEXTS),
                    If(&[Class(NUMPY)], Copies, "pandas copies arrays of NumPy"),
                    If(&[], InPlace, SHARED_INDEX),
                ],
            ),
            If(&[], Refuses, "NumPy has no type for it"),
        ],
    },
    Profile {
        name: "pandas.Series[x]",
        library: "pandas",
        measured_on: "3.1.1",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Not(&Class(NUMPY)), Kind(&["b"]), Not(&Empty)], Refuses, LABELS),
                    If(&[], Unknown, "it depends on the labels of the Series"),
                ],
            ),
            If(&[], Refuses, "NumPy has no type for it"),
        ],
    },
    Profile {
        name: "polars.DataFrame",
        library: "polars",
        measured_on: "2.1.0",
        is_tested: true,
        rules: POLARS,
    },
    Profile {
        name: "polars.from_numpy",
        library: "polars",
        measured_on: "2.1.0",
        is_tested: true,
        rules: &[
            ARRAYS,
            When(&[Class(NUMPY)], POLARS),
            By(
                DESCRIBED,
                &[
                    If(&[Rank(0)], Refuses, "a frame has rows"),
                    If(&[RankAbove(2)], Refuses, "a frame has two axes, and the array {rank}"),
                    If(
                        &[Rank(2), RowMajor, Not(&FirstLength(1)), Not(&LastLength(1)), Not(&Empty)],
                        Refuses,
                        "its columns are not contiguous; pass np.asarray(x)",
                    ),
                    If(&[], Unknown, "it depends on the columns"),
                ],
            ),
            If(&[], Refuses, "it has no shape"),
        ],
    },
    Profile {
        name: "polars (operands)",
        library: "polars",
        measured_on: "2.1.0",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(DESCRIBED, &[If(&[Rank(0)], Unknown, ONE), If(&[FirstLength(1)], Unknown, ONE)]),
            If(
                &[Not(&Class(NUMPY))],
                Refuses,
                "a literal is a number or a numpy.ndarray; pass polars.Series(x)",
            ),
            By(&[Interface], POLARS_OPERAND),
            If(&[], Refuses, "it offers no __array_interface__"),
        ],
    },
    Profile {
        name: "pyarrow.compute",
        library: "pyarrow",
        measured_on: "26.0.1",
        is_tested: true,
        rules: &[
            ARRAYS,
            If(&[Not(&Class(NUMPY))], Refuses, "it is no array of Arrow or NumPy; pass pyarrow.array(x)"),
            Heeds(&[Asks(&[Interface], crate::exchange::explain::profiles::arrow::OF_NUMPY)]),
            If(&[], Refuses, "it offers no __array_interface__"),
        ],
    },
];

/// `polars.DataFrame`, and `polars.from_numpy` of a NumPy array.
const POLARS: &[ProfileRule] = &[
    ARRAYS,
    When(
        &[Class(NUMPY)],
        &[By(&[Interface], &[When(&[RankAbove(1)], POLARS_OF_NUMPY), Heeds(POLARS_OF_NUMPY)])],
    ),
    Asks(
        &[Column],
        &[
            If(&[Refused], Refuses, "the producer refuses {protocol}"),
            If(&[Kind(&["records"])], InPlace, "a column for each field"),
            If(&[], Refuses, "a column is no frame; pass np.asarray(x)"),
        ],
    ),
    If(&[], Refuses, "neither a column nor a numpy.ndarray"),
];

/// An operand of `polars.Series` that is a NumPy array.
const POLARS_OPERAND: &[ProfileRule] =
    &[If(&[], Unknown, "it depends on the shape and dtype of both operands")];

const NUMBERS: &[&str] = &["b", "i", "u", "f", "c", "M", "m"];
const RECORDS: &str = "it depends on the fields";
const ONE: &str = "it is a number if it has one element";
const LABELS: &str = "truth values are taken for labels; pass np.asarray(x)";
const OPAQUE: &str = "NumPy's interface calls records out of order and opaque bytes alike";
const MASK: &str = "masked elements become NaN, and integers floats";
const SHARED: &str = "pandas copies arrays of NumPy but not this one: a write to either is seen by both";
const SHARED_INDEX: &str = "pandas copies arrays of NumPy but not this one: after a write the index finds wrong rows; pass copy=True";
const TEXTS: &str = "texts become a column of strings, where None is NaN";

/// Dates and durations that pandas refuses or converts. It keeps those in seconds to nanoseconds.
pub(super) const PANDAS_DATES: &[ProfileRule] = &[
    If(&[Unit(&["generic"])], Refuses, "dates without a unit"),
    If(&[Multiple], Refuses, "pandas has no multiples of units, such as {dtype}"),
    If(&[Kind(&["m"]), Unit(&["Y", "M"])], Misreads, "years and months of {dtype} become seconds"),
    If(&[Unit(&["ps", "fs", "as"])], Misreads, "{dtype} becomes nanoseconds"),
    If(&[Not(&Unit(&["s", "ms", "us", "ns"]))], Copies, "{dtype} becomes seconds"),
    If(&[Swapped], Copies, "{dtype} gets the native byte order"),
];

/// `polars.DataFrame` of a NumPy array.
const POLARS_OF_NUMPY: &[ProfileRule] = &[
    If(&[Kind(&["records", "V"])], Unknown, RECORDS),
    If(&[Rank(0)], Refuses, "a frame has rows"),
    If(&[RankAbove(2)], Refuses, "a frame has two axes, and the array {rank}"),
    If(&[LastLength(0), RankAbove(1)], Misreads, "without columns, {dtype} is lost"),
    If(&[Empty, Rank(1)], Misreads, "an empty array becomes no column"),
    If(&[Kind(&["M"]), Not(&Unit(&["D", "ms", "us", "ns"]))], Refuses, "no column of {dtype}"),
    If(&[Kind(&["m"]), Not(&Unit(&["ms", "us", "ns"]))], Refuses, "no column of {dtype}"),
    If(&[Multiple], Misreads, "the multiple in the unit of {dtype} is ignored"),
    If(&[Kind(&["O"]), Item(MIXED)], Unknown, "value by value, if the items have one type"),
    If(&[], Copies, ""),
];
