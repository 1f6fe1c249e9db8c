//! Arrays in files, and as the bytes of a file.

use std::path::{Path, PathBuf};

use crossdock::DArray;
use crossdock::exchange::files::npz::Compression;
use crossdock::exchange::files::{Format, OpenOptions, jpeg, npy, npz, png, safetensors};
use crossdock::memory::Buffer;
use magnus::{RClass, RHash, RModule, RString, Ruby, Value, function, method, prelude::*};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::pressure::again;
use crate::value::name;

/// The formats that [`open`] reads, by the extension of the name.
const WRITTEN: &str = ".npy, .npz, .safetensors, .png, .jpg or .jpeg";

fn open(ruby: &Ruby, path: PathBuf, writable: bool, guarded: bool) -> Result<Wrapped> {
    Wrapped::new(ruby, again(ruby, || Ok(options(writable, guarded).open(&path)?))?)
}

fn open_all(ruby: &Ruby, path: PathBuf, writable: bool, guarded: bool) -> Result<RHash> {
    let contents = again(ruby, || Ok(options(writable, guarded).open_all(&path)?))?;
    // The Hash would silently lack them.
    if let Some((name, _)) = contents.refused().next() {
        contents.get(name)?;
    }
    let arrays = ruby.hash_new();
    for entry in contents.entries() {
        arrays.aset(entry.name(), Wrapped::new(ruby, again(ruby, || Ok(entry.open()?))?)?)?;
    }
    Ok(arrays)
}

fn options(writable: bool, guarded: bool) -> OpenOptions {
    OpenOptions::new().writable(writable).guarded(guarded)
}

/// Writes a file of the given format, or of the format that the path's extension names.
fn save(ruby: &Ruby, this: Wrapped, path: PathBuf, wanted: Value) -> Result<Wrapped> {
    let array = this.array()?;
    let format = if wanted.is_nil() { by_ending(ruby, &path)? } else { by_name(ruby, wanted)? };
    // Without the GVL: the reader of a pipe may be a thread of this process.
    again(ruby, || Ok(without_lock(|| write(&array, &path, format))??))?;
    Ok(this)
}

fn write(array: &DArray, path: &Path, format: Format) -> crossdock::Result<()> {
    // If the format names its arrays, this one gets the name of the file, as in the command.
    let stem = || path.file_stem().map_or_else(|| "array".into(), |stem| stem.to_string_lossy().into_owned());
    match format {
        Format::Npz => npz::save(path, &[(stem(), array.clone())], Compression::Stored),
        Format::Safetensors => safetensors::save(path, &[(stem(), array.clone())], &[] as &[(&str, &str)]),
        Format::Png => png::save(path, array),
        Format::Jpeg => jpeg::save(path, array, jpeg::QUALITY),
        // Formats that cannot describe their arrays were refused above.
        _ => npy::save(path, array),
    }
}

fn by_ending(ruby: &Ruby, path: &Path) -> Result<Format> {
    let why = match Format::named(path) {
        Some(Format::Raw) => {
            "a raw file does not say what it holds: write the bytes by File.binwrite(path, array.to_binary), or"
        }
        Some(format) => return Ok(format),
        None => "its ending names no format:",
    };
    Err(Failure::argument(
        ruby,
        format!("{path:?}: {why} name a file {WRITTEN}, or give format:, as in save(path, format: :npy)"),
    ))
}

fn by_name(ruby: &Ruby, wanted: Value) -> Result<Format> {
    let wanted = name(ruby, wanted)?;
    // A word, not part of a path.
    let is_word = wanted.chars().all(|letter| letter.is_ascii_alphanumeric());
    match Format::named(format!("array.{wanted}")) {
        Some(format) if is_word && format != Format::Raw => Ok(format),
        _ => Err(Failure::argument(
            ruby,
            format!("format: {wanted:?} is none: give :npy, :npz, :safetensors, :png or :jpg"),
        )),
    }
}

/// The bytes of an `.npy` file of the array.
fn to_npy(ruby: &Ruby, this: Wrapped) -> Result<RString> {
    let array = this.array()?;
    // Room for a header, whose text is longer if records have many fields.
    let header = 4096 + 4 * array.dtype().to_string().len();
    let bytes = again(ruby, || {
        let mut bytes = Vec::new();
        let nbytes = array.nbytes().saturating_add(header);
        bytes.try_reserve_exact(nbytes).map_err(|_| Failure::no_memory(ruby, nbytes))?;
        npy::write(&mut bytes, &array)?;
        Ok(bytes)
    })?;
    Ok(ruby.str_from_slice(&bytes))
}

/// An array of the bytes of an `.npy` file, which are copied.
fn from_npy(ruby: &Ruby, class: RClass, bytes: RString) -> Result<Wrapped> {
    let array = again(ruby, || {
        // SAFETY: the bytes are copied before Ruby runs again, so the String cannot change or move
        // meanwhile.
        let bytes = Buffer::copy_from_slice(unsafe { bytes.as_slice() })?;
        Ok(npy::from_buffer(bytes)?)
    })?;
    Wrapped::new_as(ruby, class, array)
}

pub(crate) fn init(module: RModule, class: RClass) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("open_file", function!(open, 3))?;
    module.define_singleton_method("open_all_in", function!(open_all, 3))?;
    class.define_private_method("save_as", method!(save, 2))?;
    class.define_private_method("to_npy", method!(to_npy, 0))?;
    class.define_singleton_method("from_npy", method!(from_npy, 1))
}
