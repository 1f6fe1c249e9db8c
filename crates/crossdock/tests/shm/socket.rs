//! Arrays through Unix sockets: good messages, bad ones, and sockets that fail. No descriptor and
//! no map is left behind in any case.

use std::error::Error as _;
use std::ffi::CString;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::protocol::shm::{self, Description};
use crossdock::layout::Order;
use crossdock::memory::{Birth, MapOptions};
use crossdock::view::{CopyPolicy, Request};
use crossdock::{Array, DArray, Error};
use crossdock_testkit::held;

/// Shared memory of 100 bytes with a unique name, which shows whether this process still holds it.
struct Memory {
    name: String,
    buffer: Buffer,
}

impl Memory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("socket-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let buffer = Buffer::shared_named(100, &CString::new(name.as_str()).unwrap()).unwrap();
        Self { name, buffer }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.buffer.descriptor().unwrap().0
    }

    /// Asserts that only this memory's own map and descriptor exist.
    #[track_caller]
    fn assert_nothing_else_holds_it(&self) {
        assert_eq!(held::holds("self", &self.name), 2);
    }
}

const GOOD: &str = "offset=0; access=read; shape=2,3; strides=24,8; dtype=float64";

/// A message, byte by byte.
fn message(text: &[u8]) -> Vec<u8> {
    framed(b"XDOCKSHM", 1, text.len() as u32, text)
}

fn framed(magic: &[u8], version: u32, nbytes: u32, text: &[u8]) -> Vec<u8> {
    [magic, &version.to_le_bytes(), &nbytes.to_le_bytes(), text].concat()
}

fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    for socket in [&ours, &theirs] {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    (ours, theirs)
}

/// The result of receiving these bytes and descriptors from a peer that then closes the socket.
fn outcome_of(bytes: &[u8], fds: &[BorrowedFd<'_>]) -> crossdock::Result<Option<DArray>> {
    let (ours, theirs) = pair();
    if !bytes.is_empty() {
        assert_eq!(held::send_beside(&theirs, bytes, fds).unwrap(), bytes.len());
    }
    drop(theirs);
    shm::receive(&ours)
}

#[track_caller]
fn error_of(bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Error {
    outcome_of(bytes, fds).map(|_| ()).unwrap_err()
}

fn io_kind(error: &Error) -> Option<ErrorKind> {
    Some(error.source()?.downcast_ref::<std::io::Error>()?.kind())
}

fn sample() -> DArray {
    let array = Array::from_vec((0..12i32).collect(), [3, 4]).unwrap();
    DArray::from(array).to_shared(Order::RowMajor).unwrap()
}

// ===== good messages

#[test]
fn an_array_arrives_on_the_same_pages_and_outlives_its_sender() {
    let (ours, theirs) = pair();
    let array = sample();
    let lent = shm::export(&array.at("::-1, 1:").unwrap(), &Request::share()).unwrap();
    shm::send(&ours, &lent).unwrap();
    array.set(&[2, 1], &77.into()).unwrap();
    // It is in flight, and only the kernel holds it.
    drop((lent, array, ours));
    let got = shm::receive(&theirs).unwrap().unwrap();
    assert_eq!((got.shape(), got.strides(), got.dtype()), (&[3, 3][..], &[-16, 4][..], &DType::I32));
    assert_eq!(got.get(&[0, 0]).unwrap().as_i64(), Some(77));
    got.set(&[2, 2], &5.into()).unwrap();
    let memory = got.buffer().unwrap().0;
    let fd = memory.descriptor().unwrap().0.as_raw_fd();
    // SAFETY: `F_GETFD` accesses no memory, and `memory` keeps the descriptor open.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC, "no program that is started inherits it");
    assert!(shm::receive(&theirs).unwrap().is_none(), "the stream is at its end");
}

#[test]
fn bytes_without_a_layout_travel_as_an_array_of_bytes() {
    let (ours, theirs) = pair();
    let memory = Memory::new();
    memory.buffer.slice(7..10).unwrap().share().unwrap().copy_from_slice(b"abc").unwrap();
    let window = memory.buffer.slice(7..10).unwrap();
    let bytes = Array::<u8, 1>::from_buffer(window, [3]).unwrap();
    shm::send(&ours, &shm::export(&bytes.into(), &Request::pin()).unwrap()).unwrap();
    let (buffer, offset) = shm::receive(&theirs).unwrap().unwrap().buffer().unwrap();
    assert_eq!((buffer.nbytes(), offset, buffer.pin().unwrap().to_vec()), (3, 0, b"abc".to_vec()));
    assert_eq!(buffer.descriptor().unwrap().1, 7);
}

#[test]
fn a_reader_gets_what_the_system_holds_it_to_and_sealed_memory_arrives_constant() {
    let (ours, theirs) = pair();
    let array = sample();
    shm::send(&ours, &shm::export(&array, &Request::pin()).unwrap()).unwrap();
    let got = shm::receive(&theirs).unwrap().unwrap();
    assert!(got.is_readonly() && got.birth() == Birth::Aliased);
    assert!(got.set(&[0, 0], &1.into()).unwrap_err().is_read_only());
    let fd = got.buffer().unwrap().0.descriptor().unwrap().0.try_clone_to_owned().unwrap();
    assert!(Buffer::map(File::from(fd), MapOptions::new().writable(true)).unwrap_err().is_io());
    drop(got);

    let sealed = array.into_sealed().unwrap();
    shm::send(&ours, &shm::export(&sealed, &Request::read()).unwrap()).unwrap();
    let got: Array<i32, 2> = shm::receive(&theirs).unwrap().unwrap().try_into().unwrap();
    assert_eq!(got.read().unwrap().iter().sum::<i32>(), 66);
}

#[test]
fn messages_follow_each_other_and_leave_the_bytes_between_them_alone() {
    let (mut ours, mut theirs) = pair();
    let array = sample();
    for row in 0..3 {
        let lent = shm::export(&array.drop_axis(0, row).unwrap(), &Request::pin()).unwrap();
        shm::send(&ours, &lent).unwrap();
        shm::send(&ours, &lent).unwrap();
        ours.write_all(&[row as u8]).unwrap();
    }
    for row in 0..3 {
        for _ in 0..2 {
            let got = shm::receive(&theirs).unwrap().unwrap();
            assert_eq!(got.get(&[1]).unwrap().as_i64(), Some(4 * row + 1));
        }
        let mut byte = [0];
        theirs.read_exact(&mut byte).unwrap();
        assert_eq!(i64::from(byte[0]), row);
    }
}

#[test]
fn a_message_may_come_in_bytes_and_its_descriptor_beside_any_of_them() {
    let bytes = message(GOOD.as_bytes());
    for beside in [0, 1, 15, 16, 17, bytes.len() - 1] {
        let (ours, theirs) = pair();
        let memory = Memory::new();
        for (at, byte) in bytes.iter().enumerate() {
            let fds = [memory.fd()];
            held::send_beside(&theirs, &[*byte], &fds[..usize::from(at == beside)]).unwrap();
        }
        let got = shm::receive(&ours).unwrap().unwrap();
        assert_eq!(got.shape(), [2, 3]);
        drop(got);
        memory.assert_nothing_else_holds_it();
    }
}

#[test]
fn a_description_larger_than_the_socket_goes_through_it_in_pieces() {
    let fields: Vec<(String, DType)> =
        (0..9000).map(|index| (format!("field number {index}, not a short name"), DType::U8)).collect();
    let wide = DType::packed_record(fields).unwrap();
    let nbytes = wide.itemsize();
    let array = DArray::zeros(wide, &[2], Order::RowMajor).unwrap().to_shared(Order::RowMajor).unwrap();
    let lent = shm::export(&array, &Request::pin()).unwrap();
    let text = lent.description().to_text().unwrap();
    assert!(text.len() > 400_000, "{}", text.len());
    let (ours, theirs) = pair();
    std::thread::scope(|scope| {
        let got = scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            shm::receive(&theirs)
        });
        shm::send(&ours, &lent).unwrap();
        let got = got.join().unwrap().unwrap().unwrap();
        assert_eq!((got.dtype(), got.nbytes()), (array.dtype(), 2 * nbytes));
    });
}

// ===== messages that are none

#[test]
fn a_stream_that_ends_before_a_message_is_none_and_amid_one_an_error_at_every_byte() {
    assert!(outcome_of(b"", &[]).unwrap().is_none());
    let bytes = message(GOOD.as_bytes());
    let memory = Memory::new();
    for end in 1..bytes.len() {
        for fds in [&[][..], &[memory.fd()][..]] {
            let error = error_of(&bytes[..end], fds);
            assert!(error.is_io() && io_kind(&error) == Some(ErrorKind::UnexpectedEof), "{end}: {error}");
            assert!(error.to_string().contains(&format!("after {end} of ")), "{end}: {error}");
        }
        memory.assert_nothing_else_holds_it();
    }
    assert!(outcome_of(&bytes, &[memory.fd()]).unwrap().is_some());
}

#[test]
fn frames_that_are_none_are_refused() {
    let memory = Memory::new();
    let text = GOOD.as_bytes();
    let (len, most) = (text.len() as u32, 1 << 20);
    type Predicate = fn(&Error) -> bool;
    let cases: &[(Vec<u8>, Predicate, &str)] = &[
        (framed(b"HTTP/1.1", 1, len, text), Error::is_malformed, "HTTP/1.1"),
        (framed(b"XDOCKSHm", 1, len, text), Error::is_malformed, "XDOCKSHm"),
        (framed(b"\0\xff\0\0\0\0\0\n", 1, len, text), Error::is_malformed, "\\\\xff"),
        (framed(b"XDOCKSHM", 0, len, text), Error::is_unsupported, "version 0"),
        (framed(b"XDOCKSHM", 2, len, text), Error::is_unsupported, "version 2"),
        (framed(b"XDOCKSHM", u32::MAX, len, text), Error::is_unsupported, "version 4294967295"),
        (framed(b"XDOCKSHM", 1, 0, text), Error::is_malformed, "0 bytes"),
        (framed(b"XDOCKSHM", 1, most + 1, text), Error::is_malformed, "1048577 bytes"),
        (framed(b"XDOCKSHM", 1, u32::MAX, text), Error::is_malformed, "4294967295 bytes"),
        (framed(b"XDOCKSHM", 1, most, text), Error::is_io, "of 1048592"),
        (framed(b"XDOCKSHM", 1, len + 1, text), Error::is_io, &format!("of {}", len + 17)),
        (framed(b"XDOCKSHM", 1, len - 1, text), Error::is_malformed, "float6"),
        (message(b"\xff\xfe"), Error::is_malformed, "not UTF-8"),
        (message(b"[1, 2, 3]"), Error::is_malformed, "where offset=… should be"),
    ];
    for (bytes, predicate, part) in cases {
        let error = error_of(bytes, &[memory.fd()]);
        assert!(predicate(&error) && error.to_string().contains(part), "{part}: {error:?}");
        memory.assert_nothing_else_holds_it();
    }
}

#[test]
fn descriptors_too_few_or_too_many_are_refused_and_closed() {
    let memory = Memory::new();
    let bytes = message(GOOD.as_bytes());
    let none = error_of(&bytes, &[]);
    assert!(none.is_malformed() && none.to_string().contains("no descriptor"), "{none}");
    // Above some number, the system drops descriptors without room, and reports it. It sends at
    // most 253.
    for count in [2, 3, 20, 59, 60, 61, 100, 253] {
        let error = error_of(&bytes, &vec![memory.fd(); count]);
        assert!(
            error.is_malformed() && error.to_string().contains("descriptors; it must have one"),
            "{count}: {error}"
        );
        memory.assert_nothing_else_holds_it();
    }
    // One with the first byte, one with a later one.
    let (ours, theirs) = pair();
    held::send_beside(&theirs, &bytes[..20], &[memory.fd()]).unwrap();
    held::send_beside(&theirs, &bytes[20..], &[memory.fd()]).unwrap();
    let error = shm::receive(&ours).unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("has 2 descriptors"), "{error}");
    memory.assert_nothing_else_holds_it();
    // With the bytes behind the message, which belong to the next one.
    held::send_beside(&theirs, &bytes, &[memory.fd(), memory.fd()]).unwrap();
    drop((ours, theirs));
    memory.assert_nothing_else_holds_it();
}

#[test]
fn descriptions_that_lie_are_refused() {
    let memory = Memory::new();
    type Predicate = fn(&Error) -> bool;
    let cases: &[(&str, Predicate)] = &[
        ("offset=53; access=read; shape=2,3; strides=24,8; dtype=float64", Error::is_bounds),
        ("offset=0; access=read; shape=14; strides=8; dtype=float64", Error::is_bounds),
        ("offset=0; access=read; shape=2; strides=93; dtype=float64", Error::is_bounds),
        ("offset=0; access=read; shape=2; strides=-1; dtype=uint8", Error::is_bounds),
        ("offset=101; access=read; shape=0; strides=1; dtype=uint8", Error::is_bounds),
        ("offset=18446744073709551615; access=read; shape=; strides=; dtype=uint8", Error::is_bounds),
        ("offset=4096; access=read; shape=1; strides=1; dtype=uint8", Error::is_bounds),
        ("offset=0; access=read; shape=9223372036854775807; strides=1; dtype=uint8", Error::is_bounds),
        ("offset=0; access=read; shape=9223372036854775807; strides=2; dtype=uint8", Error::is_overflow),
        ("offset=0; access=read; shape=2; strides=1,1; dtype=uint8", Error::is_shape),
        ("offset=0; access=read; shape=1; strides=1; dtype=|O8", Error::is_unsupported),
        ("offset=0; access=read; shape=1; strides=1; dtype=|V101", Error::is_bounds),
        ("offset=0; access=read; shape=1; strides=1; dtype=[('a', '<i4')", Error::is_malformed),
    ];
    for (text, predicate) in cases {
        let error = error_of(&message(text.as_bytes()), &[memory.fd()]);
        assert!(predicate(&error), "{text}: {error:?}");
        memory.assert_nothing_else_holds_it();
    }
    let axes = ["1"; 100].join(",");
    let deep = format!("offset=0; access=read; shape={axes}; strides={axes}; dtype=uint8");
    assert!(error_of(&message(deep.as_bytes()), &[memory.fd()]).is_unsupported());
}

#[test]
fn descriptors_of_other_things_are_refused() {
    let memfd = |flags| {
        // SAFETY: the name is a C string, and `memfd_create` accesses no other memory.
        let fd = unsafe { libc::memfd_create(c"unsealed".as_ptr(), flags) };
        // SAFETY: `memfd_create` returned this new descriptor, and no other object owns it.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        file.set_len(100).unwrap();
        OwnedFd::from(file)
    };
    let growing = memfd(libc::MFD_ALLOW_SEALING);
    // SAFETY: `F_ADD_SEALS` takes an integer and accesses no memory; `growing` keeps the descriptor
    // open.
    assert_eq!(unsafe { libc::fcntl(growing.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_GROW) }, 0);
    let memory = Memory::new();
    let path = CString::new(format!("/proc/self/fd/{}", memory.fd().as_raw_fd())).unwrap();
    // SAFETY: `path` is a C string, which `open` only reads.
    let nameless = unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
    assert!(nameless >= 0);
    // SAFETY: `open` returned this new descriptor, and no other object owns it.
    let nameless = unsafe { OwnedFd::from_raw_fd(nameless) };
    let (socket, _other) = UnixStream::pair().unwrap();
    for (fd, what) in [
        (memfd(libc::MFD_ALLOW_SEALING), "memory that can shrink"),
        (memfd(0), "memory that takes no seals"),
        (growing, "memory that is sealed against growing"),
        (File::open("Cargo.toml").unwrap().into(), "a file"),
        (File::open("/").unwrap().into(), "a folder"),
        (File::open("/dev/zero").unwrap().into(), "a device"),
        (socket.into(), "a socket"),
        (nameless, "a place in the file system"),
    ] {
        let error = error_of(&message(GOOD.as_bytes()), &[fd.as_fd()]);
        assert!(error.is_unsupported() && error.to_string().contains("sealed"), "{what}: {error:?}");
    }
}

#[test]
fn a_description_that_permits_more_than_the_descriptor_does_is_refused() {
    let memory = Memory::new();
    let bytes = message(GOOD.replace("read", "write").as_bytes());
    let array = Array::<u8, 1>::from_buffer(memory.buffer.clone(), [100]).unwrap();
    let lent = shm::export(&array.into(), &Request::pin()).unwrap();
    assert!(error_of(&bytes, &[lent.fd()]).is_io());
    memory.buffer.deny_new_writers().unwrap();
    assert!(error_of(&bytes, &[memory.fd()]).is_read_only());
    drop(lent);
    memory.assert_nothing_else_holds_it();
}

#[test]
fn what_cannot_be_sent_is_refused_before_a_byte_is() {
    let (ours, theirs) = pair();
    let file = Buffer::map(File::open("Cargo.toml").unwrap(), MapOptions::new()).unwrap();
    let shape = [file.nbytes()];
    let bytes = DArray::from(Array::<u8, 1>::from_buffer(file, shape).unwrap());
    let error = shm::send(&ours, &shm::export(&bytes, &Request::pin()).unwrap()).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("file map"), "{error}");
    let copy = Request::pin().copy(CopyPolicy::Always);
    shm::send(&ours, &shm::export(&bytes, &copy).unwrap()).unwrap();
    assert_eq!(shm::receive(&theirs).unwrap().unwrap().shape(), shape);

    let record = DType::packed_record([("x", DType::subarray(&[1 << 31], DType::U8).unwrap())]).unwrap();
    let array = DArray::zeros(record, &[0], Order::RowMajor).unwrap().to_shared(Order::RowMajor).unwrap();
    let error = shm::send(&ours, &shm::export(&array, &Request::pin()).unwrap()).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("2147483648 bytes"), "{error}");

    let long = "x".repeat(1 << 20);
    let record = DType::packed_record([(long.as_str(), DType::U8)]).unwrap();
    let array = DArray::zeros(record, &[1], Order::RowMajor).unwrap().to_shared(Order::RowMajor).unwrap();
    let error = shm::send(&ours, &shm::export(&array, &Request::pin()).unwrap()).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("1048576"), "{error}");
    drop(ours);
    assert!(shm::receive(&theirs).unwrap().is_none(), "nothing else was sent");
}

// ===== sockets that fail

#[test]
fn a_peer_that_is_gone_is_an_error_and_no_signal() {
    // Rust's runtime ignores SIGPIPE in Rust programs, but not where a library runs in another
    // program.
    // SAFETY: `SIG_DFL` installs no handler function, so none can run at a wrong time.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    assert_ne!(before, libc::SIG_ERR);
    let (ours, theirs) = pair();
    drop(theirs);
    let lent = shm::export(&sample(), &Request::pin()).unwrap();
    let error = shm::send(&ours, &lent).unwrap_err();
    assert!(error.is_io() && io_kind(&error) == Some(ErrorKind::BrokenPipe), "{error}");
    assert!(shm::receive(&ours).unwrap().is_none());
    // SAFETY: `signal` returned `before` as the previous action of this signal.
    unsafe { libc::signal(libc::SIGPIPE, before) };
}

#[test]
fn a_peer_that_says_nothing_more_is_an_error_when_the_time_is_up() {
    let (ours, theirs) = pair();
    ours.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let memory = Memory::new();
    for end in [0, 7, 30] {
        let bytes = message(GOOD.as_bytes());
        if end > 0 {
            held::send_beside(&theirs, &bytes[..end], &[memory.fd()]).unwrap();
        }
        let error = shm::receive(&ours).unwrap_err();
        assert!(error.is_io() && io_kind(&error) == Some(ErrorKind::WouldBlock), "{end}: {error}");
        memory.assert_nothing_else_holds_it();
    }
    // A receiver that never reads.
    ours.set_write_timeout(Some(Duration::from_millis(5))).unwrap();
    let lent = shm::export(&sample(), &Request::pin()).unwrap();
    let error = (0..100_000).find_map(|_| shm::send(&ours, &lent).err()).unwrap();
    assert!(error.is_io(), "{error}");
}

#[test]
fn a_signal_amid_a_message_changes_nothing() {
    static CAUGHT: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn count(_: i32) {
        CAUGHT.fetch_add(1, Ordering::Relaxed);
    }
    // Without SA_RESTART, so that the signal interrupts calls.
    // SAFETY: `sigaction` consists of numbers and an optional function, for which zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = count as *const () as usize;
    // SAFETY: `action` is initialised, and its handler does one atomic addition, which is
    // async-signal-safe.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) }, 0);
    let (ours, theirs) = pair();
    // SAFETY: `pthread_self` has no arguments, accesses no memory of the caller and always
    // succeeds.
    let receiver = unsafe { libc::pthread_self() };
    let memory = Memory::new();
    let fd = memory.fd();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let bytes = message(GOOD.as_bytes());
            for (at, byte) in bytes.iter().enumerate() {
                held::send_beside(&theirs, &[*byte], &[fd][..usize::from(at == 0)]).unwrap();
                // SAFETY: the receiving thread waits until this thread ends, so its handle is
                // valid.
                assert_eq!(unsafe { libc::pthread_kill(receiver, libc::SIGUSR1) }, 0);
                // On a busy machine, the next signal could otherwise coincide with this one.
                for _ in 0..10_000 {
                    std::thread::sleep(Duration::from_micros(100));
                    if CAUGHT.load(Ordering::Relaxed) > at {
                        break;
                    }
                }
            }
        });
        assert_eq!(shm::receive(&ours).unwrap().unwrap().shape(), [2, 3]);
    });
    assert!(CAUGHT.load(Ordering::Relaxed) > 10);
}

#[test]
fn a_description_travels_as_text_beside_an_inherited_descriptor_too() {
    let lent = shm::export(&sample().at(":, 1").unwrap(), &Request::pin()).unwrap();
    let text = lent.description().to_text().unwrap();
    let described: Description = text.parse().unwrap();
    let got = shm::import(lent.fd().try_clone_to_owned().unwrap(), &described).unwrap();
    assert_eq!(got.get(&[2]).unwrap().as_i64(), Some(9));
}
