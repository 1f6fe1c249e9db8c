"""Requests DLPack tensors, describes them, and drops them unconsumed."""

import ctypes
from collections.abc import Callable
from typing import Any

from .._crossdock import Array, _unsafe_dlpack
from . import native
from .buffers import MOST_AXES, attribute, refusal
from .elements import from_tensor
from .offers import EXCHANGE, LEGACY, VERSIONED, Offer

READ_ONLY, COPIED, PADDED = 1, 2, 4


def ask(thing: object) -> list[Offer]:
    """The tensors for consumers of version 1.0, for older ones, and by C functions."""
    offers = []
    method, words = attribute(thing, "__dlpack__")
    if method is not None and (unsafe := _unsafe_dlpack(thing)) is not None:
        method, words = None, unsafe
    if words is not None:
        offers += [Offer(protocol, refusal=words) for protocol in (VERSIONED, LEGACY)]
    if method is not None:
        device, words = where(thing)
        # Our own arrays are copied where strides cannot be described; an explanation makes no copy.
        in_place = {"copy": False} if isinstance(thing, Array) else {}
        offers.append(by_capsule(VERSIONED, lambda: method(max_version=(1, 0), **in_place), device, words))
        offers.append(by_capsule(LEGACY, lambda: method(**in_place), device, words))
    table, _ = attribute(type(thing), "__dlpack_c_exchange_api__")
    if table is not None:
        offers.append(by_functions(thing, table))
    lazy = pending(thing)
    for offer in offers:
        if offer.refusal is None and lazy:
            offer.lost = lazy
        elif offer.size and offer.address == 0 and offer.device == (1, 0):
            offer.lost = "a null address for elements that exist: other memory is read, or the process ends"
    return offers


#: Methods of PyTorch's tensors whose elements consumers must still compute.
LAZY = {
    "is_neg": "its elements are negated when they are read, which the tensor does not say: signs come out wrong",
    "is_conj": "its elements are conjugated when they are read, which the tensor does not say",
}


def pending(thing: Any) -> str | None:
    """What remains to be done to the elements, which a tensor cannot say: PyTorch's lazy negation and conjugation."""
    for name, words in LAZY.items():
        try:
            if getattr(thing, name)() is True:
                return words
        except Exception:
            continue
    return None


def where(thing: Any) -> tuple[tuple[int, int], str]:
    """The device, and the error in the answer, if any."""
    try:
        kind, ordinal = thing.__dlpack_device__()
        return (int(kind), int(ordinal)), ""
    except Exception as error:
        return (1, 0), f"__dlpack_device__() gives no device: {refusal(error)}"


def by_capsule(protocol: str, call: Callable[[], object], device: tuple[int, int], words: str) -> Offer:
    """The description of a call's capsule. Dropping the capsule releases the tensor."""
    try:
        made = call()
        name, pointer = native.capsule(made, b"dltensor", b"dltensor_versioned")
    except Exception as error:
        offer = Offer(protocol, refusal=refusal(error), device=device)
        offer.extra["is_old"] = isinstance(error, TypeError)
        return offer
    managed: native.DLManagedTensor | native.DLManagedTensorVersioned
    version: tuple[int, int] | None
    if name == b"dltensor":
        managed = ctypes.cast(pointer, ctypes.POINTER(native.DLManagedTensor)).contents
        version, flags = None, 0
    else:
        versioned = ctypes.cast(pointer, ctypes.POINTER(native.DLManagedTensorVersioned)).contents
        managed, version, flags = versioned, (versioned.major, versioned.minor), versioned.flags
        if versioned.major != 1:
            words = f"the tensor is of version {versioned.major}.{versioned.minor}"
            return Offer(protocol, refusal=words, device=device, extra={"version": version})
    offer = describe(protocol, managed.tensor, flags)
    offer.extra["version"] = version
    offer.extra["deleter"] = bool(managed.deleter)
    if words:
        offer.notes.append(words)
    if device != offer.device and not words:
        offer.notes.append(f"__dlpack_device__() says {device}, and the tensor {offer.device}")
    if version is None and protocol == VERSIONED:
        offer.notes.append("the struct from before 1.0 although a versioned one was asked for")
    if version is not None and protocol == LEGACY:
        offer.notes.append("a versioned struct although none was asked for")
    if not managed.deleter:
        offer.notes.append("no deleter")
    return offer


def describe(protocol: str, tensor: native.DLTensor, flags: int) -> Offer:
    """The description of a tensor."""
    device = (tensor.device_type, tensor.device_id)
    if not 0 <= tensor.ndim <= MOST_AXES or tensor.ndim and not tensor.shape:
        return Offer(
            protocol,
            refusal=f"the tensor has {tensor.ndim} axes and {'a' if tensor.shape else 'no'} shape",
            device=device,
        )
    element = from_tensor(tensor.code, tensor.bits, tensor.lanes)
    counted = native.numbers(tensor.strides, tensor.ndim)
    strides = None if counted is None and tensor.ndim else tuple(stride * element.itemsize for stride in counted or ())
    offer = Offer(
        protocol,
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=native.numbers(tensor.shape, tensor.ndim) or (),
        strides=strides,
        element=element,
        spelling=f"code {tensor.code}, {tensor.bits} bits" + (f", {tensor.lanes} lanes" if tensor.lanes != 1 else ""),
        readonly=bool(flags & READ_ONLY),
        device=device,
        extra={"byte_offset": tensor.byte_offset, "lanes": tensor.lanes, "copied": bool(flags & COPIED)},
    )
    if not offer.is_addressed:
        offer.address = None
        offer.notes.append(f"in the object with the handle {tensor.data or 0:#x}")
    if tensor.byte_offset:
        offer.notes.append(f"byte_offset {tensor.byte_offset}")
    if strides is None:
        offer.notes.append("no strides, which stands for row-major order")
    if flags & COPIED:
        offer.notes.append("a copy, it says")
    if flags & ~(READ_ONLY | COPIED | PADDED):
        offer.notes.append(f"unknown flags {flags:#x}")
    return offer


def by_functions(thing: object, table: object) -> Offer:
    """The description by the exchange API of the object's type. The tensor is released at once."""
    try:
        _, pointer = native.capsule(table, b"dlpack_exchange_api")
        functions = ctypes.cast(pointer, ctypes.POINTER(native.DLPackExchangeAPI)).contents
        version = (functions.major, functions.minor)
        if functions.major != 1:
            return Offer(
                EXCHANGE,
                refusal=f"its table is of version {functions.major}.{functions.minor}",
                extra={"version": version},
            )
        made = ctypes.POINTER(native.DLManagedTensorVersioned)()
        native.FromObject(functions.from_object)(thing, ctypes.byref(made))
        try:
            offer = describe(EXCHANGE, made.contents.tensor, made.contents.flags)
            offer.extra["version"] = version
        finally:
            if made.contents.deleter:
                native.Deleter(made.contents.deleter)(ctypes.addressof(made.contents))
        if not functions.borrow:
            offer.notes.append("nothing is lent without an owner")
        return offer
    except Exception as error:
        return Offer(EXCHANGE, refusal=refusal(error))
