//! Buffers over existing memory: vectors, owners, files, pointers of other libraries.

use std::fs::File;
use std::ops::Deref;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::memory::owner::{self, MapOptions};
use crate::memory::{Birth, Place, Pod};

impl Buffer {
    /// Adopts a vector. O(1): its block becomes the allocation.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is no memory for the header.
    pub fn from_vec<T: Pod>(vec: Vec<T>) -> Result<Self> {
        owner::adopt_vec(vec).map(Self::whole)
    }

    /// Adopts a string. O(1): its block becomes the allocation.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is no memory for the header.
    pub fn from_string(text: String) -> Result<Self> {
        Self::from_vec(text.into_bytes())
    }

    /// Adopts anything that dereferences to a slice: `Arc<Vec<T>>`, `Arc<[T]>`, `String`, an image,
    /// a `bytes::Bytes`. Read-only, since the owner may be shared. O(1), except for a small box
    /// around the owner.
    ///
    /// The owner is dereferenced once, here, and dropped with the last holder, on that holder's
    /// thread. A panic in its drop is caught, and counted by
    /// [`ledger::failed_releases`](crate::ledger::failed_releases).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use crossdock::buffer::Buffer;
    ///
    /// let pixels = Arc::new(vec![1u16, 2, 3]);
    /// let buffer = Buffer::from_owner(pixels.clone())?;
    /// assert_eq!(buffer.as_ptr(), pixels.as_ptr().cast());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is no memory for the header.
    pub fn from_owner<T, O>(owner: O) -> Result<Self>
    where
        T: Pod,
        O: Deref<Target: AsRef<[T]>> + Send + 'static,
    {
        owner::adopt_owner(owner).map(Self::whole)
    }

    /// Wraps memory that lives as long as the program. Read-only. O(1).
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is no memory for the header.
    pub fn from_static<T: Pod>(slice: &'static [T]) -> Result<Self> {
        owner::adopt_static(slice).map(Self::whole)
    }

    /// Maps a file, or a part of one. The memory is aliased, since any process may write the file:
    /// Share and Pin leases can be taken, Read and Write leases cannot. O(1) until the pages are
    /// touched.
    ///
    /// Two such maps of one file, by any path or descriptor, are known to be the same memory: a
    /// copy between overlapping ranges is refused, or done as if the source had been copied first.
    /// A map made by another library is known by its addresses alone.
    ///
    /// # Errors
    ///
    /// `is_bounds` if the range ends beyond the file, `is_unsupported` if it is not a regular file
    /// or lies on hugetlbfs, `is_io`.
    pub fn map(file: File, options: MapOptions) -> Result<Self> {
        let readonly = !options.is_writable();
        owner::map_file(file, &options).map(Self::whole).map(|map| map.with_readonly(readonly))
    }

    /// Adopts memory of another library. `release` is called exactly once: when the last holder is
    /// dropped, on that holder's thread, or before this function returns an error.
    ///
    /// # Errors
    ///
    /// `is_malformed` for a null pointer to more than 0 bytes, `is_overflow` beyond `isize::MAX`
    /// bytes, `is_out_of_memory`.
    ///
    /// # Safety
    ///
    /// 1. Until `release` is called, `nbytes` bytes at `ptr` are valid for reads. They are valid
    ///    for writes too, unless `birth` is `Constant` or the caller makes the buffer read-only
    ///    before it writes or passes it on.
    /// 2. If the place is the host, they are initialised.
    /// 3. If `birth` is `Sole`, no other party accesses them. If it is `Constant`, no party writes
    ///    them.
    /// 4. If `birth` is `Aliased`, other parties may write them, but only atomically or in ways
    ///    that this program's memory model does not see.
    pub unsafe fn from_foreign(
        ptr: *mut u8,
        nbytes: usize,
        place: Place,
        birth: Birth,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        // SAFETY: clauses 1 to 4 of `# Safety` are those of `adopt_foreign`, with the same memory,
        // place, birth and `release`.
        unsafe { owner::adopt_foreign(ptr, nbytes, place, birth, release) }.map(Self::whole)
    }

    /// Points at memory that another party owns, and frees at some time after the last use. Majel's
    /// non-owned allocation. Aliased: share or pin it.
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_foreign`].
    ///
    /// # Safety
    ///
    /// Clauses 1, 2 and 4 of [`Buffer::from_foreign`], for an aliased birth and for as long as any
    /// handle or lease lives.
    pub unsafe fn non_owned(ptr: *mut u8, nbytes: usize, place: Place) -> Result<Self> {
        // SAFETY: `# Safety` holds for as long as any handle or lease lives, which is until
        // `from_foreign` calls the empty `release`.
        unsafe { Self::from_foreign(ptr, nbytes, place, Birth::Aliased, || {}) }
    }
}
