//! Memory that is shared with other processes.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use crate::buffer::Buffer;
use crate::error::{Rejected, Result};
use crate::memory::{Handle, LeaseKind, owner};

impl Buffer {
    /// `nbytes` zeroed bytes that can be shared with other processes through [`Buffer::descriptor`]. Aliased, like any
    /// memory that others can write. The size is sealed: neither side can shrink it under the other.
    ///
    /// Nothing of it has a path: the memory lives while any process has it mapped or has a descriptor of it, or one is on its
    /// way through a socket, and is gone with the last of these, however that process ends.
    ///
    /// Who may write it is decided in three steps, of which none is ever taken back:
    ///
    /// | shared memory | who can write |
    /// |---|---|
    /// | as it is made | whoever has a descriptor, even one for reading only: it can be opened anew through `/proc` |
    /// | after [`Buffer::deny_new_writers`] | whoever had a map for writing by then |
    /// | after [`Buffer::into_sealed`] | nobody |
    ///
    /// # Errors
    ///
    /// `is_io`.
    pub fn shared(nbytes: usize) -> Result<Self> {
        Self::shared_named(nbytes, c"crossdock")
    }

    /// As [`Buffer::shared`], with a name by which `/proc/*/maps` and `/proc/*/fd` tell the memory from other memory. It is a
    /// label: nobody finds the memory by it.
    ///
    /// # Errors
    ///
    /// `is_io`, among others for a name of more than 249 bytes.
    pub fn shared_named(nbytes: usize, name: &CStr) -> Result<Self> {
        owner::allocate_shared(nbytes, name).map(Self::whole)
    }

    /// Maps shared memory whose descriptor came from another process: `nbytes` bytes from byte `offset` on. Memory that is
    /// sealed against writing is constant, so that Read leases can be had; all other is aliased.
    ///
    /// A page that the other process never wrote takes no memory until this process touches it. If
    /// the sender is not trusted, limit `nbytes`, as
    /// [`shm::receive`](crate::exchange::protocol::shm::receive) does.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the memory is smaller, `is_unsupported` if it is not sealed against shrinking
    /// (map it as a file instead) or has huge pages (`MFD_HUGETLB`: punching a hole in them makes a
    /// reader fault in spite of the seal), `is_read_only` for writing memory that is sealed against
    /// writing, `is_io`.
    pub fn map_shared(fd: OwnedFd, offset: u64, nbytes: usize, writable: bool) -> Result<Self> {
        owner::map_shared(fd, offset, nbytes, writable)
            .map(Self::whole)
            .map(|map| map.with_readonly(!writable))
    }

    /// Keeps every process, this one included, from mapping the shared memory for writing and from writing it through a
    /// descriptor, from now on and for good (`F_SEAL_FUTURE_WRITE`). What is mapped for writing already stays so: this buffer, and
    /// the maps of those to whom it was lent for writing before. All of the memory is meant, of which this buffer may be a part.
    ///
    /// It binds a reader who does not keep to his descriptor: one for reading only can be opened anew for writing through `/proc`.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    ///
    /// let buffer = Buffer::shared(4096)?;
    /// buffer.deny_new_writers()?;
    /// buffer.share()?.store(0, 7u8)?; // the map that there was
    /// let (fd, offset) = buffer.descriptor().unwrap();
    /// assert!(Buffer::map_shared(fd.try_clone_to_owned()?, offset, 4096, true).unwrap_err().is_read_only());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_unsupported` for other than shared memory, and where its maker forbids more seals; `is_read_only` where the
    /// descriptor behind it is for reading only; `is_io`, as on Linux before 5.1.
    pub fn deny_new_writers(&self) -> Result<()> {
        owner::deny_new_writers(self.handle())
    }

    /// Seals shared memory against writing, by anybody and for good (`F_SEAL_WRITE`), and makes it constant: Read leases
    /// (`&[u8]`) can be had here, and by whoever maps the memory from now on. All of the memory is sealed, of which this buffer may be
    /// a part. Copies nothing; it is mapped anew, at another address. Sealed memory comes back as it is.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::memory::Birth;
    ///
    /// let buffer = Buffer::shared(3)?;
    /// buffer.share()?.copy_from_slice(b"abc")?;
    /// let sealed = buffer.into_sealed()?;
    /// assert_eq!(&sealed.read()?[..], b"abc");
    ///
    /// // What the other process does with the descriptor:
    /// let (fd, offset) = sealed.descriptor().unwrap();
    /// let theirs = Buffer::map_shared(fd.try_clone_to_owned()?, offset, 3, false)?;
    /// assert_eq!((theirs.birth(), &theirs.read()?[..]), (Birth::Constant, &b"abc"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The buffer comes back with the error. `is_conflict` where there is another handle, a lease or an export of it, and where
    /// another process (a forked child, too) or another buffer has it mapped so that it could write; `is_unsupported` and
    /// `is_read_only` as for [`Buffer::deny_new_writers`], and for a part of a partition; `is_io`, `is_out_of_memory`.
    ///
    /// Where only the system found what stands in the way, the buffer was unmapped meanwhile and may have moved; if it cannot be
    /// mapped for writing again, because new writers were denied before, it comes back read-only.
    pub fn into_sealed(self) -> Result<Self, Rejected<Self>> {
        // What was to be written and was not does not become constant.
        if let Err(error) = self.handle().await_work(LeaseKind::Write) {
            return Err(Rejected { value: self, error });
        }
        let within = self.address() - self.header().ptr().addr().get();
        let (handle, _, nbytes, readonly) = self.into_parts();
        let again = |handle: Handle, readonly| {
            // SAFETY: a map of the same region as before, in which the window lies as before (Buffer 1).
            let ptr = unsafe { handle.header().ptr().add(within) };
            // SAFETY: as above; `readonly` is set where the memory became constant, and kept otherwise.
            unsafe { Self::from_parts(handle, ptr, nbytes, readonly) }
        };
        match owner::seal(handle, readonly) {
            Ok(handle) => Ok(again(handle, true)),
            Err(owner::NotSealed { handle, is_readonly, error }) => {
                Err(Rejected { value: again(handle, is_readonly), error })
            }
        }
    }

    /// Whether the descriptor behind the memory, if there is one, is open for writing, whatever this handle permits.
    pub(crate) fn is_descriptor_writable(&self) -> bool {
        self.handle().descriptor().is_some_and(|descriptor| descriptor.writable)
    }

    /// Whether the memory is sealed, so that nobody can map it for writing any more.
    pub(crate) fn is_closed_to_writers(&self) -> bool {
        owner::is_closed_to_writers(self.handle())
    }
}
