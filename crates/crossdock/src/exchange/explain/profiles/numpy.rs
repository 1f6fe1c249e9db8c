//! NumPy.

use crate::exchange::explain::rule::Is::{self, *};
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::{self, *};
use crate::exchange::explain::subject::Protocol::*;

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "numpy.asarray",
        library: "numpy",
        measured_on: "2.4.6",
        is_tested: true,
        rules: &[
            When(
                &[Class(&["numpy.ndarray"])],
                &[By(&[InterfaceStruct], &[If(&[], InPlace, "it is one")]), If(&[], InPlace, "it is one")],
            ),
            If(&[Class(&["numpy.generic", "builtins.str"])], Copies, "a value becomes an array without axes"),
            If(
                &[Class(&["builtins.bytes"])],
                Misreads,
                "bytes become one string in an array without axes; np.frombuffer reads them",
            ),
            By(&[Buffer], BUFFER),
            By(&[InterfaceStruct], INTERFACE),
            By(&[Interface], &[When(&[Not(&Untyped)], INTERFACE)]),
            Asks(&[Method], METHOD),
            If(&[Sequence, ItemUnknown], Refuses, "reading its items fails"),
            If(&[Item(&["several lengths"])], Refuses, "nested sequences of several lengths"),
            If(
                &[Sequence, Item(&["unread classes"])],
                Unknown,
                "item by item, if nested sequences have the same length",
            ),
            If(&[Sequence], Copies, "item by item"),
            If(&[], Misreads, "it becomes one Python object in an array without axes"),
        ],
    },
    Profile {
        name: "numpy.from_dlpack",
        library: "numpy",
        measured_on: "2.4.6",
        is_tested: true,
        rules: &[
            If(&[Not(&Has(Tensor))], Refuses, "it has no __dlpack__"),
            If(&[Not(&HasMethod(&["__dlpack_device__"]))], Refuses, "it has no __dlpack_device__"),
            By(&[Tensor], TENSOR),
            If(&[Not(&RefusesVersions(Tensor))], Refuses, "the producer refuses DLPack"),
            // Producers without versions answer with a TypeError; NumPy then repeats the request
            // without a version.
            By(&[LegacyTensor], TENSOR),
            If(&[], Refuses, "the producer refuses DLPack before 1.0"),
        ],
    },
    Profile {
        name: "numpy.frombuffer",
        library: "numpy",
        measured_on: "2.4.6",
        is_tested: true,
        rules: &[
            If(&[NoBytes], Refuses, "{refusal of bytes}"),
            If(
                &[RefusedBy(Buffer), Class(&["crossdock.Array"])],
                Refuses,
                "NumPy's memoryview asks for a format: {refusal of PEP 3118}",
            ),
            Asks(
                &[Buffer],
                &[
                    If(&[Not(&RowMajor)], Refuses, "memoryview: the elements are not C-contiguous"),
                    If(&[], InPlace, "one row, whose shape and type the caller names{; access}"),
                ],
            ),
            If(&[], Refuses, "it offers no PEP 3118"),
        ],
    },
];

const BUFFER: &[ProfileRule] = &[
    If(&[Indirect], Refuses, "suboffsets: NumPy follows no pointers"),
    If(&[Not(&FormatForNumPy)], Refuses, "NumPy has no type for the format '{format}'"),
    If(&[Odd, Kind(&["V"]), ClassBegins("_ctypes.")], InPlace, "by the ctypes class; the format is wrong"),
    If(&[], InPlace, "{access, alignment}"),
];

const INTERFACE: &[ProfileRule] = &[
    If(&[Class(&["crossdock.Array"])], InPlace, "{access, alignment}"),
    If(&[Bytes], Copies, "the interface makes bytes"),
    If(&[Kind(&["V"])], Misreads, "the type is lost: elements become {itemsize} opaque bytes"),
    If(&[], InPlace, "{access, alignment}"),
];

const METHOD: &[ProfileRule] = &[
    If(&[OnDevice], Refuses, "the memory is not accessible from the CPU, and __array__ does not copy it"),
    If(&[Refused, Not(&RefusedWith(Method, "not without a copy"))], Refuses, "__array__ raises {refusal}"),
    When(
        &[NoAddress],
        &[
            // Memory that `__array__` lends, although it refuses `copy=False`.
            By(
                &[ColumnStream],
                &[
                    When(&[Class(&["pyarrow.ChunkedArray"])], &[If(PLAIN_CHUNK, InPlace, "read-only")]),
                    When(
                        &[Storage(&["arrow"]), Not(&Kind(&["M"]))],
                        &[If(PLAIN_CHUNK, InPlace, "read-only")],
                    ),
                    If(
                        &[Storage(&["arrow"]), Kind(&["M"])],
                        Unknown,
                        "dates with a time zone become Python objects",
                    ),
                ],
            ),
            By(&[Column, ColumnStream], MAY_FAIL),
            If(
                &[Storage(&["arrow"]), Not(&Has(ColumnStream))],
                Unknown,
                "__array__ may lend its memory, although it refuses copy=False",
            ),
        ],
    ),
    If(
        &[Storage(&["dates", "dates with gaps"]), NoAddress],
        Copies,
        "dates with a time zone become Python objects",
    ),
    If(&[NoAddress, Not(&Refused)], Unknown, "__array__ was not called, since NumPy is not imported"),
    If(&[NoAddress], Copies, "__array__ gives nothing without a copy"),
    If(&[Old, Shared], InPlace, "{access, alignment}"),
    If(&[Old, Empty], Copies, "no elements"),
    If(&[Old], Copies, "what __array__ makes may be a copy"),
    If(&[ClassBegins("pandas.")], InPlace, "{access, alignment}"),
    If(&[Elsewhere], Copies, "__array__(copy=False) makes a copy all the same"),
    If(&[], InPlace, "{access, alignment}"),
];

/// One array of numbers or dates, without nulls.
const PLAIN_CHUNK: &[Is] = &[Alone, Not(&Nulls), Kind(&["i", "u", "f", "M", "m"])];
/// Columns that become NumPy arrays or are refused: times in nanoseconds, and integers of 128 bits.
const MAY_FAIL: &[ProfileRule] = &[
    If(&[FormatHas("ttn")], Unknown, "times with nanoseconds are refused, and others copied"),
    If(&[FormatHas("_pli128")], Refuses, "NumPy has no integers of 128 bits"),
    If(&[FormatHas("_plu128")], Refuses, "NumPy has no integers of 128 bits"),
];

const TENSOR: &[ProfileRule] = &[
    If(&[Not(&Host)], Refuses, "the memory is not accessible from the CPU"),
    If(&[Not(&Number)], Refuses, "no type for elements of {dtype}"),
    If(
        &[Not(&Versioned)],
        InPlace,
        "read-only: the struct from before 1.0 cannot say whether it may be written",
    ),
    If(&[], InPlace, "{access, alignment}"),
];
