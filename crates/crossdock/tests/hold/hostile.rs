//! Clients that break the rules get errors, and no other client notices.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crossdock::exchange::protocol::hold::{self, Label, Limits, SetHolder};
use crossdock_testkit::held::send_beside;
use crossdock_testkit::{not_run, status_of_child};

use crate::common::{Program, Running, socket, unique, until};

pub(crate) const CONNECT: u32 = 1;
const PUBLISH: u32 = 2;
const COMMIT: u32 = 3;
const WHO: u32 = 4;
const TAKE_OVER: u32 = 7;
const TOOK_OVER: u32 = 8;
const FAILED: u32 = 101;
const END: u32 = 107;

fn address(path: &Path) -> (libc::sockaddr_un, u32) {
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as _, sun_path: [0; 108] };
    for (room, byte) in address.sun_path.iter_mut().zip(path.as_os_str().as_bytes()) {
        *room = *byte as libc::c_char;
    }
    (address, size_of::<libc::sockaddr_un>() as u32)
}

/// A connection without the library: -1 with `errno` if it is refused.
fn connect_to((address, nbytes): &(libc::sockaddr_un, u32)) -> i32 {
    // SAFETY: `socket` takes integers only.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: `address` is a `sockaddr_un` of `nbytes` bytes.
    let failed = unsafe { libc::connect(fd, (&raw const *address).cast(), *nbytes) };
    if failed == 0 { fd } else { -1 }
}

/// A connection without the library, if the system takes one more at once.
pub(crate) fn try_raw(name: &Label) -> Option<OwnedFd> {
    // SAFETY: `socket` takes integers only.
    let fd = unsafe {
        libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0)
    };
    assert!(fd >= 0);
    // SAFETY: `socket` opened the descriptor, and nothing else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let (address, nbytes) = address(&socket(name));
    // SAFETY: `address` is a `sockaddr_un` of `nbytes` bytes.
    let failed = unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), nbytes) };
    (failed == 0).then_some(fd)
}

pub(crate) fn raw(name: &Label) -> UnixStream {
    let fd = connect_to(&address(&socket(name)));
    assert!(fd >= 0);
    // SAFETY: `connect_to` opened the descriptor, and nothing else owns it.
    let stream = UnixStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

pub(crate) fn message(kind: u32, numbers: &[u64]) -> Vec<u8> {
    let mut bytes = b"XDOCKHLD\x03\0\0\0".to_vec();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// The kind of the next reply, 0 at the end, and the rest as text.
fn reply(mut stream: &UnixStream) -> (u32, String) {
    let mut room = [0; 5000];
    let nbytes = stream.read(&mut room).unwrap_or(0);
    if nbytes == 0 {
        return (0, String::new());
    }
    let kind = u32::from_le_bytes(*room[12..].first_chunk().unwrap());
    (kind, String::from_utf8_lossy(&room[16..nbytes]).into_owned())
}

/// Receives a reply with its descriptors.
fn reply_with_descriptors(stream: &UnixStream) -> Vec<OwnedFd> {
    let (mut room, mut control) = ([0u8; 5000], [0u64; 64]);
    let mut vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: `msghdr` consists of integers and pointers, for which zero is a valid value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header points to `vector`, `room` and `control`, with their lengths.
    let nbytes = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
    assert!(nbytes > 0);
    let count = (control[0] as usize - 16) / 4;
    let numbers = control[2..].iter().flat_map(|word| [*word as u32 as i32, (*word >> 32) as u32 as i32]);
    // SAFETY: the kernel opened these descriptors in `recvmsg`, and nothing else owns them.
    numbers.take(count).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect()
}

pub(crate) fn memfd(bytes: &[u8], seals: i32) -> OwnedFd {
    // SAFETY: the name ends in NUL, and the call opens a new descriptor.
    let fd = unsafe { libc::memfd_create(c"hostile".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    assert!(fd >= 0);
    // SAFETY: `memfd_create` opened the descriptor, and nothing else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    std::fs::File::from(fd.try_clone().unwrap()).write_all(bytes).unwrap();
    // SAFETY: the descriptor is open; the call takes an integer.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
    fd
}

pub(crate) const SEALED: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;

/// The holder still serves.
#[track_caller]
fn assert_served(name: &Label) {
    let set = hold::connect(name).unwrap();
    assert_eq!(set.get("w").unwrap().get(&[0]).unwrap().as_i64(), Some(1));
}

#[test]
fn bytes_that_are_no_request_end_the_connection_with_a_reason() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let long = vec![b'x'; 4097];
    let mut other_version = message(WHO, &[]);
    other_version[8] = 1;
    for (bytes, text) in [
        (&b"x"[..], "fewer than its head"),
        (b"GET / HTTP/1.1\r\n\r\n", "begins with"),
        (&message(WHO, &[])[..15], "fewer than its head"),
        (&message(WHO, &[1]), "8 bytes too many"),
        (&message(CONNECT, &[]), "lacks a number"),
        (&message(99, &[]), "kind is 99"),
        (&message(FAILED, &[0, 0]), "no request"),
        (&message(COMMIT, &[0]), "but 1 are expected"),
        (&message(COMMIT, &[u64::MAX]), "are expected"),
        (&message(TOOK_OVER, &[]), "neither writer nor successor cannot finish taking the name over"),
        (&other_version, "only 3 is supported"),
        (&long, "more bytes or descriptors"),
    ] {
        let mut client = raw(&name);
        client.write_all(bytes).unwrap();
        let (kind, said) = reply(&client);
        assert!(
            kind == FAILED && said.contains(text),
            "{:?}: {kind} {said}",
            bytes.escape_ascii().to_string()
        );
        assert_eq!(reply(&client).0, 0);
    }
    assert_served(&name);
}

#[test]
fn descriptors_of_other_things_are_not_taken() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let null = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let (pipe, _writer) = std::io::pipe().unwrap();
    let pipe = OwnedFd::from(pipe);
    let file = OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    let open = memfd(&[0; 200], 0);
    let shrinks = memfd(&[0; 200], libc::F_SEAL_WRITE);
    let (empty, zeros) = (memfd(&[], SEALED), memfd(&[0; 200], SEALED));
    let mut huge = b"XDOCKSET\x03\0\0\0\0\0\0\0".to_vec();
    huge.extend([0xff; 184]);
    let huge = memfd(&huge, SEALED);
    for (fd, text) in [
        (&null, "not memory"),
        (&pipe, "not memory"),
        (&file, "not memory"),
        (&open, "not memory that is sealed"),
        (&shrinks, "not memory that is sealed"),
        (&empty, "fewer than its head"),
        (&zeros, "begins with"),
        (&huge, "has 200 bytes, but says"),
    ] {
        let mut client = raw(&name);
        client.write_all(&message(PUBLISH, &[])).unwrap();
        assert_eq!(reply(&client).0, 103);
        send_beside(&client, &message(COMMIT, &[0]), &[fd.as_fd()]).unwrap();
        let (kind, said) = reply(&client);
        assert!(kind == FAILED && said.contains(text), "{text}: {kind} {said}");
    }
    let client = raw(&name);
    let many: Vec<BorrowedFd<'_>> = vec![zeros.as_fd(); 250];
    send_beside(&client, &message(WHO, &[]), &many).unwrap();
    let (kind, said) = reply(&client);
    assert!(kind == FAILED && said.contains("descriptors"), "{said}");
    assert_served(&name);
}

/// Publishes a copy of version 1 with other bytes in its manifest.
fn commit_altered(name: &Label, alter: impl FnOnce(&mut Vec<u8>)) -> (u32, String) {
    commit_other(name, alter, None)
}

/// As [`commit_altered`], with another last region.
pub(crate) fn commit_other(
    name: &Label,
    alter: impl FnOnce(&mut Vec<u8>),
    region: Option<BorrowedFd<'_>>,
) -> (u32, String) {
    let mut reader = raw(name);
    reader.write_all(&message(CONNECT, &[1])).unwrap();
    let mut fds = reply_with_descriptors(&reader);
    let file = std::fs::File::from(fds.remove(0));
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let mut client = raw(name);
    client.write_all(&message(PUBLISH, &[])).unwrap();
    let (kind, text) = reply(&client);
    assert_eq!(kind, 103);
    // The version of the set.
    bytes[32..40].copy_from_slice(&text.as_bytes()[..8]);
    alter(&mut bytes);
    let manifest = memfd(&bytes, SEALED);
    let mut sent = vec![manifest.as_fd()];
    sent.extend(fds.iter().map(AsFd::as_fd));
    if let (Some(region), Some(last)) = (region, sent.last_mut()) {
        *last = region;
    }
    send_beside(&client, &message(COMMIT, &[fds.len() as u64]), &sent).unwrap();
    reply(&client)
}

#[test]
fn the_holder_refuses_a_manifest_that_lies_about_its_memory() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let put = |at: usize, number: u32| {
        move |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&number.to_le_bytes())
    };
    for (at, number, text) in [
        (0, 7, "begins with"),
        (8, 1, "only 3 is supported"),
        (24, 7, "but says 7"),
        (32, 77, "names its set"),
        (48, u32::MAX, "slots for"),
        (52, 0, "the manifest"),
        (52, u32::MAX, "regions and"),
        (56, u32::MAX, "dtypes"),
        (60, u32::MAX, "too few"),
        (64, u32::MAX, "too few"),
        (68, 1 << 31, "too few"),
        (68, 3, "slots for"),
        (76, 3, "says that 3 of its 2 entries are tables"),
        (72, u32::MAX, "too few"),
        (72, 0, "cannot be the name"),
        (96, 1, "has inode"),
        (104, 1, "has inode"),
        (112, 1, "has inode"),
        (112, 2, "of kind 2; 0 and 1 are supported"),
    ] {
        let (kind, said) = commit_altered(&name, put(at, number));
        assert!(kind == FAILED && said.contains(text), "{at}: {kind} {said}");
    }
    assert_served(&name);
}

#[test]
fn a_mapped_region_is_a_file_that_is_open_for_reading_and_has_all_bytes() {
    let (name, mut holder) = (unique(), SetHolder::new(Limits::new()).unwrap());
    let path = std::env::temp_dir().join(format!("{}.npy", name.name()));
    let array = crossdock::Array::from_vec(vec![1i64; 100], [100]).unwrap();
    crossdock::exchange::files::save(&path, &array.into()).unwrap();
    holder.claim(&name).unwrap();
    let label = holder.next(&name).unwrap();
    holder.commit(crossdock::exchange::files::map_set(&path, &label).unwrap()).unwrap();
    let _holder = Running::start(holder);
    let put = |at: usize, number: u32| {
        move |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&number.to_le_bytes())
    };
    for (at, number, text) in [
        (96, 1, "has inode"),
        (104, 929, "shrank: it has 928 bytes, and had 929"),
        (108, u32::MAX, "shrank"),
        (112, 0, "not memory that is sealed"),
        (120, 1, "has inode"),
    ] {
        let (kind, said) = commit_altered(&name, put(at, number));
        assert!(kind == FAILED && said.contains(text), "{at}: {kind} {said}");
    }
    let opened = |read, write, flags, path: &Path| {
        let mut options = std::fs::File::options();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(read).write(write), flags);
        options.open(path).unwrap()
    };
    let pipe = std::io::pipe().unwrap();
    for (file, text) in [
        (opened(true, true, 0, &path), "open for reading and nothing else"),
        (opened(false, true, 0, &path), "open for reading and nothing else"),
        (opened(true, false, libc::O_PATH, &path), "open for reading and nothing else"),
        (opened(true, false, 0, Path::new("/")), "not a regular file"),
        (opened(true, false, 0, Path::new("/dev/zero")), "not a regular file"),
        (OwnedFd::from(pipe.0).into(), "not a regular file"),
        (opened(true, false, 0, Path::new("/proc/self/status")), "has inode"),
    ] {
        let (kind, said) = commit_other(&name, |_| {}, Some(file.as_fd()));
        assert!(kind == FAILED && said.contains(text), "{file:?}: {kind} {said}");
    }
    // What an entry says is checked against the bytes that the set has of the file.
    let entry = 96 + 32 + 8;
    assert_eq!(commit_altered(&name, put(entry + 32, 129)).0, 104);
    let set = hold::connect(&name).unwrap();
    let error = set.get(set.nth_name(0).unwrap()).unwrap_err();
    assert!(error.to_string().contains("covers bytes 129..929"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_reader_refuses_entries_that_lie() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let _first = hold::connect(&name).unwrap();
    // Head, one region, one dtype, no metadata; then the entries of `w` and `tied`, their numbers
    // (a length and a stride each), and four slots.
    let entry = 96 + 32 + 8;
    let (numbers, slots) = (entry + 80, entry + 80 + 32);
    for (at, number, text) in [
        (entry + 8, 2, "of kind 2; 0 (an array) and 1 (a table) are supported"),
        // Its three numbers are a length and strides.
        (entry + 8, 1, "is a table of 8 rows and 1000 columns, not an array"),
        (entry + 12, 1, "dtype is 1 of 1"),
        (entry + 16, 65, "rank is 65"),
        (entry + 16, 3, "first number"),
        (entry + 20, u32::MAX, "first number"),
        (entry + 24, 1, "region is 1 of 1"),
        (entry + 32, 1, "covers bytes 1..8001"),
        (entry + 36, u32::MAX, "covers bytes"),
        (numbers, 1001, "covers bytes 0..8008"),
        (numbers + 4, u32::MAX, ""),
        (numbers + 8, 9, "covers bytes"),
        (numbers + 12, 1, "covers bytes"),
        (96 + 32, u32::MAX, "text of"),
        (96 + 36, u32::MAX, "text of"),
        (96 + 36, 0, ""),
    ] {
        let (kind, said) =
            commit_altered(&name, |bytes| bytes[at..at + 4].copy_from_slice(&number.to_le_bytes()));
        assert_eq!(kind, 104, "{at}: {said}");
        let set = hold::connect(&name).unwrap();
        let error = set.get("w").unwrap_err();
        assert!(error.to_string().contains(text), "{at}: {error}");
        assert_eq!(set.get("tied").is_ok(), at >= entry, "{at}");
    }
    // A name without its text, and a table of hashes that points nowhere or has no free slot.
    commit_altered(&name, |bytes| bytes[entry + 4..entry + 8].fill(0xff));
    let set = hold::connect(&name).unwrap();
    assert!(set.names().next().unwrap().unwrap_err().is_malformed());
    assert!(set.get("w").unwrap_err().is_malformed());
    for fill in [0xff, 1] {
        commit_altered(&name, |bytes| {
            bytes[slots..slots + 16].chunks_mut(4).for_each(|slot| {
                slot.copy_from_slice(&[fill, 0, 0, 0]);
            })
        });
        let set = hold::connect(&name).unwrap();
        assert!(set.get("none").is_err());
        assert_eq!(set.names().len(), 2);
    }
    let other = commit_altered(&name, |bytes| bytes.truncate(96));
    assert_eq!(other.0, FAILED);
}

#[test]
fn floods_and_silence_hold_up_no_other_client() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new().clients_of_process(40));
    // Requests without end, whose replies the client leaves unread.
    let mut greedy = raw(&name);
    greedy.set_nonblocking(true).unwrap();
    let mut sent = 0;
    while sent < 100_000 && greedy.write(&message(WHO, &[])).is_ok() {
        sent += 1;
    }
    let silent: Vec<UnixStream> = (0..10).map(|_| raw(&name)).collect();
    for _ in 0..20 {
        assert_served(&name);
    }
    let (mut others, mut refused) = (Vec::new(), 0);
    for _ in 0..100 {
        let client = raw(&name);
        client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        match reply(&client) {
            (FAILED, text) => {
                assert!(text.contains("the limit; close some"), "{text}");
                refused += 1;
            }
            _ => others.push(client),
        }
    }
    assert!(refused >= 60, "{refused}");
    drop((others, silent, greedy));
    until("there is room again", || hold::connect(&name).is_ok());
    assert_served(&name);
}

#[test]
fn a_successor_that_gives_up_leaves_the_name_with_its_holder() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let set = hold::connect(&name).unwrap();
    for says_so in [true, false] {
        let mut successor = raw(&name);
        successor.write_all(&message(TAKE_OVER, &[])).unwrap();
        while reply(&successor).0 != END {}
        let waiting = std::thread::spawn({
            let name = name.clone();
            move || assert_served(&name)
        });
        if says_so {
            // Anything but the end of the protocol.
            successor.write_all(&message(WHO, &[])).unwrap();
            assert_eq!(reply(&successor).0, FAILED);
        }
        drop(successor);
        waiting.join().unwrap();
    }
    assert_eq!(hold::who(&name).unwrap().len(), 2);
    drop(set);
}

/// Sends requests until the holder reads no more of them, because it cannot send its replies.
/// Returns their number.
fn fill(name: &Label, mut client: &UnixStream) -> usize {
    client.set_nonblocking(true).unwrap();
    let (mut sent, mut refused) = (0, 0);
    while refused < 5 {
        match client.write_all(&message(WHO, &[])) {
            Ok(()) => (sent, refused) = (sent + 1, 0),
            // By another request's reply, the holder has looked at this client in between.
            Err(_) => {
                refused += 1;
                hold::who(name).unwrap();
            }
        }
    }
    client.set_nonblocking(false).unwrap();
    sent
}

/// The kinds of all replies until the holder ends the connection.
fn kinds_until_the_end(mut client: &UnixStream) -> Vec<u32> {
    let (mut kinds, mut room) = (Vec::new(), [0; 5000]);
    loop {
        match client.read(&mut room) {
            Ok(0) => return kinds,
            Ok(nbytes) => kinds.push(u32::from_le_bytes(*room[12..nbytes].first_chunk().unwrap())),
            // Once, since the holder has not read all requests.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
}

#[test]
fn a_client_takes_the_replies_that_wait_for_it_after_a_takeover() {
    let name = unique();
    let former = Running::with_sample(&name, Limits::new());
    let sets: Vec<_> = (0..8).map(|_| hold::connect(&name).unwrap()).collect();
    let slow = raw(&name);
    let sent = fill(&name, &slow);
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.take_over(&name).unwrap();
    let next = Running::start(holder);
    let kinds = kinds_until_the_end(&slow);
    let answered = kinds.iter().filter(|&&kind| kind == END).count();
    assert!((1..sent).contains(&answered), "{answered} of {sent}");
    assert_eq!(kinds.last(), Some(&END), "the last list is cut: {} rows came", kinds.len());
    until("the former holder ends", || former.has_ended());
    assert_served(&name);
    drop((sets, next));
}

#[test]
fn a_successor_that_stalls_is_given_up() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let stalled = raw(&name);
    (&stalled).write_all(&message(TAKE_OVER, &[])).unwrap();
    // It takes the first reply, and then does nothing.
    drop(reply_with_descriptors(&stalled));
    assert_served(&name);
    assert_eq!(kinds_until_the_end(&stalled).last(), Some(&END));
    (&stalled).write_all(&message(TOOK_OVER, &[])).unwrap_err();
    assert_served(&name);
}

#[test]
fn a_request_beside_a_takeover_is_left_to_the_successor() {
    let name = unique();
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.claim(&name).unwrap();
    let (successor, publisher) = (raw(&name), raw(&name));
    // The holder, once it runs, finds both requests at the same time.
    (&successor).write_all(&message(TAKE_OVER, &[])).unwrap();
    (&publisher).write_all(&message(PUBLISH, &[])).unwrap();
    let (stop, stopped) = UnixStream::pair().unwrap();
    let holder = std::thread::spawn(move || holder.run(Some(stopped.as_fd())));
    let [_listener, connection] = [0; 2].map(|_| reply_with_descriptors(&successor).remove(0));
    assert_eq!(reply(&successor).0, END);
    let connection = UnixStream::from(connection);
    assert_eq!(reply(&connection).0, PUBLISH, "the former holder did not take it");
    drop(stop);
    holder.join().unwrap().unwrap();
}

#[test]
fn a_request_out_of_turn_is_refused_in_words() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let writer = raw(&name);
    (&writer).write_all(&message(PUBLISH, &[])).unwrap();
    assert_ne!(reply(&writer).0, FAILED);
    (&writer).write_all(&message(WHO, &[])).unwrap();
    let (kind, text) = reply(&writer);
    assert_eq!(kind, FAILED);
    assert!(text.contains("the writer of version 2 cannot list the processes"), "{text}");
}

#[test]
fn a_process_without_descriptors_is_told_the_cause() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let status = status_of_child(|| {
        let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the call only reads `limit`, and restricts this child alone.
        let failed = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        let text = hold::connect(&name).unwrap_err().to_string();
        failed == 0 && text.contains("ulimit -n") && !text.contains("not a link")
    });
    assert_eq!(status, 0);
}

#[test]
fn a_holder_without_descriptors_says_so_and_serves_again_when_it_has_some() {
    let name = unique();
    let mut holder = Program::start("hold", &name);
    assert!(holder.says("holds"));
    let limit = libc::rlimit { rlim_cur: 24, rlim_max: 24 };
    let process = holder.child.id() as libc::pid_t;
    // SAFETY: the call reads `limit`, and null requests no former limit.
    let failed =
        unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, &raw const limit, std::ptr::null_mut()) };
    assert_eq!(failed, 0);
    let mut sets = Vec::new();
    let refused = loop {
        match hold::connect(&name) {
            Ok(set) => sets.push(set),
            Err(error) => break error,
        }
    };
    assert!(refused.is_refused() && refused.to_string().contains("ulimit -n"), "{refused}");
    assert!((1..24).contains(&sets.len()), "{}", sets.len());
    drop(sets);
    until("the holder serves again", || hold::connect(&name).is_ok());
}

#[test]
fn another_user_is_refused() {
    // SAFETY: `geteuid` takes nothing and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return not_run("another user needs root to become one");
    }
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let path = socket(&name);
    // A second name of the socket, which any user can reach: the holder looks at the user, too.
    let open = std::env::temp_dir().join(format!("{}.sock", name.name()));
    std::fs::hard_link(&path, &open).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&open, mode).unwrap();
    let (closed, open_address) = (address(&path), address(&open));
    let status = status_of_child(|| {
        // SAFETY: the call takes an integer, and changes this child alone.
        let group = unsafe { libc::setgid(65534) };
        // SAFETY: the call takes an integer, and changes this child alone.
        let changed = group == 0 && unsafe { libc::setuid(65534) } == 0;
        let denied =
            connect_to(&closed) < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EACCES);
        let fd = connect_to(&open_address);
        let mut room = [0u8; 5000];
        // SAFETY: `room` has as many bytes as the call may write.
        let nbytes = unsafe { libc::recv(fd, room.as_mut_ptr().cast(), room.len(), 0) };
        let text = &room[..nbytes.max(0) as usize];
        changed && denied && text.windows(13).any(|words| words == b"serves user 0")
    });
    std::fs::remove_file(&open).unwrap();
    assert_eq!(status, 0);
    assert_served(&name);
}
