//! Memory shared with other processes.

use std::ffi::CStr;
use std::fs::File;

use crate::buffer::Buffer;
use crate::error::{Rejected, Result};
use crate::memory::os::fd::OwnedFd;
use crate::memory::{Handle, LeaseKind, MapOptions, owner};

impl Buffer {
    /// `nbytes` zeroed bytes that can be shared with other processes through
    /// [`Buffer::descriptor`]. Aliased, like any memory that other processes can write. The size is
    /// sealed: no process can shrink it.
    ///
    /// The memory has no path. It lives while any process maps it or has a descriptor of it, or
    /// while one is in transit through a socket. It is freed with the last of these, however that
    /// process ends. On Windows it is a temporary file, which the system keeps in memory while
    /// there is room, and refuses to shrink while it is mapped.
    ///
    /// Three steps, none of which can be undone, decide who may write it:
    ///
    /// | shared memory | who can write |
    /// |---|---|
    /// | as it is made | any process with a descriptor, even a read-only one, through `/proc` |
    /// | after [`Buffer::deny_new_writers`] | processes that had a writable map by then |
    /// | after [`Buffer::into_sealed`] | none |
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`, also beyond the limit of the process on the size of files; `is_io`;
    /// `is_unsupported` for WebAssembly.
    pub fn shared(nbytes: usize) -> Result<Self> {
        Self::shared_named(nbytes, c"crossdock")
    }

    /// As [`Buffer::shared`], with a name that `/proc/*/maps` and `/proc/*/fd` show for the memory.
    /// It is a label: the memory cannot be opened by it.
    ///
    /// # Errors
    ///
    /// As [`Buffer::shared`]; `is_value` for a name of more than 249 bytes.
    pub fn shared_named(nbytes: usize, name: &CStr) -> Result<Self> {
        owner::allocate_shared(nbytes, name).map(Self::whole)
    }

    /// Maps shared memory by a descriptor of another process: `nbytes` bytes from byte `offset` on.
    /// Memory that is sealed against writing is constant, so Read leases can be taken; all other is
    /// aliased.
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
    #[cfg(unix)]
    pub fn map_shared(fd: OwnedFd, offset: u64, nbytes: usize, writable: bool) -> Result<Self> {
        owner::map_shared(fd, offset, nbytes, writable)
            .map(Self::whole)
            .map(|map| map.with_readonly(!writable))
    }

    /// Permanently keeps every process, this one included, from mapping the shared memory for
    /// writing and from writing it through a descriptor (`F_SEAL_FUTURE_WRITE`). Existing writable
    /// maps stay: this buffer, and the maps of processes that received it for writing before. It
    /// applies to all of the memory, of which this buffer may be a part.
    ///
    /// Without it, a consumer can open a read-only descriptor anew for writing through `/proc`.
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
    /// `is_unsupported` for memory that is not shared memory, and where its maker forbids more
    /// seals; `is_read_only` where the descriptor behind it is read-only; `is_io`, as on Linux
    /// before 5.1.
    pub fn deny_new_writers(&self) -> Result<()> {
        owner::deny_new_writers(self.handle())
    }

    /// Permanently seals shared memory against all writes (`F_SEAL_WRITE`), and makes it constant:
    /// Read leases (`&[u8]`) can be taken here, and by every process that maps the memory from now
    /// on. It applies to all of the memory, of which this buffer may be a part. Copies nothing, but
    /// maps the memory anew, at another address. Sealed memory is returned unchanged.
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
    /// The error returns the buffer. `is_conflict` where there is another handle, a lease or an
    /// export of it, and where another process (a forked child, too) or another buffer has a
    /// writable map of it; `is_unsupported` and `is_read_only` as for [`Buffer::deny_new_writers`],
    /// and for a part of a partition; `is_io`, `is_out_of_memory`.
    ///
    /// If only the system finds the conflict, the buffer was unmapped meanwhile and may have moved.
    /// If it cannot be mapped for writing again, because new writers were denied before, it is
    /// returned read-only.
    pub fn into_sealed(self) -> Result<Self, Rejected<Self>> {
        // Memory whose pending write failed must not become constant.
        if let Err(error) = self.handle().await_work(LeaseKind::Write) {
            return Err(Rejected { value: self, error });
        }
        let within = self.address() - self.header().ptr().addr().get();
        let (handle, _, nbytes, readonly) = self.into_parts();
        let again = |handle: Handle, readonly| {
            // SAFETY: `seal` returns a map of the same region, within which `within` leads to the
            // window, as it did before (Buffer 1).
            let ptr = unsafe { handle.header().ptr().add(within) };
            // SAFETY: the window lies within the new map of the region (Buffer 1), and `readonly`
            // is set if the memory became constant (Buffer 2).
            unsafe { Self::from_parts(handle, ptr, nbytes, readonly) }
        };
        match owner::seal(handle, readonly) {
            Ok(handle) => Ok(again(handle, true)),
            Err(owner::NotSealed { handle, is_readonly, error }) => {
                Err(Rejected { value: again(handle, is_readonly), error })
            }
        }
    }

    /// As [`Buffer::map_shared`], for reading. The value is dropped after the last handle and
    /// lease.
    pub(crate) fn map_shared_keeping<T: Send + 'static>(
        fd: OwnedFd,
        offset: u64,
        nbytes: usize,
        value: T,
    ) -> Result<Self> {
        owner::map_shared_keeping(fd, offset, nbytes, value)
            .map(Self::whole)
            .map(|map| map.with_readonly(true))
    }

    /// As [`Buffer::map`], for reading the first `nbytes` bytes of a file that may shrink. The
    /// value is dropped after the last handle and lease.
    pub(crate) fn map_guarded_keeping<T: Send + 'static>(
        file: File,
        nbytes: usize,
        value: T,
    ) -> Result<Self> {
        owner::map_file_keeping(file, &MapOptions::new().range(0, nbytes).guarded(true), value)
            .map(Self::whole)
            .map(|map| map.with_readonly(true))
    }

    /// Whether the descriptor behind the memory, if any, is open for writing, even if this handle
    /// is read-only.
    pub(crate) fn is_descriptor_writable(&self) -> bool {
        self.handle().descriptor().is_some_and(|descriptor| descriptor.writable)
    }

    /// Whether the memory is sealed, so that it can never be mapped for writing again.
    pub(crate) fn is_closed_to_writers(&self) -> bool {
        owner::is_closed_to_writers(self.handle())
    }
}
