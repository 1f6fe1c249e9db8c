"""An explanation as text of at most 100 columns."""

import textwrap

from .consumers import is_measured
from .offers import PROTOCOLS, Offer
from .result import Consumer, Explanation, TableColumn

WIDTH = 100
FIRST = 30


def text(explanation: Explanation) -> str:
    """The whole explanation."""
    lines = textwrap.wrap(headline(explanation), WIDTH)
    lines += ["", "What it offers"]
    for offer in explanation.offers:
        lines += row(offer.protocol, ", ".join(parts(offer)))
    missing = [protocol for protocol in PROTOCOLS if protocol not in {offer.protocol for offer in explanation.offers}]
    if missing:
        lines += row("nothing by", ", ".join(missing))
    for words in explanation.disagreements:
        lines += row("beware", words)
    if explanation.columns:
        lines += ["", "What happens to its columns"]
    for column in explanation.columns:
        lines += row(column.name, column_words(column), FIRST + 10)
    lines += ["", "What consumers would do"]
    for consumer in explanation.consumers:
        lines += row(
            consumer.name + ("" if consumer.verified else " *"), f"{consumer.outcome:10}{consumer.reason}", FIRST + 10
        )
    return "\n".join(lines + textwrap.wrap(footnote(explanation.consumers), WIDTH))


def column_words(column: TableColumn) -> str:
    """What happens to a column, in words."""
    words = [f"{column.outcome:10}{column.type}" + (f" in {column.batches} batches" if column.batches > 1 else "")]
    if column.reason:
        words.append(column.reason)
    if column.array_reason and column.array_reason != column.reason:
        words.append(f"no array in place: {column.array_reason}")
    return ", ".join(words)


def headline(explanation: Explanation) -> str:
    """The object in one line."""
    told = next((offer for offer in explanation.offers if offer.refusal is None and offer.shape is not None), None)
    if told is None:
        return f"{explanation.type_name}: no memory is offered"
    part = ""
    if "the first of several arrays" in told.notes:
        part = " of the first batch" if explanation.columns else " of the first chunk"
    words = [f"shape {told.shape}{part}", f"elements of {told.dtype or told.spelling or 'an unknown type'}"]
    if told.address:
        words.append(f"at {told.address:#x}, a multiple of {told.alignment}")
    return f"{explanation.type_name}: {', '.join(words)}"


def parts(offer: Offer) -> list[str]:
    """An offer in words."""
    if offer.refusal is not None:
        return [f"refused: {offer.refusal}", *offer.notes]
    words = []
    if offer.extra.get("version"):
        words.append("version " + ".".join(map(str, offer.extra["version"])))  # type: ignore[call-overload]
    if offer.shape is not None:
        words.append(f"shape {offer.shape}")
    if offer.strides is not None and offer.shape != ():
        words.append(f"strides {offer.strides}")
    if offer.element is not None:
        words.append(f"{offer.dtype} ({offer.spelling})" if offer.spelling else str(offer.dtype))
    elif offer.spelling:
        words.append(offer.spelling)
    if offer.readonly is not None:
        words.append("read-only" if offer.readonly else "writable")
    if offer.device != (1, 0):
        words.append(f"device {offer.device}")
    if offer.address is not None and offer.size:
        words.append(f"at {offer.address:#x}")
    if offer.owner:
        words.append(f"kept by {offer.owner}")
    return [*words, *([offer.lost] if offer.lost else []), *offer.notes]


def row(first: str, second: str, indent: int = FIRST) -> list[str]:
    """A line with two columns, the second of which is wrapped."""
    lines = textwrap.wrap(
        second,
        WIDTH - 2,
        initial_indent=f"{first:{FIRST - 2}}",
        subsequent_indent=" " * (indent - 2),
        drop_whitespace=True,
    )
    return ["  " + line for line in lines or [first]]


def footnote(consumers: list[Consumer]) -> str:
    """The profiles that were not verified here: no test compares them with their library, or
    another version was measured."""
    untested: dict[str, None] = {}  # in their order
    others = set()
    for consumer in consumers:
        measured = f"{consumer.library} {consumer.measured_on}"
        if not consumer.tested:
            untested[measured] = None
        if not consumer.verified and consumer.installed and not is_measured(consumer.installed, consumer.measured_on):
            others.add(f"measured with {measured}, and {consumer.installed} is installed")
        elif not consumer.verified and consumer.tested:
            others.add(f"measured with {measured}, which is not installed")
    words = [f"as measured on {', '.join(untested)}, and not held to it by tests"] if untested else []
    words += sorted(others)
    return f"* unverified: {'; '.join(words)}." if words else ""
