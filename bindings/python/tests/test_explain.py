"""The results of `explain` are true, for objects and for consumers."""

import collections
import ctypes
import functools
import html.parser
import pathlib
import re
import signal
import subprocess
import sys

import pytest

import crossdock
from handing.counterparts import need

np = need("numpy")
for library in ["pandas", "pyarrow", "nanoarrow", "arro3.core", "polars", "PIL", "cv2", "nanobind", "tvm_ffi", "ml_dtypes"]:
    need(library)

from crossdock._crossdock import _judge_array
from crossdock._explain import installed
from crossdock._explain.consumers import COMPILED, COPIES, IN_PLACE, MISREADS, PROFILES, REFUSES, UNKNOWN, is_measured
from crossdock._explain.facts import jax_in_64_bits, judge
from crossdock._explain.subject import subject
from handing import call_sites, compiled, consumers, extension, typed
from handing.consumers import hand_over
from handing.reasons import is_the_librarys
from handing.specimens import Specimen, all_specimens, first_address
from handing.tensors import Handmade, handmade

FATAL = "the process ends"
#: Some specimens have the same elements in memory order, by chance.
COINCIDENCE = "in memory order, without their strides"

CONSUMERS = (
    consumers.CONSUMERS | call_sites.REQUIRED | {name: consumer for name, (consumer, _) in compiled.COMPILED.items()}
)

#: Specimens about which a profile knows too little, by consumers.
UNFORESEEN = {
    # The description of items omits None.
    "mlx.core.array": ["a list: integers and nothing"],
    # Its one value is no number of pandas.
    "pandas.Series": ["NumPy: complex256, no axis"],
    # The function that is called drops nulls, for which it takes NaT and None.
    "pyarrow.compute": [
        *(f"NumPy: {kind}8[{unit}] with NaT" for kind in "Mm" for unit in ["D", "s", "ns"]),
        *(f"NumPy: objects: {items}" for items in ["nothing", "integers and nothing", "nothing and texts"]),
    ],
    # Strides of axes of one element, which no protocol describes.
    "torch.as_tensor": ["NumPy: float64, an axis of one element, with any stride"],
    "torch.asarray": ["NumPy: float64, an axis of one element, with any stride"],
    "torch.from_numpy": ["NumPy: float64, an axis of one element, with any stride"],
    # No CUDA on this machine.
    "torch.from_dlpack": ["by hand: on a device"],
    "jax.dlpack.from_dlpack": ["by hand: on a device"],
}


@functools.cache
def explained(jax_in_64_bits=False):
    """Every specimen with its explanation, for this setting of JAX."""
    all_of_them = [*all_specimens(), *(Specimen(f"by hand: {name}", *made) for name, *made in handmade())]
    return [
        (specimen, {one.name: one for one in crossdock.explain(specimen.thing).consumers}) for specimen in all_of_them
    ]


@pytest.mark.parametrize(
    "profile", [profile for profile in PROFILES if profile.is_tested], ids=lambda profile: profile.name
)
def test_consumers_do_what_their_profiles_say(profile):
    if profile.name in compiled.COMPILED:
        compiled.COMPILED[profile.name][1]()
    consumer, wrong, seen = CONSUMERS[profile.name], [], collections.Counter()
    for specimen, told in explained():
        said = told[profile.name]
        assert said.verified, f"measured with {profile.library} {profile.measured_on}, and {said.installed} is installed"
        if FATAL in said.reason or specimen.name in UNFORESEEN.get(profile.name, ()):
            seen["unforeseen or fatal"] += 1
            continue
        if said.outcome == UNKNOWN:
            seen[UNKNOWN] += 1
            continue
        outcome, why = hand_over(consumer, specimen.anew())
        seen[outcome] += 1
        if COINCIDENCE in said.reason and outcome == COPIES:
            continue
        # If nothing distinguishes the results, the import succeeded at least.
        if said.outcome != outcome and not (outcome == "takes" and said.outcome != REFUSES):
            wrong.append(f"{specimen.name}: {said.outcome} ({said.reason}), but it {outcome} ({why})")
        if outcome == REFUSES and not is_the_librarys(profile.name, said.reason, why):
            wrong.append(f"{specimen.name}: refused because {said.reason!r}, but the library says {why!r}")
        # Claims about zero-copy arrays are checked on the arrays.
        if profile.library == "numpy" and outcome == IN_PLACE and why is not None and said.reason != "it is one":
            words = ["read-only"] if profile.name == "numpy.frombuffer" else ["read-only", "unaligned"]
            if any((word in said.reason) != (word in why) for word in words):
                wrong.append(f"{specimen.name}: in place ({said.reason}), but what is seen is {why!r}")
    print(profile.name, dict(seen))
    assert not wrong, "\n".join(wrong)
    assert profile.name != "safetensors.numpy.save" or seen[MISREADS] > 20
    assert sum(seen.values()) > 1500 and len(seen) > 1
    # Only sequences of Python objects, and columns that a library converts itself, are not foretold.
    if profile.name in consumers.CONSUMERS:
        assert seen[UNKNOWN] < (300 if profile.name in {"numpy.asarray", "pyarrow.array", "polars.Series"} else 2)


def outcomes(thing):
    return {consumer.name: consumer.outcome for consumer in crossdock.explain(thing).consumers}


def test_columns_and_dates_are_foretold():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    for values in [[1, 2, 3], [1.0, float("nan")], pd.array([1, 2]), pd.date_range("2020", periods=3)]:
        assert outcomes(pd.Series(values))["pyarrow.array"] == IN_PLACE
        assert outcomes(pd.Index(values))["pyarrow.array"] == IN_PLACE
    assert outcomes(pd.Series([True]))["pyarrow.array"] == COPIES
    assert outcomes(pd.Series([True]))["numpy.asarray"] == IN_PLACE
    assert outcomes(pd.Index([1, 2]))["polars.Series"] == IN_PLACE
    assert outcomes(pd.Series(pd.date_range("2020", periods=3)))["polars.Series"] == COPIES
    assert outcomes(pd.Series([True]))["polars.Series"] == COPIES
    assert outcomes(np.zeros(10**6, "M8[D]"))["pyarrow.array"] == COPIES
    assert outcomes(crossdock.zeros(3, "m8[s]"))["polars.Series"] == COPIES
    assert outcomes(pa.chunked_array([[1], [2]]))["polars.Series"] == COPIES
    assert outcomes(pa.chunked_array([[1, 2]]))["polars.Series"] == IN_PLACE
    assert outcomes(np.array([1, "a"], object))["pyarrow.array"] == UNKNOWN
    assert outcomes(np.zeros(3, "c16"))["tvm_ffi.from_dlpack"] == IN_PLACE
    assert outcomes(pl.Series([1, 2]))["polars.Series"] == IN_PLACE


def test_this_package_shares_memory_where_it_says_so():
    wrong, shared, copied = [], 0, 0
    for specimen, told in explained():
        said = told["crossdock.asarray"]
        if specimen.elements is None or specimen.elements.size == 0 or said.outcome == REFUSES:
            continue
        address = first_address(crossdock.asarray(specimen.thing))
        if address is None:
            continue
        is_shared = address == specimen.elements.__array_interface__["data"][0]
        shared, copied = shared + is_shared, copied + (not is_shared)
        if is_shared != (said.outcome == IN_PLACE):
            wrong.append(f"{specimen.name}: {said.outcome} ({said.reason}), shared: {is_shared}")
    assert not wrong, "\n".join(wrong)
    assert shared > 500 and copied


def test_the_librarys_description_of_its_arrays_agrees_with_probing_them():
    wrong, seen, copied = [], 0, 0
    for specimen in all_specimens():
        own = _judge_array(specimen.thing, jax_in_64_bits())
        if own is not None:
            seen += 1
            probed = judge(subject(specimen.thing, None))
            # Probing asks for no copy; `hand_over` compares these answers with the consumers themselves.
            if any("the producer copies" in reason for _, reason in own):
                copied += 1
                continue
            for profile, told, found in zip(PROFILES, own, probed):
                # Refusals are quoted, in Python's words or in the library's.
                if told[0] != found[0] or told != found and "BufferError" not in told[1]:
                    wrong.append(f"{specimen.name}: {profile.name}: {told}, but probing it gives {found}")
    assert not wrong, "\n".join(wrong)
    assert seen - copied > 300 and copied


def test_a_reason_that_is_not_the_librarys_is_noticed():
    message = "BufferError: Buffer must be single dimension"
    assert is_the_librarys("hashlib, sockets, files", "a buffer requested without a shape has several axes", message)
    assert not is_the_librarys("hashlib, sockets, files", "it offers no PEP 3118", message)
    assert not is_the_librarys("memoryview", "a reason without a rule", message)


def test_an_error_of_a_consumer_s_helper_is_no_refusal():
    def refused(thing):
        raise BufferError("of the library")
        yield

    def broken(thing):
        yield
        raise BufferError("of the helper")

    specimen = Specimen("bytes", b"abc", np.frombuffer(b"abc", "u1"))
    assert hand_over(refused, specimen) == (REFUSES, "BufferError: of the library")
    with pytest.raises(BufferError, match="of the helper"):
        hand_over(broken, specimen)


@pytest.mark.parametrize("name", call_sites.OPTIONAL)
def test_consumers_that_are_not_required_do_what_their_profiles_say_where_they_are(name):
    module, consumer = call_sites.OPTIONAL[name]
    pytest.importorskip(module)
    (profile,) = (profile for profile in PROFILES if profile.name == name)
    version = installed(profile.library)
    if version is None or not version.startswith(profile.measured_on):
        pytest.skip(f"{module} {version}, and {profile.measured_on} was measured")
    wrong = unlike(name, consumer, explained())
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [name for name in call_sites.OPTIONAL if name.startswith("jax.")])
def test_jax_with_types_of_64_bits_does_what_its_profiles_say(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    try:
        wrong = unlike(name, call_sites.OPTIONAL[name][1], explained(jax_in_64_bits=True))
    finally:
        jax.config.update("jax_enable_x64", False)
    assert not wrong, "\n".join(wrong)


def unlike(name, consumer, all_of_them):
    """The specimens with which a consumer does something else than foretold."""
    wrong = []
    for specimen, told in all_of_them:
        said = told[name]
        if FATAL not in said.reason and said.outcome != UNKNOWN and specimen.name not in UNFORESEEN.get(name, ()):
            outcome, why = hand_over(consumer, specimen.anew())
            if said.outcome != outcome and not (outcome == "takes" and said.outcome != REFUSES):
                wrong.append(f"{specimen.name}: {said.outcome} ({said.reason}), but it {outcome} ({why})")
    return wrong


def test_every_profile_is_held_to_its_library_or_says_that_it_is_not():
    names = [profile.name for profile in PROFILES]
    assert len(set(names)) == len(names)
    assert {profile.name for profile in PROFILES if profile.is_tested} == set(CONSUMERS)
    told = crossdock.explain(b"abc")
    for consumer in told.consumers:
        assert consumer.tested == (consumer.name in {"crossdock.asarray", *CONSUMERS})
        assert consumer.tested or f"{consumer.library} {consumer.measured_on}" in " ".join(str(told).split())


@pytest.mark.parametrize("installed, holds", [
    ("2.4.6", True), ("2.4.6+cpu", True), ("2.4.60", False), ("2.5.0", False), ("2.4", False), ("2.4.6rc1", False), (None, False),
])  # fmt: skip
def test_verified_holds_for_the_version_that_was_measured_alone(installed, holds, monkeypatch):
    from crossdock import _explain

    versions = {"numpy": installed, "torch": "2.15.0"}
    monkeypatch.setattr(_explain, "installed", versions.get)
    told = crossdock.explain(b"abc")
    consumers = {consumer.name: consumer for consumer in told.consumers}
    asarray = consumers["numpy.asarray"]
    assert (asarray.verified, asarray.tested, asarray.installed) == (holds, True, installed)
    # No test compares PyTorch with its profile here, for any installed version.
    assert not consumers["torch.from_dlpack"].verified and not consumers["torch.from_dlpack"].tested
    text = " ".join(str(told).split())
    assert (" numpy.asarray *" in text) == (not holds)
    if not holds:
        words = f"and {installed} is installed" if installed else "which is not installed"
        assert f"measured with numpy 2.4.6, {words}" in text
        assert f"measured with numpy 2.4.6, {words}" in told._repr_html_()


def test_pythons_own_consumers_are_verified_on_the_versions_that_were_measured(monkeypatch):
    for version, measured in [("3.11.7", True), ("3.13.0", True), ("3.14.1", False), ("3.1", False), ("3.110.0", False)]:
        assert is_measured(version, "3.11, 3.12 and 3.13") == measured
    import platform

    told = {consumer.name: consumer for consumer in crossdock.explain(b"abc").consumers}
    assert told["memoryview"].installed == platform.python_version()


def test_compiled_consumers_are_measured_with_the_version_that_the_tests_compile():
    measured = {profile.library: profile.measured_on for profile in PROFILES if profile.library in COMPILED}
    assert set(measured) == COMPILED
    for library in ["cython", "nanobind"]:
        need({"cython": "Cython"}.get(library, library))
        assert is_measured(installed(library), measured[library])
    lock = pathlib.Path(__file__).parents[3] / "crates/crossdock-pyo3/Cargo.lock"
    (version,) = re.findall(r'name = "pyo3"\nversion = "(.*)"', lock.read_text())
    assert is_measured(version, measured["pyo3"])


def test_typed_memoryviews_of_cython_take_and_refuse_our_arrays():
    module = typed.load()
    x = crossdock.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert module.row_major(x) == 6 and x[0, 0] == 2.0 and module.column_major(x.T) == 2.0
    for take, thing in [(module.row_major, x.T), (module.row_major, x[:, ::2]), (module.column_major, x)]:
        with pytest.raises(BufferError, match=r"requires contiguous (row|column)-major order.*`copy\(\)`"):
            take(thing)
    with pytest.raises(BufferError, match="read-only"):
        module.row_major(x.frozen())
    address, shape, strides = module.const_f8_2(x.frozen()[:, ::-2])
    assert (address, shape, strides) == (x.ptr + 16, [2, 2], [24, -16])
    for refused, words in [(x.astype("float32"), "double' but got 'float'"), (x[0], "expected 2, got 1"), (x.astype(">f8"), "Big-endian")]:
        with pytest.raises(ValueError, match=words):
            module.const_f8_2(refused)
    assert x.exports == 0


def test_what_this_package_would_do_is_told_first():
    for thing, outcome in [
        (np.zeros(3), "in place"),
        (crossdock.zeros(3), "in place"),
        ([1, 2], "refuses"),
        (np.array([None]), "refuses"),
    ]:
        first = crossdock.explain(thing).consumers[0]
        assert (first.name, first.outcome) == ("crossdock.asarray", outcome)
    assert "object references" in first.reason


def test_specimens_are_of_every_kind():
    outcomes = collections.Counter(one.outcome for _, told in explained() for one in told.values())
    assert {IN_PLACE, COPIES, REFUSES, MISREADS, UNKNOWN} == set(outcomes)
    offered = {offer.protocol for specimen, _ in explained() for offer in crossdock.explain(specimen.thing).offers}
    print(len(explained()), outcomes, offered)
    assert len(offered) >= 10


def test_a_consumer_that_ends_the_process_is_told_of():
    # A buffer without strides, as ctypes exports it, aborts nanobind.
    told = {one.name: one for one in crossdock.explain((ctypes.c_double * 3)()).consumers}
    assert told["nanobind"].outcome == MISREADS and FATAL in told["nanobind"].reason
    code = "import ctypes, sys; sys.path.insert(0, sys.argv[1]); from handing import extension;"
    code += "extension.load(sys.argv[2]).read((ctypes.c_double * 3)())"
    ended = subprocess.run(
        [sys.executable, "-c", code, pathlib.Path(__file__).parent, extension.build()], capture_output=True
    )
    assert ended.returncode == -signal.SIGSEGV


def test_offers_say_what_is_there():
    theirs = np.arange(24.0).reshape(4, 6)[::-1, ::2]
    told = crossdock.explain(theirs)
    address = theirs.__array_interface__["data"][0]
    assert [offer.protocol for offer in told.offers] == [
        "PEP 3118", "DLPack", "DLPack before 1.0", "__array_interface__", "__array_struct__",
    ]  # fmt: skip
    for offer in told.offers:
        assert (offer.address, offer.shape, offer.strides, offer.dtype) == (address, (4, 3), (-48, 16), "float64")
        assert offer.itemsize == 8 and offer.refusal is None and offer.device == (1, 0)
        assert offer.alignment == min(address & -address, 4096)
    assert told.type_name == "numpy.ndarray" and not told.disagreements
    assert [offer.readonly for offer in crossdock.explain(b"abc").offers] == [True]
    assert crossdock.explain(memoryview(bytearray(3))).offers[0].owner == "bytearray"


def test_arrays_of_ours_are_explained():
    ours = crossdock.zeros((3, 4), "float32")
    told = crossdock.explain(ours)
    assert told.type_name == "crossdock.Array" and not told.disagreements
    offers = {offer.protocol: offer for offer in told.offers}
    for protocol in ["PEP 3118", "DLPack", "DLPack before 1.0"]:
        offer = offers[protocol]
        assert (offer.shape, offer.strides, offer.dtype, offer.readonly) == ((3, 4), (16, 4), "float32", False)
        assert offer.address == np.asarray(ours).ctypes.data


def test_refusals_are_told_in_the_producers_words():
    offers = {offer.protocol: offer for offer in crossdock.explain(np.zeros(3, ">f8")).offers}
    assert offers["PEP 3118"].dtype == ">float64"
    assert "native byte order" in offers["DLPack"].refusal and offers["DLPack"].shape is None
    dates = {offer.protocol: offer for offer in crossdock.explain(np.zeros(3, "M8[s]")).offers}
    assert "cannot include dtype 'M'" in dates["PEP 3118"].refusal and "bytes alone" in str(dates["PEP 3118"].notes)


def test_contradictions_are_told():
    square, other = np.zeros((2, 3)), np.zeros((3, 2), "f4")

    class Liar(np.ndarray):
        @property
        def __array_interface__(self):
            return other.__array_interface__

    words = "\n".join(crossdock.explain(square.view(Liar)).disagreements)
    assert "another address" in words and "shape (3, 2)" in words and "float32" in words
    # Every producer of read-only memory whose struct has no flag for it.
    mute = Handmade(np.zeros(3), flags=1)
    assert any("cannot say that the memory is read-only" in words for words in crossdock.explain(mute).disagreements)


def test_what_no_protocol_says_is_told():
    hidden = np.ma.array(np.arange(4.0), mask=[0, 1, 0, 0])
    told = {one.name: (one.outcome, one.reason) for one in crossdock.explain(hidden).consumers}
    assert told["numpy.asarray"] == told["memoryview"] == (MISREADS, "the mask is lost")
    assert told["pyarrow.array"][0] == told["polars.Series"][0] == IN_PLACE
    assert "the mask is lost" in str(crossdock.explain(hidden))


def test_an_array_that_a_column_borrows_is_refused_to_numpy():
    ours = crossdock.zeros(5)
    column = need("pyarrow").array(ours)
    told = {one.name: (one.outcome, one.reason) for one in crossdock.explain(ours).consumers}["numpy.asarray"]
    with pytest.raises(BufferError, match="a share lease was refused") as refused:
        np.asarray(ours)
    assert told[0] == REFUSES and str(refused.value).partition(";")[0] in told[1]
    del column
    assert {one.name: one.outcome for one in crossdock.explain(ours).consumers}["numpy.asarray"] == IN_PLACE


def test_nothing_is_kept():
    ours, theirs, growing = crossdock.zeros(3), np.zeros(3), bytearray(3)
    column = need("pyarrow").array([1, 2, 3])
    made = Handmade(np.zeros(3), gives_back=True)
    things = [ours, theirs, growing, column]
    for thing in things:
        crossdock.explain(thing)
    crossdock.explain(made)
    before = [sys.getrefcount(thing) for thing in things]
    told = [crossdock.explain(thing) for thing in things]
    assert [sys.getrefcount(thing) for thing in things] == before
    growing.append(1)
    assert ours.exports == 0 and made.taken == made.given_back > 0
    assert len(told) == len(things)


class Raising:
    """All requests are errors."""

    def __getattribute__(self, name):
        if (
            name.startswith("__array")
            or name.startswith("__dlpack")
            or name.startswith("__arrow")
            or name.startswith("__cuda")
        ):
            raise RuntimeError("<b>not today</b>")
        return super().__getattribute__(name)


def having(**attributes):
    return type(
        "Bad", (), {name: value if not callable(value) else staticmethod(value) for name, value in attributes.items()}
    )()


class NoDevice(Handmade):
    def __dlpack_device__(self):
        raise ValueError("no device")


def bad_producers():
    yield Raising()
    yield None
    yield int
    yield np.ndarray
    yield having(__dlpack__=lambda **_: 5)
    yield having(__dlpack__=lambda **_: np.zeros(2).__array_struct__)
    yield having(__dlpack__=5)
    yield NoDevice(np.zeros(3))
    yield Handmade(np.zeros(3), ndim=-1)
    yield Handmade(np.zeros(3), ndim=1000)
    yield Handmade(np.zeros(3), "versioned", version=(7, 0))
    yield Handmade(np.zeros(3), code=77, bits=3, lanes=5)
    yield having(__array_interface__={})
    yield having(__array_interface__=5)
    yield having(__array_interface__={"shape": (3,), "typestr": "nonsense", "data": (1, False), "version": 3})
    yield having(__array_interface__={"shape": (1,) * 100, "typestr": "<f8", "data": (1, False), "version": 3})
    yield having(__array_interface__={"shape": (3,), "typestr": "<f8", "data": "text", "version": 3})
    yield having(__array_interface__={"shape": "abc", "typestr": "<f8", "data": (0, False), "version": 3})
    yield having(__array_struct__=5)
    yield having(__cuda_array_interface__=[])
    yield having(__arrow_c_array__=lambda *_: 5, __arrow_c_stream__=lambda *_: 5, __arrow_c_schema__=lambda: 5)
    yield having(__arrow_c_array__=lambda *_: (np.zeros(2).__array_struct__,) * 2, __len__=5)
    yield having(__array__=lambda *_, **__: "text")
    yield having(__dlpack_c_exchange_api__=5)
    released = memoryview(bytearray(3))
    released.release()
    yield released


def test_bad_producers_are_told_of_and_raise_nothing():
    told_of = 0
    for bad in bad_producers():
        told = crossdock.explain(bad, streams=True)
        assert len(told.consumers) == len(PROFILES) + 1 and str(told) and told._repr_html_()
        told_of += any(offer.refusal or offer.notes for offer in told.offers)
        assert sys.exc_info() == (None, None, None)
    assert told_of >= 20


def test_what_is_read_once_is_left_alone():
    table = need("pyarrow").table({"a": [1, 2, 3]})
    reader = table.to_reader()
    told = {offer.protocol: offer for offer in crossdock.explain(reader).offers}
    assert "not opened" in str(told["Arrow stream"].notes) and reader.read_all().num_rows == 3
    opened = {offer.protocol: offer for offer in crossdock.explain(table.to_reader(), streams=True).offers}
    assert "not opened" not in str(opened["Arrow stream"].notes)
    # A value with a length can be read again.
    told = {offer.protocol: offer for offer in crossdock.explain(table["a"]).offers}
    assert told["Arrow stream"].shape == (3,)


def test_a_type_without_an_array_is_described():
    pa = need("pyarrow")
    for made, dtype in [(pa.int16(), "int16"), (pa.timestamp("ms"), "datetime64[ms]"), (pa.string(), None)]:
        (offer,) = crossdock.explain(made).offers
        assert (offer.protocol, offer.dtype, offer.notes) == ("Arrow schema", dtype, ["a type, no array"])


def test_a_frame_s_text_names_its_type():
    import pandas as pd

    for frame in [pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), pd.DataFrame({"a": [1.0]}), pd.DataFrame()]:
        text = " ".join(str(crossdock.explain(frame)).split())
        assert "None" not in text.partition("What it offers")[0] and "items of have" not in text
    assert "elements of format '+s'" in str(crossdock.explain(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})))


def test_pandas_shares_our_memory_as_explain_warns():
    import pandas as pd

    theirs, ours = np.arange(3), crossdock.array([0, 1, 2])
    assert not np.shares_memory(pd.Series(theirs).to_numpy(), theirs)
    series, index, safe = pd.Series(ours), pd.Index(ours), pd.Index(ours, copy=True)
    assert index.get_loc(0) == 0
    ours[0] = 7
    assert series[0] == 7 and index[0] == 7 and safe[0] == 0 and index.get_loc(0) == 0
    told = {one.name: one for one in crossdock.explain(ours).consumers}
    assert told["pandas.Series"].outcome == told["pandas.Index"].outcome == IN_PLACE
    assert "a write to either is seen" in told["pandas.Series"].reason and "copy=True" in told["pandas.Index"].reason


def test_dates_are_described_alike_by_a_struct_without_a_unit():
    for unit in ["", "[s]", "[25us]"]:
        told = crossdock.explain(np.zeros(3, f"M8{unit}"))
        assert not told.disagreements and told.consumers


def test_text_goes_into_a_hundred_columns():
    for specimen, _ in explained()[::5]:
        text = str(crossdock.explain(specimen.thing))
        assert max(map(len, text.splitlines())) <= 100, text
        assert "What it offers" in text and "What consumers would do" in text
    text = str(crossdock.explain(np.zeros(3, "f4")))
    assert "numpy.ndarray: shape (3,), elements of float32" in text and "* unverified: as measured on torch" in text


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], collections.Counter()

    def handle_starttag(self, tag, _):
        self.open.append(tag)
        self.seen[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_escaped():
    made = crossdock.explain(Raising())._repr_html_()
    assert "&lt;b&gt;not today&lt;/b&gt;" in made and "<b>not today" not in made
    tags = Tags()
    tags.feed(made)
    assert not tags.open and tags.seen["table"] == 2 and tags.seen["tr"] > len(PROFILES)


def test_importing_the_package_imports_none_of_it():
    code = "import sys, crossdock; print(sorted({'crossdock._explain', 'ctypes', 'numpy'} & set(sys.modules)), 'explain' in dir(crossdock))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[] True\n"
    )
    with pytest.raises(AttributeError, match="explane"):
        crossdock.explane
