"""Requests Arrow's structs, describes them, and drops them unconsumed."""

import ctypes
import json
from collections.abc import Callable

from . import native
from .buffers import attribute, refusal
from .elements import Element, from_column
from .offers import COLUMN, DEVICE_COLUMN, SCHEMA, STREAM, Offer

METHODS = {
    COLUMN: "__arrow_c_array__", DEVICE_COLUMN: "__arrow_c_device_array__", STREAM: "__arrow_c_stream__", SCHEMA: "__arrow_c_schema__",
}  # fmt: skip


def ask(thing: object, streams: bool | None) -> list[Offer]:
    """The descriptions by the methods of Arrow's capsules.

    Some streams can be read only once: by default, `streams` permits only those of objects with a length.
    """
    offers, methods = [], {}
    for protocol, name in METHODS.items():
        methods[protocol], words = attribute(thing, name)
        if words is not None:
            offers.append(Offer(protocol, refusal=words))
    for protocol, capsule in [(COLUMN, b"arrow_array"), (DEVICE_COLUMN, b"arrow_device_array")]:
        if methods[protocol] is not None:
            offers.append(by_array(protocol, methods[protocol], capsule))
    if methods[STREAM] is not None:
        if streams if streams is not None else hasattr(type(thing), "__len__"):
            offers.append(by_stream(methods[STREAM]))
        else:
            offers.append(
                Offer(
                    STREAM,
                    notes=["not opened, since it may be readable only once; explain(obj, streams=True) opens it"],
                )
            )
    if methods[SCHEMA] is not None and not offers:
        offers.append(by_schema(methods[SCHEMA]))
    return offers


def by_array(protocol: str, call: Callable[[], tuple[object, object]], name: bytes) -> Offer:
    """The description of the two capsules of a call."""
    try:
        schema, array = call()
        _, schema_at = native.capsule(schema, b"arrow_schema")
        _, array_at = native.capsule(array, name)
        schema_struct = ctypes.cast(schema_at, ctypes.POINTER(native.ArrowSchema)).contents
        if name == b"arrow_array":
            return describe(protocol, schema_struct, ctypes.cast(array_at, ctypes.POINTER(native.ArrowArray)).contents)
        whole = ctypes.cast(array_at, ctypes.POINTER(native.ArrowDeviceArray)).contents
        offer = describe(protocol, schema_struct, whole.array)
        offer.device = (whole.device_type, 0 if whole.device_type == 1 else whole.device_id)
        return offer
    except Exception as error:
        return Offer(protocol, refusal=refusal(error))


def by_stream(call: Callable[[], object]) -> Offer:
    """The description of a stream's first array."""
    try:
        capsule = call()
        _, pointer = native.capsule(capsule, b"arrow_array_stream")
        stream = ctypes.cast(pointer, ctypes.POINTER(native.ArrowArrayStream))
        schema, array = native.ArrowSchema(), native.ArrowArray()
        failed = stream.contents.get_schema(stream, ctypes.byref(schema))
        if failed:
            return Offer(STREAM, refusal=f"get_schema gives error {failed}")
        try:
            failed = stream.contents.get_next(stream, ctypes.byref(array))
            if failed:
                return Offer(STREAM, refusal=f"get_next gives error {failed}")
            if not array.release:
                offer = Offer(
                    STREAM, element=from_column(letters(schema)), spelling=f"format '{letters(schema)}'", shape=(0,)
                )
                offer.notes.append("no array in it")
                offer.extra.update(format=formats(schema), nulls=0)
                return offer
            offer = describe(STREAM, schema, array)
            native.ReleaseArray(array.release)(ctypes.byref(array))
            failed = stream.contents.get_next(stream, ctypes.byref(array))
            offer.extra["is_alone"] = not failed and not array.release
            if not failed and array.release:
                native.ReleaseArray(array.release)(ctypes.byref(array))
                offer.notes.append("the first of several arrays")
            return offer
        finally:
            if schema.release:
                native.ReleaseSchema(schema.release)(ctypes.byref(schema))
    except Exception as error:
        return Offer(STREAM, refusal=refusal(error))


def by_schema(call: Callable[[], object]) -> Offer:
    """A type without an array."""
    try:
        # Dropping the capsule releases the struct.
        capsule = call()
        _, pointer = native.capsule(capsule, b"arrow_schema")
        schema = ctypes.cast(pointer, ctypes.POINTER(native.ArrowSchema)).contents
        return Offer(
            SCHEMA,
            element=from_column(letters(schema)),
            spelling=f"format '{letters(schema)}'",
            notes=["a type, no array"],
        )
    except Exception as error:
        return Offer(SCHEMA, refusal=refusal(error))


def letters(schema: native.ArrowSchema) -> str:
    """Arrow's spelling of a type."""
    return (schema.format or b"").decode("utf-8", "replace")


def formats(schema: native.ArrowSchema) -> str:
    """Arrow's spelling of a type; for a struct with those of its fields, as in ``+s,l,u``."""
    parts = [letters(schema)]
    if parts == ["+s"]:
        parts += [letters(schema.children[at].contents) for at in range(schema.n_children)]
    return ",".join(parts)


def extension(schema: native.ArrowSchema) -> tuple[str, str]:
    """The name of an extension type, and a note on it; empty for Arrow's own types."""
    if not schema.metadata:
        return "", ""
    at, said = schema.metadata, {}

    def number() -> int:
        nonlocal at
        at += 4
        return ctypes.c_int32.from_address(at - 4).value

    def word() -> str:
        nonlocal at
        length = number()
        at += length
        return ctypes.string_at(at - length, length).decode("utf-8", "replace")

    for _ in range(number()):
        key = word()
        said[key] = word()
    return said.get("ARROW:extension:name", ""), said.get("ARROW:extension:metadata", "")


def describe(protocol: str, schema: native.ArrowSchema, array: native.ArrowArray) -> Offer:
    """The description of a pair of structs. Fixed-size lists are axes."""
    spelled = letters(schema)
    notes: list[str] = []
    lengths, at = [array.length], array.offset
    nulls = array.null_count
    name, said = extension(schema)
    names = [name] if name else []
    while letters(schema).startswith("+w:") and schema.n_children == 1 and array.n_children == 1:
        width = int(letters(schema)[3:])
        lengths.append(width)
        schema, array = schema.children[0].contents, array.children[0].contents
        at = at * width + array.offset
        nulls = nulls if nulls else array.null_count
        spelled += " of " + letters(schema)
        names += filter(None, [extension(schema)[0]])
    element = from_column(letters(schema))
    if "arrow.bool8" in names and element is not None:
        element = Element("b", 1)
    shape, order = axes(lengths, said) if name == "arrow.fixed_shape_tensor" else (lengths, range(len(lengths)))
    offer = Offer(protocol, shape=tuple(shape[axis] for axis in order), element=element, readonly=True, notes=notes)
    offer.spelling = f"format '{spelled}'" + "".join(f", {name}" for name in names)
    offer.extra.update(format=formats(schema), nulls=nulls, offset=at, extensions=names)
    if letters(schema) == "+s":
        notes.append(f"a struct of {schema.n_children} columns, each in memory of its own")
    if nulls:
        notes.append(f"nulls: {nulls}" if nulls > 0 else "nulls not counted")
    if element is not None and array.n_buffers == 2:
        # Arrow stores booleans as bits.
        offer.address = (array.buffers[1] or 0) + (at * element.itemsize if element.itemsize else at // 8)
    if element is not None and element.itemsize:
        strides = [element.itemsize]
        for length in reversed(shape[1:]):
            strides.insert(0, strides[0] * max(length, 1))
        offer.strides = tuple(strides[axis] for axis in order)
    return offer


def axes(lengths: list[int], said: str) -> tuple[list[int], list[int]]:
    """The lengths of a tensor's axes in memory order, and the logical order of the axes."""
    try:
        tensor = json.loads(said)
        shape = [lengths[0], *map(int, tensor["shape"])]
        order = [0, *(int(axis) + 1 for axis in tensor.get("permutation") or range(len(shape) - 1))]
        if sorted(order) == list(range(len(shape))):
            return shape, order
    except (ValueError, KeyError, TypeError):
        pass
    return lengths, list(range(len(lengths)))
