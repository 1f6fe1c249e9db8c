//! Arrays in files, and as the bytes of a file.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crossdock::DArray;
use crossdock::bindings::files::{NewFile, NpyHeader, Selected, Target};
use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Contents, Format, OpenOptions, SaveOptions, npy};
use crossdock::layout::Order;
use magnus::rb_sys::{FromRawValue, protect};
use magnus::{RClass, RHash, RModule, RString, Ruby, Value, function, kwargs, method, prelude::*};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::pressure::again;
use crate::query::portable_dtype;
use crate::tables;
use crate::value::name;

/// The formats that [`open`] reads, by file name extension.
const WRITTEN: &str = ".npy, .npz, .safetensors, .png, .jpg or .jpeg";

fn open(ruby: &Ruby, path: PathBuf, writable: bool, guarded: bool, constant: bool) -> Result<Value> {
    let target = Target::new(path.as_os_str())?;
    let path = target.path();
    let options = options(writable, guarded, constant);
    if target.rest().is_empty()
        && let Some(table) = tables::opened(ruby, &options, path)?
    {
        return Ok(table);
    }
    let contents = contents(ruby, path, &options)?;
    let opened = || match target.select(&contents)? {
        Selected::One(entry, view) => entry.open()?.at(&view),
        Selected::All => contents.single()?.open(),
    };
    let array = again(ruby, || opened().map_err(|error| Failure::of_file(ruby, &error, path)))?;
    Ok(Wrapped::new(ruby, array)?.as_value())
}

/// The contents of a file, after a warning if its elements differ from the values that they mean.
fn contents(ruby: &Ruby, path: &Path, options: &OpenOptions) -> Result<Contents> {
    let contents = again(ruby, || Ok(options.open_all(path)?))?;
    for note in contents.notes() {
        let text = format!("{}: {note}", path.display());
        ruby.module_kernel().funcall::<_, _, Value>("warn", (text,))?;
    }
    Ok(contents)
}

fn open_all(ruby: &Ruby, path: PathBuf, writable: bool, guarded: bool, constant: bool) -> Result<RHash> {
    let contents = contents(ruby, &path, &options(writable, guarded, constant))?;
    // The Hash would silently lack these arrays.
    if let Some((name, _)) = contents.refused().next() {
        contents.get(name)?;
    }
    let arrays = ruby.hash_new();
    for entry in contents.entries() {
        arrays.aset(entry.name(), Wrapped::new(ruby, again(ruby, || Ok(entry.open()?))?)?)?;
    }
    Ok(arrays)
}

fn options(writable: bool, guarded: bool, constant: bool) -> OpenOptions {
    let options = OpenOptions::new().writable(writable).guarded(guarded);
    if !constant {
        return options;
    }
    // SAFETY: the Ruby caller's promise, by `constant: true`: no process writes or truncates the
    // file while it is mapped.
    unsafe { options.assume_constant() }
}

/// Writes a file of the given format, or of the format that the path's extension names.
///
/// A pipe or a device can keep a writer waiting for as long as its reader likes, and opening a
/// named pipe waits for a reader to come. Both wait in Ruby's own IO, so that a signal,
/// `Thread#kill` and `Timeout` end them.
fn save(ruby: &Ruby, this: Wrapped, path: PathBuf, wanted: Value) -> Result<Wrapped> {
    let array = this.array()?;
    let format = if wanted.is_nil() { by_ending(ruby, &path)? } else { by_name(ruby, wanted)? };
    let Some(way) = Way::of(&path) else {
        again(ruby, || Ok(without_lock(|| SaveOptions::new().format(format).save(&path, &array))??))?;
        return Ok(this);
    };
    if way == Way::Opened {
        let io = opened(ruby, &path)?;
        let written = write_through(ruby, &array, &path, format, io);
        let closed = io.funcall::<_, _, Value>("close", ());
        written?;
        closed?;
        return Ok(this);
    }
    let file = again(ruby, || Ok(NewFile::create(&path)?)).map_err(|failure| match failure {
        Failure::Ours(error) => Failure::of_file(ruby, &error, &path),
        other => other,
    })?;
    let Some(descriptor) = file.written_through().map(AsRawFd::as_raw_fd) else {
        return Err(Failure::ours(ruby, format!("{path:?} became another file meanwhile: try again")));
    };
    let class: Value = ruby.class_object().const_get("IO")?;
    let io: Value = class.funcall("for_fd", (descriptor, "wb", kwargs!("autoclose" => false)))?;
    write_through(ruby, &array, &path, format, io)?;
    // The file stays open until here.
    drop(file);
    Ok(this)
}

/// The kind of a target that can block a writer.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// A named pipe or a device, which is opened.
    Opened,
    /// An open pipe, device or socket that only `/proc` leads to, as `/dev/stdout` does: its
    /// descriptor is duplicated.
    Duplicated,
}

impl Way {
    /// `None` for regular files, and if the path does not exist.
    fn of(path: &Path) -> Option<Self> {
        let kind = std::fs::metadata(path).ok()?.file_type();
        let has_name = std::fs::canonicalize(path).is_ok();
        match () {
            () if kind.is_fifo() || kind.is_char_device() => {
                Some(if has_name { Self::Opened } else { Self::Duplicated })
            }
            () if kind.is_socket() && !has_name => Some(Self::Duplicated),
            () => None,
        }
    }
}

/// A pipe or a device, opened by Ruby. It is not created if it has vanished.
fn opened(ruby: &Ruby, path: &Path) -> Result<Value> {
    let file: Value = ruby.class_object().const_get("File")?;
    let constants: RModule = file.funcall("const_get", ("Constants",))?;
    let mut flags = 0;
    for name in ["WRONLY", "BINARY", "NOCTTY"] {
        flags |= constants.const_get::<_, i64>(name)?;
    }
    Ok(file.funcall("open", (path.to_path_buf(), flags))?)
}

fn write_through(ruby: &Ruby, array: &DArray, path: &Path, format: Format, io: Value) -> Result<()> {
    let _old: Value = io.funcall("sync=", (true,))?;
    let mut writer = RubyWriter { ruby, io, raised: None };
    let options = SaveOptions::new().format(format);
    let written = options.write(&mut writer, &[(stem(path), array.clone())]);
    match writer.raised {
        Some(error) => Err(Failure::Raised(error)),
        None => written.map_err(|error| Failure::of_file(ruby, &error, path)),
    }
}

/// Writes bytes to a Ruby IO.
struct RubyWriter<'a> {
    ruby: &'a Ruby,
    io: Value,
    /// An exception of the IO, other than a system error.
    raised: Option<magnus::Error>,
}

/// The number of bytes that Ruby gets at a time, copied to a String.
const MOST: usize = 256 << 10;

impl io::Write for RubyWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.raised.is_some() {
            return Err(interrupted());
        }
        let bytes = &bytes[..bytes.len().min(MOST)];
        // An exception for lack of memory must not jump over the library's frames.
        // SAFETY: `bytes` is valid during the call, in which Ruby copies it; `protect` catches
        // exceptions.
        let made = protect(|| unsafe { rb_sys::rb_str_new(bytes.as_ptr().cast(), bytes.len() as _) });
        // SAFETY: `made` is the String that Ruby just created, and it is on the stack.
        let written = made.and_then(|made| self.io.funcall("write", (unsafe { Value::from_raw(made) },)));
        written.map_err(|error| self.failed(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RubyWriter<'_> {
    /// The library reports a system error, with the path.
    fn failed(&mut self, error: magnus::Error) -> io::Error {
        if error.is_kind_of(self.ruby.exception_system_call_error())
            && let Some(number) = error.value().and_then(|error| error.funcall("errno", ()).ok())
        {
            return io::Error::from_raw_os_error(number);
        }
        self.raised = Some(error);
        interrupted()
    }
}

/// Ends the writing.
fn interrupted() -> io::Error {
    io::Error::other("an exception was raised")
}

/// The name of an array in a format with named arrays: that of the file, as in the command line
/// tool.
fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "array".into(), |stem| stem.to_string_lossy().into_owned())
}

fn by_ending(ruby: &Ruby, path: &Path) -> Result<Format> {
    let why = match Format::named(path) {
        Some(Format::Raw) => {
            "a raw file does not say what it holds: write the bytes by File.binwrite(path, array.to_binary), or"
        }
        Some(format) if !format.is_written() => "such a file can be opened, but not written:",
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
    match Format::of_ending(&wanted) {
        Some(format) if format != Format::Raw && format.is_written() => Ok(format),
        _ => Err(Failure::argument(
            ruby,
            format!("format: {wanted:?} is none: give :npy, :npz, :safetensors, :png or :jpg"),
        )),
    }
}

/// The bytes of an `.npy` file of the array; `nil` for a dtype that would not survive the round
/// trip.
fn to_npy(ruby: &Ruby, this: Wrapped) -> Result<Option<RString>> {
    let array = this.array()?;
    let dtype = array.dtype();
    // NumPy has no elements with axes: those of sub-arrays would become axes of the array.
    let is_spelt =
        dtype.as_subarray().is_none() && NpyHeader::new(dtype.clone(), &[], Order::RowMajor).is_ok();
    if !is_spelt {
        return Ok(None);
    }
    // Room for a header; records with many fields need more.
    let header = 4096 + 4 * array.dtype().to_string().len();
    let bytes = again(ruby, || {
        let mut bytes = Vec::new();
        let nbytes = array.nbytes().saturating_add(header);
        bytes.try_reserve_exact(nbytes).map_err(|_| Failure::no_memory(ruby, nbytes))?;
        npy::write(&mut bytes, &array)?;
        Ok(bytes)
    })?;
    Ok(Some(ruby.str_from_slice(&bytes)))
}

/// The description for arrays without an `.npy` form: the dtype with its byte order, and the order
/// of the axes.
fn portable(ruby: &Ruby, this: Wrapped) -> Result<(Value, &'static str)> {
    let array = this.look()?;
    let order = match array.layout().order() {
        Some(Order::ColumnMajor) if !array.is_contiguous(Order::RowMajor) => "column_major",
        _ => "row_major",
    };
    Ok((portable_dtype(ruby, array.dtype())?, order))
}

/// An array with a copy of the bytes of an `.npy` file.
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
    module.define_singleton_method("open_file", function!(open, 4))?;
    module.define_singleton_method("open_all_in", function!(open_all, 4))?;
    class.define_private_method("save_as", method!(save, 2))?;
    class.define_private_method("to_npy", method!(to_npy, 0))?;
    class.define_private_method("portable", method!(portable, 0))?;
    class.define_singleton_method("from_npy", method!(from_npy, 1))
}
