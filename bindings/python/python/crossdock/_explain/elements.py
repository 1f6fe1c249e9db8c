"""The dtype of an element, parsed from each protocol's spelling, with NumPy's names if it has one."""

import re
import sys
from dataclasses import dataclass

BIG = sys.byteorder == "big"

#: PEP 3118's letters: kind, and size in bytes natively and by the standard (after one of ``=<>!``).
LETTERS = {
    "?": ("b", 1, 1), "c": ("S", 1, 1),
    "b": ("i", 1, 1), "h": ("i", 2, 2), "i": ("i", 4, 4), "l": ("i", 8, 4), "q": ("i", 8, 8), "n": ("i", 8, None),
    "B": ("u", 1, 1), "H": ("u", 2, 2), "I": ("u", 4, 4), "L": ("u", 8, 4), "Q": ("u", 8, 8), "N": ("u", 8, None),
    "P": ("u", 8, None), "e": ("f", 2, 2), "f": ("f", 4, 4), "d": ("f", 8, 8), "g": ("f", 16, None),
    "Ze": ("c", 4, 4), "Zf": ("c", 8, 8), "Zd": ("c", 16, 16), "Zg": ("c", 32, None), "F": ("c", 8, 8), "D": ("c", 16, 16),
    "O": ("O", 8, None),
}  # fmt: skip

#: DLPack's type codes that stand for more than a kind and a number of bits.
TENSORS = {
    4: "bfloat", 7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz",
    12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu", 15: "float6_e2m3fn", 16: "float6_e3m2fn",
    17: "float4_e2m1fn", 18: "bcomplex",
}  # fmt: skip

#: Arrow's letters of fixed width.
COLUMNS = {
    "b": ("bit", 0), "c": ("i", 1), "C": ("u", 1), "s": ("i", 2), "S": ("u", 2), "i": ("i", 4), "I": ("u", 4),
    "l": ("i", 8), "L": ("u", 8), "e": ("f", 2), "f": ("f", 4), "g": ("f", 8),
}  # fmt: skip

NAMES = {"i": "int", "u": "uint", "f": "float", "c": "complex"}


@dataclass(frozen=True)
class Element:
    """The kind (NumPy's letter, or a name), the size in bytes, and whether the byte order is non-native."""

    kind: str
    itemsize: int
    swapped: bool = False
    unit: str = ""

    @property
    def name(self) -> str:
        """For messages: ``'float64'``, ``'>int32'``, ``'S3'``, ``'records of 16 bytes'``."""
        order = ("<" if BIG else ">") if self.swapped else ""
        if self.kind == "f" and self.itemsize < 2:
            return f"float of {self.itemsize} byte"
        if self.kind in NAMES:
            wide = (self.kind == "f" and self.itemsize > 8) or (self.kind == "c" and self.itemsize > 16)
            return (
                order + {"f": "longdouble", "c": "clongdouble"}[self.kind]
                if wide
                else f"{order}{NAMES[self.kind]}{self.itemsize * 8}"
            )
        if self.kind in "SUV":
            return f"{order}{self.kind}{self.itemsize // (4 if self.kind == 'U' else 1)}"
        if self.kind in "Mm":
            return f"{order}{'datetime64' if self.kind == 'M' else 'timedelta64'}{self.unit}"
        words = {"b": "bool", "O": "Python objects", "bit": "bits", "records": f"records of {self.itemsize} bytes"}
        return words.get(self.kind, self.kind)


def from_format(text: str | None, itemsize: int) -> Element:
    """From a buffer's format. Formats of several elements become records, or opaque bytes."""
    text = "B" if text is None else text
    prefix = text[:1] if text[:1] in ("@", "=", "<", ">", "!", "^") else ""
    letter = text[len(prefix) :]
    swapped = (prefix in (">", "!")) != BIG and prefix in ("<", ">", "!")
    if letter in LETTERS:
        kind, native, standard = LETTERS[letter]
        size = standard if prefix in ("=", "<", ">", "!") else native
        if size == itemsize or kind == "f" and size == 16:
            return Element(kind, itemsize, swapped and itemsize > 1)
        return Element("V", itemsize)
    if match := re.fullmatch(r"(\d*)([swx])", letter):
        count, kind = int(match[1] or 1), {"s": "S", "w": "U", "x": "V"}[match[2]]
        if count * (4 if kind == "U" else 1) == itemsize:
            return Element(kind, itemsize, swapped and kind == "U")
    return Element("records" if "T{" in letter else "V", itemsize)


def from_typestr(text: str, descr: object = None) -> Element | None:
    """From NumPy's array interface; None if the text is invalid."""
    match = re.fullmatch(r"([<>|=])([a-zA-Z])(\d*)(\[.*\])?", text)
    if not match:
        return None
    kind, size = match[2], int(match[3] or 8)
    swapped = match[1] == ("<" if BIG else ">") and size > 1
    is_record = (
        kind == "V" and isinstance(descr, list) and any(isinstance(field, tuple) and field[0] for field in descr)
    )
    if is_record:
        return Element("records", size)
    unit = match[4] or ("[generic]" if kind in "Mm" else "")
    return Element(kind, size * (4 if kind == "U" else 1), swapped, unit)


def from_tensor(code: int, bits: int, lanes: int) -> Element:
    """From DLPack. Several lanes are a vector, which no other protocol has."""
    size = (bits * lanes + 7) // 8
    if lanes == 1:
        if code in (0, 1, 2, 5, 6):
            kind = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}[code]
            if bits % 8 == 0:
                return Element(kind, size)
            return Element(f"{NAMES[kind]}{bits}", size)
        if code in TENSORS:
            name = TENSORS[code]
            return Element(name + str(bits) if name in ("bfloat", "bcomplex") else name, size)
    return Element(f"{lanes} lanes of type {code} with {bits} bits", size)


def from_column(text: str) -> Element | None:
    """From Arrow; None for types without a fixed width."""
    if text in COLUMNS:
        return Element(*COLUMNS[text])
    if text.startswith("w:") and text[2:].isdigit():
        return Element("S", int(text[2:]))
    if match := re.fullmatch(r"ts([smun]):.*|tD([smun])", text):
        unit = {"s": "[s]", "m": "[ms]", "u": "[us]", "n": "[ns]"}[match[1] or match[2]]
        return Element("M" if match[1] else "m", 8, unit=unit)
    return None
