//! Libraries of images: Pillow and OpenCV.

use crate::exchange::explain::rule::Is::*;
use crate::exchange::explain::rule::Outcome::*;
use crate::exchange::explain::rule::Profile;
use crate::exchange::explain::rule::ProfileRule::*;
use crate::exchange::explain::subject::Protocol::*;

/// Pixels that an image keeps unchanged, as channels (0: no such axis) and type string.
const SAME: &[(i64, &str)] = &[
    (0, "|b1"),
    (0, "|u1"),
    (0, "<u2"),
    (0, ">u2"),
    (0, "<i4"),
    (0, ">i4"),
    (0, "<f4"),
    (0, ">f4"),
    (2, "|u1"),
    (3, "|u1"),
    (4, "|u1"),
];
/// Pixels that become int32.
const WIDENED: &[(i64, &str)] = &[(0, "|i1"), (0, "<i2"), (0, ">i2"), (0, "<u4"), (0, ">u4")];
/// Pixels that become float32.
const NARROWED: &[(i64, &str)] = &[(0, "<f8"), (0, ">f8")];
/// Pixels that an image can use in memory of other libraries.
const MAPPED: &[(i64, &str)] = &[(0, "|u1"), (0, "<u2"), (0, ">u2"), (4, "|u1")];

/// The element types of OpenCV.
const OPENCV: &[&str] =
    &["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32", "float64"];
const WIDE: &[&str] = &["int64", "uint64"];

pub(super) const PROFILES: &[Profile] = &[
    // The array interface describes the image; the buffer has its bytes.
    Profile {
        name: "PIL.Image.fromarray",
        library: "pillow",
        measured_on: "13.0.0",
        is_tested: true,
        rules: &[
            By(
                &[Interface],
                &[
                    If(
                        &[Not(&Pixels(SAME)), Not(&Pixels(WIDENED)), Not(&Pixels(NARROWED))],
                        Refuses,
                        "no image has elements of {dtype} in shape {shape}",
                    ),
                    If(
                        &[Not(&WithoutStrides), Not(&HasMethod(&["tobytes", "tostring"]))],
                        Refuses,
                        "strides, and no tobytes()",
                    ),
                    If(&[WithoutStrides, Not(&Has(Buffer))], Refuses, "no buffer"),
                    If(&[WithoutStrides, NoBytes], Refuses, "{refusal of bytes}"),
                    If(&[Rank(1)], Misreads, "one axis becomes an image one pixel wide"),
                    If(&[Pixels(WIDENED)], Misreads, "pixels of {dtype} become int32"),
                    If(&[Pixels(NARROWED)], Misreads, "pixels of {dtype} become float32"),
                    If(&[Not(&WithoutStrides)], Copies, "Pillow calls tobytes() where there are strides"),
                    If(&[Not(&Pixels(MAPPED))], Copies, "pixels of this kind are unpacked"),
                    If(&[], InPlace, "read-only until Pillow writes, which copies"),
                ],
            ),
            If(&[], Refuses, "{refusal of __array_interface__}"),
        ],
    },
    Profile {
        name: "cv2 (inputs)",
        library: "opencv-python-headless",
        measured_on: "5.0.0.93",
        is_tested: true,
        rules: &[
            If(
                &[Class(&["builtins.int", "builtins.float"])],
                Misreads,
                "a number becomes a scalar of four channels",
            ),
            If(&[Class(&["builtins.tuple"])], Unknown, "up to four numbers become a scalar"),
            If(&[Not(&Class(&["numpy.ndarray"]))], Refuses, "it is not a numpy.ndarray"),
            Asks(
                &[Interface],
                &[
                    If(&[Not(&Type(OPENCV)), Not(&Type(WIDE))], Refuses, "no type for elements of {dtype}"),
                    If(&[RankAbove(32)], Refuses, "{rank} axes, and at most 32 are possible"),
                    If(&[Empty], Misreads, "an array without elements becomes a Mat without a shape"),
                    If(&[Not(&RankAbove(1))], Misreads, "a Mat has two axes: it becomes one row"),
                    If(&[Rank(3), LastLength(1)], Misreads, "an axis of one channel is lost"),
                    If(&[Type(WIDE)], Misreads, "elements of 64 bits become int32"),
                    If(&[Swapped], Misreads, "the byte order is ignored: numbers come out wrong"),
                    If(
                        &[Not(&Falling)],
                        Copies,
                        "a Mat has no strides that are negative, ascend, or leave gaps between elements",
                    ),
                    If(&[PixelGaps(128)], Copies, "gaps between pixels"),
                    If(&[], InPlace, ""),
                ],
            ),
            If(&[], Refuses, "it offers no __array_interface__"),
        ],
    },
];
