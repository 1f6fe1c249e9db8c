//! New anonymous files: memory with a descriptor and without a name.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Kind};

/// New shared memory of a fixed size: it is sealed against shrinking and growing.
pub(crate) fn sized_memory(nbytes: usize, name: &CStr) -> io::Result<OwnedFd> {
    let fd = growing_memory(name)?;
    // At least one byte, so that the receiver of the descriptor can map it.
    let size = libc::off_t::try_from(nbytes.max(1)).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // Beyond the limit of the process, the system sends a signal that ends it.
    if size.unsigned_abs() > file_limit() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    // SAFETY: `fd` is an open descriptor that this function owns; the file is new, and no map of it
    // exists yet.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), size) } != 0 {
        return Err(io::Error::last_os_error());
    }
    add_seals(fd.as_fd(), libc::F_SEAL_SHRINK | libc::F_SEAL_GROW)?;
    Ok(fd)
}

/// New shared memory of no bytes and without seals, which grows as a file does.
pub(crate) fn growing_memory(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: `name` is a `CStr`, so it ends in NUL; the call only reads it and opens a new
    // descriptor.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `memfd_create` returned `fd`, which is not negative, so it is open, and nothing else
    // owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds seals to the memory behind a descriptor that is open for writing.
pub(crate) fn add_seals(fd: BorrowedFd<'_>, seals: i32) -> io::Result<()> {
    // SAFETY: `fd` is borrowed, so it is open; `F_ADD_SEALS` takes an integer and accesses no
    // memory of this process.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the system refuses memory because it has none of this size, or may give none.
pub(crate) fn is_out_of_memory(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, OutOfMemory, StorageFull};
    matches!(error.kind(), OutOfMemory | StorageFull | FileTooLarge)
        || error.raw_os_error() == Some(libc::EOVERFLOW)
}

/// The most bytes of a file that the process may make (`ulimit -f`).
pub(crate) fn file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: `limit` is a record of the right type that lives until the call returns.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    // No file is longer than an offset can be.
    limit.rlim_cur.min(libc::off_t::MAX as u64)
}

/// The descriptor of a memfd of fixed size. Descriptors of this kind are counted: they must leave
/// half of the process's limit to other code.
pub(crate) struct Memfd(OwnedFd);

static OPEN: AtomicUsize = AtomicUsize::new(0);

impl Memfd {
    /// `nbytes` zero bytes, which no process can shrink. `None`: see [`Memfd::refusal`].
    pub(crate) fn new(nbytes: usize) -> Option<Self> {
        let is_free = OPEN.fetch_add(1, Ordering::Relaxed) < most_descriptors();
        let made = if is_free { sized_memory(nbytes, c"crossdock-pool").ok() } else { None };
        if made.is_none() {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
        made.map(Self)
    }

    /// Why there is no memory for a block.
    #[cold]
    pub(crate) fn refusal(nbytes: usize, align: usize) -> Error {
        let (open, most) = (OPEN.load(Ordering::Relaxed), most_descriptors());
        if open < most {
            return match sized_memory(1, c"crossdock-pool") {
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    Self::no_descriptor(nbytes, open, error)
                }
                _ => Error::out_of_memory(nbytes, align),
            };
        }
        let text = format!(
            "{open} blocks of shareable memory are in use, each with a descriptor, and {most} are the most, \
            half of the process's limit; raise it (`ulimit -n`), or make fewer and larger arrays"
        );
        Error::new(Kind::Exhausted, text)
    }

    /// Other code has opened the descriptors.
    fn no_descriptor(nbytes: usize, open: usize, error: io::Error) -> Error {
        let whose = match error.raw_os_error() {
            Some(libc::ENFILE) => "the system".to_owned(),
            _ => format!("this process (limit {})", descriptor_limit()),
        };
        let text = format!(
            "{nbytes} bytes of shareable memory need a descriptor, and {whose} has no more ({open} are in use for \
            such memory); close some files, or raise the limit (`ulimit -n`)"
        );
        Error::caused(Kind::Exhausted, text, error)
    }

    /// Allocates the pages of `nbytes` bytes from byte `offset` on. `false` if the system refuses.
    pub(crate) fn reserve(&self, offset: usize, nbytes: usize) -> bool {
        loop {
            // SAFETY: the descriptor is open while `self` is; the call changes no byte.
            if unsafe { libc::fallocate(self.0.as_raw_fd(), 0, offset as i64, nbytes as i64) } == 0 {
                return true;
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return false;
            }
        }
    }
}

impl AsRawFd for Memfd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Drop for Memfd {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Half of the descriptors that the process may have open.
fn most_descriptors() -> usize {
    descriptor_limit() / 2
}

/// The descriptors that the process may have open.
fn descriptor_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a record of the right type that lives until the call returns.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}
