"""Reads the files beside a corpus with NumPy: python check_corpus.py DIRECTORY

DIRECTORY/answers.json maps each file of the corpus to {dtype, descr, copies}: the dtype as it was printed, as a Python literal
and as the header of a file has it; and the files written from the array, each with the view that it was taken through.
Prints each error in a line, and the number of comparisons."""

import ast
import json
import sys
from pathlib import Path

import numpy as np

VIEWS = {
    "same": lambda array: array,
    "transposed": lambda array: array.T,
    "reversed": lambda array: array[::-1],
    "every other": lambda array: array[..., ::2],
}


def raw_bytes(array):
    if array.size == 0 or array.dtype.itemsize == 0:
        return b""
    return np.ascontiguousarray(array.view(f"V{array.dtype.itemsize}")).tobytes()


def parse(text):
    return np.lib.format.descr_to_dtype(ast.literal_eval(text)) if text[0] in "[('" else np.dtype(text)


def problems(directory, name, answer):
    original = np.load(directory / name, max_header_size=1 << 30)
    printed = answer["dtype"]
    dtype = np.dtype(ast.literal_eval(printed) if printed[0] in "[({'" else printed)
    # Equality of dtypes does not include all properties of fields.
    if dtype != original.dtype or dtype.fields != original.dtype.fields:
        yield f"printed {printed}, which is {dtype!r} and not {original.dtype!r}"
    if parse(answer["descr"]) != original.dtype:
        yield f"printed {answer['descr']} for a header, which is not {original.dtype!r}"
    for copy, view in answer["copies"].items():
        wanted = VIEWS[view](original)
        found = np.load(directory / copy, max_header_size=1 << 30)
        if found.dtype != original.dtype or found.shape != wanted.shape or raw_bytes(found) != raw_bytes(wanted):
            yield f"{view}: {found.dtype} {found.shape} was read, or other elements, where {wanted.dtype} {wanted.shape} was written"
        if view == "same" and answer["identical"]:
            if (directory / copy).read_bytes() != (directory / name).read_bytes():
                yield "written again, the file is not byte for byte the same"


def main(directory):
    directory = Path(directory)
    answers = json.loads((directory / "answers.json").read_text())
    wrong = [f"{name}: {problem}" for name, answer in answers.items() for problem in problems(directory, name, answer)]
    print(*wrong, sep="\n")
    copies = sum(len(answer["copies"]) for answer in answers.values())
    print(f"{len(answers)} dtypes, {copies} files, {len(wrong)} problems")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1])
