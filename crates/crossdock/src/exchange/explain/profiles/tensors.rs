//! Libraries that take tensors by DLPack.

use crate::exchange::explain::profiles::arrays::{CONSTANT, WRITES_CONSTANT};
use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::{self, *};
use crate::exchange::explain::subject::Protocol::*;

// Kinds of devices, in DLPack's numbers.
const CPU: &[i32] = &[1];
const CUDA: &[i32] = &[2];
const CUDA_AND_MANAGED: &[i32] = &[2, 13];

const FLOATS_OF_8_BITS: &[&str] =
    &["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"];
/// The types of 64 bits and more that JAX narrows by default.
pub(super) const WIDE: &[&str] = &["int64", "uint64", "float64", "complex128"];
pub(super) const NARROWED: &str = "{dtype} silently becomes a type of half the width (unless jax_enable_x64)";

const UNSIGNED: &[&str] = &["uint16", "uint32", "uint64"];

const NO_METHOD: &str = "it has no __dlpack__";
const NO_TENSOR: &str = "the producer refuses DLPack";
const NO_LEGACY: &str = "the producer refuses DLPack before 1.0";
const UNKNOWN_DEVICE: &str = "the memory is on a device that it does not know";
const NO_TYPE: &str = "no type for elements of {dtype}";
const VERSIONED: &str = "a versioned struct, which was not requested";
const OTHER_VERSION: &str = "the version is ignored: a struct of another version is read as one of 1.x";
const LAYOUT: &str = "strides with gaps, or in another order";

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        name: "nanobind (nb::ro)",
        library: "nanobind",
        measured_on: "3.1.0",
        is_tested: true,
        rules: &[
            By(&[TensorApi], NANOBIND),
            By(&[LegacyTensor], NANOBIND),
            If(&[OtherVersion(LegacyTensor)], Misreads, OTHER_VERSION),
            By(&[Tensor], NANOBIND),
            If(&[OtherVersion(Tensor)], Misreads, OTHER_VERSION),
            By(&[Buffer], NANOBIND_BUFFER),
            If(&[RefusedBy(Buffer)], Refuses, "the producer refuses PEP 3118"),
            If(&[RefusedBy(Tensor)], Refuses, NO_TENSOR),
            If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
            If(&[], Refuses, NO_METHOD),
        ],
    },
    Profile {
        name: "nanobind",
        library: "nanobind",
        measured_on: "3.1.0",
        is_tested: true,
        rules: &[
            By(&[TensorApi], NANOBIND_WRITING),
            By(&[Tensor], NANOBIND_WRITING),
            If(&[OtherVersion(Tensor)], Misreads, OTHER_VERSION),
            By(&[LegacyTensor], NANOBIND_WRITING),
            If(&[OtherVersion(LegacyTensor)], Misreads, OTHER_VERSION),
            By(&[Buffer], &[If(&[ReadOnly], Refuses, "the memory is read-only"), When(&[], NANOBIND_BUFFER)]),
            If(&[RefusedBy(Buffer)], Refuses, "the producer refuses PEP 3118"),
            If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
            If(&[RefusedBy(Tensor)], Refuses, NO_TENSOR),
            If(&[], Refuses, NO_METHOD),
        ],
    },
    Profile {
        name: "tvm_ffi.from_dlpack",
        library: "apache-tvm-ffi",
        measured_on: "0.1.15",
        is_tested: true,
        rules: &[
            By(&[TensorApi], TVM),
            If(
                &[RefusedBy(TensorApi), Not(&RefusedWith(TensorApi, "BufferError"))],
                Refuses,
                "the producer refuses DLPack C exchange API",
            ),
            By(&[LegacyTensor], &[If(&[Versioned], Refuses, VERSIONED), When(&[], TVM)]),
            If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
            If(&[RefusedBy(TensorApi)], Refuses, "the producer refuses DLPack C exchange API"),
            If(&[], Refuses, NO_METHOD),
        ],
    },
    Profile {
        name: "torch.from_dlpack",
        library: "torch",
        measured_on: "2.15.0",
        is_tested: false,
        rules: TORCH,
    },
    Profile {
        name: "torch.from_dlpack (1.x)",
        library: "torch",
        measured_on: "1.13.1",
        is_tested: false,
        rules: &[
            By(
                &[LegacyTensor],
                &[
                    If(&[Versioned], Refuses, VERSIONED),
                    If(&[Not(&Device(CPU))], Refuses, UNKNOWN_DEVICE),
                    If(&[Lanes], Refuses, "several lanes"),
                    If(&[Not(&Number), Not(&DType(&["bfloat16"]))], Refuses, NO_TYPE),
                    If(&[Kind(&["b"])], Refuses, NO_TYPE),
                    If(&[DType(UNSIGNED)], Refuses, NO_TYPE),
                    If(&[ByteOffset], Misreads, "the byte offset is ignored: other elements are read"),
                    If(&[Backwards], Misreads, "negative strides: the process ends (SIGABRT)"),
                    If(&[Class(CONSTANT), Not(&Empty)], Misreads, WRITES_CONSTANT),
                    If(&[], InPlace, "{access}"),
                ],
            ),
            If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
            If(&[], Refuses, NO_METHOD),
        ],
    },
    Profile {
        name: "jax.dlpack.from_dlpack",
        library: "jax",
        measured_on: "0.10.2",
        is_tested: false,
        rules: &[
            By(
                &[LegacyTensor],
                &[
                    If(&[Versioned], Refuses, VERSIONED),
                    If(&[Device(CUDA)], InPlace, "on its device"),
                    If(&[Not(&Device(CPU))], Refuses, UNKNOWN_DEVICE),
                    If(&[Lanes], Refuses, "several lanes"),
                    If(
                        &[Not(&Number), Not(&DType(FLOATS_OF_8_BITS)), Not(&DType(&["bfloat16"]))],
                        Refuses,
                        NO_TYPE,
                    ),
                    If(&[NoDeleter], Misreads, "no deleter: the process ends (SIGABRT)"),
                    If(&[Not(&Dense)], Refuses, LAYOUT),
                    If(&[DType(WIDE), Not(&JaxIn64Bits)], Misreads, NARROWED),
                    If(
                        &[Not(&AlignedTo(64))],
                        Copies,
                        "the address is not a multiple of 64, which its documentation does not mention",
                    ),
                    If(&[], InPlace, "{access}"),
                ],
            ),
            If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
            If(&[], Refuses, NO_METHOD),
        ],
    },
    Profile {
        name: "tf.experimental.dlpack",
        library: "tensorflow",
        measured_on: "2.21.0",
        is_tested: false,
        rules: &[
            By(
                &[LegacyTensor],
                &[
                    If(&[Versioned], Refuses, VERSIONED),
                    If(&[Not(&Device(CPU))], Refuses, UNKNOWN_DEVICE),
                    If(&[Lanes], Misreads, "lanes are ignored: other elements are read"),
                    If(&[Not(&Number), Not(&DType(&["bfloat16"]))], Refuses, NO_TYPE),
                    If(&[ByteOffset], Refuses, "a byte offset"),
                    If(&[Not(&RowMajor)], Refuses, LAYOUT),
                    If(&[], InPlace, "{access}"),
                ],
            ),
            If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
            If(&[], Refuses, NO_METHOD),
        ],
    },
    Profile {
        name: "mlx.core.array",
        library: "mlx",
        measured_on: "0.32.4",
        is_tested: false,
        rules: &[
            If(&[Class(&["mlx.core.array"])], Copies, "MLX always copies"),
            By(&[TensorApi], MLX),
            By(&[LegacyTensor], MLX),
            If(&[OtherVersion(LegacyTensor)], Misreads, OTHER_VERSION),
            By(&[Tensor], MLX),
            If(&[OtherVersion(Tensor)], Misreads, OTHER_VERSION),
            By(&[Buffer], MLX_BUFFER),
            When(&[Class(&["numpy.ndarray"])], &[Asks(&[Interface], MLX_OF_NUMPY)]),
            If(&[Class(&["builtins.int", "builtins.float"])], Copies, "a number"),
            If(
                &[
                    Class(&["builtins.list", "builtins.tuple"]),
                    Item(&["", "bool", "int", "float", "complex"]),
                ],
                Copies,
                "item by item",
            ),
            If(&[Class(&["builtins.list", "builtins.tuple"])], Unknown, "it depends on the items"),
            If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
            If(&[], Refuses, NO_METHOD),
        ],
    },
    Profile {
        name: "cupy.from_dlpack",
        library: "cupy",
        measured_on: "14.2.0",
        is_tested: false,
        rules: &[
            By(
                &[Tensor, LegacyTensor],
                &[
                    // A policy: the consumer raises a TypeError for any memory.
                    If(&[Device(CPU)], Refuses, "memory of the CPU"),
                    If(&[Device(CUDA_AND_MANAGED)], InPlace, ""),
                    If(&[], Refuses, UNKNOWN_DEVICE),
                ],
            ),
            If(&[Has(Tensor)], Refuses, NO_TENSOR),
            If(&[], Refuses, NO_METHOD),
        ],
    },
];

const NANOBIND: &[ProfileRule] = &[
    If(&[Not(&Device(CPU))], InPlace, "on its device"),
    If(&[Lanes], InPlace, "as lanes"),
    If(&[], InPlace, "{access}"),
];

const NANOBIND_WRITING: &[ProfileRule] = &[
    If(&[Not(&Device(CPU))], InPlace, "on its device"),
    If(&[Lanes], InPlace, "as lanes"),
    If(&[ReadOnly], Refuses, "the memory is read-only"),
    If(&[Class(CONSTANT), Not(&Empty)], Misreads, WRITES_CONSTANT),
    If(&[], InPlace, ""),
];

const NANOBIND_BUFFER: &[ProfileRule] = &[
    If(&[Not(&FormatLetter("@=<Z", "?cbBhHiIlLqQnNefd"))], Refuses, "no tensor of format '{format}'"),
    If(
        &[NullStrides, RankAbove(0)],
        Misreads,
        "a buffer's null strides are followed: the process ends (SIGSEGV)",
    ),
    If(&[Indirect], Refuses, "suboffsets: pointers are not followed"),
    If(&[Not(&Whole)], Refuses, "strides {strides} are not whole numbers of elements"),
    If(&[Kind(&["V", "S"])], Misreads, "integers as wide as an item, whatever the format says"),
    If(&[], InPlace, "by its buffer"),
];

/// MLX imports tensors and buffers as nanobind does, and copies them.
const MLX: &[ProfileRule] = &[
    If(&[Not(&Device(CPU))], Refuses, UNKNOWN_DEVICE),
    If(&[Lanes], Refuses, "several lanes"),
    If(&[Not(&Number), Not(&DType(&["bfloat16"]))], Refuses, NO_TYPE),
    If(&[Backwards], Refuses, "negative strides"),
    If(&[Class(&["tensorflow.Tensor"]), DType(&["bfloat16"])], Refuses, "no attribute 'view'"),
    If(&[DType(&["float64"])], Misreads, "float64 silently becomes float32"),
    If(&[DType(&["complex128"])], Misreads, "complex128 silently becomes complex64"),
    If(&[], Copies, "MLX always copies"),
];

/// NumPy lends no tensor and no buffer of the types of `ml_dtypes`.
const MLX_OF_NUMPY: &[ProfileRule] =
    &[If(&[Kind(&["V"])], Unknown, "NumPy's interface calls types of ml_dtypes and opaque bytes alike")];

const MLX_BUFFER: &[ProfileRule] = &[
    If(&[Not(&FormatLetter("@=<Z", "?cbBhHiIlLqQnNefd"))], Refuses, "no tensor of format '{format}'"),
    If(
        &[NullStrides, RankAbove(0)],
        Misreads,
        "a buffer's null strides are followed: the process ends (SIGSEGV)",
    ),
    If(&[Indirect], Refuses, "suboffsets: pointers are not followed"),
    If(&[Not(&Whole)], Refuses, "strides {strides} are not whole numbers of elements"),
    If(&[Kind(&["V", "S"])], Misreads, "integers as wide as an item, whatever the format says"),
    When(&[], MLX),
];

const TVM: &[ProfileRule] = &[
    If(&[Not(&Device(CPU))], InPlace, "on its device"),
    If(&[Lanes], InPlace, "as lanes"),
    If(&[ReadOnly], Misreads, "the flag is ignored: read-only memory is lent on as writable"),
    If(&[Class(CONSTANT), Not(&Empty)], Misreads, WRITES_CONSTANT),
    If(&[], InPlace, ""),
];

/// PyTorch's import of a tensor.
pub(super) const TORCH: &[ProfileRule] = &[
    By(
        &[Tensor, LegacyTensor],
        &[
            If(&[Device(CUDA)], InPlace, "on its device"),
            If(&[Not(&Device(CPU))], Refuses, UNKNOWN_DEVICE),
            If(&[Lanes], Refuses, "several lanes"),
            If(&[Not(&Number), Not(&DType(FLOATS_OF_8_BITS)), Not(&DType(&["bfloat16"]))], Refuses, NO_TYPE),
            If(&[Backwards], Refuses, "negative strides (RuntimeError)"),
            If(&[ReadOnly], Misreads, "the flag is ignored: the tensor writes read-only memory"),
            If(&[Class(CONSTANT), Not(&Empty)], Misreads, WRITES_CONSTANT),
            If(&[], InPlace, ""),
        ],
    ),
    If(&[RefusedBy(LegacyTensor)], Refuses, NO_LEGACY),
    If(&[RefusedBy(Tensor)], Refuses, NO_TENSOR),
    If(&[], Refuses, NO_METHOD),
];
