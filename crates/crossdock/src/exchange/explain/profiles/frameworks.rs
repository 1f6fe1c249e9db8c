//! Constructors of tensors, to which programs pass arrays: PyTorch, JAX and TensorFlow.

use crate::exchange::explain::profiles::arrays::{ARRAYS, DESCRIBED, MASKED, NO_TYPE, NOT_NUMPY, NUMPY};
use crate::exchange::explain::profiles::tensors::{NARROWED, WIDE};
use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::{self, *};
use crate::exchange::explain::subject::Protocol::*;

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "torch.asarray",
        library: "torch",
        measured_on: "2.15.0",
        is_tested: false,
        rules: &[
            ARRAYS,
            When(
                &[Class(NUMPY)],
                &[
                    By(&[Interface], &[If(&[Rank(0), Number, Not(&Swapped)], Copies, "one element")]),
                    When(&[], TORCH_OF_NUMPY),
                ],
            ),
            Asks(
                &[Buffer],
                &[
                    If(&[Refused], Refuses, "{refusal}"),
                    If(&[Swapped], Refuses, "non-native byte order"),
                    If(&[Not(&Number), Not(&Itemsize(1))], Refuses, NO_TYPE),
                    If(&[Not(&RowMajor)], Refuses, "the elements are not C-contiguous"),
                    If(&[Empty], Refuses, "no elements"),
                    If(
                        &[Not(&Rank(1))],
                        Misreads,
                        "the shape {shape} is silently lost: one axis of all elements. torch.as_tensor and torch.from_dlpack keep it",
                    ),
                    If(&[Not(&Number)], Misreads, "elements of {dtype} become uint8"),
                    If(&[ReadOnly], Misreads, IGNORED_FLAG),
                    If(&[], InPlace, "by its buffer"),
                ],
            ),
            If(&[], Refuses, "it offers no PEP 3118"),
        ],
    },
    Profile {
        name: "torch.as_tensor",
        library: "torch",
        measured_on: "2.15.0",
        is_tested: false,
        rules: &[
            ARRAYS,
            When(&[Class(NUMPY)], TORCH_OF_NUMPY),
            When(&[], crate::exchange::explain::profiles::tensors::TORCH),
        ],
    },
    Profile {
        name: "torch.from_numpy",
        library: "torch",
        measured_on: "2.15.0",
        is_tested: false,
        rules: &[If(&[Not(&Class(NUMPY))], Refuses, NOT_NUMPY), When(&[], TORCH_OF_NUMPY)],
    },
    Profile {
        name: "jax.numpy.asarray",
        library: "jax",
        measured_on: "0.10.2",
        is_tested: false,
        rules: &[ARRAYS, By(DESCRIBED, JAX), If(&[], Refuses, "NumPy has no type for it")],
    },
    Profile {
        name: "jax.jit, jax.device_put",
        library: "jax",
        measured_on: "0.10.2",
        is_tested: false,
        rules: &[
            ARRAYS,
            If(
                &[Class(&["crossdock.Array"])],
                Refuses,
                "compiled functions take no __jax_array__: pass jax.numpy.array(x) or jax.numpy.from_dlpack(x)",
            ),
            By(DESCRIBED, JAX),
            If(&[], Refuses, NO_TYPE),
        ],
    },
    Profile {
        name: "tensorflow.constant",
        library: "tensorflow",
        measured_on: "2.21.0",
        is_tested: false,
        rules: &[
            ARRAYS,
            By(
                DESCRIBED,
                &[
                    If(&[Class(NUMPY), Kind(&["V"])], Unknown, OPAQUE),
                    If(&[Kind(&["records", "V"])], Refuses, NO_RECORDS),
                    If(&[Kind(&["S"])], Copies, "as strings"),
                    If(&[Kind(&["U"])], Misreads, "texts become bytes in UTF-8"),
                    If(&[Kind(&["O"])], Unknown, "it depends on the objects"),
                    If(&[Kind(&["f"]), Itemsize(1)], Copies, ""),
                    If(&[Not(&Number), Not(&DType(EXTENDED))], Refuses, NO_TYPE),
                    If(&[Class(NUMPY)], Copies, ""),
                    If(&[DType(&["float8_e4m3fn", "float8_e5m2"])], Unknown, "its memory was not visible"),
                    If(&[Not(&RowMajor)], Copies, "the elements are not C-contiguous"),
                    If(&[Swapped], Copies, "non-native byte order"),
                    If(&[Not(&AlignedTo(64))], Copies, "the address is not a multiple of 64"),
                    If(
                        &[],
                        InPlace,
                        "its address is a multiple of 64: a write to the array changes the constant",
                    ),
                ],
            ),
            If(&[], Refuses, NO_TYPE),
        ],
    },
];

const OPAQUE: &str = "NumPy's interface calls types of ml_dtypes and opaque bytes alike";
const NO_RECORDS: &str = "no type for elements of records or opaque bytes";
const IGNORED_FLAG: &str = "the flag is ignored: the tensor writes read-only memory";

/// PyTorch's import of a NumPy array.
const TORCH_OF_NUMPY: &[ProfileRule] = &[
    Asks(
        &[Interface],
        &[
            If(&[Not(&Number)], Refuses, NO_TYPE),
            If(&[Swapped], Refuses, "non-native byte order"),
            If(&[Backwards], Refuses, "negative strides"),
            If(&[Not(&Whole)], Refuses, "strides {strides} are not whole numbers of elements"),
            If(&[ReadOnly], Misreads, "a warning only: the tensor writes read-only memory"),
            If(&[], InPlace, ""),
        ],
    ),
    If(&[], Refuses, "it offers no __array_interface__"),
];

/// The types of `ml_dtypes` that JAX has, too.
const EXTENDED: &[&str] = &["bfloat16", "float8_e4m3fn", "float8_e5m2"];

const JAX: &[ProfileRule] = &[
    If(&[Class(MASKED)], Refuses, "masked arrays are not supported; pass x.filled()"),
    If(&[Class(NUMPY), Kind(&["V"])], Unknown, OPAQUE),
    If(&[Kind(&["records", "V"])], Refuses, NO_RECORDS),
    If(&[Kind(&["f"]), Itemsize(1)], Copies, "arrays of JAX are constant"),
    If(&[Not(&Number), Not(&DType(EXTENDED))], Refuses, NO_TYPE),
    If(&[Swapped], Refuses, NO_TYPE),
    If(&[DType(WIDE), Not(&JaxIn64Bits)], Misreads, NARROWED),
    If(&[], Copies, "arrays of JAX are constant"),
];
