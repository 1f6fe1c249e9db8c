"""Packs a folder into a zip archive whose bytes depend on the files only: sorted, with one time.

Arguments: the archive, the folder above, the folder's name, and the time in seconds since 1970.
"""

import pathlib
import sys
import time
import zipfile

archive, parent, name, seconds = sys.argv[1:]
parent = pathlib.Path(parent)
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
    for path in sorted(path for path in (parent / name).rglob("*") if path.is_file()):
        entry = zipfile.ZipInfo(path.relative_to(parent).as_posix(), time.gmtime(int(seconds))[:6])
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3  # Unix, whatever packs it.
        entry.external_attr = 0o644 << 16
        packed.writestr(entry, path.read_bytes())
