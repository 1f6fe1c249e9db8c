//! Handles, under the names that descriptors have elsewhere. They never leave the library.
//!
//! Only the lower 32 bits of a handle are significant, so that its number is an `i32` as elsewhere.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::num::NonZeroI32;
use std::os::windows::io::{
    AsRawHandle, BorrowedHandle, FromRawHandle, IntoRawHandle, OwnedHandle, RawHandle,
};

/// The number of a handle.
pub(crate) type RawFd = i32;

/// A handle that is closed when it is dropped.
///
/// # Invariants
///
/// 1. The number is that of an open handle, which this value alone closes.
#[derive(Debug)]
pub(crate) struct OwnedFd(NonZeroI32);

/// A handle that stays open during the lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BorrowedFd<'a>(RawFd, PhantomData<&'a OwnedFd>);

pub(crate) trait AsFd {
    fn as_fd(&self) -> BorrowedFd<'_>;
}

pub(crate) trait AsRawFd {
    fn as_raw_fd(&self) -> RawFd;
}

fn number(handle: RawHandle) -> RawFd {
    handle.expose_provenance() as RawFd
}

fn handle(number: RawFd) -> RawHandle {
    std::ptr::with_exposed_provenance_mut((number as isize).cast_unsigned())
}

impl BorrowedFd<'_> {
    /// # Safety
    ///
    /// 1. The number is that of a handle that stays open during the lifetime.
    pub(crate) unsafe fn borrow_raw(number: RawFd) -> Self {
        Self(number, PhantomData)
    }

    pub(crate) fn handle(self) -> RawHandle {
        handle(self.0)
    }

    pub(crate) fn try_clone_to_owned(self) -> io::Result<OwnedFd> {
        // SAFETY: the handle stays open during the lifetime of `self`, and is only borrowed here.
        let handle = unsafe { BorrowedHandle::borrow_raw(self.handle()) };
        handle.try_clone_to_owned().and_then(OwnedFd::of)
    }
}

impl OwnedFd {
    fn of(handle: OwnedHandle) -> io::Result<Self> {
        let number = NonZeroI32::new(number(handle.as_raw_handle())).ok_or(io::ErrorKind::InvalidInput)?;
        let _given_up = handle.into_raw_handle();
        Ok(Self(number))
    }

    fn into_handle(self) -> OwnedHandle {
        let owned = ManuallyDrop::new(self);
        // SAFETY: OwnedFd 1: the handle is open, and the value that owned it is never dropped.
        unsafe { OwnedHandle::from_raw_handle(handle(owned.0.get())) }
    }
}

impl Drop for OwnedFd {
    fn drop(&mut self) {
        // SAFETY: OwnedFd 1: the handle is open, and no code uses it after this drop.
        drop(unsafe { OwnedHandle::from_raw_handle(handle(self.0.get())) });
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        *self
    }
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd(self.0.get(), PhantomData)
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd(number(self.as_raw_handle()), PhantomData)
    }
}

impl<T: AsFd> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        T::as_fd(self)
    }
}

impl AsRawFd for BorrowedFd<'_> {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl AsRawFd for OwnedFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.get()
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> Self {
        Self::of(file.into()).expect("the handle of a file is not 0")
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> Self {
        fd.into_handle().into()
    }
}
