"""Files that only other libraries write are mapped: each element is theirs, and no byte is copied."""

import itertools

import nibabel
import numpy as np
import pytest

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


#: The first bytes of files of other formats, what the refusal calls them, and what it advises.
OTHERS = {
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(8), "an HDF5 file", "h5py"),
    "matlab 7.3": (b"MATLAB 7.3 MAT-file", "which is HDF5", "h5py"),
    "matlab": (b"MATLAB 5.0 MAT-file", "a MATLAB file", "scipy.io.loadmat"),
    "netcdf": (b"CDF\x01", "a netCDF file", "xarray"),
    "fits": (b"SIMPLE  =                    T", "a FITS file", "astropy"),
    "parquet": (b"PAR1", "a Parquet file", "pyarrow"),
    "arrow": (b"ARROW1\0\0", "an Arrow IPC file", "pyarrow"),
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
