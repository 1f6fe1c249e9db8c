//! The unfinished file.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Seek};
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::files::new_file::destination::parent;
use crate::exchange::files::new_file::{already_there, attributes, write_error};
use crate::memory::os::files;

/// The mode of a new file, which the umask restricts.
const NEW: u32 = 0o666;

/// The unfinished file's entry in its directory, if it has one. Dropping it removes the entry.
#[derive(Debug)]
pub(super) enum UnfinishedFile {
    /// No entry: the system frees the file when it is closed.
    Unnamed,
    Named(Hidden),
}

impl UnfinishedFile {
    /// Creates the file in the folder of `place`, with the attributes of the one that it replaces.
    pub(super) fn begin(place: &Path, old: Option<&File>) -> Result<(File, Self)> {
        // Only the owner may open it until it has the attributes of the old file.
        let mode = if old.is_some() { 0o600 } else { NEW };
        let (file, part) = match files::unnamed(parent(place), mode) {
            Ok(file) => (file, Self::Unnamed),
            Err(_) => {
                let (file, hidden) = Hidden::create(place, mode)?;
                (file, Self::Named(hidden))
            }
        };
        if let Some(old) = old {
            attributes::keep(old, &file)?;
        }
        Ok((file, part))
    }

    pub(super) fn name(&self) -> Option<&Path> {
        match self {
            Self::Unnamed => None,
            Self::Named(hidden) => Some(&hidden.0),
        }
    }

    /// Gives the file its name.
    pub(super) fn finish(self, file: &File, place: &Path, replaces: bool) -> Result<()> {
        let hidden = match self {
            Self::Named(hidden) => hidden,
            Self::Unnamed if !replaces => match files::link_unnamed(file, place) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(already_there()),
                Err(_) => named_copy(file, place)?,
            },
            Self::Unnamed => match Hidden::claim(place, |name| files::link_unnamed(file, name)) {
                Ok(((), hidden)) => hidden,
                Err(_) => named_copy(file, place)?,
            },
        };
        if replaces {
            return std::fs::rename(&hidden.0, place).map_err(write_error);
        }
        match std::fs::hard_link(&hidden.0, place) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists || place.symlink_metadata().is_ok() => {
                Err(already_there())
            }
            // Some file systems do not support hard links.
            Err(_) => std::fs::rename(&hidden.0, place).map_err(write_error),
        }
    }
}

/// A copy of the bytes and attributes in a file with a hidden name, for when the unnamed file
/// cannot be linked, such as without `/proc`.
fn named_copy(mut file: &File, place: &Path) -> Result<Hidden> {
    let (mut copy, hidden) = Hidden::create(place, 0o600)?;
    file.rewind().and_then(|()| io::copy(&mut file, &mut copy)).map_err(write_error)?;
    attributes::keep(file, &copy)?;
    copy.sync_all().map_err(write_error)?;
    Ok(hidden)
}

/// A hidden name in the directory of the final file. Dropping it removes the file of that name;
/// after a rename there is none. Wine, and some versions of Windows, show the name of a removed
/// file until it is closed: `NewFile` has done so when its caller goes on.
#[derive(Debug)]
pub(super) struct Hidden(PathBuf);

impl Hidden {
    fn create(place: &Path, mode: u32) -> Result<(File, Self)> {
        Self::claim(place, |name| files::create_new(name, mode)).map_err(no_file)
    }

    /// Calls `create`, which fails if the name exists, with random names in the directory of
    /// `place` until it succeeds. The names are short, however long the file's own name is. They
    /// are random because processes in different containers can have the same id.
    fn claim<T>(place: &Path, mut create: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, Self)> {
        let mut attempts = 0;
        loop {
            let number = RandomState::new().build_hasher().finish();
            let name = parent(place).join(format!(".crossdock-{number:016x}.part"));
            match create(&name) {
                Ok(created) => return Ok((created, Self(name))),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && attempts < 100 => attempts += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // After a rename the file is gone; after an error, the first error is the one to report.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn no_file(error: io::Error) -> Error {
    let text = match error.kind() {
        ErrorKind::NotFound => "no such directory; create it first".to_owned(),
        ErrorKind::PermissionDenied => "no permission to create a file in its directory".to_owned(),
        _ => format!("no file could be created in its directory: {}", system_text(&error)),
    };
    Error::caused(Kind::Io, text, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::files::new_file::{NewFile, WriteTarget};

    /// Like a file system without unnamed files.
    fn named(place: &Path, text: &str, replaces: bool) -> NewFile {
        let (mut file, hidden) = Hidden::create(place, NEW).unwrap();
        io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let (place, part) = (place.to_owned(), UnfinishedFile::Named(hidden));
        NewFile { file, target: WriteTarget::Beside { place, part, replaces } }
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_hidden_name_is_gone_once_the_file_has_its_own_or_is_dropped() {
        let folder = std::env::temp_dir().join(format!("crossdock-part-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = folder.join("a");
        let new = named(&place, "dropped", false);
        assert!(new.part().is_some_and(|name| name.exists()));
        drop(new);
        assert_eq!(names(&folder), [""; 0]);
        for (replaces, text) in [(false, "new"), (true, "newer")] {
            named(&place, text, replaces).finish().unwrap();
            assert_eq!(
                (names(&folder), std::fs::read_to_string(&place).unwrap()),
                (vec!["a".into()], text.into())
            );
        }
        let error = named(&place, "refused", false).finish().unwrap_err();
        assert!(error.is_io() && error.to_string().contains("already exists"), "{error}");
        assert_eq!(names(&folder), ["a"]);
        // A file that cannot be linked is copied.
        let file = files::unnamed(&folder, NEW);
        let file = file.unwrap_or_else(|_| files::create_new(&folder.join("b"), NEW).unwrap());
        io::Write::write_all(&mut &file, b"copied").unwrap();
        let hidden = named_copy(&file, &place).unwrap();
        assert_eq!(std::fs::read_to_string(&hidden.0).unwrap(), "copied");
        drop((hidden, file));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
