//! A file that is there when all of it is there, and not before.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Kind, Result};

/// A file that is written beside its place, under a name of its own, and moved there by [`NewFile::replace`] or
/// [`NewFile::create`]. Dropped before, it is gone, and whatever lies in its place is untouched.
///
/// ```
/// use std::io::Write;
/// use crossdock::exchange::files::NewFile;
/// # let path = std::env::temp_dir().join(format!("crossdock-new-{}", std::process::id()));
///
/// let mut file = NewFile::beside(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.replace()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    file: File,
    part: Part,
    place: PathBuf,
}

impl NewFile {
    /// Begins a file that is to lie at `path`. A link there stays one: what it leads to is replaced.
    ///
    /// # Errors
    ///
    /// `is_unsupported` where `path` is a directory, `is_io` where no file can be made beside it. (The errors of this type do not
    /// name the path.)
    pub fn beside(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(name) = place.file_name().filter(|_| !place.is_dir()) else {
            return Err(Error::new(Kind::Unsupported, "a directory, not a file: name a file in it"));
        };
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut part = std::ffi::OsString::from(".");
        part.push(name);
        part.push(format!(".{}-{count}.part", std::process::id()));
        let (file, part) = Part::create(place.with_file_name(part))?;
        Ok(Self { file, part, place })
    }

    /// Brings the bytes to disk and moves the file to its place, where it replaces what was there.
    ///
    /// # Errors
    ///
    /// `is_io`. What was there before is then untouched.
    pub fn replace(self) -> Result<()> {
        self.file.sync_all().map_err(write_error)?;
        std::fs::rename(&self.part.0, &self.place).map_err(write_error)
    }

    /// The same, but only where nothing is there.
    ///
    /// # Errors
    ///
    /// `is_io` (`AlreadyExists`) where there is something, and otherwise as [`NewFile::replace`].
    pub fn create(self) -> Result<()> {
        self.file.sync_all().map_err(write_error)?;
        match std::fs::hard_link(&self.part.0, &self.place) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists || self.place.exists() => {
                Err(already_there())
            }
            // Some file systems have no second names.
            Err(_) => std::fs::rename(&self.part.0, &self.place).map_err(write_error),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Writes a whole file and moves it to its place. Errors name the path.
pub(super) fn save(path: &Path, write: impl FnOnce(&mut NewFile) -> Result<()>) -> Result<()> {
    let saved = NewFile::beside(path).and_then(|mut file| {
        write(&mut file)?;
        file.replace()
    });
    saved.map_err(|error| error.within(path.display()))
}

pub(super) fn put(writer: &mut impl Write, bytes: &[u8]) -> Result<()> {
    writer.write_all(bytes).map_err(write_error)
}

pub(super) fn write_error(error: io::Error) -> Error {
    Error::caused(Kind::Io, format!("it could not be written: {error}"), error)
}

fn already_there() -> Error {
    Error::caused(Kind::Io, "there is such a file already", io::Error::from(ErrorKind::AlreadyExists))
}

/// A file that is gone when this is dropped: removed, or renamed before.
#[derive(Debug)]
struct Part(PathBuf);

impl Part {
    fn create(path: PathBuf) -> Result<(File, Self)> {
        let file = File::create_new(&path).map_err(|error| {
            Error::caused(
                Kind::Io,
                format!("no file could be made in the directory that it is to lie in: {error}"),
                error,
            )
        })?;
        Ok((file, Self(path)))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Not there any more after a renaming; and on the way of an error, that one says more.
        let _ = std::fs::remove_file(&self.0);
    }
}
