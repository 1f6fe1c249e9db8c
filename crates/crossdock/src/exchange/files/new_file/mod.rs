//! A file that appears once it is complete, or a pipe or device that is written directly.
//!
//! Reasons: `DESIGN.md`, "A new file has no name until it is complete".

mod attributes;
mod destination;
mod unfinished_file;

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result, system_text};
use crate::memory::os::fd::AsFd;
use crate::memory::os::files;
use destination::Destination;
use unfinished_file::UnfinishedFile;

/// A file that is written without a name and gets its name from [`NewFile::finish`], once all of it
/// is on disk. If it is dropped before, or the process is killed, it vanishes, and the target of
/// the path is unchanged.
///
/// | the path leads to | what happens |
/// |---|---|
/// | nothing | a new file, whose mode depends on the process's umask |
/// | a regular file | [`NewFile::create`] replaces it, [`NewFile::create_new`] refuses |
/// | a symbolic link | the link stays, and its target is created or replaced |
/// | a pipe, a terminal, `/dev/null`, … | written directly; opening a pipe waits for its reader |
/// | a block device | [`NewFile::create`] writes it, [`NewFile::create_new`] refuses |
/// | `/dev/stdout`, `/dev/fd/N` | the open file itself is written, from its current position |
/// | a directory, a socket | refused |
///
/// A file is replaced in one step, in its own directory, and keeps its mode, owner and access
/// control list.
///
/// A file that the process may not write is refused, although a rename does not need that
/// permission: to replace it, make it writable or remove it first. A hard link is broken: the other
/// names keep the old bytes. Arrays that map the old file keep its bytes too, so a file can be
/// replaced by data computed from it.
///
/// If the file system does not support unnamed files, the file has a hidden name in the same
/// directory until it is finished ([`NewFile::part`]), which a killed process leaves behind.
///
/// ```
/// use std::io::Write;
/// use crossdock::bindings::files::NewFile;
/// # let path = std::env::temp_dir().join(format!("crossdock-new-{}", std::process::id()));
///
/// let mut file = NewFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// assert!(NewFile::create_new(&path).is_err());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    /// Before `target`: fields are dropped in order, and some systems show a hidden name until the
    /// file is closed.
    file: File,
    target: WriteTarget,
}

#[derive(Debug)]
enum WriteTarget {
    /// Bytes are written directly to the target.
    Through,
    /// The file gets its name, `place`, once all of it is written.
    Beside { place: PathBuf, part: UnfinishedFile, replaces: bool },
}

impl NewFile {
    /// Begins a file that replaces the one at `path`, if it exists.
    ///
    /// # Errors
    ///
    /// `is_unsupported` if `path` leads to a directory or a socket; `is_io` if the system refuses:
    /// no permission to write the existing file or to create one in its directory, an owner that
    /// cannot be kept, a loop of links. (The errors of this type do not name the path.)
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::begin(path.as_ref(), true)
    }

    /// Begins a new file. That no file exists at `path` is checked now, and again by
    /// [`NewFile::finish`].
    ///
    /// # Errors
    ///
    /// Those of [`NewFile::create`], and `is_io` (`AlreadyExists`) if a file or a block device
    /// exists there.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        Self::begin(path.as_ref(), false)
    }

    fn begin(path: &Path, replaces: bool) -> Result<Self> {
        match destination::find(path, replaces)? {
            Destination::Through(file) => Ok(Self { file, target: WriteTarget::Through }),
            Destination::New(place) => {
                let (file, part) = UnfinishedFile::begin(&place, None)?;
                Ok(Self { file, target: WriteTarget::Beside { place, part, replaces } })
            }
            Destination::Old(place, old) => {
                let (file, part) = UnfinishedFile::begin(&place, Some(&old))?;
                Ok(Self { file, target: WriteTarget::Beside { place, part, replaces } })
            }
        }
    }

    /// The open pipe, device or file that is written directly; `None` for a file that appears when
    /// it is finished.
    pub fn written_through(&self) -> Option<&File> {
        matches!(self.target, WriteTarget::Through).then_some(&self.file)
    }

    /// The hidden name of the unfinished file, if the file system does not support unnamed files. A
    /// program can remove it when a signal ends the process.
    pub fn part(&self) -> Option<&Path> {
        match &self.target {
            WriteTarget::Through => None,
            WriteTarget::Beside { part, .. } => part.name(),
        }
    }

    /// A path at which the unfinished file can be opened, to read back what was written.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the system has none for a file that is written directly.
    pub fn path(&self) -> io::Result<PathBuf> {
        let hidden = |error| self.part().map(Path::to_owned).ok_or(error);
        files::path_of(self.file.as_fd()).or_else(hidden)
    }

    /// Waits until all bytes are on disk, without naming the file. [`NewFile::finish`] does this,
    /// too.
    ///
    /// # Errors
    ///
    /// `is_io`.
    pub fn sync(&self) -> Result<()> {
        match self.file.sync_all() {
            // Pipes and most devices have nothing to sync.
            Err(error) if error.kind() == ErrorKind::InvalidInput && self.written_through().is_some() => {
                Ok(())
            }
            synced => synced.map_err(write_error),
        }
    }

    /// Waits until all bytes are on disk, and gives the file its name.
    ///
    /// Replacing takes two system calls, a link to a hidden name and a rename: a process that is
    /// killed between them leaves the complete file under the hidden name.
    ///
    /// # Errors
    ///
    /// `is_io`; an existing file is then untouched. `AlreadyExists` if [`NewFile::create_new`]
    /// began the file and another process or thread has created one since.
    pub fn finish(self) -> Result<()> {
        self.sync()?;
        match self.target {
            WriteTarget::Through => Ok(()),
            WriteTarget::Beside { place, part, replaces } => part.finish(&self.file, &place, replaces),
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

/// Fails if the pipe or device cannot seek.
impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Writes a whole file, like [`NewFile::create`] or [`NewFile::create_new`].
pub(super) fn write(
    path: &Path,
    replaces: bool,
    encode: impl FnOnce(&mut NewFile) -> Result<()>,
) -> Result<()> {
    let mut file = NewFile::begin(path, replaces)?;
    encode(&mut file)?;
    file.finish()
}

pub(super) fn put(writer: &mut impl Write, bytes: &[u8]) -> Result<()> {
    writer.write_all(bytes).map_err(write_error)
}

pub(super) fn write_error(error: io::Error) -> Error {
    let kind = if error.kind() == ErrorKind::OutOfMemory { Kind::OutOfMemory } else { Kind::Io };
    Error::caused(kind, format!("it could not be written: {}", system_text(&error)), error)
}

fn already_there() -> Error {
    Error::caused(Kind::Io, "it already exists", io::Error::from(ErrorKind::AlreadyExists))
}
