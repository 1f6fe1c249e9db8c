"""NumPy's part of the kernel benchmarks. Receives a request over a pipe for each sample, so that it takes part in the rounds, and
measures the time itself.

The only argument is JSON: a base in a file and a view of it, the target's dtype, a file with the expected result, and the
operation. The first line of output is `ready`, or the reason why not. Then each input line is a number of repetitions, and the
output is nanoseconds; `?` asks whether the target has the expected result.
"""

import ast
import json
import sys
import time

import ml_dtypes
import numpy as np


def dtype(text):
    if text[0] in "[{":
        return np.dtype(ast.literal_eval(text))
    return np.dtype(getattr(ml_dtypes, text, text))


def work(question):
    base = np.fromfile(question["base"], "u1")
    shape, strides = question["shape"], question["strides"]
    source = np.ndarray(shape, dtype(question["from"]), base, question["offset"], strides)
    into = dtype(question["into"])
    result = [np.zeros(shape, into)]
    expected = np.fromfile(question["expected"], into).reshape(shape)

    def assign(target=result[0]):
        np.copyto(target, source, casting="unsafe")

    def fill(target=result[0], element=source.flat[0]):
        target.fill(element)

    def new():
        result[0] = None  # The memory of the previous target is free again.
        result[0] = source.astype(into, order="C", copy=True)

    operation = {"assign": assign, "fill": fill, "new": new}[question["operation"]]
    return operation, lambda: np.array_equal(result[0], expected)


def main():
    operation, is_done = work(json.loads(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "?\n":
            print(int(is_done()), flush=True)
            continue
        start = time.perf_counter_ns()
        for _ in range(int(line)):
            operation()
        print(time.perf_counter_ns() - start, flush=True)


main()
