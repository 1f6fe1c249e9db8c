//! The folder with the sockets of this user's holders: `$XDG_RUNTIME_DIR/crossdock`, or
//! `/tmp/crossdock-UID` without that variable.
//!
//! Only its owner may enter it, so no other user can reach or replace a socket in it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::protocol::hold::label::Label;
use crate::exchange::protocol::hold::socket::user;
use crate::memory::os::{errors, files};

/// The ending of the sockets' names.
const ENDING: &str = ".sock";

/// How long another process may hold the lock of the folder. It needs a few system calls.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folder, checked.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Open, so that the check and the lock are of the same folder.
    file: File,
}

impl Folder {
    fn path() -> PathBuf {
        match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()) {
            Some(path) => path.join("crossdock"),
            None => format!("/tmp/crossdock-{}", user()).into(),
        }
    }

    /// The folder, made if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`Folder::find`].
    pub(super) fn create() -> Result<Self> {
        let path = Self::path();
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(failed(&path, "could not be made; set XDG_RUNTIME_DIR to a folder of your own", error))
            }
            _ => Self::open(path),
        }
    }

    /// The folder, or `None` if no holder ever made it.
    ///
    /// # Errors
    ///
    /// `is_io` if it cannot be opened, is a symbolic link, belongs to another user, or lets others
    /// in.
    pub(super) fn find() -> Result<Option<Self>> {
        let path = Self::path();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => Self::open(path).map(Some),
        }
    }

    fn open(path: PathBuf) -> Result<Self> {
        let file = files::open_folder(&path).map_err(|error| {
            let what = match () {
                () if errors::is_no_folder(&error) => "must be a folder of your own, not a link or a file",
                () if errors::is_out_of_descriptors(&error) => {
                    "could not be opened; close some files, or raise the limit (ulimit -n)"
                }
                () => "could not be opened; it must be a folder of your own",
            };
            failed(&path, what, error)
        })?;
        let metadata = file.metadata().map_err(|error| failed(&path, "could not be examined", error))?;
        let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
        if owner != user() {
            let text = format!(
                "{} belongs to user {owner}, not to {}; set XDG_RUNTIME_DIR to a folder of your own",
                path.display(),
                user()
            );
            return Err(Error::new(Kind::Io, text));
        }
        if mode & 0o077 != 0 {
            let text = format!(
                "{} lets other users in (mode {mode:o}); change its mode: chmod 700 {}",
                path.display(),
                quoted(&path)
            );
            return Err(Error::new(Kind::Io, text));
        }
        Ok(Self { path, file })
    }

    /// The socket of a name.
    pub(super) fn socket(&self, name: &Label) -> PathBuf {
        let mut file = OsString::from(name.name());
        file.push(ENDING);
        self.path.join(file)
    }

    /// The names of all sockets, of living holders and of killed ones.
    ///
    /// # Errors
    ///
    /// `is_io`.
    pub(super) fn names(&self) -> Result<Vec<Label>> {
        let entries =
            fs::read_dir(&self.path).map_err(|error| failed(&self.path, "could not be listed", error))?;
        let name = |file: &OsStr| Label::new(file.to_str()?.strip_suffix(ENDING)?, 0).ok();
        let sockets = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
        let mut names: Vec<Label> = sockets.filter_map(|entry| name(&entry.file_name())).collect();
        names.sort();
        Ok(names)
    }

    /// Keeps other processes from making or removing sockets meanwhile. The lock has no file of its
    /// own, and ends with its holder, however that ends.
    ///
    /// # Errors
    ///
    /// `is_io` if another process holds it for five seconds.
    pub(super) fn lock(&self) -> Result<Lock<'_>> {
        let start = Instant::now();
        loop {
            let error = match self.file.try_lock() {
                Ok(()) => return Ok(Lock { folder: self }),
                Err(error) => std::io::Error::from(error),
            };
            if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
                return Err(failed(&self.path, "could not be locked", error));
            }
            if start.elapsed() > PATIENCE {
                return Err(failed(&self.path, "is locked by another process (lsof shows which)", error));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The lock of a folder.
pub(super) struct Lock<'a> {
    folder: &'a Folder,
}

impl Lock<'_> {
    /// The path of a file in the folder.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.path.join(file)
    }

    /// Removes a socket if it is this one. A name that is gone is no error.
    pub(super) fn remove(&self, path: &Path, inode: u64) -> Result<()> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.ino() == inode && found.file_type().is_socket() => {
                fs::remove_file(path).map_err(|error| failed(path, "could not be removed", error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // The system releases it otherwise when the folder is closed.
        let _unlocked = self.folder.file.unlock();
    }
}

/// A path as a shell's word.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// The inode of the socket at a path, 0 without one.
pub(super) fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |found| found.ino())
}

/// Fails if something other than a socket lies at a path.
///
/// # Errors
///
/// `is_io`, with what lies there.
pub(super) fn check_is_socket(path: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let kind = match found.file_type() {
        kind if kind.is_socket() => return Ok(()),
        kind if kind.is_dir() => "folder",
        kind if kind.is_symlink() => "link",
        kind if kind.is_file() => "regular file",
        _ => "device or pipe",
    };
    let text = format!("{} is a {kind}, but a holder's socket belongs there; move it away", path.display());
    Err(Error::new(Kind::Io, text))
}

pub(super) fn failed(path: &Path, what: &str, error: std::io::Error) -> Error {
    Error::caused(Kind::Io, format!("{} {what}: {}", path.display(), system_text(&error)), error)
}
