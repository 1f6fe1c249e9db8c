//! Shared memory as the system sees it: the processes that hold it; and sending any number of
//! descriptors beside any bytes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Sends bytes with descriptors beside the first of them, in any number (the system accepts up to
/// 253), and returns the number of bytes sent.
///
/// # Errors
///
/// The system's error.
pub fn send_beside(socket: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    // The layout of `cmsg(3)`: length, level and type, then the descriptors, aligned to a word.
    let data: Vec<i32> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let nbytes = size_of::<libc::cmsghdr>() + size_of_val(&data[..]);
    let header =
        libc::cmsghdr { cmsg_len: nbytes as _, cmsg_level: libc::SOL_SOCKET, cmsg_type: libc::SCM_RIGHTS };
    let mut control = vec![0u64; nbytes.div_ceil(8)];
    let at: *mut libc::cmsghdr = control.as_mut_ptr().cast();
    // SAFETY: `control` has at least `nbytes` bytes, which include the header, and `u64` elements
    // align it.
    unsafe { at.write(header) };
    // SAFETY: the descriptors follow the header within the `nbytes` bytes of `control`, so the
    // pointer stays within the allocation.
    let numbers = unsafe { at.add(1) }.cast::<i32>();
    // SAFETY: `numbers` has room for `data.len()` descriptors by the size of `control`, and the
    // vectors are separate allocations.
    unsafe { numbers.copy_from_nonoverlapping(data.as_ptr(), data.len()) };

    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: `msghdr` consists of integers and pointers, for which zero is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    if !fds.is_empty() {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = (control.len() * 8) as _;
    }
    // SAFETY: `message` points to `vector`, `bytes` and `control`, which outlive the call, with
    // their lengths.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// The number of descriptors and maps by which a process (a number, or `self`) holds the shared
/// memory of this name. It is 0 for a process that is gone or belongs to another user.
pub fn holds(process: &str, name: &str) -> usize {
    let folder = Path::new("/proc").join(process);
    let wanted = format!("/memfd:{name}");
    let is_wanted = |path: &str| path.strip_prefix(&wanted).is_some_and(|rest| rest.trim() == "(deleted)");
    let fds = folder.join("fd").read_dir().into_iter().flatten().flatten();
    let open = fds
        .filter_map(|entry| entry.path().read_link().ok())
        .filter(|to| to.to_str().is_some_and(is_wanted))
        .count();
    let maps = std::fs::read_to_string(folder.join("maps")).unwrap_or_default();
    let mapped =
        maps.lines().filter_map(|line| Some(&line[line.find('/')?..])).filter(|path| is_wanted(path)).count();
    open + mapped
}

/// The processes that hold the shared memory of this name.
///
/// # Panics
///
/// Where `/proc` is missing.
pub fn holders(name: &str) -> Vec<String> {
    let processes = Path::new("/proc").read_dir().expect("/proc is there").flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let numbers = names.filter(|name| name.bytes().all(|digit| digit.is_ascii_digit()));
    numbers.filter(|process| holds(process, name) > 0).collect()
}
