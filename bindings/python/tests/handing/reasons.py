"""Compares the reason that `explain` gives for a refusal with the library's exception."""

import re

#: Consumers with the same message for every refusal, so that no reason can be compared.
SAYS_NOTHING = {
    "arro3.core.Array": "type must be passed for non-Arrow input",
    "nanobind (nb::ro)": "incompatible function arguments",
    "nanobind": "incompatible function arguments",
}

#: The beginning of a reason, and the text that the library's message then contains.
RULES = [
    ("it is not a numpy.ndarray", "ndarray|numpy array"),
    ("no type for elements", "Unsupported (datetime64|timedelta64) time unit|generic (datetime64|timedelta64)|Did not pass numpy.dtype|[Uu]nsupported (numpy type|dtype|lanes)|data type = |unknown type_code|Unknown dtype"),
    ("dates without a unit", "must have a unit|specific unit|generic"),
    ("pandas has no multiples", "multiplier"),
    ("negative strides", "Negative ndarray strides"),
    ("[0-9]+ axes, and at most", "dimensionality"),
    ("it offers no PEP 3118|no buffer", "bytes-like object|buffer API|must be encoded|string or buffer"),
    ("a buffer requested without a shape has several axes", "single dimension"),
    ("an array of [0-9]+ axes", "1-dimensional|Unsupported numpy type|Mask must be 1D"),
    ("NumPy has no integers of 128 bits", "128-bit"),
    ("a frame without columns", "without any columns"),
    ("items of", "run_end|Could not convert|multi-dimensional|Unsupported numpy type"),
    ("nested sequences of several lengths", "inhomogeneous"),
    ("an integer exceeds", "too large"),
    ("a frame is not one column", "KeyError|Could not convert"),
    ("no column of the format", "not supported|still not"),
    ("neither a column", "Could not convert|Can't convert|not iterable|no len|resolve ArrayBuilder|schema is required|unsupported type"),
    ("non-native byte order", "Byte-swapped|'>.' to Arrow type|Big-endian"),
    ("no length", "unsized|Can't convert"),
    ("Python's struct module", "bad char in struct format"),
    ("dates along one axis only", "cannot cast Array type"),
    ("no column of", "resolution"),
    ("memoryview does not read", "format"),
    ("memoryview: the elements are not C-contiguous", "not C-contiguous"),
    ("it offers no __array_interface__", "no attribute|NumPy has no type string|the array interface"),
    ("no image has elements", "Cannot handle this data type|tuple index out of range"),
    ("strides, and no tobytes", "tobytes"),
    ("a versioned struct", "dltensor"),
    ("it has no __dlpack__", "__dlpack__|from_dlpack"),
    ("the memory is not accessible", "Unsupported device"),
    ("reading its items fails", "subset"),
    ("suboffsets", "suboffsets"),
    ("the producer refuses Arrow", "Arrow(Invalid|TypeError|NotImplementedError)|OverflowError|TypeError: .* is not an instance|BufferError: (Arrow|a read lease|an array of rank|the address|the elements|column)"),
    ("the producer refuses DLPack", "DLPack|dltensor"),
    ("a Series has one axis|an Index has one axis", "1-dimensional|must be called with a collection|wrong number of dimensions"),
    ("no Series of records", "compound dtype"),
    ("no Index of", "float16 indexes|float8_e5m2"),
    ("a frame has two axes", "Must pass 2-d input|more than two dimensions"),
    ("a frame has rows", "an array of rank 0|unsized|Must pass 2-d input|not properly called|zero-dimensional"),
    ("truth values are taken for labels", "KeyError|not in index|multidimensional key|tuple index"),
    ("a literal is a number", "TypeError|ValueError"),
    ("a column is no frame", "expected `Struct`"),
    ("it is no array of Arrow", "Got unexpected argument type"),
    ("its columns are not contiguous", "BufferError: (Arrow|a read lease|the address)"),
    ("read-only", "read-only"),
    ("rows are selected by an array of indices", r"np\.asarray\(x\)\[|n_samples=[01]|at least 1 dimension"),
    ("complex numbers are not supported", "Complex data not supported"),
    ("an input has two axes", "Expected 2D array|generic units"),
    ("a typed memoryview has one to eight axes", "wrong number of dimensions"),
    ("Cython does not read the format|no type of elements for", "Does not understand|dtype mismatch"),
    ("the format .* does not describe", "does not match size|dtype mismatch"),
    ("no type for the format", "not compatible with"),
    ("unaligned", "insufficiently aligned|not compatible with"),
    ("the shape of an array without axes is null", "shape is null"),
    ("the strides are null", "strides is null"),
    ("it has no byteswap", "byteswap"),
    # nanoarrow requests the length before the buffer.
    ("the producer: ValueError: cannot include dtype", "cannot include dtype|unsized|Can't convert|not contiguous"),
    # NumPy requests a memoryview, which refuses with its own message.
    ("the producer: BufferError: SIMPLE requires", "SIMPLE requires|not C-contiguous|PEP 3118 has no letter"),
    ("the producer: BufferError: ndarray cannot be represented without suboffsets", "suboffsets"),
]

#: What the producer raised, in a reason that quotes it.
QUOTED = re.compile(r"(?:the producer: |asks for a format: )?\w+Error: (.{1,40})")


def is_the_librarys(consumer, reason, message):
    """Whether a library that refused with `message` had this reason."""
    if consumer in SAYS_NOTHING:
        return SAYS_NOTHING[consumer] in message or reason.startswith("the producer refuses Arrow")
    for begin, words in RULES:
        if re.match(begin, reason):
            return re.search(words, message) is not None
    quoted = QUOTED.search(reason)
    return quoted is not None and quoted[1] in message
