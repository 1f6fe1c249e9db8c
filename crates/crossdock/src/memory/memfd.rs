//! New anonymous files: memory with a descriptor and without a name.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Kind};
use crate::memory::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use crate::memory::os::{anonymous, errors, process};

/// New shared memory of a fixed size: it is sealed against shrinking and growing.
pub(crate) fn sized_memory(nbytes: usize, name: &CStr) -> io::Result<OwnedFd> {
    // At least one byte, so that the receiver of the descriptor can map it.
    let nbytes = nbytes.max(1) as u64;
    if i64::try_from(nbytes).is_err() {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // Beyond the limit of the process, the system sends a signal that ends it.
    if nbytes > process::file_limit() {
        return Err(errors::too_large());
    }
    anonymous::sized(nbytes, name)
}

/// Whether the system refuses memory because it has none of this size, or may give none.
pub(crate) fn is_out_of_memory(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, OutOfMemory, StorageFull};
    matches!(error.kind(), OutOfMemory | StorageFull | FileTooLarge) || errors::is_overflow(error)
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
                Err(error) if errors::is_out_of_descriptors(&error) => {
                    Self::no_descriptor(nbytes, open, error)
                }
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    let text = "this system has no shareable memory; use another pool";
                    Error::caused(Kind::Unsupported, text, error)
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
        let whose = match errors::is_system_out_of_descriptors(&error) {
            true => "the system".to_owned(),
            false => format!("this process (limit {})", process::descriptor_limit()),
        };
        let text = format!(
            "{nbytes} bytes of shareable memory need a descriptor, and {whose} has no more ({open} are in use for \
            such memory); close some files, or raise the limit (`ulimit -n`)"
        );
        Error::caused(Kind::Exhausted, text, error)
    }

    /// Allocates the pages of `nbytes` bytes from byte `offset` on. `false` if the system refuses.
    pub(crate) fn reserve(&self, offset: usize, nbytes: usize) -> bool {
        anonymous::reserve(self.as_fd(), offset, nbytes)
    }
}

impl AsFd for Memfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
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
    process::descriptor_limit() / 2
}
