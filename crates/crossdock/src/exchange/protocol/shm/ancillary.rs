//! Bytes through a Unix socket with descriptors beside them (`SCM_RIGHTS`). Source: `unix(7)`, `cmsg(3)`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Room for the control messages of one call: ours, and those that the owner of the socket may have asked for (credentials). What
/// does not fit, descriptors among it, the system drops and says so.
const CONTROL_NBYTES: usize = 256;

/// The pid descriptor that comes beside bytes where the owner of the socket asked for it.
const SCM_PIDFD: i32 = 4;

/// Where control messages lie: aligned for their headers.
#[repr(C, align(8))]
struct Control([u8; CONTROL_NBYTES]);

const _: () = assert!(align_of::<libc::cmsghdr>() <= 8);

/// What came beside bytes.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// The first descriptor.
    pub(super) fd: Option<OwnedFd>,
    /// How many more there were, which are closed already.
    pub(super) surplus: usize,
    /// Whether the system dropped some.
    pub(super) truncated: bool,
}

/// Sends bytes, with a descriptor beside the first of them, and tells how many went out. A peer that is gone is an error, and no
/// `SIGPIPE`.
pub(super) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<usize> {
    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = Control([0; CONTROL_NBYTES]);
    let control_nbytes = match fd {
        Some(fd) => write_rights(&mut control.0, fd),
        None => 0,
    };
    let header = header(&mut vector, &mut control, control_nbytes);
    retry(|| {
        // SAFETY: the header points to one vector, which describes `bytes`, and to so many bytes of control messages; all of them
        // outlive the call, which only reads them.
        unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) }
    })
}

/// Receives at most as many bytes as there is room for, none at the end of the stream, and what is beside them. Descriptors are closed
/// when this process executes another program.
pub(super) fn receive(socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<(usize, Beside)> {
    let mut vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let mut control = Control([0; CONTROL_NBYTES]);
    let mut header = header(&mut vector, &mut control, CONTROL_NBYTES);
    let nbytes = retry(|| {
        // SAFETY: as in `send`; the call writes into the room, the control messages, and the header.
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) }
    })?;
    let written = header.msg_controllen.min(CONTROL_NBYTES);
    let mut beside = read_rights(&control.0[..written]);
    beside.truncated = header.msg_flags & libc::MSG_CTRUNC != 0;
    Ok((nbytes, beside))
}

fn header(vector: &mut libc::iovec, control: &mut Control, control_nbytes: usize) -> libc::msghdr {
    // SAFETY: a record of numbers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = vector;
    header.msg_iovlen = 1;
    if control_nbytes > 0 {
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = control_nbytes as _;
    }
    header
}

/// Writes the control message that carries one descriptor, and tells how long it is with what fills it up.
fn write_rights(control: &mut [u8], fd: BorrowedFd<'_>) -> usize {
    const HEAD: usize = size_of::<libc::cmsghdr>();
    let len = HEAD + size_of::<i32>();
    let header =
        libc::cmsghdr { cmsg_len: len as _, cmsg_level: libc::SOL_SOCKET, cmsg_type: libc::SCM_RIGHTS };
    let head: &mut [u8; HEAD] = control.first_chunk_mut().expect("there is room for more than one message");
    // SAFETY: as many bytes, of any alignment.
    unsafe { head.as_mut_ptr().cast::<libc::cmsghdr>().write_unaligned(header) };
    control[HEAD..len].copy_from_slice(&fd.as_raw_fd().to_ne_bytes());
    len.next_multiple_of(size_of::<usize>())
}

/// Takes what the system put beside bytes.
fn read_rights(control: &[u8]) -> Beside {
    const HEAD: usize = size_of::<libc::cmsghdr>();
    let (mut beside, mut rest) = (Beside::default(), control);
    while let Some(head) = rest.first_chunk::<HEAD>() {
        // SAFETY: as many bytes, of any alignment; a record of numbers.
        let header = unsafe { head.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let len = header.cmsg_len;
        let Some(data) = rest.get(HEAD..len) else { break };
        if header.cmsg_level == libc::SOL_SOCKET && matches!(header.cmsg_type, libc::SCM_RIGHTS | SCM_PIDFD) {
            for number in data.chunks_exact(size_of::<i32>()) {
                let number = i32::from_ne_bytes([0, 1, 2, 3].map(|byte| number[byte]));
                if number < 0 {
                    continue;
                }
                // SAFETY: the system opened it for this call and told nobody else of it.
                let fd = unsafe { OwnedFd::from_raw_fd(number) };
                match header.cmsg_type {
                    SCM_PIDFD => drop(fd),
                    _ if beside.fd.is_none() => beside.fd = Some(fd),
                    _ => beside.surplus += 1,
                }
            }
        }
        rest = rest.get(len.next_multiple_of(size_of::<usize>())..).unwrap_or(&[]);
    }
    beside
}

/// Once more, whenever a signal came in between.
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
