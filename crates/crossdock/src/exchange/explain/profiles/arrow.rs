//! Libraries of columns: PyArrow, nanoarrow, arro3 and Polars.

use crate::exchange::explain::profiles::arrays::GAPPED;
use crate::exchange::explain::profiles::arrays::MIXED;
use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::{self, *};
use crate::exchange::explain::subject::Protocol::*;

const BY_VALUE: &str = "value by value";
const UNTYPED: &str = "without items, a column of no type";
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
            When(&[Class(PANDAS_COLUMNS)], PANDAS),
            If(&[Class(&["pandas.DataFrame"]), Item(&[""])], Copies, BY_VALUE),
            If(&[Class(&["pandas.DataFrame"])], Refuses, "a frame is not one column"),
            When(&[Class(&["builtins.list", "builtins.tuple"])], OBJECTS),
            When(&[Class(&["torch.Tensor"])], &[By(&[Tensor], &[If(&[FirstLength(0)], Misreads, UNTYPED)])]),
            If(&[Class(&["torch.Tensor"])], Refuses, "items of tensors have no type in Arrow"),
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
                    If(
                        &[Not(&FormatForStruct)],
                        Refuses,
                        "Python's struct module does not know the format '{format}'",
                    ),
                    If(&[FormatBegins(">!")], Refuses, "non-native byte order"),
                    If(&[Not(&Dense)], Misreads, GAPPED),
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
            If(&[Class(&["polars.Series"])], InPlace, ""),
            When(
                &[Class(&["polars.DataFrame"])],
                &[By(
                    &[ColumnStream],
                    &[If(&[Format(&["+s"])], Refuses, "a frame without columns"), If(&[], InPlace, "")],
                )],
            ),
            When(
                &[Class(&["numpy.ndarray"])],
                &[Asks(&[Interface], &[When(&[RankAbove(1)], POLARS_OF_NUMPY), Heeds(POLARS_OF_NUMPY)])],
            ),
            When(
                &[Class(&["pyarrow.ChunkedArray"])],
                &[By(
                    &[ColumnStream],
                    &[
                        If(
                            &[Not(&Alone), Not(&Empty), Not(&Format(&["+r"]))],
                            Copies,
                            "the chunks become one",
                        ),
                        When(&[], POLARS_OF_ARROW),
                    ],
                )],
            ),
            When(&[Class(&["pandas.Series", "pandas.Index"])], POLARS_OF_PANDAS),
            When(
                &[Class(&["pandas.DataFrame"])],
                &[Asks(
                    &[ColumnStream],
                    &[
                        If(&[Refused], Refuses, "the producer refuses {protocol}"),
                        If(
                            &[],
                            Unknown,
                            "pandas makes a column for Arrow of each of its own, some by a copy",
                        ),
                    ],
                )],
            ),
            When(
                &[Class(&["torch.Tensor"])],
                &[Asks(
                    &[Method],
                    &[
                        If(&[Refused], Refuses, "{refusal}"),
                        If(&[NoAddress], Unknown, "__array__ was not called, since NumPy is not imported"),
                        When(&[], POLARS_OF_NUMPY),
                    ],
                )],
            ),
            By(
                &[ColumnStream, Column],
                &[If(
                    &[Extension("arrow.bool8")],
                    Misreads,
                    "truth values of one byte (arrow.bool8) become int8",
                )],
            ),
            Asks(&[ColumnStream, Column], POLARS_OF_ARROW),
            If(&[Class(&["builtins.str"])], Misreads, "a text becomes the name of a column without values"),
            If(
                &[Not(&RegisteredSequence)],
                Refuses,
                "neither a column, nor a numpy.ndarray, nor a registered sequence",
            ),
            When(&[Class(&["builtins.list", "builtins.tuple"])], POLARS_OF_OBJECTS),
            When(&[Not(&Given(Buffer)), Item(&["unread classes"])], POLARS_OF_OBJECTS),
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
    If(
        &[Kind(&["M"]), Not(&Unit(&["D", "s", "ms", "us", "ns"]))],
        Refuses,
        "no type for elements of {dtype}",
    ),
    If(&[Kind(&["m"]), Not(&Unit(&["s", "ms", "us", "ns"]))], Refuses, "no type for elements of {dtype}"),
    If(&[Not(&Rank(1))], Refuses, "an array of {rank} axes is not a column"),
    If(&[Untyped], Refuses, "no type for elements of {dtype}"),
    If(&[Kind(&["records", "V", "c"])], Refuses, "no type for elements of {dtype}"),
    If(&[Kind(&["f"]), Not(&Number)], Refuses, "no type for elements of {dtype}"),
    If(&[Kind(&["S", "U"])], Copies, "strings have no fixed width"),
    If(&[Swapped], Refuses, "non-native byte order"),
    If(&[Kind(&["b"])], Copies, "Arrow's truth values are bits"),
    When(&[Kind(&["O"])], OBJECTS),
    If(&[Multiple], Misreads, "the multiple in the unit of {dtype} is ignored"),
    If(&[Kind(&["M"]), Unit(&["D"])], Copies, "Arrow's days have 32 bits"),
    If(&[Not(&RowMajor)], Copies, "Arrow's columns have no strides"),
    If(&[], InPlace, ""),
];

/// Classes of items that buffers of the standard library, and those without items, have.
const SCALARS: &[&str] = &["", "bool", "int", "float", "complex", "str", "bytes"];

/// A sequence of Python objects, whose type is inferred.
const ITEMS: &[ProfileRule] = &[
    If(&[Not(&Sequence), HasMethod(&["__iter__"])], Unknown, "an iterable: value by value"),
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
            If(&[FirstLength(0), Not(&Class(&["builtins.memoryview"]))], Misreads, UNTYPED),
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
    When(&[Class(&["polars.Series"])], &[By(&[ColumnStream], WIDENED)]),
    If(&[Item(&["pyarrow.lib.RunEndEncodedScalar"])], Refuses, NO_ITEMS),
    If(&[ItemLike("pyarrow.", "Scalar")], Copies, BY_VALUE),
    If(&[Item(TYPED)], Copies, BY_VALUE),
    If(&[], Unknown, "value by value, if items of {item} have a type in Arrow"),
];

/// Types that a column loses value by value.
const WIDENED: &[ProfileRule] = &[
    If(&[Kind(&["u"]), Itemsize(8)], Unknown, "value by value: uint64 becomes int64 if it fits"),
    If(&[Kind(&["i", "u"]), Not(&DType(&["int64"]))], Misreads, "value by value: {dtype} becomes int64"),
    If(&[Kind(&["f"]), Not(&DType(&["float64"]))], Misreads, "value by value: {dtype} becomes float64"),
    If(&[Unit(&["ns"])], Misreads, "value by value: nanoseconds become microseconds"),
];

/// Items with a type of their own in Arrow.
const TYPED: &[&str] = &[
    "",
    "bool",
    "int",
    "float",
    "str",
    "bytes",
    "bytearray",
    "memoryview",
    "NoneType",
    "datetime.date",
    "datetime.datetime",
    "datetime.time",
    "datetime.timedelta",
    "decimal.Decimal",
    "numpy.bool",
    "numpy.int8",
    "numpy.int16",
    "numpy.int32",
    "numpy.int64",
    "numpy.uint8",
    "numpy.uint16",
    "numpy.uint32",
    "numpy.uint64",
    "numpy.float16",
    "numpy.float32",
    "numpy.float64",
    "numpy.str_",
    "numpy.bytes_",
];

/// `pyarrow.array` of Python objects.
const OBJECTS: &[ProfileRule] = &[
    If(&[Item(TYPED)], Copies, BY_VALUE),
    If(&[Item(&["large integers"])], Refuses, "an integer exceeds 64 bits"),
    If(&[ItemLike("pyarrow.", "Scalar")], Copies, BY_VALUE),
    If(&[Item(&["complex", "numpy.complex64", "numpy.complex128", "object"])], Refuses, NO_ITEMS),
    If(&[], Unknown, "value by value, if items of {item} have one type in Arrow"),
];

const NO_ITEMS: &str = "items of {item} have no type in Arrow";

/// What pandas calls a column, alone or as an index.
const PANDAS_COLUMNS: &[&str] = &["pandas.Series", "pandas.Index", "pandas.api.extensions.ExtensionArray"];
const GAPS: &str = "Arrow's columns have no strides";
const ITSELF: &str = "pandas converts a column of {storage} itself, perhaps by a copy";

/// `pyarrow.array` of a column of pandas.
const PANDAS: &[ProfileRule] = &[
    When(
        &[Storage(&["numpy"])],
        &[By(
            &[Method],
            &[If(&[Kind(&["f"]), Number, RowMajor], InPlace, "NaN is null"), When(&[], OF_NUMPY)],
        )],
    ),
    If(&[Storage(&["dates", "masked"])], InPlace, ""),
    If(&[Storage(&["dates with gaps", "masked with gaps"])], Copies, GAPS),
    If(
        &[Storage(&["masked booleans", "masked booleans with gaps"])],
        Copies,
        "Arrow's truth values are bits",
    ),
    If(&[Storage(&["arrow"])], InPlace, ""),
    If(&[Storage(&["SparseArray"])], Refuses, "no type for elements of a SparseArray"),
    If(&[], Unknown, ITSELF),
];

/// `polars.Series` of a column of pandas: by NumPy, or else by `pyarrow.array`.
const POLARS_OF_PANDAS: &[ProfileRule] = &[
    When(
        &[Storage(&["numpy"])],
        &[By(
            &[Method],
            &[
                When(&[Kind(&["O"])], POLARS_OF_PANDAS_OBJECTS),
                If(&[Kind(&["c"])], Refuses, "no type for elements of {dtype}"),
                When(&[], POLARS_OF_NUMPY),
            ],
        )],
    ),
    If(&[Storage(&["dates with gaps"])], Copies, GAPS),
    If(&[Storage(&["dates"]), Given(Method)], Copies, "dates are converted"),
    When(&[Storage(&["dates"])], &[By(&[ColumnStream], POLARS_OF_ARROW)]),
    If(&[Storage(&["masked"])], InPlace, ""),
    If(&[Storage(&["masked with gaps"])], Copies, GAPS),
    If(
        &[Storage(&["masked booleans", "masked booleans with gaps"])],
        Copies,
        "Polars' truth values are bits",
    ),
    When(
        &[Storage(&["arrow"])],
        &[By(
            &[ColumnStream],
            &[
                If(&[Not(&Alone), Not(&Empty), Not(&Format(&["+r"]))], Copies, "the chunks become one"),
                When(&[], POLARS_OF_ARROW),
            ],
        )],
    ),
    If(&[Storage(&["SparseArray"])], Refuses, "no type for elements of a SparseArray"),
    If(&[], Unknown, ITSELF),
];

const POLARS_OF_PANDAS_OBJECTS: &[ProfileRule] = &[
    If(&[Item(TYPED)], Copies, BY_VALUE),
    If(&[Item(&["large integers"])], Refuses, "an integer exceeds 64 bits"),
    If(&[Item(&["complex", "numpy.complex64", "numpy.complex128", "object"])], Refuses, NO_ITEMS),
    If(&[], Unknown, "value by value, if items of {item} have one type in Arrow"),
];

/// `polars.Series` of Python objects.
const POLARS_OF_OBJECTS: &[ProfileRule] = &[
    If(&[Item(TYPED)], Copies, BY_VALUE),
    If(&[Item(&["large integers"])], Copies, BY_VALUE),
    If(&[], Unknown, "value by value, if items of {item} have one type"),
];

/// `polars.Series` of a column of Arrow. Which types of no fixed width it converts is not known.
const POLARS_OF_ARROW: &[ProfileRule] = &[
    If(&[Refused], Refuses, "the producer refuses {protocol}"),
    If(&[Format(&["+r"])], Refuses, "no column of the format '{format}'"),
    If(&[Unit(&["s"])], Copies, "seconds become milliseconds"),
    If(
        &[Untyped, Not(&Format(&["tdD"])), Not(&Empty)],
        Unknown,
        "columns of the format '{format}' are converted, some by a copy",
    ),
    If(&[], InPlace, "{nulls}"),
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
    If(&[Kind(&["M"]), Not(&Unit(&["D", "ms", "us", "ns"]))], Refuses, "no column of {dtype}"),
    If(&[Kind(&["m"]), Not(&Unit(&["ms", "us", "ns"]))], Refuses, "no column of {dtype}"),
    If(&[Kind(&["M", "m"]), RankAbove(1)], Refuses, "dates along one axis only"),
    If(&[Multiple], Misreads, "the multiple in the unit of {dtype} is ignored"),
    If(&[Kind(&["O"]), Item(MIXED)], Unknown, "value by value, if the items have one type"),
    If(&[Not(&Kind(&["i", "u", "f"]))], Copies, "elements of {dtype} are converted"),
    If(&[Swapped], Copies, "elements of {dtype} are converted"),
    If(&[Not(&Aligned)], Copies, "unaligned"),
    If(&[Not(&RowMajor)], Copies, "gaps between the elements"),
    If(&[], InPlace, "Polars takes the memory for constant"),
];
