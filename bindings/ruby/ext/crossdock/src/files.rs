//! Arrays in files.

use std::path::PathBuf;

use crossdock::exchange::files::{OpenOptions, npy};
use magnus::{RClass, RHash, RModule, Ruby, function, method, prelude::*};

use crate::error::Result;
use crate::handle::Wrapped;

fn open(ruby: &Ruby, path: PathBuf, writable: bool, guarded: bool) -> Result<Wrapped> {
    Wrapped::new(ruby, options(writable, guarded).open(path)?)
}

fn open_all(ruby: &Ruby, path: PathBuf, writable: bool, guarded: bool) -> Result<RHash> {
    let contents = options(writable, guarded).open_all(path)?;
    let arrays = ruby.hash_new();
    for entry in contents.entries() {
        arrays.aset(entry.name(), Wrapped::new(ruby, entry.open()?)?)?;
    }
    Ok(arrays)
}

fn options(writable: bool, guarded: bool) -> OpenOptions {
    OpenOptions::new().writable(writable).guarded(guarded)
}

fn save(this: Wrapped, path: PathBuf) -> Result<Wrapped> {
    npy::save(path, &this.array()?)?;
    Ok(this)
}

pub(crate) fn init(module: RModule, class: RClass) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("open_file", function!(open, 3))?;
    module.define_singleton_method("open_all_in", function!(open_all, 3))?;
    class.define_method("save", method!(save, 1))
}
