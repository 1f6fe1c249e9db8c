//! Files: what a handle is open on, and the ways to open them.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::{FromRawHandle, OwnedHandle, RawHandle};
use std::path::{Path, PathBuf};
use std::ptr;

use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_GENERIC_READ,
    GetFileInformationByHandle,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use crate::memory::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use crate::memory::os::types::FileKind;

/// The kind of a file.
pub(crate) fn kind(found: FileType) -> FileKind {
    match () {
        () if found.is_file() => FileKind::Regular,
        () if found.is_dir() => FileKind::Folder,
        () => FileKind::Other,
    }
}

fn information(fd: BorrowedFd<'_>) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut found = MaybeUninit::<BY_HANDLE_FILE_INFORMATION>::zeroed();
    // SAFETY: `fd` is borrowed, so it is open, and `found` is a record of the right type that the
    // call may write.
    if unsafe { GetFileInformationByHandle(fd.handle(), found.as_mut_ptr()) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the record was zeroed before the call; every field of it is a number, for which zero
    // is a value.
    Ok(unsafe { found.assume_init() })
}

/// Two halves of a number.
fn joined(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The size of a file in bytes, or `None` if the system does not report it.
pub(crate) fn size(number: RawFd) -> Option<u64> {
    // SAFETY: clause 1 of `borrow_raw`: the caller keeps the handle open; a number that is none is
    // an error of the call.
    let found = information(unsafe { BorrowedFd::borrow_raw(number) }).ok()?;
    Some(joined(found.nFileSizeHigh, found.nFileSizeLow))
}

/// The volume and the number of a file in it: the same for every handle of it, by whichever path it
/// was opened.
pub(crate) fn identity(fd: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let found = information(fd)?;
    Ok((found.dwVolumeSerialNumber.into(), joined(found.nFileIndexHigh, found.nFileIndexLow)))
}

/// Whether a path, whose last name is no link, leads to an open file.
pub(crate) fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    let there = OpenOptions::new().access_mode(0).custom_flags(flags).open(path)?;
    Ok(identity(there.as_fd())? == identity(file.as_fd())?)
}

/// Reads bytes from a position on, and returns their number: 0 at the end of the file. Moves the
/// position of the file.
pub(crate) fn read_at(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(room, offset)
}

/// File systems have no numbers.
pub(crate) fn file_system(_: BorrowedFd<'_>) -> Option<u32> {
    None
}

/// The system does not report it.
pub(crate) fn is_open_for_writing(_: BorrowedFd<'_>) -> bool {
    true
}

/// Another handle of the same open file, with all of its access or only this.
fn duplicated(fd: BorrowedFd<'_>, access: Option<u32>, inherited: bool) -> io::Result<OwnedFd> {
    let (access, options) = access.map_or((0, DUPLICATE_SAME_ACCESS), |access| (access, 0));
    let mut copy: RawHandle = ptr::null_mut();
    // SAFETY: the call has no arguments, and its result stands for this process.
    let process = unsafe { GetCurrentProcess() };
    let (inherited, result) = (inherited.into(), &raw mut copy);
    // SAFETY: `fd` is borrowed, so it is open, and `result` points to a local that the call may
    // write.
    if unsafe { DuplicateHandle(process, fd.handle(), process, result, access, inherited, options) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call made the handle `copy`, so it is open, and nothing else owns it.
    Ok(File::from(unsafe { OwnedHandle::from_raw_handle(copy) }).into())
}

/// Another handle of the same file, which permits only reading. No handle permits more than the one
/// that it is made from.
pub(crate) fn reopen(fd: BorrowedFd<'_>, writable: bool) -> io::Result<OwnedFd> {
    match writable {
        false => duplicated(fd, Some(FILE_GENERIC_READ), false),
        true => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Another handle of the same open file, which programs that this process starts inherit.
pub(crate) fn inheritable(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    duplicated(fd, None, true)
}

/// No path names an open file of this process.
pub(crate) fn duplicate(_: i32) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// No path names a file that has none of its own.
pub(crate) fn path_of(_: BorrowedFd<'_>) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens an existing file for writing.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Creates a file for reading and writing. Files have no mode.
pub(crate) fn create_new(path: &Path, _mode: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

pub(crate) fn unnamed(_: &Path, _: u32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn link_unnamed(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
