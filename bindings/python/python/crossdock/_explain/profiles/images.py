"""Libraries of images: Pillow and OpenCV."""

from ..offers import BUFFER, INTERFACE, Subject
from ..verdicts import Profile, Verdict, copies, in_place, misreads, refuses

#: What Pillow makes of pixels: by the lengths behind the first two axes and the type, what a pixel is then, where it is another.
PILLOW = {
    ((), "|b1"): "", ((), "|u1"): "", ((), "|i1"): "int32", ((), "<u2"): "", ((), ">u2"): "", ((), "<i2"): "int32", ((), ">i2"): "int32",
    ((), "<u4"): "int32", ((), ">u4"): "int32", ((), "<i4"): "", ((), ">i4"): "", ((), "<f4"): "", ((), ">f4"): "", ((), "<f8"): "float32",
    ((), ">f8"): "float32", ((2,), "|u1"): "", ((3,), "|u1"): "", ((4,), "|u1"): "",
}  # fmt: skip

#: Those of them that an image can have on the memory of others.
MAPPED = {((), "|u1"), ((), "<u2"), ((), ">u2"), ((4,), "|u1")}

#: What OpenCV has as elements.
OPENCV = {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32", "float64"}
MOST_AXES = 32
MOST_CHANNELS = 128


def pillow(subject: Subject) -> Verdict:
    """`PIL.Image.fromarray(x)`: the array interface says what it is, the buffer gives it."""
    offer = subject.offers.get(INTERFACE)
    if offer is None or offer.refusal is not None:
        return refuses(subject.refusal(INTERFACE))
    shape, key = offer.shape or (), (offer.shape[2:] if offer.shape else (), str(offer.extra["typestr"]))
    if not shape or key not in PILLOW:
        return refuses(f"no image has elements of {offer.dtype} in shape {shape}")
    strided = not offer.extra.get("no_strides")
    if strided and not subject.methods & {"tobytes", "tostring"}:
        return refuses("strides, and no tobytes()")
    if not strided and BUFFER in subject.offers and subject.refusal_of_bytes("simple") is not None:
        return refuses(subject.refusal_of_bytes("simple") or "")
    if not strided and BUFFER not in subject.offers:
        return refuses("no buffer")
    if len(shape) == 1:
        return misreads("one axis becomes an image one pixel wide")
    if PILLOW[key]:
        return misreads(f"pixels of {offer.dtype} become {PILLOW[key]}")
    if strided:
        return copies("strides, so that Pillow asks for tobytes()")
    if key not in MAPPED:
        return copies("pixels of this kind are unpacked")
    return in_place("read-only until Pillow writes, which copies")


def opencv(subject: Subject) -> Verdict:
    """An input of OpenCV's functions."""
    if subject.kind in ("builtins.int", "builtins.float"):
        return misreads("a number is taken for a scalar of four channels")
    if subject.kind != "numpy.ndarray":
        return refuses("it is no numpy.ndarray")
    offer = subject.offers[INTERFACE]
    element, shape = offer.element, offer.shape or ()
    wide = element is not None and element.kind in "iu" and element.itemsize == 8
    if element is None or element.name.lstrip("<>") not in OPENCV and not wide:
        return refuses(f"no type for elements of {offer.dtype}")
    if len(shape) > MOST_AXES:
        return refuses(f"{len(shape)} axes, and at most {MOST_AXES} are possible")
    if offer.size == 0:
        return misreads("an array without elements becomes a Mat without a shape")
    if len(shape) < 2:
        return misreads("a Mat has two axes: it becomes one row")
    if len(shape) == 3 and shape[2] == 1:
        return misreads("an axis of one channel is lost")
    if wide:
        return misreads("elements of 64 bits become int32")
    if element.swapped:
        return misreads("the other byte order is not looked at: numbers are read wrongly")
    strides = offer.strides or ()
    last = len(shape) - 1
    for axis, (length, stride) in enumerate(zip(shape, strides)):
        follows = stride == offer.itemsize if axis == last else stride >= strides[axis + 1]
        if length > 1 and not follows:
            return copies("strides that a Mat does not have: backwards, not falling, or gaps between elements")
    if len(shape) == 3 and shape[2] <= MOST_CHANNELS and strides[1] != (offer.itemsize or 0) * shape[2]:
        return copies("gaps between pixels")
    return in_place()


PROFILES = [
    Profile("PIL.Image.fromarray", "pillow", "13.0.0", pillow),
    Profile("cv2 (inputs)", "opencv-python-headless", "5.0.0.93", opencv),
]
