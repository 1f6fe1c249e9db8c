//! Libraries of columns: PyArrow, nanoarrow, arro3 and Polars.

use crate::exchange::explain::profiles::GAPPED;
use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::{self, *};
use crate::exchange::explain::subject::Protocol::*;

const BY_VALUE: &str = "value by value";
const SWAPPED: &str = "the byte order is ignored: numbers come out wrong";

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "pyarrow.py_buffer",
        library: "pyarrow",
        measured_on: "26.0.1",
        is_tested: true,
        rules: &[
            If(&[NoBytesInAnyOrder], Refuses, "{refusal of bytes in any order}"),
            Asks(
                &[Buffer],
                &[
                    If(&[Not(&Dense)], Misreads, GAPPED),
                    If(&[Not(&RowMajor)], InPlace, "as bytes in memory order, which is column-major"),
                    If(&[], InPlace, "as bytes in memory order"),
                ],
            ),
            If(&[], Refuses, "{refusal of PEP 3118}"),
        ],
    },
    Profile {
        name: "pyarrow.array",
        library: "pyarrow",
        measured_on: "26.0.1",
        is_tested: true,
        rules: &[
            If(&[Class(&["pyarrow.Array"])], InPlace, "it is one"),
            Asks(&[DeviceColumn, Column], CAPSULE),
            When(&[Class(&["numpy.ndarray"])], &[Heeds(&[Asks(&[Interface], OF_NUMPY)])]),
            When(&[], ITEMS),
        ],
    },
    Profile {
        name: "pyarrow.Tensor.from_numpy",
        library: "pyarrow",
        measured_on: "26.0.1",
        is_tested: true,
        rules: &[
            If(&[Not(&Class(&["numpy.ndarray"]))], Refuses, "it is not a numpy.ndarray"),
            Asks(
                &[Interface],
                &[
                    If(&[Not(&Number)], Refuses, "no type for elements of {dtype}"),
                    If(&[Kind(&["c"])], Refuses, "no type for elements of {dtype}"),
                    If(&[Backwards], Refuses, "negative strides"),
                    If(&[Swapped], Misreads, SWAPPED),
                    If(&[Kind(&["b"])], Misreads, "truth values become uint8"),
                    If(&[], InPlace, ""),
                ],
            ),
            If(&[], Refuses, "it offers no __array_interface__"),
        ],
    },
    // By Arrow's capsules, or by a buffer whose format `struct` reads.
    Profile {
        name: "nanoarrow.c_array",
        library: "nanoarrow",
        measured_on: "0.9.0",
        is_tested: true,
        rules: &[
            Asks(&[Column], CAPSULE),
            Asks(
                &[Buffer],
                &[
                    If(&[Refused], Refuses, "the producer: {refusal}"),
                    If(&[HasMethod(&["__len__"]), Rank(0)], Refuses, "no length, or a length of 0"),
                    If(&[HasMethod(&["__len__"]), FirstLength(0)], Refuses, "no length, or a length of 0"),
                    If(&[NoBytesInAnyOrder], Refuses, "{refusal of bytes in any order}"),
                    If(&[Not(&Dense)], Misreads, GAPPED),
                    If(
                        &[Not(&FormatForStruct)],
                        Refuses,
                        "Python's struct module does not know the format '{format}'",
                    ),
                    If(&[FormatBegins(">!")], Refuses, "non-native byte order"),
                    If(&[Not(&Rank(1))], Misreads, "one column of all elements in memory order"),
                    If(
                        &[Not(&FormatFits)],
                        Misreads,
                        "it trusts the format, which does not describe an item",
                    ),
                    If(
                        &[FormatBegins("<@"), FormatLength(2)],
                        Misreads,
                        "elements of '{format}' become {struct size} opaque bytes",
                    ),
                    If(&[Format(&["?"])], Misreads, "{dtype} becomes uint8"),
                    If(&[Format(&["c"])], Misreads, "{dtype} becomes int8"),
                    If(&[], InPlace, ""),
                ],
            ),
            If(&[], Refuses, "neither a column nor a buffer (a sequence only with a schema)"),
        ],
    },
    // By Arrow's capsule, or by a buffer, whose axes become fixed-size lists.
    Profile {
        name: "arro3.core.Array",
        library: "arro3-core",
        measured_on: "0.9.1",
        is_tested: true,
        rules: &[
            Asks(&[Column], CAPSULE),
            Asks(
                &[Buffer],
                &[
                    If(&[Refused], Refuses, "the producer: {refusal}"),
                    If(&[Rank(0)], Refuses, "no axis"),
                    If(&[Not(&RowMajor)], Refuses, "the elements are not C-contiguous"),
                    If(&[LaterLength(0)], Refuses, "lists of length 0"),
                    If(&[Kind(&["V"])], Refuses, "no type for the format '{format}'"),
                    If(&[FormatBegins("<")], Refuses, "no type for the format '{format}'"),
                    If(
                        &[Not(&FormatLetter("@=>!", "cbBhHiIlLqQfd"))],
                        Refuses,
                        "no type for the format '{format}'",
                    ),
                    If(&[Not(&ItemAsElement)], Refuses, "no type for the format '{format}'"),
                    If(&[Not(&Aligned)], Refuses, "unaligned"),
                    If(&[Swapped], Misreads, SWAPPED),
                    If(&[Format(&["c"])], Misreads, "characters become uint8"),
                    If(&[], InPlace, ""),
                ],
            ),
            If(&[], Refuses, "neither a column nor a buffer"),
        ],
    },
    Profile {
        name: "polars.Series",
        library: "polars",
        measured_on: "2.1.0",
        is_tested: true,
        rules: &[
            If(&[Class(&["polars.Series", "pyarrow.Array", "pyarrow.ChunkedArray"])], InPlace, ""),
            When(
                &[Class(&["numpy.ndarray"])],
                &[Asks(&[Interface], &[When(&[RankAbove(1)], POLARS_OF_NUMPY), Heeds(POLARS_OF_NUMPY)])],
            ),
            By(
                &[ColumnStream, Column],
                &[If(
                    &[Extension("arrow.bool8")],
                    Misreads,
                    "truth values of one byte (arrow.bool8) become int8",
                )],
            ),
            Asks(&[ColumnStream, Column], CAPSULE),
            If(&[Class(&["builtins.str"])], Misreads, "a text becomes the name of a column without values"),
            If(
                &[Not(&RegisteredSequence)],
                Refuses,
                "neither a column, nor a numpy.ndarray, nor a registered sequence",
            ),
            If(&[Not(&Given(Buffer))], Copies, BY_VALUE),
            When(&[], ITEMS),
        ],
    },
];

/// A column by a capsule.
const CAPSULE: &[ProfileRule] =
    &[If(&[Refused], Refuses, "the producer refuses {protocol}"), If(&[], InPlace, "{nulls}")];

/// `pyarrow.array` of a NumPy array.
pub(super) const OF_NUMPY: &[ProfileRule] = &[
    If(&[Not(&Rank(1))], Refuses, "an array of {rank} axes is not a column"),
    If(&[Untyped], Refuses, "no type for elements of {dtype}"),
    If(&[Kind(&["records", "V", "c"])], Refuses, "no type for elements of {dtype}"),
    If(&[Kind(&["f"]), Not(&Number)], Refuses, "no type for elements of {dtype}"),
    If(&[Swapped], Refuses, "non-native byte order"),
    If(&[Kind(&["b"])], Copies, "Arrow's truth values are bits"),
    If(&[Kind(&["S", "U"])], Copies, "strings have no fixed width"),
    If(&[Kind(&["O"])], Copies, BY_VALUE),
    If(&[Not(&RowMajor)], Copies, "Arrow's columns have no strides"),
    If(&[], InPlace, ""),
];

/// Classes of items that buffers of the standard library, and those without items, have.
const SCALARS: &[&str] = &["", "bool", "int", "float", "complex", "str", "bytes"];

/// A sequence of Python objects, whose type is inferred.
const ITEMS: &[ProfileRule] = &[
    If(&[Not(&Sequence)], Refuses, "neither a column, nor a numpy.ndarray, nor a sequence"),
    If(
        &[Given(Buffer), Not(&Item(SCALARS)), Not(&ItemLike("numpy.", "")), Not(&ItemUnknown)],
        Refuses,
        "items of {item} have no type in Arrow",
    ),
    By(
        &[Buffer],
        &[
            If(
                &[Class(&["builtins.memoryview"]), Not(&FormatIndexable)],
                Refuses,
                "memoryview gives no items of this format",
            ),
            If(&[Not(&Rank(1))], Refuses, "items of {dtype} along {rank} axes have no type in Arrow"),
            If(&[Kind(&["b"])], Copies, BY_VALUE),
            If(&[DType(&["int64", "float64"])], Copies, BY_VALUE),
            If(&[Kind(&["i", "u"])], Misreads, "value by value: {dtype} becomes int64"),
            If(&[Kind(&["f"])], Misreads, "value by value: {dtype} becomes float64"),
            If(&[Kind(&["S"])], Misreads, "value by value: {dtype} becomes binary"),
            If(&[Kind(&["U"])], Misreads, "value by value: {dtype} becomes string"),
            If(&[], Refuses, "items of {dtype} along {rank} axes have no type in Arrow"),
        ],
    ),
    If(
        &[Item(&["", "bool", "int", "float", "str", "bytes", "list", "tuple", "dict", "NoneType"])],
        Copies,
        BY_VALUE,
    ),
    If(&[ItemLike("pyarrow.", "Scalar")], Copies, BY_VALUE),
    If(&[], Refuses, "items of {item} have no type in Arrow"),
];

/// `polars.Series` of a NumPy array.
const POLARS_OF_NUMPY: &[ProfileRule] = &[
    If(&[Rank(0)], Misreads, "an array without axes becomes a column of one value"),
    If(
        &[Not(&Kind(&["b", "i", "u", "f", "M", "m", "S", "U", "O"]))],
        Misreads,
        "elements of {dtype} become Python objects",
    ),
    If(&[Kind(&["b", "i", "u", "f"]), Not(&Number)], Misreads, "elements of {dtype} become Python objects"),
    If(&[Kind(&["M", "m"]), Not(&Unit(&["[D]", "[ms]", "[us]", "[ns]"]))], Refuses, "no column of {dtype}"),
    If(&[Kind(&["M", "m"]), RankAbove(1)], Refuses, "dates along one axis only"),
    If(&[Not(&Kind(&["i", "u", "f"]))], Copies, "elements of {dtype} are converted"),
    If(&[Swapped], Copies, "elements of {dtype} are converted"),
    If(&[Not(&Aligned)], Copies, "unaligned"),
    If(&[Not(&RowMajor)], Copies, "gaps between the elements"),
    If(&[], InPlace, "Polars takes the memory for constant"),
];
