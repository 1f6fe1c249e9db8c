//! Memory for other processes: a temporary file that only this process opens, by handles that
//! child processes inherit. It vanishes with the last handle, also if the process is ended, and the
//! system keeps it in memory as long as there is room.

use std::ffi::CStr;
use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_ATTRIBUTE_TEMPORARY, FILE_FLAG_DELETE_ON_CLOSE, FILE_GENERIC_READ, FILE_GENERIC_WRITE,
};

pub(crate) use crate::memory::os::basic::anonymous::*;
use crate::memory::os::fd::OwnedFd;

/// New memory of a fixed size: the system refuses to shrink a file that is mapped. The file has a
/// name of its own.
pub(crate) fn sized(nbytes: u64, _: &CStr) -> io::Result<OwnedFd> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).access_mode(FILE_GENERIC_READ | FILE_GENERIC_WRITE | DELETE);
    options.share_mode(0).attributes(FILE_ATTRIBUTE_TEMPORARY).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
    let folder = std::env::temp_dir();
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("crossdock-{}-{now:x}-{number}.tmp", std::process::id());
        match options.open(folder.join(name)) {
            Ok(file) => return file.set_len(nbytes).map(|()| file.into()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
