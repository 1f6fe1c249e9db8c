//! Functions that read arrays into files, models and compiled code, or write to them.

use crate::exchange::explain::profiles::arrays::{ARRAYS, DESCRIBED, MASKED, NO_TYPE, NOT_NUMPY, NUMPY};
use crate::exchange::explain::profiles::frames::PANDAS_DATES;
use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::*;
use crate::exchange::explain::subject::Protocol::*;

const RECORDS: &str = "it depends on the fields";
const OPAQUE: &str = "NumPy's interface calls types of ml_dtypes and opaque bytes alike";
const EXTENDED: &[&str] = &["bfloat16", "float8_e4m3fn", "float8_e5m2"];

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "numpy (out=, copyto)",
        library: "numpy",
        measured_on: "2.4.6",
        is_tested: true,
        rules: &[
            If(&[Not(&Class(NUMPY))], Refuses, NOT_NUMPY),
            Heeds(&[Asks(
                &[Interface],
                &[If(&[ReadOnly], Refuses, "read-only"), If(&[], InPlace, "{access, alignment}")],
            )]),
            If(&[], Refuses, "it offers no __array_interface__"),
        ],
    },
    Profile {
        name: "safetensors.numpy.save",
        library: "safetensors",
        measured_on: "0.8.0",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Class(NUMPY), Kind(&["V"])], Unknown, OPAQUE),
                    If(
                        &[Kind(&["records", "V"])],
                        Refuses,
                        "no type for elements of records or opaque bytes",
                    ),
                    If(&[Swapped, Not(&Class(NUMPY))], Refuses, "it has no byteswap()"),
                    If(&[Kind(&["f"]), Itemsize(1)], Copies, ""),
                    If(&[Not(&Number), Not(&DType(EXTENDED))], Refuses, NO_TYPE),
                    If(&[DType(&["complex128", ">complex128"])], Refuses, NO_TYPE),
                    If(&[Empty], Copies, ""),
                    If(&[Swapped, Not(&RowMajor)], Unknown, "swapping the bytes may reorder the elements"),
                    If(
                        &[Not(&RowMajor)],
                        Misreads,
                        "the elements are saved in memory order, without their strides",
                    ),
                    If(&[], Copies, ""),
                ],
            ),
            If(&[], Refuses, NO_TYPE),
        ],
    },
    Profile {
        name: "numba.njit",
        library: "numba",
        measured_on: "0.68.1",
        is_tested: false,
        rules: &[
            ARRAYS,
            If(
                &[Not(&Class(NUMPY))],
                Refuses,
                "compiled code has indices and the length of a buffer, and none of an array's methods: pass np.asarray(x)",
            ),
            Asks(
                &[Interface],
                &[
                    If(&[Kind(&["records"])], Unknown, RECORDS),
                    If(&[Kind(&["V"])], Unknown, OPAQUE),
                    If(&[Kind(&["O"])], Refuses, NO_TYPE),
                    If(&[Multiple], Refuses, NO_TYPE),
                    If(
                        &[Swapped, Kind(&["M", "m"])],
                        Misreads,
                        "swapped dates are read in the native byte order",
                    ),
                    If(&[Swapped], Refuses, "non-native byte order"),
                    If(&[Not(&Number), Kind(&["f", "c"])], Refuses, NO_TYPE),
                    If(&[DType(&["float16"])], Refuses, NO_TYPE),
                    If(&[], InPlace, "{access, alignment}"),
                ],
            ),
            If(&[], Refuses, NO_TYPE),
        ],
    },
    Profile {
        name: "zarr.array",
        library: "zarr",
        measured_on: "3.1.6",
        is_tested: false,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Kind(&["records", "V", "O"])], Unknown, RECORDS),
                    If(&[RankAbove(32)], Refuses, "{rank} axes, and at most 32 are possible"),
                    If(&[Kind(&["f"]), Itemsize(1)], Refuses, NO_TYPE),
                    If(&[Not(&Number), Not(&Kind(&["M", "m", "S", "U"]))], Refuses, NO_TYPE),
                    If(&[Lossy, Not(&Itemsize(1))], Refuses, "masked elements are not supported"),
                    If(&[Swapped, Not(&RowMajor)], Unknown, "swapping the bytes may reorder the elements"),
                    If(
                        &[Not(&Class(NUMPY)), Not(&RowMajor)],
                        Refuses,
                        "reshape(-1) would copy: pass x.copy()",
                    ),
                    If(&[], Copies, ""),
                ],
            ),
            If(&[], Refuses, NO_TYPE),
        ],
    },
    Profile {
        name: "zarr.save",
        library: "zarr",
        measured_on: "3.1.6",
        is_tested: false,
        rules: &[
            ARRAYS,
            If(
                &[Not(&Class(NUMPY))],
                Refuses,
                "it has not all methods of a numpy.ndarray; pass np.asarray(x)",
            ),
            If(&[], Unknown, "it depends on the store"),
        ],
    },
    Profile {
        name: "h5py.Group.create_dataset",
        library: "h5py",
        measured_on: "3.16.0",
        is_tested: false,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Kind(&["records", "V"])], Unknown, RECORDS),
                    If(&[Class(NUMPY), Kind(&["V", "O"])], Unknown, OPAQUE),
                    If(&[RankAbove(32)], Refuses, "{rank} axes, and at most 32 are possible"),
                    If(&[Kind(&["M", "m", "U"])], Refuses, NO_TYPE),
                    If(&[Kind(&["f"]), Itemsize(1)], Refuses, NO_TYPE),
                    If(&[DType(&["float8_e5m2"])], Refuses, NO_TYPE),
                    If(&[DType(EXTENDED)], Misreads, "elements of {dtype} become opaque bytes"),
                    If(&[], Copies, ""),
                ],
            ),
            If(&[], Refuses, NO_TYPE),
        ],
    },
    Profile {
        name: "h5py.Dataset.read_direct",
        library: "h5py",
        measured_on: "3.16.0",
        is_tested: false,
        rules: &[
            ARRAYS,
            By(DESCRIBED, &[If(&[Empty], Unknown, "nothing is read")]),
            If(&[Not(&Class(NUMPY))], Refuses, NOT_NUMPY),
            If(&[], Unknown, "it depends on the file"),
        ],
    },
    Profile {
        name: "xarray.DataArray",
        library: "xarray",
        measured_on: "2026.9.0",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(
                &[Interface],
                &[
                    If(&[Kind(&["O"])], Unknown, "it depends on the objects"),
                    If(&[Class(MASKED), Lossy], Misreads, "masked elements become NaN, and integers floats"),
                    If(&[Class(MASKED)], Copies, "xarray copies masked arrays"),
                ],
            ),
            By(
                DESCRIBED,
                &[
                    When(
                        &[Kind(&["M", "m"])],
                        &[
                            When(&[], PANDAS_DATES),
                            If(&[Not(&RowMajor)], Copies, "dates are converted by pandas"),
                            If(&[ReadOnly], Copies, "read-only dates are copied by pandas"),
                        ],
                    ),
                    If(&[], InPlace, "{access, alignment}"),
                ],
            ),
            If(&[], Refuses, NO_TYPE),
        ],
    },
    Profile {
        name: "sklearn (inputs)",
        library: "scikit-learn",
        measured_on: "1.9.1",
        is_tested: true,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Kind(&["c"])], Refuses, "complex numbers are not supported"),
                    If(&[DType(&["clongdouble"])], Refuses, "complex numbers are not supported"),
                    If(&[Not(&RankAbove(1))], Refuses, "an input has two axes, and the array {rank}"),
                    If(&[], InPlace, "{access, alignment}"),
                ],
            ),
            If(&[], Refuses, NO_TYPE),
        ],
    },
    Profile {
        name: "sklearn.model_selection",
        library: "scikit-learn",
        measured_on: "1.9.1",
        is_tested: true,
        rules: &[
            ARRAYS,
            If(
                &[Not(&Class(NUMPY))],
                Refuses,
                "rows are selected by an array of indices; pass np.asarray(x)",
            ),
            If(&[], Unknown, "it depends on the number of rows"),
        ],
    },
    Profile {
        name: "onnxruntime.OrtValue",
        library: "onnxruntime",
        measured_on: "1.32.0",
        is_tested: false,
        rules: &[
            If(&[Not(&Class(NUMPY))], Refuses, NOT_NUMPY),
            Asks(
                &[Interface],
                &[
                    If(&[Not(&Number)], Refuses, NO_TYPE),
                    If(&[Kind(&["c"])], Refuses, NO_TYPE),
                    If(&[Swapped], Misreads, "the byte order is ignored: numbers come out wrong"),
                    If(&[Not(&RowMajor)], Copies, "the elements are not C-contiguous"),
                    If(&[], InPlace, ""),
                ],
            ),
            If(&[], Refuses, "it offers no __array_interface__"),
        ],
    },
];
