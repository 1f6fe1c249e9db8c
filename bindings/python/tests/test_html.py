"""What a notebook shows of an array: its text, a picture of its values, and a drawing of its memory."""

import base64
import html.parser
import io
import re

import numpy as np
import pytest
from peers import needed

import crossdock

Image = pytest.importorskip("PIL.Image")
OPENCL = "opencl:0"


class Page(html.parser.HTMLParser):
    """Checks that every tag is closed, and keeps the texts, and the attributes of images."""

    def __init__(self, array):
        super().__init__()
        self.open, self.texts, self.tags, self.images, self.inside = [], [], [], [], {}
        self.source = array._repr_html_()
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "img":
            # The only element without an end.
            self.images.append(dict(attributes))
            return
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        for tag in self.open:
            self.inside[tag] = self.inside.get(tag, "") + data


def picture(array):
    """The pixels of the picture, as Pillow decodes them, and its attributes."""
    (attributes,) = Page(array).images
    head, _, data = attributes["src"].partition(",")
    assert head == "data:image/png;base64"
    image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    assert image.format == "PNG"
    return image.mode, np.asarray(image), attributes


# ===== texts


RECORD = np.dtype([("id", "<i4"), ("at", "<f8", (2,)), ("<name>", "S4")])
ARRAYS = {
    "a 0-d array": np.array(1.5),
    "an empty array": np.zeros(0),
    "an empty matrix": np.zeros((3, 0)),
    "an empty cube": np.zeros((0, 2, 3), "i2"),
    "a vector": np.arange(7),
    "a long matrix": np.arange(10_000.0).reshape(100, 100),
    "five axes": np.arange(2 * 3 * 4 * 5 * 6).reshape(2, 3, 4, 5, 6),
    "twenty axes": np.zeros((1,) * 20),
    "text": np.array(["<b>", "&amp;", "é"]),
    "bytes": np.array([b"<i>", b"\"'"]),
    "records": np.zeros(2, RECORD),
    "dates": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "complex numbers": np.ones((2, 2), "c16"),
    "byte-swapped numbers": np.arange(4, dtype=">i4").reshape(2, 2),
    "a reversed view": np.arange(12).reshape(3, 4)[::-1, ::2],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_notebook_shows_the_text_of_repr_first(name):
    array = crossdock.asarray(ARRAYS[name])
    page = Page(array)
    assert page.tags[:2] == ["div", "pre"] and page.inside["pre"] == repr(array)
    assert "monospace" in page.source.partition("</pre>")[0]
    assert "script" not in page.tags and page.tags.count("svg") == 1
    # The memory is folded.
    assert page.tags.index("details") < page.tags.index("svg")
    assert page.inside["details"].startswith("memory")
    for words in [str(array.dtype), str(array.shape), f"{array.strides} bytes"]:
        assert words in page.inside["table"], words


def test_repr_is_what_it_was():
    array = crossdock.asarray(np.arange(4, dtype="u1").reshape(2, 2))
    assert repr(array) == "Array([[0, 1],\n       [2, 3]], dtype='uint8')" and str(array) == "[[0 1]\n [2 3]]"


def test_names_of_fields_are_escaped():
    page = Page(crossdock.zeros(2, np.dtype([("<script>&\"'", "i4"), ("at", "f8", (2,))])))
    assert "<script" not in page.source and "<script>&\"'" in page.texts
    assert {"field", "offset", "at"} <= set(page.texts)


def test_a_page_reads_elements_and_copies_none():
    arrays = [np.zeros((300, 300)), np.zeros((9, 9, 3), "u1"), np.zeros(3, RECORD)]
    arrays = [crossdock.asarray(array) for array in arrays]
    before = crossdock.copied_bytes()
    for array in arrays:
        array._repr_html_()
    assert crossdock.copied_bytes() == before


# ===== the drawing of memory


def offsets(page):
    return [text for text in page.texts if re.fullmatch(r"-?\d+", text)]


def test_the_drawing_has_the_axes_with_lengths_and_strides():
    page = Page(crossdock.zeros((2, 3, 4), "i2")[:, ::-1])
    assert {"int16", "(2, 3, 4)", "(24, -8, 2) bytes"} <= set(page.texts)
    assert {"axis 1: 3 × -8 B", "axis 2: 4 × 2 B", "behind: axis 0: 2 × 24 B"} <= set(page.texts)
    assert offsets(page) == [str(-8 * row + 2 * column) for row in range(3) for column in range(4)]


def test_the_outer_axes_of_five_are_named_one_by_one():
    array = crossdock.zeros((2, 3, 4, 2, 3), "u1")
    page = Page(array)
    behind = [text for text in page.texts if text.startswith("behind")]
    assert behind == ["behind: axis 0: 2 × 72 B", "behind: axis 1: 3 × 24 B", "behind: axis 2: 4 × 6 B"]
    assert offsets(page) == [str(number) for number in range(6)]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 2, 3)])
def test_empty_arrays_are_drawn_without_cells(shape):
    page = Page(crossdock.zeros(shape))
    assert page.texts.count("no elements") == 1 and page.tags.count("rect") == 1
    assert not offsets(page) and not page.images


def test_long_offsets_widen_their_cells(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(2 * 10**10)
    page = Page(crossdock.asarray(np.memmap(path, "u1", "r", shape=(2 * 10**10,))))
    assert offsets(page)[-1] == "19999999999"
    (width,) = set(re.findall(r'<rect [^>]*width="(\d+)"', page.source))
    assert int(width) >= 11 * 7


@pytest.mark.parametrize("shape", [(), (1,), (7,), (1000, 1000), (1,) * 20])
def test_pages_of_plain_arrays_are_short(shape):
    assert len(Page(crossdock.zeros(shape)).source) < 12_000


# ===== pictures

RNG = np.random.default_rng(7)
MODES = {1: "L", 3: "RGB", 4: "RGBA"}


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (5, 7, 1), (5, 7, 3), (5, 7, 4), (256, 256, 3)])
def test_images_are_shown_with_their_own_bytes(shape):
    image = RNG.integers(0, 256, shape, "u1")
    mode, pixels, _ = picture(crossdock.asarray(image))
    assert mode == MODES[shape[2] if len(shape) > 2 else 1]
    assert np.array_equal(pixels, image.reshape(shape[:2]) if shape[2:] in [(), (1,)] else image)


@pytest.mark.parametrize("view", [np.s_[::-1], np.s_[:, ::-2], np.s_[3:, 2:9]])
def test_views_and_read_only_images_are_shown(view):
    image = RNG.integers(0, 256, (12, 14, 3), "u1")
    image.flags.writeable = False
    assert np.array_equal(picture(crossdock.asarray(image[view]))[1], image[view])


def test_large_images_are_thinned_out():
    image = RNG.integers(0, 256, (1000, 300, 3), "u1")
    mode, pixels, attributes = picture(crossdock.asarray(image))
    assert np.array_equal(pixels, image[::4, ::2])
    assert (attributes["width"], attributes["height"]) == ("76", "256")
    assert "every 4 × 2 elements are one pixel" in "".join(Page(crossdock.asarray(image)).texts)
    mode, pixels, attributes = picture(crossdock.zeros((1_000_000, 2), "u1"))
    assert max(pixels.shape) <= 256 and (attributes["width"], attributes["height"]) == ("8", "256")


def test_small_pictures_are_magnified():
    _, _, attributes = picture(crossdock.zeros((4, 6), "u1"))
    assert (attributes["width"], attributes["height"]) == ("96", "64")
    assert "pixelated" in attributes["style"] and "(4, 6)" in attributes["alt"]


def grey(numbers):
    """The brightness of finite numbers, as NumPy computes it."""
    numbers = numbers.astype("f8")
    return np.floor((numbers - numbers.min()) / np.ptp(numbers) * 255 + 0.5).astype("u1")


@pytest.mark.parametrize("dtype", ["?", "i1", "<i2", ">i2", "u2", "i4", ">u4", "i8", "u8", "f2", "f4", ">f4", "f8", ">f8"])
def test_numbers_are_shown_from_the_least_to_the_greatest(dtype):
    numbers = RNG.integers(0, 2 if dtype == "?" else 100, (11, 13)).astype(dtype)
    mode, pixels, _ = picture(crossdock.asarray(numbers))
    assert mode == "L" and np.abs(pixels.astype(int) - grey(numbers)).max() <= 1
    assert pixels.min() == 0 and pixels.max() == 255


def test_nan_is_transparent_and_infinities_are_black_and_white():
    numbers = np.array([[np.nan, -np.inf, 0.0], [0.5, 1.0, np.inf]])
    mode, pixels, _ = picture(crossdock.asarray(numbers))
    assert mode == "LA"
    assert pixels[..., 0].tolist() == [[0, 0, 0], [128, 255, 255]]
    assert pixels[..., 1].tolist() == [[0, 255, 255], [255, 255, 255]]
    assert "0 is black, 1 is white; NaN is transparent" in Page(crossdock.asarray(numbers)).texts


@pytest.mark.parametrize(
    ("numbers", "expected", "words"),
    [
        ([[3.0, 3.0]], [[128, 128]], "all values are 3"),
        ([[np.inf, -np.inf]], [[255, 0]], "no value is finite"),
        ([[1.0, np.inf]], [[128, 255]], "all values are 1"),
        ([[-1.7e308, 0.0, 1.7e308]], [[0, 128, 255]], "is white"),
    ],
)
def test_numbers_without_a_range_have_a_picture(numbers, expected, words):
    array = crossdock.asarray(np.array(numbers))
    mode, pixels, _ = picture(array)
    assert mode == "L" and pixels.tolist() == expected and words in Page(array).inside["figure"]


def test_a_matrix_of_nan_is_transparent():
    mode, pixels, _ = picture(crossdock.asarray(np.full((2, 3), np.nan)))
    assert mode == "LA" and not pixels.any()


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, "u1"),
        np.zeros((5, 7, 2), "u1"),
        np.zeros((5, 7, 3)),
        np.zeros((2, 2, 2, 2), "u1"),
        np.zeros((2, 2), "c16"),
        np.zeros((2, 2), "S3"),
        np.zeros((2, 2), "M8[s]"),
        np.zeros((2, 2), RECORD),
    ],
    ids=str,
)
def test_other_arrays_have_no_picture(array):
    assert not Page(crossdock.asarray(array)).images


# ===== memory elsewhere


@needed(OPENCL in crossdock.devices(), "there is no device of OpenCL here: PoCL makes one of the processor")
def test_memory_of_a_device_is_described_and_not_read():
    there = crossdock.array(np.ones((20, 30), "u1"), device=OPENCL)
    before = crossdock.copied_bytes()
    page = Page(there)
    assert crossdock.copied_bytes() == before and not page.images
    assert page.inside["pre"] == repr(there) and OPENCL in page.inside["p"] and 'to_device("cpu")' in page.inside["p"]
    assert offsets(page)


def test_notebooks_show_tables_and_columns():
    pa = pytest.importorskip("pyarrow")
    table = crossdock.table({"<name>": ["<b>&", None, "x" * 60], "n": [1, 2, 3], "pair": pa.array([{"a": [1]}, None, {"a": None}])})
    page = Page(table)
    text = " ".join(page.texts)
    assert "<name>" in text and "<b>&" in text and "string" in text and "3 rows × 3 columns" in text
    assert "x" * 41 not in text and "<b>" not in page.source and page.source.count("<tr>") == 4
    assert page.source.count("opacity") == 2
    wide = crossdock.table({str(k): list(range(1000)) for k in range(200)})
    assert len(Page(wide).source) < 12_000 and "999" in Page(wide).texts and "…" in Page(wide).texts
    assert "3 elements" in " ".join(Page(table["n"]).texts)
    assert Page(crossdock.table({})).texts[-1].startswith("0 rows")
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], "i4")), pa.py_buffer(b"\xff"))
    assert "UTF-8" in " ".join(Page(crossdock.column(broken)).texts)
