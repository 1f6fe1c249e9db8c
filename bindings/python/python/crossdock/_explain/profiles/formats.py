"""Which formats of buffers consumers read."""

import re
import sys

#: What `memoryview` takes apart: one native letter.
ITEMS = set("?cbBhHiIlLqQnNfdP") | (set("e") if sys.version_info >= (3, 12) else set())
if sys.version_info >= (3, 15):
    ITEMS |= {"Zf", "Zd"}

_NUMPY_TOKEN = re.compile(r"\s+|[@=<>^!]|\(\d+(,\d+)*\)|\d+|T\{|\}|:[^:]*:|Z[fdg]|[?cbBhHiIlLqQefdgswOx]")


def memoryview_reads(text: str) -> bool:
    """Whether the elements of a `memoryview` can be had."""
    return text.removeprefix("@") in ITEMS


def numpy_reads(text: str) -> bool:
    """Whether NumPy finds a type for it."""
    if text in ("n", "N"):
        return True
    at = 0
    while at < len(text):
        token = _NUMPY_TOKEN.match(text, at)
        if token is None:
            return False
        at = token.end()
    return bool(text)
