//! The memory of a set: how it is made, and what is checked of another process's. Regions are
//! sealed memory or mapped files; the manifest is always sealed.

use std::ffi::CString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::error::{Error, Kind, Result, short, system_text};
use crate::exchange::protocol::hold::label::{Label, MOST_NBYTES};
use crate::exchange::protocol::hold::manifest::{
    HEAD_NBYTES, Head, ListedRegion, MAPPED, Manifest, ManifestContents, SEALED,
};
use crate::memory::os::{FileState, anonymous, errors, files};
use crate::memory::{memfd, owner};

/// What the label of a set's memory begins with: `/proc/PID/fd` shows it behind `/memfd:`.
pub(super) const PREFIX: &str = "crossdock hold ";

/// The seals of memory that no process can change.
const SEALS: i32 = anonymous::SEAL_SHRINK | anonymous::SEAL_GROW | anonymous::SEAL_WRITE;

/// Memory of a fixed size for the set with this label, which `what` names: the manifest, or a
/// region.
pub(super) fn allocate(nbytes: usize, label: &Label, what: &str) -> Result<OwnedFd> {
    memfd::sized_memory(nbytes, &file_name(label, what)?)
        .map_err(|error| failed(&format!("{nbytes} bytes of shared memory could not be allocated"), error))
}

/// Empty memory of the set, which grows as a file does.
pub(super) fn growing(label: &Label, what: &str) -> Result<File> {
    anonymous::growing(&file_name(label, what)?)
        .map(File::from)
        .map_err(|error| failed("shared memory could not be allocated", error))
}

fn file_name(label: &Label, what: &str) -> Result<CString> {
    CString::new(format!("{PREFIX}{label} {what}")).map_err(|error| {
        Error::caused(Kind::Malformed, "the name of a set cannot contain the character NUL", error)
    })
}

/// Seals memory against writing and changes of its size, for ever.
///
/// # Errors
///
/// `is_conflict` while a writable map of it exists.
pub(super) fn seal(memory: &OwnedFd) -> Result<()> {
    anonymous::add_seals(memory.as_fd(), SEALS | anonymous::SEAL_SEAL).map_err(|error| {
        match error.kind() {
            ErrorKind::ResourceBusy => Error::caused(
                Kind::Conflict,
                "the memory of the set cannot be sealed while another map of it is writable; drop the arrays first",
                error,
            ),
            _ => failed("the memory of the set could not be sealed", error),
        }
    })
}

/// The manifest in sealed memory of its own.
pub(super) fn manifest(contents: &ManifestContents<'_>, label: &Label) -> Result<OwnedFd> {
    let bytes = contents.to_bytes()?;
    let memory = allocate(bytes.len(), label, "manifest")?;
    let file = File::from(memory);
    file.write_all_at(&bytes, 0).map_err(|error| failed("the manifest could not be written", error))?;
    let memory = OwnedFd::from(file);
    // Another seal marks it as committed.
    anonymous::add_seals(memory.as_fd(), anonymous::SEAL_WRITE)
        .map_err(|error| failed("the manifest could not be sealed", error))?;
    Ok(memory)
}

/// Marks a manifest, which is sealed against writing, as that of a committed set: it accepts no
/// further seal (`F_SEAL_SEAL`). Only the holder does that, so a search after its kill tells the
/// set from one that its writer still keeps to itself.
pub(super) fn mark_committed(manifest: &OwnedFd) -> Result<()> {
    if is_committed(manifest) {
        return Ok(());
    }
    // A seal needs a descriptor that is open for writing.
    files::reopen(manifest.as_fd(), true)
        .and_then(|writer| anonymous::add_seals(writer.as_fd(), anonymous::SEAL_SEAL))
        .map_err(|error| failed("the manifest could not be marked as committed", error))
}

/// Whether a holder committed the set with this manifest.
pub(super) fn is_committed(manifest: &OwnedFd) -> bool {
    anonymous::seals(manifest.as_fd()) & anonymous::SEAL_SEAL != 0
}

/// A file as the kernel tells it apart, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) nbytes: u64,
}

/// The inode and the size of the memory.
pub(super) fn identity(memory: &OwnedFd) -> Result<Identity> {
    let file = memory.try_clone().map(File::from);
    let metadata = file.and_then(|file| file.metadata());
    let metadata = metadata.map_err(|error| failed("the size of the memory could not be read", error))?;
    Ok(Identity { device: metadata.dev(), inode: metadata.ino(), nbytes: metadata.len() })
}

/// Checks that a descriptor is shared memory of ordinary pages that no process can change. Its
/// result holds for ever, since seals are never removed.
///
/// # Errors
///
/// `is_unsupported`, with what it is instead.
pub(super) fn check_sealed(memory: &OwnedFd) -> Result<Identity> {
    let seals = anonymous::seals(memory.as_fd());
    if seals & SEALS != SEALS {
        let text = format!(
            "the descriptor is not memory that is sealed against writing and changes of its size (seals {seals:#x}, \
            {SEALS:#x} wanted); seal it, then commit it"
        );
        return Err(Error::new(Kind::Unsupported, text));
    }
    match files::file_system(memory.as_fd()) {
        Some(owner::ORDINARY_PAGES) => identity(memory),
        other => {
            let text = format!(
                "the descriptor is of file system {:#x}, but a set is a memfd of ordinary pages ({:#x})",
                other.unwrap_or(0),
                owner::ORDINARY_PAGES
            );
            Err(Error::new(Kind::Unsupported, text))
        }
    }
}

/// Checks that a descriptor is a regular file, open for reading only, which a process can map
/// behind a guard. The file can still change, and shrink.
///
/// # Errors
///
/// `is_unsupported`, with what it is instead.
pub(super) fn check_mappable(file: &OwnedFd) -> Result<Identity> {
    let flags = files::flags(file.as_fd()).unwrap_or(-1);
    if flags < 0 || !files::only_reads(flags) {
        let text = format!(
            "the descriptor of a mapped file must be open for reading and nothing else (its flags are {flags:#o})"
        );
        return Err(Error::new(Kind::Unsupported, text));
    }
    let state = files::state(file.as_fd())
        .map_err(|error| failed("the size of the file could not be read", error))?;
    let FileState { device, inode, nbytes, mode, is_regular } = state;
    if !is_regular {
        let text =
            format!("the descriptor is not a regular file (its mode is {mode:#o}), so it cannot be mapped");
        return Err(Error::new(Kind::Unsupported, text));
    }
    Ok(Identity { device, inode, nbytes })
}

/// The same memory, open for reading only: Linux before 6.7 maps sealed memory by no other
/// descriptor.
pub(super) fn for_reading(memory: &OwnedFd) -> Result<OwnedFd> {
    owner::for_reading(memory.as_fd())
        .map_err(|error| failed("the memory could not be opened for reading", error))
}

/// Another descriptor of the same open file.
pub(super) fn duplicate(memory: &OwnedFd) -> Result<OwnedFd> {
    memory.try_clone().map_err(|error| failed("the descriptor could not be duplicated", error))
}

/// A region of a set.
#[derive(Debug)]
pub(super) enum SetRegion {
    /// Sealed memory, constant.
    Sealed(OwnedFd),
    /// A file, open for reading, of which this many bytes belong to the set.
    Mapped(OwnedFd, u64),
}

impl SetRegion {
    /// Checks a descriptor by what the manifest of the set lists as its region `index`.
    fn check(fd: OwnedFd, listed: ListedRegion, index: usize, label: &Label) -> Result<Self> {
        let ListedRegion { inode, nbytes, kind, device } = listed;
        let found = match kind {
            SEALED => check_sealed(&fd)?,
            MAPPED => check_mappable(&fd)?,
            kind => {
                let text = format!(
                    "region {index} of {label} is of kind {kind}; {SEALED} and {MAPPED} are supported"
                );
                return Err(Error::new(Kind::Unsupported, text));
            }
        };
        let is_file = kind == MAPPED && (found.device, found.inode) == (device, inode);
        if is_file && found.nbytes < nbytes {
            let text = format!(
                "the file of region {index} of {label} shrank: it has {} bytes, and had {nbytes} when it was \
                published; publish it again",
                found.nbytes
            );
            return Err(Error::new(Kind::Fault, text));
        }
        let is_memory = kind == SEALED && (found.inode, found.nbytes) == (inode, nbytes);
        if !is_file && !is_memory {
            let text = format!(
                "region {index} of {label} has inode {} and {} bytes, but its manifest lists inode {inode} and \
                {nbytes} bytes",
                found.inode, found.nbytes
            );
            return Err(Error::new(Kind::Malformed, text));
        }
        Ok(if kind == MAPPED { Self::Mapped(fd, nbytes) } else { Self::Sealed(fd) })
    }

    pub(super) fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped(..))
    }

    pub(super) fn into_fd(self) -> OwnedFd {
        match self {
            Self::Sealed(fd) | Self::Mapped(fd, _) => fd,
        }
    }

    pub(super) fn duplicate(&self) -> Result<OwnedFd> {
        duplicate(self.as_ref())
    }
}

impl AsRef<OwnedFd> for SetRegion {
    fn as_ref(&self) -> &OwnedFd {
        match self {
            Self::Sealed(fd) | Self::Mapped(fd, _) => fd,
        }
    }
}

/// The memory of a set, checked as far as a process must that does not map it: the manifest is
/// sealed and has a head, and its regions are these.
#[derive(Debug)]
pub(super) struct SetMemory {
    pub(super) manifest: OwnedFd,
    pub(super) regions: Vec<SetRegion>,
    pub(super) label: Label,
    /// The bytes of the manifest and of all regions.
    pub(super) nbytes: u64,
    pub(super) head: Head,
}

impl SetMemory {
    /// Reads and checks the head of the manifest and its list of regions. O(regions).
    ///
    /// # Errors
    ///
    /// `is_unsupported`, `is_malformed`.
    pub(super) fn check(manifest: OwnedFd, regions: Vec<OwnedFd>) -> Result<Self> {
        let ManifestHead { head, label, regions: listed } = read_head(&manifest)?;
        if listed.len() != regions.len() {
            let text = format!(
                "the manifest of {label} lists {} regions, but {} came with it",
                listed.len(),
                regions.len()
            );
            return Err(Error::new(Kind::Malformed, text));
        }
        let nbytes =
            listed.iter().fold(head.nbytes as u64, |nbytes, region| nbytes.saturating_add(region.nbytes));
        let regions = regions.into_iter().zip(listed).enumerate();
        let regions = regions
            .map(|(index, (fd, listed))| SetRegion::check(fd, listed, index, &label))
            .collect::<Result<_>>()?;
        Ok(Self { manifest, regions, label, nbytes, head })
    }

    /// The same memory with descriptors that are open for reading only.
    pub(super) fn for_reading(self) -> Result<Self> {
        let reopened = |region| match region {
            SetRegion::Sealed(memory) => for_reading(&memory).map(SetRegion::Sealed),
            // Its check found that it is.
            mapped @ SetRegion::Mapped(..) => Ok(mapped),
        };
        let regions = self.regions.into_iter().map(reopened).collect::<Result<_>>()?;
        Ok(Self { manifest: for_reading(&self.manifest)?, regions, ..self })
    }

    /// Whether a region is a mapped file, so that the arrays may change.
    pub(super) fn is_mapped(&self) -> bool {
        self.regions.iter().any(SetRegion::is_mapped)
    }

    /// The descriptors, the manifest's first.
    pub(super) fn into_descriptors(self) -> Vec<OwnedFd> {
        std::iter::once(self.manifest).chain(self.regions.into_iter().map(SetRegion::into_fd)).collect()
    }
}

/// What a manifest says of the set as a whole.
pub(super) struct ManifestHead {
    pub(super) head: Head,
    pub(super) label: Label,
    pub(super) regions: Vec<ListedRegion>,
}

/// Reads the head of a manifest without a map.
pub(super) fn read_head(manifest: &OwnedFd) -> Result<ManifestHead> {
    let Identity { nbytes, .. } = check_sealed(manifest)?;
    let file = File::from(duplicate(manifest)?);
    let nbytes = usize::try_from(nbytes).unwrap_or(usize::MAX);
    let mut bytes = vec![0; nbytes.min(HEAD_NBYTES)];
    let unread = |error| failed("the manifest could not be read", error);
    file.read_exact_at(&mut bytes, 0).map_err(unread)?;
    let head = Head::read(&bytes, nbytes)?;
    let mut section = vec![0; head.regions_nbytes()];
    file.read_exact_at(&mut section, HEAD_NBYTES as u64).map_err(unread)?;
    let mut name = vec![0; head.name_nbytes().min(MOST_NBYTES + 1)];
    file.read_exact_at(&mut name, head.name_start() as u64).map_err(unread)?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let label = Label::new(&name, head.version).map_err(|error| {
        Error::new(Kind::Malformed, format!("the manifest names its set {}: {error}", short(&name)))
    })?;
    Ok(ManifestHead { head, label, regions: Manifest::regions_of(&section) })
}

pub(super) fn failed(what: &str, error: std::io::Error) -> Error {
    let text = format!("{what}: {}", system_text(&error));
    match errors::is_out_of_descriptors(&error) {
        true => Error::caused(Kind::Io, format!("{text}; close some, or raise the limit (ulimit -n)"), error),
        false => Error::caused(Kind::Io, text, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_still_change_is_refused() {
        let label = Label::new("m", 1).unwrap();
        let memory = allocate(100, &label, "region 0").unwrap();
        assert!(check_sealed(&memory).unwrap_err().is_unsupported());
        seal(&memory).unwrap();
        assert_eq!(check_sealed(&memory).unwrap().nbytes, 100);
        let null = OwnedFd::from(File::open("/dev/null").unwrap());
        assert!(check_sealed(&null).unwrap_err().is_unsupported());
    }
}
