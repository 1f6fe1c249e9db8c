"""Files that only other libraries write are mapped: each element is theirs, and no byte is copied."""

import itertools

from pathlib import Path

import gguf
import nibabel
import numpy as np
import PIL.Image
import pytest
import scipy.io
import scipy.sparse
import tifffile

import crossdock

RNG = np.random.default_rng(11)


def numbers(dtype, shape):
    """Any bytes as elements, without the values that differ from themselves."""
    dtype = np.dtype(dtype)
    if dtype.kind in "fc":
        parts = RNG.standard_normal((2, *shape))
        return (parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(dtype)
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)


def opened(path, **options):
    """The file, in place: without a copied byte."""
    before = crossdock.copied_bytes()
    found = crossdock.open(path, **options)
    arrays = found.values() if isinstance(found, crossdock.Archive) else [found]
    assert all(array.backing == "file map" or array.size == 0 for array in arrays)
    assert crossdock.copied_bytes() == before
    return found


def same(own, wanted):
    """Whether dtype, shape and each element are equal, seen through NumPy without a copy."""
    before = crossdock.copied_bytes()
    seen = np.asarray(own)
    assert crossdock.copied_bytes() == before
    return (seen.dtype, seen.shape) == (wanted.dtype, wanted.shape) and np.array_equal(seen, wanted)


def check_modes(path, read):
    """`r` is read-only, `c` keeps writes in the process, and `r+` changes the file that others read."""
    array = crossdock.open(path)
    first = (0,) * array.ndim
    old = array[first]
    new = 1 if old != 1 else 2
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(array)[first] = new
    private = crossdock.open(path, mode="c")
    private[first] = new
    assert private.backing == "heap" and read()[first] == old and array[first] == old
    shared = crossdock.open(path, mode="r+")
    shared[first] = new
    assert shared.backing == "file map" and read()[first] == new and array[first] == new


NIFTI = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("image", [nibabel.Nifti1Image, nibabel.Nifti2Image])
def test_nifti_volumes_are_mapped_in_column_major_order(tmp_path, image, order):
    path = tmp_path / "x.nii"
    for dtype, shape in itertools.product(NIFTI, [(4,), (3, 5), (2, 3, 4), (2, 3, 4, 5), (1, 2, 1, 2, 1, 3, 2)]):
        wanted = numbers(np.dtype(dtype).newbyteorder(order), shape)
        volume = image(wanted, np.eye(4), header=image.header_class(endianness=order), dtype=wanted.dtype)
        volume.header.set_slope_inter(1, 0)
        volume.to_filename(path)
        assert same(opened(path), np.asanyarray(nibabel.load(path).dataobj.get_unscaled()))
        assert same(opened(path), wanted)
        assert np.asarray(crossdock.open(path)).flags.f_contiguous


def test_a_scaled_nifti_volume_is_raw_and_warns(tmp_path):
    path = tmp_path / "scaled.nii"
    volume = nibabel.Nifti1Image(numbers("i2", (3, 4)), np.eye(4))
    volume.header.set_slope_inter(0.5, -3)
    volume.to_filename(path)
    raw = nibabel.load(path).dataobj
    assert (raw.slope, raw.inter) == (0.5, -3)
    with pytest.warns(UserWarning, match=r"scaled.nii: the elements are as they are stored; .* × 0.5 \+ -3"):
        array = crossdock.open(path)
    assert same(array, raw.get_unscaled())


def test_modes_of_nifti_volumes(tmp_path):
    path = tmp_path / "x.nii"
    nibabel.Nifti1Image(numbers("f4", (3, 4)), np.eye(4)).to_filename(path)
    check_modes(path, lambda: np.asarray(nibabel.load(path).dataobj))


def test_nifti_files_that_are_not_mapped_say_why(tmp_path):
    volume = nibabel.Nifti1Image(numbers("i2", (3, 4)), np.eye(4))
    volume.to_filename(tmp_path / "x.nii.gz")
    with pytest.raises(TypeError, match=r"compressed by gzip \(a .nii.gz .*; decompress it first"):
        crossdock.open(tmp_path / "x.nii.gz")
    nibabel.Nifti1Pair(numbers("i2", (3, 4)), np.eye(4)).to_filename(tmp_path / "pair.hdr")
    with pytest.raises(TypeError, match=r"NIfTI pair.*\(.img\); open it with nibabel"):
        crossdock.open(tmp_path / "pair.hdr")
    colours = np.zeros((2, 2), [("R", "u1"), ("G", "u1"), ("B", "u1")])
    nibabel.Nifti1Image(colours, np.eye(4)).to_filename(tmp_path / "rgb.nii")
    with pytest.raises(TypeError, match="RGB24"):
        crossdock.open(tmp_path / "rgb.nii")
    with pytest.raises(TypeError, match="a NIfTI file can be opened, but not written"):
        crossdock.save(tmp_path / "new.nii", [1])
    assert not (tmp_path / "new.nii").exists()


TIFF = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("big", [False, True])
def test_tiff_images_are_mapped(tmp_path, order, big):
    path = tmp_path / "x.tif"
    for dtype, (shape, options) in itertools.product(
        TIFF,
        [
            ((3, 5), {}),
            ((1, 1), {}),
            ((7, 5), {"rowsperstrip": 2}),
            ((7, 5), {"rowsperstrip": 7}),
            ((4, 3, 3), {"photometric": "rgb"}),
            ((4, 3, 4), {"photometric": "rgb", "extrasamples": ["unassalpha"], "rowsperstrip": 1}),
            ((4, 3, 2), {"photometric": "minisblack", "planarconfig": "contig"}),
            ((5, 3, 4), {"photometric": "minisblack"}),
            ((2, 3, 4, 3), {"photometric": "rgb"}),
        ],
    ):
        wanted = numbers(np.dtype(dtype).newbyteorder(order), shape)
        if "rgb" in options.values() and wanted.dtype.kind == "c":
            continue
        tifffile.imwrite(path, wanted, byteorder=order, bigtiff=big, metadata=None, **options)
        own = opened(path)
        assert same(own, wanted)
        assert np.array_equal(own, tifffile.imread(path))


def test_tiff_images_of_pillow_are_mapped(tmp_path):
    path = tmp_path / "x.tiff"
    for mode, dtype, channels in [("L", "u1", ()), ("RGB", "u1", (3,)), ("RGBA", "u1", (4,)), ("I;16", "<u2", ()), ("F", "<f4", ())]:
        for height, width in [(1, 1), (3, 5), (300, 400)]:
            wanted = numbers(dtype, (height, width, *channels))
            PIL.Image.frombytes(mode, (width, height), wanted.tobytes()).save(path)
            assert same(opened(path), wanted)
    palette = PIL.Image.fromarray(numbers("u1", (4, 6))).convert("P")
    palette.save(path)
    with pytest.warns(UserWarning, match="x.tiff: the samples are as they are stored: indices of a palette"):
        assert same(crossdock.open(path), np.asarray(palette))


def test_pages_of_one_size_are_one_array_and_other_pages_are_refused(tmp_path):
    path = tmp_path / "x.tif"
    stack = numbers("u2", (6, 4, 5))
    with tifffile.TiffWriter(path) as writer:
        for page in stack:
            writer.write(page, contiguous=False)
    assert same(opened(path), stack)
    tifffile.imwrite(path, stack, imagej=True)
    assert same(opened(path), stack)
    with tifffile.TiffWriter(path) as writer:
        writer.write(stack[0])
        writer.write(stack[1, :2])
    with pytest.raises(TypeError, match="its page 1 differs from page 0 in size or type.*; decode it with tifffile"):
        crossdock.open(path)


def test_modes_of_tiff_images(tmp_path):
    for order in "<>":
        tifffile.imwrite(tmp_path / "x.tif", numbers("f4", (3, 4)), byteorder=order)
        check_modes(tmp_path / "x.tif", lambda: tifffile.imread(tmp_path / "x.tif"))


@pytest.mark.parametrize(
    ("what", "shape", "options"),
    [
        ("compressed by Deflate", (32, 32), {"compression": "zlib"}),
        ("stored in tiles", (32, 32), {"tile": (16, 16)}),
        ("one after the other (planar)", (3, 8, 8), {"photometric": "rgb", "planarconfig": "separate"}),
        ("pictures without pages", (3, 8, 8), {"metadata": {"axes": "ZYX", "truncate": True}}),
    ],
)
def test_tiff_images_that_are_not_mapped_say_why(tmp_path, what, shape, options):
    path = tmp_path / "x.tif"
    if "metadata" in options:
        with tifffile.TiffWriter(path, shaped=True) as writer:
            writer.write(numbers("u1", shape), photometric="minisblack", truncate=True)
    else:
        tifffile.imwrite(path, numbers("u1", shape), **options)
    with pytest.raises(TypeError) as caught:
        crossdock.open(path)
    fact, advice = str(caught.value).rsplit("; ", 1)
    assert what in fact and "cannot be mapped" in fact
    assert advice == "decode it with tifffile, and pass the array to `asarray`"
    with pytest.raises(TypeError, match="a TIFF file can be opened, but not written"):
        crossdock.save(tmp_path / "new.tif", numbers("u1", (2, 2)))


GGUF = ["f4", "f2", "i1", "i2", "i4", "i8", "f8"]


def write_gguf(path, tensors, order="<", version=3, **raw):
    """A file of the reference writer, with metadata of several kinds before the tensors."""
    endian = gguf.GGUFEndian.LITTLE if order == "<" else gguf.GGUFEndian.BIG
    writer = gguf.GGUFWriter(path, "llama", endianess=endian)
    writer.add_name("a model")
    writer.add_token_list([f"token {index}" for index in range(1000)])
    writer.add_token_scores([float(index) for index in range(1000)])
    writer.add_custom_alignment(raw.pop("alignment", 32))
    writer.add_bool("yes", True)
    writer.add_array("nested", [1, -2, 3])
    for name, tensor in tensors.items():
        writer.add_tensor(name, np.ascontiguousarray(tensor))
    for name, (blocks, kind) in raw.items():
        writer.add_tensor(name, blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("order", "<>")
def test_gguf_tensors_are_mapped_by_name(tmp_path, order):
    path = tmp_path / "model.gguf"
    shapes = [(), (4,), (3, 5), (2, 3, 4), (2, 3, 4, 5), (1, 1)][1:]
    tensors = {
        f"blk.{index}.{dtype}": numbers(dtype, shape)
        for (index, shape), dtype in itertools.product(enumerate(shapes), GGUF)
    }
    for alignment in [8, 32, 128]:
        write_gguf(path, {name: tensor.copy() for name, tensor in tensors.items()}, order, alignment=alignment)
        archive = opened(path)
        assert (archive.format, list(archive), archive.refused) == ("gguf", list(tensors), {})
        for name, wanted in tensors.items():
            assert same(archive[name], wanted.astype(wanted.dtype.newbyteorder(order)))
    if order == "<":
        for tensor in gguf.GGUFReader(path).tensors:
            assert same(archive[tensor.name], np.asarray(tensor.data).reshape(tensor.shape[::-1].tolist()))


def test_bfloat16_tensors_of_gguf_are_mapped_and_quantized_ones_are_refused_by_name(tmp_path):
    path = tmp_path / "model.gguf"
    wanted = numbers("f4", (3, 8)).view("u4") & 0xFFFF0000
    blocks = gguf.quants.quantize(numbers("f4", (4, 64)), gguf.GGMLQuantizationType.Q8_0)
    raw = {
        "half": ((wanted >> 16).astype("u2").view("u1"), gguf.GGMLQuantizationType.BF16),
        "small": (blocks, gguf.GGMLQuantizationType.Q8_0),
    }
    write_gguf(path, {"plain": numbers("f4", (2,))}, **raw)
    archive = opened(path)
    assert set(archive) == {"plain", "half"} and set(archive.refused) == {"small"}
    assert archive["half"].dtype == "bfloat16" and archive["half"].shape == (3, 8)
    assert np.array_equal(archive["half"].astype("f4"), wanted.view("f4"))
    words = "its elements are quantized as Q8_0, in blocks of 32, which no dtype describes; dequantize it with the package gguf"
    assert words in archive.refused["small"]
    with pytest.raises(KeyError, match="Q8_0"):
        archive["small"]


def test_every_type_of_the_gguf_package_is_known(tmp_path):
    for kind, (length, nbytes) in gguf.GGML_QUANT_SIZES.items():
        path = tmp_path / f"{kind.name}.gguf"
        write_gguf(path, {}, x=(np.zeros((2, nbytes), "u1"), kind))
        archive = opened(path)
        if length == 1:
            assert archive["x"].shape == (2, 1) and archive["x"].itemsize == nbytes
        else:
            assert f"quantized as {kind.name}, in blocks of {length}," in archive.refused["x"]


def test_modes_of_gguf_tensors(tmp_path):
    path = tmp_path / "model.gguf"
    write_gguf(path, {"a": numbers("f4", (3, 4)), "b": numbers("i2", (5,))})

    def read():
        return np.array(gguf.GGUFReader(path).get_tensor(0).data).reshape(3, 4)

    old = read()[0, 0]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(crossdock.open(path)["a"])[0, 0] = 1
    private = crossdock.open(path, mode="c", name="a")
    private[0, 0] = 9
    assert private.backing == "heap" and read()[0, 0] == old
    shared = crossdock.open(path, mode="r+")["a"]
    shared[0, 0] = 9
    assert shared.backing == "file map" and read()[0, 0] == 9
    with pytest.raises(TypeError, match="a GGUF file can be opened, but not written"):
        crossdock.save(tmp_path / "new.gguf", {"a": [1.0]})


@pytest.mark.parametrize("mode, dtype", [("L", "u1"), ("RGB", "u1"), ("I;16", ">u2")])
def test_pixels_of_pgm_and_ppm_are_those_of_pillow(tmp_path, mode, dtype):
    path = tmp_path / "x.ppm"
    pixels = numbers(dtype, (5, 7, 3) if mode == "RGB" else (5, 7))
    PIL.Image.fromarray(pixels.astype(pixels.dtype.newbyteorder("="))).save(path, format="PPM")
    assert same(opened(path), pixels)
    with PIL.Image.open(path) as image:
        assert np.array_equal(np.asarray(image), pixels)
    check_modes(path, lambda: np.asarray(PIL.Image.open(path)))


@pytest.mark.parametrize("suffix, modes", [("png", ["L", "LA", "RGB", "RGBA", "I;16"]), ("jpg", ["L", "RGB"])])
def test_compressed_images_have_the_axes_and_pixels_that_pillow_gives_them(tmp_path, suffix, modes):
    path = tmp_path / f"x.{suffix}"
    for mode in modes:
        depth = len(mode) if mode != "I;16" else 1
        pixels = np.full((5, 7, depth)[: 2 + (depth > 1)], 90, "<u2" if mode == "I;16" else "u1")
        PIL.Image.fromarray(pixels).save(path)
        with PIL.Image.open(path) as image:
            assert image.mode == mode and same(np.asarray(crossdock.open(path)), np.asarray(image))


def test_units_of_fits_files_are_those_of_astropy(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    path = tmp_path / "x.fits"
    images = [numbers(dtype, (4, 3, 2)) for dtype in ("u1", ">i2", ">i4", ">i8", ">f4", ">f8")]
    rows = np.zeros(5, [("id", ">i4"), ("at", ">f8", (3,)), ("name", "S6"), ("z", ">c8")])
    rows["id"], rows["at"], rows["name"] = range(5), RNG.standard_normal((5, 3)), [b"a", b"bc", b"", b"def", b"g"]
    units = [fits.PrimaryHDU(images[0]), *(fits.ImageHDU(image, name=f"I{n}") for n, image in enumerate(images))]
    unsigned = fits.ImageHDU(numbers("u2", (3,)), name="U")
    fits.HDUList([*units, fits.BinTableHDU(rows, name="ROWS"), unsigned]).writeto(path)
    with pytest.warns(UserWarning, match="BZERO"):
        found = opened(path)
    assert list(found) == ["PRIMARY", *(f"I{n}" for n in range(6)), "ROWS", "U"]
    with fits.open(path) as theirs:
        for name, image in zip(list(found), [images[0], *images]):
            assert same(found[name], image) and np.array_equal(theirs[name].data, image)
        assert same(found["ROWS"], rows) and np.array_equal(theirs["ROWS"].data["at"], rows["at"])
        stored = np.asarray(found["U"]).astype("i4") + 32768
        assert np.array_equal(theirs["U"].data, stored)


#: The first bytes of files of other formats, what the refusal calls them, and what it advises.
OTHERS = {
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(8), "an HDF5 file", "h5py"),
    "matlab 7.3": (b"MATLAB 7.3 MAT-file", "which is HDF5", "h5py"),
    "netcdf": (b"CDF\x01", "a netCDF file", "xarray"),
    "parquet": (b"PAR1", "a Parquet file", "pyarrow"),
    "gif": (b"GIF89a", "a GIF image", "Pillow"),
    "webp": (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP image", "Pillow"),
    "jxl": (b"\xff\x0a\0", "a JPEG XL image", "Pillow"),
    "bmp": (b"BM\0\0", "a BMP image", "Pillow"),
    "gzip": (b"\x1f\x8b\x08", "gzip", "decompress"),
    "xz": (b"\xfd7zXZ\0", "xz", "decompress"),
    "zstd": (b"\x28\xb5\x2f\xfd", "Zstandard", "decompress"),
    "tar": (bytes(257) + b"ustar", "a tar archive", "decompress"),
    "pickle": (b"\x80\x04\x95", "a Python pickle, which is never executed", "if its source is trusted"),
    "csv": (b"a,b\n1,2\n", "like a table (CSV)", "numpy.loadtxt"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_formats_are_named_with_advice(tmp_path, name):
    start, what, advice = OTHERS[name]
    (tmp_path / "x").write_bytes(start)
    with pytest.raises(TypeError) as caught:
        crossdock.open(tmp_path / "x")
    fact, words = str(caught.value).rsplit("; ", 1)
    assert what in fact and advice in words


def test_a_zip_archive_of_other_files_is_named(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(TypeError, match="ZIP archive of 1 files, but none of their names ends in .npy"):
        crossdock.open(tmp_path / "x.zip")


# ===== MATLAB

MAT = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def test_variables_of_matlab_are_mapped_by_name(tmp_path):
    path = tmp_path / "a.mat"
    shapes = [(1, 1), (2, 3), (4, 1), (2, 3, 4), (0, 3), (5, 2, 1, 3)]
    arrays = {
        f"v{index}_{dtype}": numbers(dtype, shape) for (index, shape), dtype in itertools.product(enumerate(shapes), MAT)
    }
    arrays["truth"] = np.array([[True, False, True]])
    scipy.io.savemat(path, {**arrays, "z": numbers("c16", (2, 3))})
    archive = opened(path)
    read = scipy.io.loadmat(path)
    assert (archive.format, list(archive)) == ("mat", [*arrays, "z.real", "z.imag"])
    for name, array in arrays.items():
        assert same(archive[name], array) and np.array_equal(read[name], np.asarray(archive[name])), name
    assert np.array_equal(np.asarray(archive["z.real"]) + 1j * np.asarray(archive["z.imag"]), read["z"])


def test_what_matlab_keeps_beside_arrays_is_refused_by_name(tmp_path):
    path = tmp_path / "a.mat"
    others = {"s": "text", "c": np.array([1, "x"], object), "t": {"x": 1.0}, "e": scipy.sparse.eye_array(3, format="csc")}
    scipy.io.savemat(path, {**others, "a": np.eye(2)})
    archive = crossdock.open(path)
    assert (list(archive), list(archive.refused)) == (["a"], list(others))
    assert "it is a sparse matrix" in archive.refused["e"] and "scipy.io.loadmat" in archive.refused["e"]
    scipy.io.savemat(path, {"a": np.eye(2), "b": np.eye(3)}, do_compression=True)
    assert list(crossdock.open(path).refused) == ["#1", "#2"]


def test_files_that_matlab_wrote_have_the_numbers_that_scipy_reads():
    folder = Path(scipy.io.matlab.__file__).parent / "tests/data"
    seen = 0
    for path in sorted(folder.glob("test*_6*.mat")):
        read = scipy.io.loadmat(path)
        try:
            archive = crossdock.open(path)
        except ValueError as error:
            assert "no array of numbers" in str(error), path
            continue
        for name, array in archive.items():
            part = {".real": np.real, ".imag": np.imag}.get(name[-5:], np.asarray)
            wanted = read[name.removesuffix(".real").removesuffix(".imag")]
            assert np.array_equal(np.asarray(array), part(wanted)), (path, name)
            seen += 1
    assert seen >= 10


# ===== PyTorch


def test_tensors_of_a_checkpoint_are_mapped_by_their_paths():
    path = Path(__file__).parents[3] / "fuzz/corpus/torch/checkpoint"
    archive = opened(path)
    w = np.arange(6, dtype="f4").reshape(2, 3)
    assert archive.format == "pt" and same(archive["model.w"], w)
    assert same(archive["model.w_t"], w.T) and same(archive["model.row"], w[1])
    assert archive.metadata == {"epoch": "3", "name": "tiny"}


def test_checkpoints_of_pytorch_have_its_elements(tmp_path):
    torch = pytest.importorskip("torch")
    tensors = {
        str(dtype): torch.arange(24).reshape(2, 3, 4).to(dtype)
        for dtype in [torch.float32, torch.float64, torch.int8, torch.int64, torch.uint16, torch.bool, torch.complex64]
    }
    views = {"t": tensors["torch.float32"].permute(2, 0, 1), "part": tensors["torch.int64"][1, ::2]}
    torch.save({"all": tensors, "views": views}, tmp_path / "a.pt")
    archive = opened(tmp_path / "a.pt")
    for group, found in [("all", tensors), ("views", views)]:
        for name, tensor in found.items():
            assert same(archive[f"{group}.{name}"], tensor.numpy()), name
