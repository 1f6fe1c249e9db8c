//! Leases of a buffer, and the access that each of them gives.

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::buffer::text::not_utf8;
use crate::buffer::window::count_of;
use crate::error::{Error, Kind, Result};
use crate::memory::racy::{self, Pinned, Shared};
use crate::memory::{Lease, LeaseKind, Pod, count_copied};

/// A lease and the bytes that it covers.
///
/// # Invariants
///
/// 1. `ptr..ptr + nbytes` lies within the lease's region, on the host.
struct CoveredBytes {
    lease: Lease,
    ptr: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: only the guards below give access to the bytes. These are plain data, which any thread
// may read, write or release.
unsafe impl Send for CoveredBytes {}
// SAFETY: `&CoveredBytes` gives no access by itself; the shared methods of the guards give only
// access that many threads may have at once.
unsafe impl Sync for CoveredBytes {}

impl CoveredBytes {
    fn count_of<T: Pod>(&self) -> Result<usize> {
        count_of::<T>(self.ptr, self.nbytes)
    }

    /// A pointer for `count_of::<T>()` elements. Without elements it is dangling, but aligned.
    fn aligned<T>(&self) -> NonNull<T> {
        if self.nbytes == 0 { NonNull::dangling() } else { self.ptr.cast() }
    }

    fn copy_to_slice(&self, dst: &mut [u8]) -> Result<()> {
        if dst.len() != self.nbytes {
            return Err(Error::new(
                Kind::Bounds,
                format!("the source has {} bytes, but the destination has {}", self.nbytes, dst.len()),
            ));
        }
        // SAFETY: the `nbytes` bytes lie within the region (CoveredBytes 1), and a Share or Pin
        // lease permits racy loads. `dst` has as many bytes (checked above).
        unsafe { racy::copy(self.ptr.as_ptr(), dst.as_mut_ptr(), self.nbytes) };
        count_copied(self.nbytes);
        self.lease.header().check_fault()
    }

    /// Copies some of the bytes to `dst`, racily. Not counted.
    fn copy_out(&self, offset: usize, dst: &mut [u8]) -> Result<()> {
        let ptr = self.at(offset, dst.len())?;
        // SAFETY: `at` checked that `dst.len()` bytes at `ptr` lie within the covered bytes, which
        // the lease keeps alive; `dst` has as many bytes.
        unsafe { racy::copy(ptr.as_ptr(), dst.as_mut_ptr(), dst.len()) };
        Ok(())
    }

    fn load<T: Pod>(&self, offset: usize) -> Result<T> {
        let ptr = self.at(offset, size_of::<T>())?;
        // SAFETY: `at` checked that a `T` at `ptr` lies within the covered bytes, which the lease
        // keeps alive.
        Ok(unsafe { racy::load(ptr.as_ptr().cast::<T>()) })
    }

    fn at(&self, offset: usize, nbytes: usize) -> Result<NonNull<u8>> {
        if offset.checked_add(nbytes).is_none_or(|end| end > self.nbytes) {
            return Err(Error::new(
                Kind::Bounds,
                format!("{nbytes} bytes at byte {offset} are out of bounds for {} bytes", self.nbytes),
            ));
        }
        // SAFETY: `offset + nbytes` is at most `self.nbytes` (checked above), and those bytes lie
        // within the region (CoveredBytes 1).
        Ok(unsafe { self.ptr.add(offset) })
    }
}

macro_rules! guard {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        pub struct $name(CoveredBytes);

        impl $name {
            /// # Safety
            ///
            /// The bytes lie within the lease's region, on the host (CoveredBytes 1).
            pub(crate) unsafe fn new(lease: Lease, ptr: NonNull<u8>, nbytes: usize) -> Self {
                debug_assert_eq!(lease.kind(), LeaseKind::$kind);
                Self(CoveredBytes { lease, ptr, nbytes })
            }

            /// The address of the first byte.
            pub fn as_ptr(&self) -> *const u8 {
                self.0.ptr.as_ptr()
            }

            /// The number of bytes.
            pub fn nbytes(&self) -> usize {
                self.0.nbytes
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let CoveredBytes { lease, ptr, nbytes } = &self.0;
                write!(f, "{:?} lease of {nbytes} bytes at {ptr:p}", lease.kind())
            }
        }
    };
}

guard! {
    /// A Read lease: while it is held no party writes, so the bytes are a `&[u8]`.
    ReadGuard, Read
}

guard! {
    /// The Write lease: while it is held no other party accesses the bytes, so they are a
    /// `&mut [u8]`.
    WriteGuard, Write
}

guard! {
    /// A Share lease: other holders may write at any time, as may this one, by racy loads and
    /// stores.
    ShareGuard, Share
}

guard! {
    /// A Pin lease: other holders may write at any time; this one loads racily and never writes.
    PinGuard, Pin
}

impl ReadGuard {
    /// The bytes as elements. O(1).
    ///
    /// # Errors
    ///
    /// `is_alignment` where the address is not aligned for `T`, `is_bounds` where the bytes are not
    /// a whole number of `T`.
    pub fn as_slice_of<T: Pod>(&self) -> Result<&[T]> {
        let count = self.0.count_of::<T>()?;
        // SAFETY: `count_of` checked alignment and length. The bytes are initialised (Header 3),
        // every pattern is a value (Pod 1), and no party writes them while the guard, which the
        // slice borrows, holds the Read lease (Header 5).
        Ok(unsafe { std::slice::from_raw_parts(self.0.aligned().as_ptr(), count) })
    }
}

impl ReadGuard {
    /// The bytes as text. O(n): it checks them.
    ///
    /// # Errors
    ///
    /// `is_malformed` where they are not UTF-8, with the index of the first invalid byte.
    pub fn as_str(&self) -> Result<&str> {
        std::str::from_utf8(self).map_err(not_utf8)
    }
}

impl Deref for ReadGuard {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes lie within the region (CoveredBytes 1), are initialised (Header 3), and
        // are constant while the guard, which the slice borrows, holds the Read lease (Header 5).
        unsafe { std::slice::from_raw_parts(self.0.ptr.as_ptr(), self.0.nbytes) }
    }
}

impl WriteGuard {
    /// The bytes as elements. O(1). Errors as [`ReadGuard::as_slice_of`].
    pub fn as_slice_of<T: Pod>(&self) -> Result<&[T]> {
        let count = self.0.count_of::<T>()?;
        // SAFETY: `count_of` checked alignment and length. The bytes are initialised (Header 3),
        // every pattern is a value (Pod 1), and the Write lease excludes all other access (Header
        // 5).
        Ok(unsafe { std::slice::from_raw_parts(self.0.aligned().as_ptr(), count) })
    }

    /// The bytes as elements, for writing. O(1). Errors as [`ReadGuard::as_slice_of`].
    pub fn as_mut_slice_of<T: Pod>(&mut self) -> Result<&mut [T]> {
        let count = self.0.count_of::<T>()?;
        // SAFETY: `count_of` checked alignment and length. The bytes are initialised (Header 3),
        // every pattern is a value (Pod 1). The Write lease excludes all other holders (Header 5),
        // and `&mut self` all other use of this guard.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0.aligned().as_ptr(), count) })
    }
}

impl Deref for WriteGuard {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes lie within the region (CoveredBytes 1), are initialised (Header 3), and
        // the Write lease excludes all other access (Header 5).
        unsafe { std::slice::from_raw_parts(self.0.ptr.as_ptr(), self.0.nbytes) }
    }
}

impl DerefMut for WriteGuard {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the bytes lie within the region (CoveredBytes 1), and are initialised (Header 3).
        // The Write lease excludes all other holders (Header 5), and `&mut self` all other use of
        // this guard.
        unsafe { std::slice::from_raw_parts_mut(self.0.ptr.as_ptr(), self.0.nbytes) }
    }
}

impl ShareGuard {
    /// The bytes as cells, which every holder of a Share lease may write at any time. O(1). Errors
    /// as [`ReadGuard::as_slice_of`].
    pub fn as_cells_of<T: Pod>(&self) -> Result<&[Shared<T>]> {
        let count = self.0.count_of::<T>()?;
        // SAFETY: `count_of` checked alignment and length, and the bytes are initialised (Header
        // 3). A cell permits concurrent writes and accesses racily; Share excludes Read and Write
        // leases, which rely on more.
        Ok(unsafe { std::slice::from_raw_parts(self.0.aligned().as_ptr(), count) })
    }

    /// Loads one element at a byte offset, of any alignment.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn load<T: Pod>(&self, offset: usize) -> Result<T> {
        self.0.load(offset)
    }

    /// Stores one element at a byte offset, of any alignment.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn store<T: Pod>(&self, offset: usize, value: T) -> Result<()> {
        let ptr = self.0.at(offset, size_of::<T>())?;
        // SAFETY: `at` checked that a `T` at `ptr` lies within the covered bytes. These are
        // writable, since `lease` refuses Share through read-only handles.
        unsafe { racy::store(ptr.as_ptr().cast::<T>(), value) };
        Ok(())
    }

    /// Copies the bytes out, racily. Copies, and counts, [`ShareGuard::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_bounds` where the destination has another length; `is_fault` for a guarded map whose
    /// file shrank.
    pub fn copy_to_slice(&self, dst: &mut [u8]) -> Result<()> {
        self.0.copy_to_slice(dst)
    }

    /// Copies `src` to a byte offset, racily. Not counted.
    pub(crate) fn copy_in(&self, offset: usize, src: &[u8]) -> Result<()> {
        let ptr = self.0.at(offset, src.len())?;
        // SAFETY: `at` checked the range, and `lease` refuses Share through read-only handles, so
        // it is writable. No slice overlaps it: a slice of this allocation needs a lease that Share
        // excludes, and any other allocation of the same bytes is aliased, of which there are no
        // slices (Header 5).
        unsafe { racy::copy(src.as_ptr(), ptr.as_ptr(), src.len()) };
        Ok(())
    }

    /// Copies `src` to the bytes, racily. Copies, and counts, [`ShareGuard::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_bounds` where the source has another length.
    pub fn copy_from_slice(&self, src: &[u8]) -> Result<()> {
        if src.len() != self.nbytes() {
            return Err(Error::new(
                Kind::Bounds,
                format!("the source has {} bytes, but the destination has {}", src.len(), self.nbytes()),
            ));
        }
        // SAFETY: both have `src.len()` bytes (checked above), and `lease` refuses Share through
        // read-only handles, so the destination is writable. No slice overlaps it: a slice of this
        // allocation needs a lease that Share excludes, and any other allocation of the same bytes
        // is aliased, of which there are no slices (Header 5).
        unsafe { racy::copy(src.as_ptr(), self.0.ptr.as_ptr(), src.len()) };
        count_copied(src.len());
        Ok(())
    }
}

impl PinGuard {
    /// The bytes as cells, which other holders may write at any time. O(1). Errors as
    /// [`ReadGuard::as_slice_of`].
    pub fn as_cells_of<T: Pod>(&self) -> Result<&[Pinned<T>]> {
        let count = self.0.count_of::<T>()?;
        // SAFETY: `count_of` checked alignment and length, and the bytes are initialised (Header
        // 3). A cell permits concurrent writes, and only loads, racily, as a Pin lease does.
        Ok(unsafe { std::slice::from_raw_parts(self.0.aligned().as_ptr(), count) })
    }

    /// Loads one element at a byte offset, of any alignment.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    pub fn load<T: Pod>(&self, offset: usize) -> Result<T> {
        self.0.load(offset)
    }

    /// Copies the bytes out, racily. Copies, and counts, [`PinGuard::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_bounds` where the destination has another length; `is_fault` for a guarded map whose
    /// file shrank.
    pub fn copy_to_slice(&self, dst: &mut [u8]) -> Result<()> {
        self.0.copy_to_slice(dst)
    }

    /// As [`PinGuard::copy_to_slice`], into uninitialised memory, all of which it initialises.
    pub(crate) fn copy_to_uninit(&self, dst: &mut [MaybeUninit<u8>]) -> Result<()> {
        let ptr = self.0.at(0, dst.len())?;
        // SAFETY: `at` checked that `dst.len()` bytes at `ptr` lie within the covered bytes, of
        // which a Pin lease permits racy loads; `dst` has as many.
        unsafe { racy::copy(ptr.as_ptr(), dst.as_mut_ptr().cast(), dst.len()) };
        count_copied(dst.len());
        self.0.lease.header().check_fault()
    }

    /// Copies bytes from a byte offset on to `dst`, racily. Not counted.
    pub(crate) fn copy_out(&self, offset: usize, dst: &mut [u8]) -> Result<()> {
        self.0.copy_out(offset, dst)
    }

    /// The present bytes, copied (and counted). Bytes that the file of a guarded map lost are
    /// zeros: [`copy_to_slice`](PinGuard::copy_to_slice) reports them.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.nbytes()];
        let copied = self.copy_out(0, &mut bytes);
        debug_assert!(copied.is_ok(), "the vector was made to fit");
        count_copied(bytes.len());
        bytes
    }
}
