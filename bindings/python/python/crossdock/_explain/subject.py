"""Probes an object by every protocol."""

import sys
import warnings
from collections.abc import Sequence

from . import buffers, columns, interfaces, tensors
from .items import is_sequence, item, storage
from .offers import BUFFER, INTERFACE, LEGACY, PROTOCOLS, STRUCT, VERSIONED, Offer, Subject

#: Classes that consumers treat specially, by the module that must be imported for an instance.
KINDS = [
    ("numpy.ma", "MaskedArray"), ("numpy", "ndarray"), ("numpy", "generic"), ("builtins", "bytes"), ("builtins", "str"), ("builtins", "int"),
    ("builtins", "float"), ("builtins", "memoryview"),
    ("builtins", "bytearray"), ("pyarrow", "Array"), ("pyarrow", "ChunkedArray"), ("pyarrow", "Buffer"), ("pyarrow", "Tensor"),
    ("polars", "Series"), ("polars", "DataFrame"), ("_ctypes", "_SimpleCData"), ("_ctypes", "Array"), ("_ctypes", "Structure"),
    ("_ctypes", "Union"), ("crossdock", "Array"), ("pandas", "Series"), ("pandas", "Index"), ("pandas", "DataFrame"),
    ("pandas.api.extensions", "ExtensionArray"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("builtins", "list"), ("builtins", "tuple"),
    ("torch", "Tensor"), ("jax", "Array"), ("tensorflow", "Tensor"), ("mlx.core", "array"),
]  # fmt: skip

#: Methods that some of them look for.
METHODS = ("__dlpack_device__", "__len__", "__iter__", "tobytes", "tostring")


def subject(thing: object, streams: bool | None) -> Subject:
    """The offers of an object, without a reference to it."""
    # The offers contain what producers report; warnings would only disturb the caller.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(thing, streams)


def ask(thing: object, streams: bool | None) -> Subject:
    """The same, with all warnings."""
    found: list[Offer] = []
    lent = buffers.ask(thing)
    if lent is not None:
        found.append(lent)
    if not isinstance(thing, type):
        found += tensors.ask(thing)
        found += columns.ask(thing, streams)
        found += interfaces.ask(thing)
        if not any(offer.protocol in (BUFFER, INTERFACE, STRUCT) and offer.refusal is None for offer in found):
            method = interfaces.ask_method(thing)
            if method is not None:
                found.append(method)
    if is_masked(thing):
        for offer in found:
            offer.lost = "the mask is lost"
    offers = {offer.protocol: offer for offer in sorted(found, key=lambda offer: PROTOCOLS.index(offer.protocol))}
    return Subject(
        type_name=buffers.class_name(thing),
        offers=offers,
        kind=kind(thing),
        storage=storage(thing),
        is_sequence=is_sequence(thing),
        item=item(thing),
        is_registered=isinstance(thing, Sequence),
        methods=frozenset(name for name in METHODS if hasattr(type(thing), name)),
    )


def is_masked(thing: object) -> bool:
    """Whether it is an array of `numpy.ma` with masked elements, which no protocol can express."""
    module = sys.modules.get("numpy.ma")
    try:
        return module is not None and isinstance(thing, module.MaskedArray) and bool(module.is_masked(thing))
    except Exception:
        return False


def kind(thing: object) -> str:
    """The object's class, if consumers treat it specially."""
    for module, name in KINDS:
        known = getattr(sys.modules.get(module), name, None)
        if isinstance(known, type) and isinstance(thing, known):
            return f"{module}.{name}"
    return ""


def agreement(offers: dict[str, Offer]) -> list[str]:
    """The contradictions between offers. Empty if they agree."""
    told = [
        offer
        for offer in offers.values()
        if offer.refusal is None and offer.address is not None and not offer.extra.get("is_bytes")
    ]
    said = []
    for one in told[1:]:
        first = told[0]
        if one.size and first.size and one.address != first.address:
            said.append(
                f"{one.protocol} has another address than {first.protocol}: a copy, or another part of the memory"
            )
        if one.shape != first.shape:
            said.append(f"{one.protocol} has shape {one.shape}, and {first.protocol} {first.shape}")
        elif one.steps() != first.steps() and one.strides is not None and first.strides is not None:
            said.append(f"{one.protocol} has strides {one.strides}, and {first.protocol} {first.strides}")
        # The array struct has no unit for dates.
        is_date = one.protocol == STRUCT and one.element is not None and one.element.kind in "Mm"
        if not is_date and one.element is not None and first.element is not None and one.element.name != first.element.name:
            said.append(
                f"{one.protocol} has elements of {one.element.name}, and {first.protocol} of {first.element.name}"
            )
        # A struct from before 1.0 has no flag for it, and columns are read-only in any memory.
        says_so = (
            one.protocol != LEGACY and not one.protocol.startswith("Arrow") and not first.protocol.startswith("Arrow")
        )
        if says_so and None not in (one.readonly, first.readonly) and one.readonly != first.readonly:
            said.append(f"{one.protocol} is {words(one)}, and {first.protocol} {words(first)}")
    legacy, versioned = offers.get(LEGACY), offers.get(VERSIONED)
    if legacy and versioned and legacy.refusal is None and versioned.refusal is None and versioned.readonly:
        said.append(f"{LEGACY} cannot say that the memory is read-only, and is given all the same")
    return said


def words(offer: Offer) -> str:
    """Whether it is writable."""
    return "read-only" if offer.readonly else "writable"
