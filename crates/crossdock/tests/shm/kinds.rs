//! Messages with descriptors of every kind: only memory of sealed size is accepted, and no more of
//! it than the limit.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::exchange::protocol::shm::{self, Description, ReceiveOptions};
use crossdock::memory::MapOptions;
use crossdock_testkit::held;

const TIB: u64 = 1 << 40;
const HUGE_PAGE: u64 = 2 << 20;

fn own(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system call returned this new descriptor, and no other object owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A memfd of this size with these seals.
fn memory(nbytes: u64, flags: u32, seals: i32) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string, and `memfd_create` accesses no other memory.
    let fd = own(unsafe { libc::memfd_create(c"kinds".as_ptr(), libc::MFD_CLOEXEC | flags) })?;
    let file = File::from(fd);
    file.set_len(nbytes)?;
    // SAFETY: `F_ADD_SEALS` takes an integer and accesses no memory; `file` keeps the descriptor
    // open.
    if seals != 0 && unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file.into())
}

/// Receives an array of this many bytes, supposedly in the memory of the descriptor.
fn received(fd: &OwnedFd, nbytes: u64, options: &ReceiveOptions) -> crossdock::Result<DArray> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let text = format!("offset=0; access=read; shape={nbytes}; strides=1; dtype=uint8");
    let head = [b"XDOCKSHM", &1u32.to_le_bytes()[..], &(text.len() as u32).to_le_bytes()].concat();
    let message = [&head, text.as_bytes()].concat();
    assert_eq!(held::send_beside(&theirs, &message, &[fd.as_fd()]).unwrap(), message.len());
    drop(theirs);
    shm::receive_with(&ours, options).map(|array| array.expect("a message was sent"))
}

#[test]
fn memory_of_huge_pages_is_refused_although_its_size_is_sealed() {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    let fd = match memory(HUGE_PAGE, libc::MFD_HUGETLB | libc::MFD_ALLOW_SEALING, seals) {
        Ok(fd) => fd,
        // A system without such memory cannot receive it, either.
        Err(error) => {
            assert!(
                matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::ENODEV)),
                "{error}"
            );
            return crossdock_testkit::not_run(&format!("memory of huge pages: {error}"));
        }
    };
    let error = received(&fd, 64, &ReceiveOptions::new()).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("huge pages"), "{error}");
    let described: Description = "offset=0; access=read; shape=64; strides=1; dtype=uint8".parse().unwrap();
    for error in [
        Buffer::map_shared(fd.try_clone().unwrap(), 0, 64, false).map(drop).unwrap_err(),
        Buffer::map(File::from(fd.try_clone().unwrap()), MapOptions::new()).map(drop).unwrap_err(),
        shm::import(fd, &described).map(drop).unwrap_err(),
    ] {
        assert!(error.is_unsupported() && error.to_string().contains("huge pages"), "{error}");
    }
}

#[test]
fn a_sparse_descriptor_is_limited_by_the_options_of_the_receiver() {
    let fd = memory(TIB, libc::MFD_ALLOW_SEALING, libc::F_SEAL_SHRINK).unwrap();
    let usual = ReceiveOptions::new();
    assert_eq!(usual, ReceiveOptions::default());
    for nbytes in [TIB, ReceiveOptions::MOST_NBYTES + 1] {
        let error = received(&fd, nbytes, &usual).unwrap_err();
        let text = error.to_string();
        assert!(
            error.is_refused() && text.contains(&nbytes.to_string()) && text.contains("17179869184"),
            "{text}"
        );
    }
    assert_eq!(
        received(&fd, ReceiveOptions::MOST_NBYTES, &usual).unwrap().len() as u64,
        ReceiveOptions::MOST_NBYTES
    );
    let array = received(&fd, TIB, &usual.clone().most_nbytes(TIB)).unwrap();
    assert_eq!(array.get(&[TIB as usize - 1]).unwrap().as_u64(), Some(0));
    assert!(received(&fd, 1, &usual.clone().most_nbytes(0)).unwrap_err().is_refused());
    assert!(received(&fd, 0, &usual.most_nbytes(0)).is_ok());
}

#[test]
fn the_limit_counts_the_bytes_between_elements() {
    let fd = memory(1 << 20, libc::MFD_ALLOW_SEALING, libc::F_SEAL_SHRINK).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let text = "offset=4096; access=read; shape=2; strides=-4096; dtype=uint8";
    let head = [b"XDOCKSHM", &1u32.to_le_bytes()[..], &(text.len() as u32).to_le_bytes()].concat();
    held::send_beside(&theirs, &[&head, text.as_bytes()].concat(), &[fd.as_fd()]).unwrap();
    let error = shm::receive_with(&ours, &ReceiveOptions::new().most_nbytes(4096)).unwrap_err();
    assert!(error.is_refused() && error.to_string().contains("4097 bytes"), "{error}");
}

#[test]
fn the_limit_counts_elements_that_a_stride_repeats() {
    let fd = memory(4096, libc::MFD_ALLOW_SEALING, libc::F_SEAL_SHRINK).unwrap();
    for (shape, nbytes) in [("576460752303423487", "4611686018427387896"), ("13", "104")] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let text = format!("offset=0; access=read; shape={shape}; strides=0; dtype=float64");
        let head = [b"XDOCKSHM", &1u32.to_le_bytes()[..], &(text.len() as u32).to_le_bytes()].concat();
        held::send_beside(&theirs, &[&head, text.as_bytes()].concat(), &[fd.as_fd()]).unwrap();
        let error = shm::receive_with(&ours, &ReceiveOptions::new().most_nbytes(103)).unwrap_err();
        assert!(error.is_refused() && error.to_string().contains(&format!("are {nbytes} bytes")), "{error}");
    }
}

#[test]
fn every_other_kind_of_descriptor_is_refused() {
    let folder = std::env::temp_dir().join(format!("crossdock-kinds-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("file");
    fs::write(&file, [0; 100]).unwrap();
    let open = |path: &str| File::open(path).map(OwnedFd::from);
    let (reader, writer) = io::pipe().unwrap();
    let (left, _right) = UnixStream::pair().unwrap();
    let shrinkable = libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    let named = |name: &str, fd: io::Result<OwnedFd>| (name.to_owned(), fd);
    let kinds = [
        named("a file", File::open(&file).map(OwnedFd::from)),
        named("a path", OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&file).map(Into::into)),
        named("a folder", File::open(&folder).map(OwnedFd::from)),
        named("/dev/null", open("/dev/null")),
        named("/dev/zero", open("/dev/zero")),
        named("/proc/self/maps", open("/proc/self/maps")),
        named("/dev/shm", open("/dev/shm")),
        named("a pipe to read", Ok(reader.into())),
        named("a pipe to write", Ok(writer.into())),
        named("a socket", Ok(left.into())),
        // SAFETY: `eventfd` takes integers and accesses no memory of this process.
        named("an event", own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })),
        // SAFETY: `epoll_create1` takes an integer and accesses no memory of this process.
        named("epoll", own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })),
        named("memory without seals", memory(100, libc::MFD_ALLOW_SEALING, 0)),
        named("memory that takes no seals", memory(100, 0, 0)),
        named("memory that can shrink", memory(100, libc::MFD_ALLOW_SEALING, shrinkable)),
    ];
    for (name, fd) in kinds {
        let fd = fd.unwrap_or_else(|error| panic!("{name}: {error}"));
        let error = received(&fd, 10, &ReceiveOptions::new()).unwrap_err();
        assert!(error.is_unsupported(), "{name}: {error}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn holes_in_ordinary_pages_read_as_zeros_and_the_smallest_seals_are_enough() {
    for seals in [libc::F_SEAL_SHRINK, libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL] {
        let fd = memory(1 << 16, libc::MFD_ALLOW_SEALING, seals).unwrap();
        let file = File::from(fd.try_clone().unwrap());
        std::os::unix::fs::FileExt::write_all_at(&file, &[7; 1 << 16], 0).unwrap();
        let array = received(&fd, 1 << 16, &ReceiveOptions::new()).unwrap();
        assert_eq!(array.get(&[5000]).unwrap().as_u64(), Some(7));
        let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: `fallocate` takes integers; the hole changes shared memory, which the array
        // treats as aliased.
        assert_eq!(unsafe { libc::fallocate(file.as_raw_fd(), punch, 4096, 8192) }, 0);
        assert_eq!(array.get(&[5000]).unwrap().as_u64(), Some(0));
        assert_eq!(array.get(&[0]).unwrap().as_u64(), Some(7));
    }
}
