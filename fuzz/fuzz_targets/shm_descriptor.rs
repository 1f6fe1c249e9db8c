//! Descriptors of every kind, chosen by bytes, with a description: received through a socket from
//! another process, and inherited. An imported array lies within the memory behind the descriptor,
//! has its bytes, and can be read to the end whatever the sender does to the memory afterwards; a
//! legal message is accepted; and every descriptor is closed.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixDatagram, UnixStream};

use crossdock::DArray;
use crossdock::element::DType;
use crossdock::exchange::protocol::shm::{self, Description};
use crossdock::layout::Order;
use crossdock_testkit::dlpack::Choices;
use crossdock_testkit::held::send_beside;

const PAGE: usize = 4096;

/// Sizes of memory: zero, parts of a page, pages, more than any machine has.
const SIZES: [u64; 10] = [0, 1, 100, 4095, 4096, 4097, 8192, 3 << 20, 1 << 40, i64::MAX as u64];

/// The most bytes of an array that a receiver takes without options.
const LIMIT: u64 = 16 << 30;

/// Memory up to this size is filled, and read to the end.
const SMALL: u64 = 2 * PAGE as u64;

const SEALS: [i32; 5] = [
    libc::F_SEAL_SHRINK,
    libc::F_SEAL_GROW,
    libc::F_SEAL_WRITE,
    libc::F_SEAL_FUTURE_WRITE,
    libc::F_SEAL_SEAL,
];

const DTYPES: [&str; 6] = ["uint8", "<u2", ">f8", "V0", "S3", "[('a', '|u1'), ('b', '<i4')]"];

/// A descriptor, and what is known of it.
struct Made {
    fd: OwnedFd,
    /// The size of the memory, if it is memory.
    memory: Option<u64>,
    seals: i32,
    is_huge: bool,
    can_read: bool,
    can_write: bool,
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices(data);
    let before = next_descriptor();
    if let Some(made) = make(&mut choices)
        && let Some(description) = describe(&mut choices, made.memory.unwrap_or(SMALL)) {
            let attack = choices.byte();
            inherit(&made, &description);
            receive(&made, &description, attack);
        }
    assert_eq!(next_descriptor(), before, "a descriptor is left open");
});

/// Receives from another process, which is not trusted.
fn receive(made: &Made, description: &Description, attack: u8) {
    let (ours, theirs) = UnixStream::pair().expect("two descriptors");
    let text = description.to_text().expect("these dtypes have spellings");
    let message = [b"XDOCKSHM\x01\0\0\0", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let sent = send_beside(&theirs, &message, &[made.fd.as_fd()]).expect("a socket holds few bytes");
    assert_eq!(sent, message.len());
    let span = description.span();
    let sealed = made.seals & libc::F_SEAL_SHRINK != 0;
    let closed = made.seals & (libc::F_SEAL_WRITE | libc::F_SEAL_FUTURE_WRITE) != 0;
    match shm::receive(&ours) {
        Ok(Some(array)) => {
            let size = made.memory.expect("only memory is accepted");
            assert!(span.end <= size && sealed && !made.is_huge, "{description:?}");
            assert!(!description.is_writable() || !closed);
            check(&array, made, description);
            // The sender tries to shrink the memory, or to punch a hole.
            let fd = made.fd.as_raw_fd();
            let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: `ftruncate` takes integers and accesses no memory of this process; the
            // descriptor is open.
            let shrunk = unsafe { libc::ftruncate(fd, i64::from(attack)) } == 0 && u64::from(attack) < size;
            assert!(!shrunk);
            // SAFETY: `fallocate` takes integers and accesses no memory of this process; the
            // descriptor is open.
            unsafe { libc::fallocate(fd, hole, 0, PAGE as i64) };
            if span.end - span.start <= SMALL {
                read(&array);
            }
        }
        Ok(None) => panic!("a message was sent"),
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.is_malformed(), "{error:?}");
            let small = made.memory.is_some_and(|size| span.end <= size && size <= 3 << 20);
            let fits = !description.is_writable() || made.can_write && !closed;
            // A stride of 0 repeats elements without end.
            let small = small && description.layout().nbytes() as u64 <= LIMIT;
            assert!(
                !small || !sealed || made.is_huge || !made.can_read || !fits,
                "{error:?}: {description:?}"
            );
        }
    }
}

/// Imports from a parent process, which may also pass a file. An array without bytes needs no
/// memory.
fn inherit(made: &Made, description: &Description) {
    let Ok(array) = shm::import(made.fd.try_clone().expect("few descriptors"), description) else { return };
    let span = description.span();
    assert!(span.end <= made.memory.unwrap_or(0) || span.is_empty(), "{description:?}");
    check(&array, made, description);
}

/// Within the memory, and with its bytes.
fn check(array: &DArray, made: &Made, description: &Description) {
    let span = description.span();
    assert_eq!((array.dtype(), array.shape()), (description.dtype(), description.layout().shape()));
    assert_eq!(array.is_readonly(), !description.is_writable());
    if span.end - span.start > SMALL || made.memory.is_none_or(|size| size > SMALL) || made.is_huge {
        return;
    }
    let (buffer, _) = array.buffer().expect("few handles");
    let bytes = buffer.pin().expect("no Write lease").to_vec();
    assert!(bytes.iter().zip(span.start..).all(|(&byte, at)| byte == pattern(at)), "other bytes");
    read(array);
}

/// Reads to the end, if the array is small enough.
fn read(array: &DArray) {
    if array.len() <= PAGE && array.nbytes() <= PAGE {
        array.to_order(Order::RowMajor).expect("few bytes");
    }
}

fn pattern(at: u64) -> u8 {
    (at * 7 % 251) as u8
}

/// A description as another process may send it: usually of this much memory, with numbers near its
/// ends.
fn describe(choices: &mut Choices<'_>, size: u64) -> Option<Description> {
    let dtype: DType = DTYPES[usize::from(choices.below(6))].parse().expect("a dtype");
    let itemsize = dtype.itemsize().max(1) as u64;
    let whole = usize::try_from(size / itemsize).ok()?;
    let (shape, strides) = match choices.below(8) {
        0 => (vec![whole], vec![itemsize as isize]),
        1 => (vec![whole.saturating_add(1)], vec![itemsize as isize]),
        2 => (vec![usize::from(choices.byte())], vec![isize::from(choices.byte() as i8)]),
        3 => (vec![2, 3], vec![size as isize / 2, -(itemsize as isize)]),
        4 => (vec![0, 5], vec![1, 1]),
        5 => (vec![1 << 40], vec![0]),
        6 => (vec![2], vec![isize::MIN]),
        _ => (vec![], vec![]),
    };
    let near = u64::from(choices.byte());
    let offset = match choices.below(6) {
        0 | 1 => 0,
        2 => near,
        3 => size.saturating_sub(near),
        4 => size.saturating_add(near),
        _ => u64::MAX - near,
    };
    Description::new(dtype, &shape, &strides, offset, choices.byte().is_multiple_of(4)).ok()
}

/// A descriptor of one of the kernel's kinds; `None` if the kernel has none left.
fn make(choices: &mut Choices<'_>) -> Option<Made> {
    let other = |fd: io::Result<OwnedFd>| {
        fd.ok().map(|fd| Made { fd, memory: None, seals: 0, is_huge: false, can_read: true, can_write: true })
    };
    let open = |path: &str| File::open(path).map(OwnedFd::from);
    match choices.below(32) {
        0 => other(open("/dev/null")),
        1 => other(open("/dev/zero")),
        2 => other(open("/dev")),
        3 => other(open("/proc/self/maps")),
        4 => other(open("/proc/self/mem")),
        5 => other(io::pipe().map(|(reader, _)| reader.into())),
        6 => other(io::pipe().map(|(_, writer)| writer.into())),
        7 => other(UnixStream::pair().map(|(one, _)| one.into())),
        8 => other(UnixDatagram::unbound().map(OwnedFd::from)),
        // SAFETY: `eventfd` takes integers and accesses no memory of this process.
        9 => other(owned(unsafe { libc::eventfd(1, libc::EFD_CLOEXEC) })),
        // SAFETY: `epoll_create1` takes an integer and accesses no memory of this process.
        10 => other(owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })),
        // SAFETY: `inotify_init1` takes an integer and accesses no memory of this process.
        11 => other(owned(unsafe { libc::inotify_init1(libc::IN_CLOEXEC) })),
        // SAFETY: `timerfd_create` takes integers and accesses no memory of this process.
        12 => other(owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) })),
        13 => {
            let flags = libc::O_PATH | libc::O_CLOEXEC;
            // SAFETY: the path is a static C string, which `open` only reads.
            other(owned(unsafe { libc::open(c"/dev/null".as_ptr(), flags) }))
        }
        14 | 15 => file(choices),
        _ => memory(choices),
    }
}

/// An unnamed file with some bytes.
fn file(choices: &mut Choices<'_>) -> Option<Made> {
    let size = SIZES[usize::from(choices.below(7))];
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    let folder = c"/tmp";
    // SAFETY: the path is a static C string, which `open` only reads.
    let fd = owned(unsafe { libc::open(folder.as_ptr(), flags, 0o600) }).ok()?;
    let file = File::from(fd);
    fill(&file, size);
    let can_write = choices.byte().is_multiple_of(2);
    let fd = if can_write { file.into() } else { reopened(file.as_fd(), libc::O_RDONLY)? };
    Some(Made { fd, memory: Some(size), seals: 0, is_huge: false, can_read: true, can_write })
}

/// Shared memory with seals, possibly of huge pages.
fn memory(choices: &mut Choices<'_>) -> Option<Made> {
    let mut size = SIZES[usize::from(choices.below(SIZES.len() as u8))];
    let is_huge = choices.byte() >= 230;
    let name: &CStr = c"crossdock-fuzz";
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    if is_huge {
        size = size.next_multiple_of(2 << 20).min(4 << 20);
    }
    // SAFETY: the name is a C string, and `memfd_create` accesses no other memory.
    let fd = owned(unsafe {
        libc::memfd_create(name.as_ptr(), flags | if is_huge { libc::MFD_HUGETLB } else { 0 })
    });
    let file = File::from(fd.ok()?);
    file.set_len(size).ok()?;
    if !is_huge {
        fill(&file, size);
    }
    let wanted = choices.byte();
    let seals = (0..5).filter(|seal| wanted >> seal & 1 == 1).fold(0, |seals, seal| seals | SEALS[seal]);
    // SAFETY: `F_ADD_SEALS` takes an integer and accesses no memory; `file` keeps the descriptor
    // open.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
    // SAFETY: `F_GET_SEALS` has no argument and accesses no memory; `file` keeps the descriptor
    // open.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) }.max(0);
    let opened = [libc::O_RDWR, libc::O_RDWR, libc::O_RDONLY, libc::O_WRONLY][usize::from(wanted >> 6)];
    let fd = if opened == libc::O_RDWR { file.into() } else { reopened(file.as_fd(), opened)? };
    let (can_read, can_write) = (opened != libc::O_WRONLY, opened == libc::O_RDWR);
    Some(Made { fd, memory: Some(size), seals, is_huge, can_read, can_write })
}

/// Fills memory with the pattern, if it is small.
fn fill(file: &File, size: u64) {
    if size <= SMALL {
        let bytes: Vec<u8> = (0..size).map(pattern).collect();
        file.write_all_at(&bytes, 0).expect("few bytes");
    }
}

/// The same file opened once more.
fn reopened(fd: BorrowedFd<'_>, how: i32) -> Option<OwnedFd> {
    let path = std::ffi::CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("no NUL");
    // SAFETY: `path` is a C string that outlives the call, in which `open` only reads it.
    owned(unsafe { libc::open(path.as_ptr(), how | libc::O_CLOEXEC) }).ok()
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    match fd {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the system call returned this new descriptor, and no other object owns it.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

/// The number that the next descriptor will get: the lowest free one.
fn next_descriptor() -> i32 {
    File::open("/dev/null").expect("a device that is everywhere").as_raw_fd()
}
