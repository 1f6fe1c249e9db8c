//! Sends and receives bytes on a Unix socket together with descriptors (`SCM_RIGHTS`), for all
//! protocols between processes. Source: `unix(7)`, `cmsg(3)`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::memory::os::types::ReceivedDescriptors;

/// Room for the control messages of one call: those of this library, and those that the owner of
/// the socket may have enabled (credentials). The kernel drops what does not fit, descriptors
/// included, and reports that.
const CONTROL_NBYTES: usize = 1024;

/// The most descriptors of one message.
pub(crate) const MOST_DESCRIPTORS: usize = 128;

const _: () = assert!(MOST_DESCRIPTORS * size_of::<i32>() + 256 <= CONTROL_NBYTES);

/// The control message of Linux with a pid descriptor, if the owner of the socket enabled it.
#[cfg(target_os = "linux")]
const SCM_PIDFD: i32 = 4;
#[cfg(not(target_os = "linux"))]
const SCM_PIDFD: i32 = libc::SCM_RIGHTS;

/// A closed peer raises no signal, and a new descriptor is closed when this process executes
/// another program.
#[cfg(target_os = "linux")]
const FLAGS: [i32; 2] = [libc::MSG_NOSIGNAL, libc::MSG_CMSG_CLOEXEC];
#[cfg(not(target_os = "linux"))]
const FLAGS: [i32; 2] = [0, 0];

/// A buffer for control messages, aligned for their headers.
#[repr(C, align(8))]
struct Control([u8; CONTROL_NBYTES]);

const _: () = assert!(align_of::<libc::cmsghdr>() <= 8);

/// The bytes of a control message before its data.
const HEAD: usize = size_of::<libc::cmsghdr>();

// SAFETY: the macro computes with its argument alone.
const _: () = assert!(unsafe { libc::CMSG_LEN(0) } as usize == HEAD);

/// Whether a socket carries a stream of bytes, not packets.
pub(crate) fn is_stream(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut found: libc::c_int = 0;
    let mut nbytes = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `found` has room for the `nbytes` bytes of an int, which the call writes.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut found).cast(),
            &raw mut nbytes,
        )
    };
    match status {
        0 => Ok(found == libc::SOCK_STREAM),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends bytes, with at most [`MOST_DESCRIPTORS`] descriptors attached to the first of them, and
/// returns the number of bytes sent. A closed peer is an error and raises no `SIGPIPE`.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    if fds.len() > MOST_DESCRIPTORS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    raise_no_signal(socket)?;
    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = Control([0; CONTROL_NBYTES]);
    let control_nbytes = if fds.is_empty() { 0 } else { write_rights(&mut control.0, fds) };
    let header = header(&mut vector, &mut control, control_nbytes);
    retry(|| {
        // SAFETY: the header points to one vector, which describes `bytes`, and to `control_nbytes`
        // bytes of `control`; all of them outlive the call, which only reads them.
        unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, FLAGS[0]) }
    })
}

/// Receives at most `room.len()` bytes, none at the end of the stream, and the attached
/// descriptors. Those are closed when this process executes another program.
pub(crate) fn receive(socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<(usize, ReceivedDescriptors)> {
    let mut vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let mut control = Control([0; CONTROL_NBYTES]);
    let mut header = header(&mut vector, &mut control, CONTROL_NBYTES);
    let nbytes = retry(|| {
        // SAFETY: the header points to one vector, which describes `room`, and to all bytes of
        // `control`; this function borrows both alone, and the call writes no more than their
        // lengths and the header.
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, FLAGS[1]) }
    })?;
    let written = nbytes_of(header.msg_controllen).min(CONTROL_NBYTES);
    let mut beside = read_rights(&control.0[..written]);
    beside.lacks_descriptors = header.msg_flags & libc::MSG_CTRUNC != 0;
    beside.lacks_bytes = header.msg_flags & libc::MSG_TRUNC != 0;
    Ok((nbytes, beside))
}

fn header(vector: &mut libc::iovec, control: &mut Control, control_nbytes: usize) -> libc::msghdr {
    // SAFETY: `msghdr` consists of integers and raw pointers, for which zero bytes are valid
    // values.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = vector;
    header.msg_iovlen = 1;
    if control_nbytes > 0 {
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = control_nbytes as _;
    }
    header
}

/// Writes the control message with descriptors, for which there is room, and returns its length
/// with padding.
fn write_rights(control: &mut [u8], fds: &[BorrowedFd<'_>]) -> usize {
    let len = HEAD + fds.len() * size_of::<i32>();
    // SAFETY: a `cmsghdr` consists of integers, for which zero bytes are valid values.
    let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
    header.cmsg_len = len as _;
    header.cmsg_level = libc::SOL_SOCKET;
    header.cmsg_type = libc::SCM_RIGHTS;
    let head: &mut [u8; HEAD] = control.first_chunk_mut().expect("there is room for more than one message");
    // SAFETY: `head` has `HEAD` bytes, the size of a `cmsghdr`, and an unaligned write needs no
    // alignment.
    unsafe { head.as_mut_ptr().cast::<libc::cmsghdr>().write_unaligned(header) };
    for (room, fd) in control[HEAD..len].chunks_exact_mut(size_of::<i32>()).zip(fds) {
        room.copy_from_slice(&fd.as_raw_fd().to_ne_bytes());
    }
    padded(len)
}

/// The length of a control message with its padding, at most the room for all messages.
fn padded(len: usize) -> usize {
    let data = len.saturating_sub(HEAD).min(CONTROL_NBYTES) as libc::c_uint;
    // SAFETY: the macro computes with its argument alone.
    unsafe { libc::CMSG_SPACE(data) as usize }
}

/// A length in a header. C libraries give it types of several widths.
fn nbytes_of(len: impl TryInto<usize>) -> usize {
    len.try_into().unwrap_or(usize::MAX)
}

/// Takes ownership of the descriptors in control messages.
fn read_rights(control: &[u8]) -> ReceivedDescriptors {
    let (mut beside, mut rest) = (ReceivedDescriptors::default(), control);
    while let Some(head) = rest.first_chunk::<HEAD>() {
        // SAFETY: `head` has `HEAD` bytes, the size of a `cmsghdr`, which consists of integers; an
        // unaligned read needs no alignment.
        let header = unsafe { head.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let len = nbytes_of(header.cmsg_len);
        let Some(data) = rest.get(HEAD..len) else { break };
        if header.cmsg_level == libc::SOL_SOCKET && [libc::SCM_RIGHTS, SCM_PIDFD].contains(&header.cmsg_type)
        {
            for number in data.chunks_exact(size_of::<i32>()) {
                let number = i32::from_ne_bytes([0, 1, 2, 3].map(|byte| number[byte]));
                if number < 0 {
                    continue;
                }
                // SAFETY: the kernel opened this descriptor in the `recvmsg` that wrote this
                // control message, which is read once, so no other code owns it.
                let fd = unsafe { OwnedFd::from_raw_fd(number) };
                close_on_exec(&fd);
                match header.cmsg_type {
                    libc::SCM_RIGHTS => beside.fds.push(fd),
                    _ => drop(fd),
                }
            }
        }
        rest = rest.get(padded(len)..).unwrap_or(&[]);
    }
    beside
}

/// Repeats the call while signals interrupt it.
fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(nbytes) => return Ok(nbytes),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// [`FLAGS`] has the flags instead.
#[cfg(target_os = "linux")]
fn raise_no_signal(_: BorrowedFd<'_>) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn close_on_exec(_: &OwnedFd) {}

#[cfg(not(target_os = "linux"))]
fn raise_no_signal(socket: BorrowedFd<'_>) -> io::Result<()> {
    let (yes, nbytes): (libc::c_int, _) = (1, size_of::<libc::c_int>() as libc::socklen_t);
    let (level, option) = (libc::SOL_SOCKET, libc::SO_NOSIGPIPE);
    // SAFETY: `yes` is an int, of whose size the call reads.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const yes).cast(), nbytes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn close_on_exec(fd: &OwnedFd) {
    // SAFETY: `fd` is an open descriptor; `F_SETFD` takes an integer.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
}
