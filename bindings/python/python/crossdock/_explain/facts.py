"""The description of an object for the library's profiles, which give the verdicts."""

import os
import struct
import sys

from .._crossdock import _judge, _judge_array
from .offers import Offer, Subject

#: The range of numbers that the library accepts. No real size exceeds it.
LEAST, MOST = -(2**63), 2**63 - 1


def verdicts(thing: object, subject: Subject) -> list[tuple[str, str]]:
    """The outcome and reason of each known consumer. The library itself describes arrays of this package."""
    own = _judge_array(thing, jax_in_64_bits())
    return judge(subject) if own is None else own


def judge(subject: Subject) -> list[tuple[str, str]]:
    """The same, from the description alone."""
    answers = [facts(offer) for offer in subject.offers.values()]
    return _judge(
        answers,
        subject.kind,
        subject.storage,
        subject.is_sequence,
        subject.item,
        subject.is_registered,
        sorted(subject.methods),
        jax_in_64_bits(),
    )


def jax_in_64_bits() -> bool:
    """Whether JAX has types of 64 bits in this process, by its setting or, until it is imported, by the environment."""
    config = getattr(sys.modules.get("jax"), "config", None)
    setting = getattr(config, "jax_enable_x64", os.environ.get("JAX_ENABLE_X64", ""))
    return setting is True or str(setting).lower() in ("1", "true", "t", "yes", "y", "on")


def facts(offer: Offer) -> dict[str, object]:
    """One offer, without the parts that are only displayed."""
    extra = offer.extra
    found: dict[str, object] = {
        "protocol": offer.protocol,
        "refusal": offer.refusal,
        "address": None if offer.address is None else clamped(offer.address),
        "shape": clamped_all(offer.shape),
        "strides": clamped_all(offer.strides),
        "readonly": offer.readonly,
        "lost": offer.lost,
        "is_indirect": offer.is_indirect,
        "device": offer.device[0] if abs(offer.device[0]) < 2**31 else -1,
        "is_odd": bool(offer.notes),
        "has_offset": bool(extra.get("byte_offset")),
        "has_strides": not extra.get("no_strides"),
    }
    if offer.element is not None:
        one = offer.element
        found["element"] = one.kind, clamped(one.itemsize), one.swapped, one.name, one.unit
    if "itemsize" in extra:
        text = found["format"] = str(extra["format"])
        found["item"] = extra["itemsize"]
        found["struct_size"] = struct_size(text)
        found["is_indexable"] = is_indexable(text)
    if "nulls" in extra:
        found["nulls"] = extra["nulls"]
        found["format"] = str(extra["format"])
    for name, renamed in RENAMED.items():
        if name in extra:
            found[renamed] = extra[name]
    return found


#: Properties that only some protocols have, and their names in the library.
RENAMED = {
    "simple": "simple", "any": "any_order", "version": "version", "lanes": "lanes", "deleter": "has_deleter",
    "extensions": "extensions", "is_alone": "is_alone", "typestr": "typestr", "is_bytes": "is_bytes", "is_old": "is_old", "is_aligned": "is_aligned",
}  # fmt: skip


def clamped(number: int) -> int:
    """The nearest number that the library accepts."""
    return max(LEAST, min(MOST, number))


def clamped_all(numbers: tuple[int, ...] | None) -> list[int] | None:
    """The same for each number, or None."""
    return None if numbers is None else [clamped(number) for number in numbers]


def struct_size(text: str) -> int | None:
    """The size of a format by Python's module `struct`; None if it cannot parse it."""
    try:
        return struct.calcsize(text)
    except struct.error:
        return None


def is_indexable(text: str) -> bool:
    """Whether this Python's `memoryview` reads elements of the format."""
    try:
        memoryview(bytes(32)).cast(text)  # type: ignore[call-overload]
        return True
    except (ValueError, TypeError):
        return False
