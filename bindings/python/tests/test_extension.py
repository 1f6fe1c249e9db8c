"""Functions of an extension in Rust take arrays of any library, by the crate crossdock-pyo3."""

import array
import gc
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import reduction

import mock_cuda
import numpy as np
import pytest
from extension import FOLDER, extension
from peers import needed, required

import crossdock

rust = extension("arguments")
example = extension("rust_extension")

pa = required("pyarrow")
pl = required("polars")
pd = required("pandas")
tvm_ffi = required("tvm_ffi")

cuda = needed(mock_cuda.load(), "CROSSDOCK_CUDA_DRIVER names no driver without a GPU: build the crate crossdock-mock-cuda")


def settle():
    """Runs the interpreter's pending calls."""
    for _ in range(100):
        pass


# ===== which objects are taken


FLOATS = {
    "numpy": lambda: np.array([1.0, 2.0, 3.0]),
    "crossdock": lambda: crossdock.array([1.0, 2.0, 3.0]),
    "crossdock, read-only": lambda: crossdock.array([1.0, 2.0, 3.0]).frozen(),
    "array.array": lambda: array.array("d", [1, 2, 3]),
    "memoryview": lambda: memoryview(np.array([1.0, 2.0, 3.0])),
    "pyarrow": lambda: pa.array([1.0, 2.0, 3.0]),
    "polars": lambda: pl.Series([1.0, 2.0, 3.0]),
    "pandas": lambda: pd.Series([1.0, 2.0, 3.0]),
    "tvm_ffi": lambda: tvm_ffi.from_dlpack(np.array([1.0, 2.0, 3.0])),
    "shared memory": lambda: crossdock.shared([1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("library", FLOATS)
def test_an_array_of_each_library_is_read_in_place(library):
    before = rust.copied_bytes()
    assert rust.sum(FLOATS[library]()) == 6.0
    assert rust.copied_bytes() == before


WRITABLE = ["numpy", "crossdock", "array.array", "memoryview", "tvm_ffi", "shared memory"]


@pytest.mark.parametrize("library", WRITABLE)
def test_an_array_of_each_library_is_written_in_place(library):
    x = FLOATS[library]()
    rust.fill(x, 7.0)
    assert crossdock.asarray(x).tolist() == [7.0] * 3


@pytest.mark.parametrize("library", sorted(set(FLOATS) - set(WRITABLE)))
def test_an_array_that_may_not_be_written_is_refused_for_writing(library):
    x = FLOATS[library]()
    with pytest.raises(BufferError, match="read-only.*`copy\\(\\)`"):
        rust.fill(x, 7.0)
    assert rust.sum(x) == 6.0


class Tensor:
    """A library that speaks DLPack alone."""

    def __init__(self, numpys):
        self.numpys = numpys

    def __dlpack__(self, **asked):
        return self.numpys.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.numpys.__dlpack_device__()


class Interface:
    """A library that has NumPy's array interface alone."""

    def __init__(self, numpys):
        self.numpys = numpys
        self.__array_interface__ = numpys.__array_interface__


@pytest.mark.parametrize("of", [Tensor, Interface])
def test_one_protocol_is_enough(of):
    numpys = np.arange(3.0)
    assert rust.sum(of(numpys)) == 3.0
    rust.fill(of(numpys), 2.0)
    assert numpys.tolist() == [2.0] * 3


def test_the_address_and_the_layout_are_those_of_the_object():
    x = np.zeros((3, 4))
    for view in [x, x.T, x[::2, ::-1], np.asfortranarray(x), x[1:, 1:3]]:
        shape, strides, address = rust.describe(view)
        assert (shape, strides, address) == (view.shape, view.strides, view.__array_interface__["data"][0])


@pytest.mark.parametrize("layout", ["C", "F", "reversed", "every second", "transposed"])
def test_elements_come_in_the_order_of_their_indices(layout):
    x = np.arange(12.0).reshape(3, 4)
    views = {
        "C": x,
        "F": np.asfortranarray(x),
        "reversed": x[::-1, ::-1],
        "every second": x[::2, 1::2],
        "transposed": x.T,
    }
    assert rust.rows(views[layout]) == views[layout].ravel().tolist()


def test_one_element_of_any_layout_is_written():
    x = np.asfortranarray(np.zeros((2, 3)))
    rust.set(x, 1, 2, 5.0)
    rust.set(x[::-1, ::-1], 1, 2, 6.0)
    assert x.tolist() == [[6.0, 0.0, 0.0], [0.0, 0.0, 5.0]]
    with pytest.raises(IndexError, match="2"):
        rust.set(x, 2, 0, 1.0)


def test_unaligned_elements_are_read_and_written():
    x = np.zeros(25, "u1")[1:].view("f8")
    assert not x.flags.aligned
    rust.fill(x, 1.5)
    assert rust.sum(x) == 4.5 and x.tolist() == [1.5] * 3
    with pytest.raises((BufferError, ValueError), match="align"):
        rust.slice_sum(x)


def test_repeated_elements_are_read():
    assert rust.sum(np.broadcast_to(2.0, 5)) == 10.0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_arrays_without_elements_are_taken(shape):
    x = np.zeros(shape)
    if len(shape) == 1:
        assert rust.sum(x) == 0.0
        rust.fill(x, 1.0)
        rust.double(x)
        rust.add(x, x)
    else:
        assert rust.rows(x) == [] and rust.describe(x)[0] == shape


def test_an_array_without_axes_has_one_element():
    assert rust.scalar(np.array(2.5)) == 2.5
    with pytest.raises(ValueError, match="1 axis, of lengths \\[1\\], and 0 axes are needed"):
        rust.scalar(np.array([2.5]))


def test_records_are_taken_by_their_fields():
    x = np.array([(1.0, 2.0), (3.0, 4.0)], [("time", "f8"), ("value", "f8")])
    assert rust.times(x) == [(1.0, 2.0), (3.0, 4.0)]
    for other in [x.view([("t", "f8"), ("value", "f8")]), x["time"], x.view([("time", "f8"), ("value", "i8")])]:
        with pytest.raises(TypeError, match="needed"):
            rust.times(other)


def test_one_argument_takes_several_dtypes():
    assert rust.mean(np.array([1.0, 2.0])) == 1.5 and rust.mean(np.array([1, 2])) == 1.5
    with pytest.raises(TypeError, match="Numbers"):
        rust.mean(np.array([1, 2], "i2"))
    for dtype in ["f4", "i4"]:
        assert rust.total(np.ones((2, 3), dtype)) == 6.0 and rust.total(pa.array(np.ones(3, dtype))) == 3.0
    with pytest.raises(TypeError, match="uint8 and rank 1 .*float32, int32"):
        rust.total(np.ones(3, "u1"))


def test_truth_values_are_elements_of_their_own_type():
    assert rust.count_true(np.array([True, False, True])) == 2


def test_lengths_are_compared_before_anything_is_written():
    x, out = np.ones(3), np.zeros(2)
    with pytest.raises(ValueError, match="3, 3 and 2 differ"):
        rust.add_into(x, x, out)
    assert out.tolist() == [0.0, 0.0]
    out = np.zeros(3)
    rust.add_into(x, x, out)
    assert out.tolist() == [2.0] * 3


def test_an_optional_argument_may_be_left_out():
    assert rust.optional() is None and rust.optional(None) is None and rust.optional(np.zeros(3)) == 3


def test_a_list_of_arrays_is_taken():
    assert rust.count([np.zeros(2), crossdock.zeros(3), pl.Series([1.0])]) == 6


def test_anything_is_taken_by_an_argument_of_any_dtype():
    assert rust.about(np.zeros((2, 3), "i2")) == ("int16", [2, 3], "cpu", False)
    assert rust.about(np.zeros(2, ">f4")) == (">float32", [2], "cpu", False)
    assert rust.about(b"abc") == ("uint8", [3], "cpu", True)
    assert rust.about(np.array(["2020-01-01"], "M8[D]"))[0] == "datetime64[D]"


# ===== which are refused


@pytest.mark.parametrize("given, words", [("f4", "float32"), ("i8", "int64"), ("c16", "complex128"), ("bool", "bool"), ("M8[s]", "datetime64"), ("U2", "<U2")])
def test_another_dtype_is_refused_with_both_names(given, words):
    with pytest.raises(TypeError, match=f'the elements are {words}.*, and float64 is needed; convert them with `astype\\("float64"\\)`'):
        rust.sum(np.zeros(3, given))


def test_the_advice_for_another_dtype_is_right():
    x = np.array([1, 2, 3], "i2")
    with pytest.raises(TypeError) as caught:
        rust.sum(x)
    advice = str(caught.value).split("`")[1]
    assert rust.sum(eval(f"x.{advice}")) == 6.0


def test_another_byte_order_is_refused():
    swapped = np.array([1.0, 2.0], ">f8")
    with pytest.raises(TypeError, match="the elements are >f8, and float64 is needed"):
        rust.sum(swapped)
    assert rust.sum(swapped.astype("float64")) == 3.0


@pytest.mark.parametrize("shape", [(), (2, 3), (1, 1, 1)])
def test_another_rank_is_refused_with_both_numbers(shape):
    with pytest.raises(ValueError, match="axes, of lengths .*, and 1 axis is needed"):
        rust.sum(np.zeros(shape))
    with pytest.raises(ValueError, match="1 axis, of lengths \\[3\\], and 2 axes are needed"):
        rust.rows(np.zeros(3))


@pytest.mark.parametrize("given", [None, 3, 1.5, [1.0, 2.0], (1.0,), {"a": 1.0}, object(), np.ndarray])
def test_what_shares_no_memory_is_refused(given):
    with pytest.raises(TypeError, match="shares no memory") as caught:
        rust.sum(given)
    assert "crossdock" not in str(caught.value)


def test_text_is_refused():
    with pytest.raises((TypeError, BufferError)):
        rust.sum("abc")


def test_a_refusal_names_the_argument():
    with pytest.raises(TypeError) as caught:
        rust.add(np.zeros(3), np.zeros(3, "f4"))
    assert "'y'" in "".join(getattr(caught.value, "__notes__", [])) + str(caught.value)


def test_masked_elements_are_refused():
    x = np.ma.masked_array([1.0, 2.0], [True, False])
    for function in [rust.sum, rust.about, lambda x: rust.fill(x, 0.0)]:
        with pytest.raises(BufferError, match="masked"):
            function(x)
    assert rust.sum(np.ma.masked_array([1.0, 2.0], [False, False])) == 3.0


@pytest.mark.parametrize("make", [pa.array, pl.Series, lambda values: pd.Series(values, dtype="Int64")])
def test_nulls_are_refused(make):
    with pytest.raises(BufferError, match="null|missing|NaN"):
        rust.sum_i64(make([1, None]))
    assert rust.sum_i64(make([1, 2])) == 3


def test_chunks_that_lie_apart_are_refused():
    chunks = pa.chunked_array([[1], [2]])
    with pytest.raises(BufferError, match="more than one chunk"):
        rust.sum_i64(chunks)
    assert rust.sum_i64(chunks.combine_chunks()) == 3


@cuda
def test_memory_of_a_device_is_refused_with_the_way_to_the_processor():
    x = crossdock.array([1.0, 2.0], device="cuda:0")
    for function in [rust.sum, lambda x: rust.fill(x, 0.0), rust.slice_sum]:
        with pytest.raises(BufferError, match=r'memory on cuda:0 .*`to_device\("cpu"\)`'):
            function(x)
    assert rust.sum(x.to_device("cpu")) == 3.0 and rust.about(x)[2] == "cuda:0"
    managed = crossdock.array([1.0, 2.0], device="cuda_managed:0")
    assert rust.sum(managed) == 3.0


# ===== memory that no party writes


CONSTANT = {
    "frozen": lambda: crossdock.array([1, 5, 2]).frozen(),
    "sealed": lambda: crossdock.shared([1, 5, 2], sealed=True),
    "crossdock": lambda: crossdock.array([1, 5, 2]),
}


@pytest.mark.parametrize("library", CONSTANT)
def test_constant_memory_is_read_by_reference(library):
    assert rust.greatest(CONSTANT[library]()) == 5


def over(library):
    """A float64 array by a library, and a function that writes its memory from Python."""
    x = np.ones(3)
    columns = {
        "pyarrow over NumPy": lambda: pa.array(x),
        "polars over NumPy": lambda: pl.from_arrow(pa.array(x)),
        "crossdock over Arrow": lambda: crossdock.asarray(pa.array(x)),
        "a frozen promise": lambda: crossdock.asarray(x, frozen=True),
        "a promise of a view": lambda: crossdock.asarray(x).frozen(),
        "arrow columns": lambda: crossdock.from_arrow(pa.table({"x": pa.array(x)}))["x"],
    }
    if library == "pyarrow over a bytearray":
        data = bytearray(24)
        return pa.Array.from_buffers(pa.float64(), 3, [None, pa.py_buffer(data)]), lambda: data.__setitem__(7, 64)
    if library == "pandas":
        series = pd.Series([1.0, 1.0, 1.0])
        return series, lambda: series.__setitem__(0, 42.0)
    return columns[library](), lambda: x.__setitem__(0, 42.0)


OVER = ["pyarrow over NumPy", "polars over NumPy", "crossdock over Arrow", "a frozen promise", "a promise of a view", "arrow columns", "pyarrow over a bytearray", "pandas"]


@pytest.mark.parametrize("library", OVER)
def test_a_promise_that_python_code_can_break_is_not_enough_for_references(library):
    x, write = over(library)
    called = []
    with pytest.raises(BufferError, match="another owner may write.*`Readonly`.*`assume_constant`"):
        rust.constant_twice(x, lambda: called.append(write()))
    with pytest.raises(BufferError, match="another owner may write"):
        rust.read_any(x)
    assert not called
    before = rust.sum(x)
    write()
    assert rust.sum(x) != before or library == "pandas"


@pytest.mark.parametrize("library", OVER)
def test_memory_that_a_promise_keeps_constant_is_not_written(library):
    x, _ = over(library)
    with pytest.raises(BufferError, match="read-only"):
        rust.fill(x, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        rust.share_any(x, 1.0)


def test_crossdock_refuses_a_writer_while_a_function_has_references():
    x = crossdock.array([1.0, 5.0])

    def write():
        for of in [lambda: np.asarray(x), lambda: memoryview(x), lambda: rust.fill(x, 2.0)]:
            with pytest.raises(BufferError):
                of().__setitem__(0, 3.0)
        with pytest.raises(BufferError):
            x[0] = 3.0

    assert rust.constant_twice(x, write) == (1.0, 1.0)


def test_a_result_is_constant_for_another_extension_and_for_its_own():
    made = example.moving_average(np.arange(4.0), 2)
    own = rust.table(1, 3)
    assert rust.constant_twice(made, lambda: None) == (0.5, 0.5)
    assert rust.about(own)[3] is False
    writer = np.asarray(made)
    with pytest.raises(BufferError):
        rust.constant_twice(made, lambda: None)
    writer[0] = 7.0
    del writer
    assert rust.constant_twice(made, lambda: None) == (7.0, 7.0)


def test_imported_memory_is_reached_by_value_alone_without_a_claim():
    x = np.ones(3)
    for refused in [rust.read_any, rust.write_any]:
        with pytest.raises(BufferError, match="another owner may write"):
            refused(x)
    rust.share_any(x, 4.0)
    assert x.tolist() == [4.0, 1.0, 1.0]


def test_the_handle_of_an_argument_that_is_read_is_read_only():
    x = np.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        rust.share_any(rust.handle(x), 2.0)
    assert rust.about(rust.handle(x))[3] and not np.asarray(rust.handle(x)).flags.writeable
    assert rust.about(rust.constant_handle(crossdock.array([1.0])))[3]


def test_bytes_are_constant_and_bytearrays_are_not():
    assert rust.constant_bytes(b"abc") == 3
    for changing in [bytearray(b"abc"), memoryview(bytearray(b"abc")), np.zeros(3, "u1")]:
        with pytest.raises(BufferError, match="another owner may write.*`Readonly`.*`assume_constant`"):
            rust.constant_bytes(changing)


def test_an_array_that_another_library_may_write_is_not_constant():
    x = crossdock.array([1, 5, 2])
    writer = np.asarray(x)
    with pytest.raises(BufferError):
        rust.greatest(x)
    del writer
    assert rust.greatest(x) == 5


def test_the_writer_waits_for_the_end_of_the_promise():
    x = crossdock.array([1, 5, 2])
    assert rust.greatest(x) == 5
    x[0] = 7
    assert rust.greatest(x) == 7


def test_a_refusal_names_no_function_of_the_wheel():
    from PIL import Image

    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    chunks = pa.chunked_array([[1.0], [2.0]])
    for refused, words in [
        (masked, "filled"),
        (chunks, "pass them one by one"),
        (np.datetime64("2020-01-01"), r"numpy\.asarray\(obj\)"),
        (Image.new("1", (2, 2)), r"numpy\.asarray\(image\)"),
        ([1.0, 2.0], r"numpy\.asarray\(x\)"),
    ]:
        with pytest.raises((BufferError, TypeError), match=words) as caught:
            rust.about(refused)
        assert "crossdock." not in str(caught.value), caught.value
    with pytest.raises(BufferError) as caught:
        rust.table(2, 3).__arrow_c_array__()
    assert "crossdock." not in str(caught.value), caught.value


def test_a_wrong_keyword_of_a_result_is_named_with_its_method():
    with pytest.raises(TypeError, match=r"__dlpack__\(\).*'streams'"):
        rust.squares(3).__dlpack__(streams=1)


# ===== the caller's word


def test_elements_are_changed_by_reference_on_the_callers_word():
    x = np.arange(6.0)
    rust.double(x)
    rust.double(x[::-2])
    assert x.tolist() == [0.0, 4.0, 4.0, 12.0, 8.0, 20.0]
    own = crossdock.array([1.0, 2.0])
    rust.double(own)
    assert own.tolist() == [2.0, 4.0]


def test_repeated_elements_are_not_changed_by_reference():
    x = np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,))
    with pytest.raises(BufferError, match="read-only"):
        rust.double(x)


def test_a_slice_is_there_if_the_elements_lie_side_by_side():
    x = np.arange(6.0)
    assert rust.slice_sum(x) == 15.0 and rust.slice_sum(x[1:3]) == 3.0
    assert rust.slice_sum(x[::2]) is None and rust.slice_sum(x[::-1]) is None


# ===== two arguments


def test_two_arguments_may_be_read_from_one_array():
    x = np.arange(4.0)
    assert rust.dot(x, x) == 14.0 and rust.dot(x[1:], x[:-1]) == 8.0


@pytest.mark.parametrize("wrap", [lambda x: x, crossdock.asarray, memoryview, Tensor, Interface])
def test_an_array_that_is_written_is_given_once(wrap):
    x = np.arange(4.0)
    for pair in [(x, x), (x[:3], x[1:]), (x[::-1], x), (x, x[3:])]:
        with pytest.raises(BufferError, match="to be written, and overlaps one that another argument reads"):
            rust.add(wrap(pair[0]), pair[1])
        with pytest.raises(BufferError, match="to be written, and overlaps one that another argument writes"):
            rust.swap(pair[0], pair[1])
    assert x.tolist() == [0, 1, 2, 3]


def test_different_libraries_on_one_memory_overlap():
    x = np.arange(4.0)
    tensor, own = tvm_ffi.from_dlpack(x), crossdock.asarray(x)
    for pair in [(tensor, x), (x, own), (own, tensor)]:
        with pytest.raises(BufferError, match="overlaps"):
            rust.add(*pair)


def test_two_columns_do_not_overlap():
    table = np.arange(8.0).reshape(4, 2)
    rust.swap(table[:, 0], table[:, 1])
    assert table.tolist() == [[1, 0], [3, 2], [5, 4], [7, 6]]
    x = np.arange(6.0)
    rust.add(x[::2], x[1::2])
    rust.add(x[:3], x[3:])
    assert x.tolist() == [0.0, 1.0, 2.0, 5.0, 5.0, 11.0]


def test_one_shared_memory_that_is_mapped_twice_overlaps():
    x = crossdock.shared([1.0, 2.0])
    again = pickle.loads(reduction.ForkingPickler.dumps(x))
    assert again.ptr != x.ptr
    again[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    with pytest.raises(BufferError, match="overlaps"):
        rust.add(x, x[:])


def test_a_refused_call_leaves_nothing_held():
    x = np.zeros(3)
    for _ in range(3):
        with pytest.raises(BufferError):
            rust.add(x, x)
        with pytest.raises(TypeError):
            rust.add(x, np.zeros(3, "f4"))
    rust.fill(x, 1.0)
    assert sys.getrefcount(x) == 2


# ===== while a function runs


def test_the_gil_is_released_while_an_argument_is_held():
    x = np.zeros(3)
    with ThreadPoolExecutor(1) as pool:
        sum_later = pool.submit(rust.hold_readonly, x)
        rust.wait_until_held()
        x[:] = 2.0
        assert rust.sum(x) == 6.0
        rust.end()
        assert sum_later.result(20) == 6.0


def test_what_another_thread_writes_is_refused_until_it_ends():
    x = np.zeros(3)
    with ThreadPoolExecutor(1) as pool:
        sum_later = pool.submit(rust.hold_writable, x)
        rust.wait_until_held()
        with pytest.raises(BufferError, match="overlaps one that another argument writes"):
            rust.sum(x[1:])
        with pytest.raises(BufferError, match="overlaps one that another argument writes"):
            rust.fill(x, 1.0)
        assert rust.sum(np.ones(2)) == 2.0
        rust.end()
        assert sum_later.result(20) == 0.0
    assert rust.sum(x) == 0.0


def test_what_another_thread_reads_is_not_written_until_it_ends():
    x = np.ones(3)
    with ThreadPoolExecutor(1) as pool:
        sum_later = pool.submit(rust.hold_readonly, x)
        rust.wait_until_held()
        assert rust.sum(x) == 3.0
        with pytest.raises(BufferError, match="overlaps one that another argument reads"):
            rust.fill(x, 1.0)
        rust.end()
        assert sum_later.result(20) == 3.0
    rust.fill(x, 2.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_forgets_the_claims_of_threads_that_it_does_not_have():
    x, own = np.zeros(3), np.zeros(3)

    def in_a_child():
        child = os.fork()
        if child == 0:
            code = 1
            try:
                rust.fill(x, 1.0)
                with pytest.raises(BufferError, match="another argument reads"):
                    rust.fill(own, 1.0)
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    with ThreadPoolExecutor(1) as pool:
        sum_later = pool.submit(rust.hold_writable, x)
        rust.wait_until_held()
        rust.call_while_reading(own, in_a_child)
        with pytest.raises(BufferError, match="another argument writes"):
            rust.fill(x, 1.0)
        rust.end()
        assert sum_later.result(20) == 0.0


def test_an_exporter_knows_that_its_memory_is_held():
    data, seen = bytearray(24), []

    def grow():
        with pytest.raises(BufferError):
            data.append(1)
        seen.append(len(data))

    assert rust.call_while_reading(memoryview(data).cast("d"), grow) == 0.0
    data.append(1)
    assert seen == [24] and len(data) == 25


def test_leases_of_crossdock_are_held_and_end_at_once():
    x, seen = crossdock.array([1.0, 2.0]), []

    def look():
        seen.append(x.exports)
        with pytest.raises(BufferError, match="lease"):
            pl.Series(x)

    assert rust.call_while_writing(x, look) == 3.0
    assert seen == [1] and x.exports == 0
    assert pl.Series(x).to_list() == [1.0, 2.0]


def test_a_function_that_is_called_back_sees_the_claims():
    x = np.ones(2)
    assert rust.call_while_reading(x, lambda: rust.sum(x)) == 2.0
    with pytest.raises(BufferError, match="another argument reads"):
        rust.call_while_reading(x, lambda: rust.fill(x, 0.0))
    with pytest.raises(BufferError, match="another argument writes"):
        rust.call_while_writing(x, lambda: rust.sum(x))
    rust.fill(x, 0.0)


def test_another_extension_sees_the_claims():
    x = np.ones(4)
    assert rust.call_while_reading(x, lambda: example.moving_average(x, 2)) == 4.0
    with pytest.raises(BufferError, match="another argument reads"):
        rust.call_while_reading(x, lambda: example.scale(x[1:], 2.0))
    with pytest.raises(BufferError, match="another argument writes"):
        rust.call_while_writing(x[:2], lambda: example.moving_average(x, 2))
    rust.call_while_writing(x[:2], lambda: example.scale(x[2:], 2.0))
    assert x.tolist() == [1.0, 1.0, 2.0, 2.0]


def test_many_threads_claim_and_release():
    x, failures = np.zeros(64), []

    def work(start):
        try:
            for _ in range(300):
                rust.add(np.ones(8), x[start : start + 8])
        except BufferError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(8 * index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and x.tolist() == [300.0] * 64


# ===== lifetimes


def test_an_argument_is_released_when_the_function_returns():
    x = np.zeros(3)
    before = sys.getrefcount(x)
    for function in [rust.sum, lambda x: rust.fill(x, 1.0), rust.double, rust.slice_sum]:
        function(x)
        assert sys.getrefcount(x) == before


def test_a_refused_argument_is_released_at_once():
    data = bytearray(12)
    with pytest.raises(TypeError):
        rust.sum(data)
    data.append(0)
    with pytest.raises(BufferError):
        rust.constant_bytes(data)
    data.append(0)
    assert len(data) == 14


def test_a_handle_outlives_the_python_object():
    x = np.arange(4.0)
    alive = weakref.ref(x)
    keeper = rust.Keeper(x)
    x[0] = 10.0
    del x
    gc.collect()
    assert alive() is not None and keeper.sum() == 16.0
    del keeper
    settle()
    assert alive() is None


def test_a_handle_that_another_thread_drops_is_released_with_the_gil():
    x = np.arange(4.0)
    alive = weakref.ref(x)
    rust.drop_elsewhere(x)
    del x
    settle()
    gc.collect()
    assert alive() is None


# ===== results


def test_a_result_is_taken_by_each_library_in_place():
    made = rust.squares(4)
    taken = np.asarray(made)
    assert taken.tolist() == [0, 1, 4, 9] and taken.dtype == "u4" and taken.flags.writeable
    address = taken.ctypes.data
    assert memoryview(made).tolist() == [0, 1, 4, 9]
    assert np.from_dlpack(made).ctypes.data == address
    assert crossdock.asarray(made).ptr == address
    tensor = tvm_ffi.from_dlpack(made)
    assert tvm_ffi.from_dlpack(made).__dlpack_device__() == (1, 0) and np.from_dlpack(tensor).ctypes.data == address
    assert made.__array_interface__["data"] == (address, False) and made.__array__().ctypes.data == address
    assert made.__array__("f8").tolist() == [0.0, 1.0, 4.0, 9.0]
    with pytest.raises(AttributeError):
        made.__cuda_array_interface__


def test_a_result_is_constant_for_arrow_and_then_not_written():
    made = rust.squares(4)
    column = pa.array(made)
    assert column.to_pylist() == [0, 1, 4, 9] and column.type == pa.uint32()
    assert pl.Series(made).to_list() == [0, 1, 4, 9]
    with pytest.raises(BufferError, match="lease"):
        memoryview(made)
    del column
    gc.collect()
    assert memoryview(made).nbytes == 16


def test_a_result_says_what_it_is():
    made = rust.table(2, 3)
    assert (made.shape, made.strides, made.ndim, made.size, made.nbytes) == ((2, 3), (8, 16), 2, 6, 48)
    assert (made.dtype, made.device, made.__dlpack_device__()) == ("float64", "cpu", (1, 0))
    assert repr(made) == "Array(shape=(2, 3), dtype='float64', device='cpu')"
    assert np.asarray(made).tolist() == [[0, 1, 2], [10, 11, 12]]
    with pytest.raises(TypeError, match="made by its functions"):
        type(made)()


def test_a_result_of_a_type_that_numpy_has_not_goes_by_dlpack():
    made = rust.bfloat16(3)
    assert made.dtype == "bfloat16" and crossdock.asarray(made).dtype == "bfloat16"
    assert str(tvm_ffi.from_dlpack(made).dtype) == "bfloat16"
    with pytest.raises(BufferError):
        memoryview(made)


def test_static_memory_is_a_read_only_result():
    assert bytes(rust.text()) == b"crossdock" and memoryview(rust.text()).readonly
    with pytest.raises(BufferError, match="read-only"):
        rust.fill(np.asarray(rust.text())[:8].view("f8"), 1.0)


def test_a_result_keeps_the_memory_of_the_argument():
    x = np.arange(6.0)
    alive = weakref.ref(x)
    half = rust.halved(x)
    assert np.shares_memory(np.asarray(half), x) and half.shape == (3,)
    del x
    gc.collect()
    assert alive() is not None and np.asarray(half).tolist() == [0.0, 2.0, 4.0]
    del half
    settle()
    assert alive() is None


def test_a_result_is_an_argument_again():
    x = np.arange(4.0)
    again = rust.same(rust.same(x))
    rust.fill(again, 3.0)
    assert x.tolist() == [3.0] * 4
    with pytest.raises(BufferError, match="overlaps"):
        rust.add(again, x)
    assert rust.greatest(crossdock.asarray(rust.squares(3)).astype("i8")) == 4


def test_a_result_is_exported_while_consumers_have_it():
    made = rust.squares(3)
    view = memoryview(made)
    alive = weakref.ref(made)
    del made
    gc.collect()
    assert alive() is not None and view.tolist() == [0, 1, 4]
    view.release()
    assert alive() is None


def test_results_of_two_extensions_are_exchanged():
    averages = example.moving_average(rust.same(np.arange(5.0)), 2)
    assert type(averages) is not type(rust.squares(1))
    assert rust.sum(averages) == 0.5 + 1.5 + 2.5 + 3.5


# ===== the example


def test_the_example_averages_arrays_of_any_library():
    for x in [np.arange(6.0), np.arange(12.0)[::2] / 2, pl.Series(np.arange(6.0)), crossdock.arange(6.0)]:
        assert np.asarray(example.moving_average(x, 2)).tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    with pytest.raises(ValueError, match="the width is 7, and there are 6 elements"):
        example.moving_average(np.arange(6.0), 7)
    x = np.arange(3.0)
    example.scale(x, 2.0)
    assert x.tolist() == [0.0, 2.0, 4.0]


ROOT = pathlib.Path(__file__).parents[3]


def test_the_command_of_the_page_prints_what_stands_below_it(tmp_path):
    page = (ROOT / "docs/extensions.md").read_text()
    (code,) = re.findall(r'^python -c "(.*)"$', page, re.MULTILINE)
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    shutil.copy(pathlib.Path(FOLDER) / "librust_extension.so", tmp_path / "rust_extension.abi3.so")
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == (printed, "")


def test_the_page_for_authors_shows_the_example():
    page = (ROOT / "docs/extensions.md").read_text()
    example = (ROOT / "examples/rust_extension/src/lib.rs").read_text()
    block = page.split("```rust\n")[1].split("```")[0]
    (_, function) = block.split("\n\n", 1)
    assert function.count("\n") > 10 and function in example
    tested = (ROOT / "crates/crossdock-pyo3/tests/extension/src/lib.rs").read_text()
    for function in page.split("```rust\n")[2].split("```")[0].strip().split("\n\n"):
        assert function in tested
    manifest = (ROOT / "examples/rust_extension/Cargo.toml").read_text()
    assert page.split("```toml\n")[1].split("```")[0] in manifest
