//! Shared memory that is sealed against writing: what this and other processes can still do, and
//! what a refusal returns.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::protocol::shm;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Backing, Birth, Conflict, MapOptions};
use crossdock::view::Request;
use crossdock::{Array, DArray};
use crossdock_testkit::held;

const PAGE: usize = 4096;

fn filled(bytes: &[u8]) -> Buffer {
    let buffer = Buffer::shared(bytes.len()).unwrap();
    buffer.share().unwrap().copy_from_slice(bytes).unwrap();
    buffer
}

fn descriptor(buffer: &Buffer) -> OwnedFd {
    buffer.descriptor().unwrap().0.try_clone_to_owned().unwrap()
}

/// What a process can do without using the descriptor as intended.
fn reopened_for_writing(fd: BorrowedFd<'_>) -> std::io::Result<File> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    OpenOptions::new().read(true).write(true).open(path)
}

fn map_for_writing(fd: OwnedFd) -> crossdock::Result<Buffer> {
    // As a file, without a check of its seals: the system alone decides.
    Buffer::map(File::from(fd), MapOptions::new().writable(true))
}

/// A memfd with these seals.
fn sealed_with(nbytes: u64, seals: i32) -> OwnedFd {
    // SAFETY: the name is a C string, and `memfd_create` accesses no other memory.
    let fd = unsafe { libc::memfd_create(c"foreign".as_ptr(), libc::MFD_ALLOW_SEALING | libc::MFD_CLOEXEC) };
    assert!(fd >= 0);
    // SAFETY: `memfd_create` returned this new descriptor, and no other object owns it.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(nbytes).unwrap();
    // SAFETY: `F_ADD_SEALS` takes an integer and accesses no memory; `file` keeps the descriptor
    // open.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
    file.into()
}

#[test]
fn a_descriptor_for_reading_can_be_opened_anew_for_writing_unless_new_writers_are_denied() {
    let buffer = filled(b"abc");
    let array = DArray::from(Array::<u8, 1>::from_buffer(buffer.clone(), [3]).unwrap());
    let lent = shm::export(&array, &Request::pin()).unwrap();
    let writer = reopened_for_writing(lent.fd()).unwrap();
    writer.write_all_at(b"X", 0).unwrap();
    assert_eq!(buffer.pin().unwrap().to_vec(), b"Xbc", "what the documentation warns of");

    buffer.deny_new_writers().unwrap();
    buffer.deny_new_writers().unwrap();
    for writer in [writer, reopened_for_writing(lent.fd()).unwrap()] {
        assert!(writer.write_all_at(b"Y", 0).is_err());
        assert!(map_for_writing(writer.into()).unwrap_err().is_io());
    }
    buffer.share().unwrap().copy_from_slice(b"abZ").unwrap();
    let theirs = shm::import(lent.fd().try_clone_to_owned().unwrap(), lent.description()).unwrap();
    assert_eq!(theirs.get(&[2]).unwrap().as_i64(), Some(i64::from(b'Z')));
    assert_eq!(theirs.birth(), Birth::Aliased, "we can still write it");
}

#[test]
fn memory_that_denies_new_writers_is_not_lent_for_writing() {
    let array =
        DArray::from(Array::from_vec(vec![1i32, 2, 3], [3]).unwrap()).to_shared(Order::RowMajor).unwrap();
    let before = shm::export(&array, &Request::share()).unwrap();
    let theirs = shm::import(before.fd().try_clone_to_owned().unwrap(), before.description()).unwrap();
    array.buffer().unwrap().0.deny_new_writers().unwrap();
    let refusal = shm::export(&array, &Request::share()).unwrap_err();
    assert!(refusal.to_string().contains("no new writers"), "{refusal}");
    let late = shm::import(before.fd().try_clone_to_owned().unwrap(), before.description());
    assert!(late.unwrap_err().is_read_only());
    theirs.set(&[0], &9.into()).unwrap();
    assert_eq!(array.get(&[0]).unwrap().as_i64(), Some(9), "maps from before go on writing");
}

#[test]
fn sealed_memory_is_constant_on_both_sides_and_nobody_can_write_it() {
    let bytes: Vec<u8> = (0..=255).cycle().take(3 * PAGE + 7).collect();
    let buffer = filled(&bytes);
    let sealed = buffer.into_sealed().unwrap();
    assert_eq!((sealed.birth(), sealed.backing()), (Birth::Constant, Backing::Shared));
    assert!(sealed.is_readonly() && sealed.share().unwrap_err().is_read_only());
    assert_eq!(&sealed.read().unwrap()[..], bytes);

    let (fd, _) = sealed.descriptor().unwrap();
    assert!(map_for_writing(fd.try_clone_to_owned().unwrap()).unwrap_err().is_io());
    let writer = reopened_for_writing(fd).unwrap();
    assert!(writer.write_all_at(b"X", 0).is_err());
    assert!(map_for_writing(writer.try_clone().unwrap().into()).unwrap_err().is_io());

    // The receiver, at any offset, through either kind of descriptor.
    for fd in [descriptor(&sealed), writer.into()] {
        let theirs = Buffer::map_shared(fd.try_clone().unwrap(), PAGE as u64 + 1, PAGE, false).unwrap();
        assert_eq!((theirs.birth(), theirs.is_readonly()), (Birth::Constant, true));
        assert_eq!(&theirs.read().unwrap()[..], &bytes[PAGE + 1..2 * PAGE + 1]);
        assert!(Buffer::map_shared(fd, 0, 1, true).unwrap_err().is_read_only());
    }
    let again = sealed.clone().into_sealed().unwrap();
    assert_eq!(
        again.as_ptr(),
        sealed.as_ptr(),
        "sealed memory is returned unchanged, also if it has other holders"
    );
}

#[test]
fn a_window_of_shared_memory_seals_all_of_it_and_stays_the_window() {
    for (range, text) in [(0..3, &b"abc"[..]), (2..2, b""), (5..8, b"fgh"), (8..8, b"")] {
        let whole = filled(b"abcdefgh");
        let window = whole.slice(range.clone()).unwrap();
        drop(whole);
        let sealed = window.into_sealed().unwrap();
        assert_eq!(&sealed.read().unwrap()[..], text);
        let (fd, offset) = sealed.descriptor().unwrap();
        assert_eq!(offset, range.start as u64);
        let whole = Buffer::map_shared(fd.try_clone_to_owned().unwrap(), 0, 8, false).unwrap();
        assert_eq!(&whole.read().unwrap()[..], b"abcdefgh");
    }
    let empty = Buffer::shared(0).unwrap().into_sealed().unwrap();
    assert_eq!((empty.birth(), empty.nbytes()), (Birth::Constant, 0));
}

#[test]
fn whatever_holds_the_memory_here_stands_in_the_way_of_sealing_and_the_buffer_comes_back() {
    let buffer = filled(b"abc");
    let address = buffer.as_ptr();
    let other = buffer.clone();
    let back = buffer.into_sealed().unwrap_err();
    assert!(back.error.is_conflict() && back.error.to_string().contains("2 handles"), "{}", back.error);
    drop(other);
    let pin = back.value.pin().unwrap();
    let back = back.value.into_sealed().unwrap_err();
    let conflict = std::error::Error::source(&back.error).unwrap().downcast_ref::<Conflict>().unwrap();
    assert_eq!(conflict.pins(), 1);
    drop(pin);

    let layout = Layout::contiguous(&[3], 1, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(back.value, DType::U8, layout, 0).unwrap();
    let lent = shm::export(&array, &Request::pin()).unwrap();
    let back = array.into_sealed().unwrap_err();
    assert!(back.error.to_string().contains("exported by shared memory"), "{}", back.error);
    drop(lent);
    assert_eq!(back.value.as_ptr(), address, "it never moved");
    back.value.set(&[0], &u64::from(b'X').into()).unwrap();
    let sealed = back.value.into_sealed().unwrap();
    assert_eq!(sealed.get(&[0]).unwrap().as_i64(), Some(i64::from(b'X')));
    assert!(sealed.exported().contains(crossdock::memory::Protocols::SHARED_MEMORY), "that is not forgotten");
}

#[test]
fn another_map_that_can_write_stands_in_the_way_of_sealing_and_nothing_changes() {
    let buffer = filled(b"abc");
    let theirs = Buffer::map_shared(descriptor(&buffer), 0, 3, true).unwrap();
    let back = buffer.into_sealed().unwrap_err();
    assert!(back.error.is_conflict() && back.error.to_string().contains("another map"), "{}", back.error);
    let buffer = back.value;
    assert_eq!((buffer.birth(), buffer.is_readonly()), (Birth::Aliased, false));
    buffer.share().unwrap().store(0, b'X').unwrap();
    theirs.share().unwrap().store(1, b'Y').unwrap();
    assert_eq!(
        (buffer.pin().unwrap().to_vec(), theirs.pin().unwrap().to_vec()),
        (b"XYc".into(), b"XYc".into())
    );
    drop(theirs);
    assert_eq!(&buffer.into_sealed().unwrap().read().unwrap()[..], b"XYc");
}

#[test]
fn a_readers_map_does_not_stand_in_the_way_and_sees_the_sealed_pages() {
    let buffer = filled(b"abc");
    let array = DArray::from(Array::<u8, 1>::from_buffer(buffer.clone(), [3]).unwrap());
    let lent = shm::export(&array, &Request::pin()).unwrap();
    let theirs = shm::import(lent.fd().try_clone_to_owned().unwrap(), lent.description()).unwrap();
    drop((array, lent));
    let sealed = buffer.into_sealed().unwrap();
    assert_eq!(theirs.birth(), Birth::Aliased, "what was read of the seals when it was mapped");
    assert_eq!(theirs.get(&[2]).unwrap().as_i64(), Some(i64::from(b'c')));
    drop(sealed);
}

#[test]
fn a_buffer_that_cannot_be_mapped_for_writing_again_comes_back_read_only() {
    let buffer = filled(b"abc");
    let theirs = Buffer::map_shared(descriptor(&buffer), 0, 3, true).unwrap();
    buffer.deny_new_writers().unwrap();
    let back = buffer.into_sealed().unwrap_err();
    assert!(back.error.is_conflict(), "{}", back.error);
    let buffer = back.value;
    assert!(buffer.is_readonly() && buffer.birth() == Birth::Aliased);
    theirs.share().unwrap().store(0, b'X').unwrap();
    assert_eq!(buffer.pin().unwrap().to_vec(), b"Xbc");
    drop(theirs);
    // It has no descriptor any more that may seal.
    let back = buffer.into_sealed().unwrap_err();
    assert!(back.error.is_read_only(), "{}", back.error);
}

#[test]
fn what_cannot_be_sealed_says_why() {
    let heap = Buffer::zeroed(3).unwrap();
    assert!(heap.deny_new_writers().unwrap_err().is_unsupported());
    let back = heap.into_sealed().unwrap_err();
    assert!(back.error.is_unsupported() && back.error.to_string().contains("heap"), "{}", back.error);

    let mut parts = filled(b"abcd").partition(&[0..1, 2..4]).unwrap();
    let back = parts.pop().unwrap().into_sealed().unwrap_err();
    assert!(back.error.is_unsupported() && back.value.nbytes() == 2, "{}", back.error);
    parts[0].deny_new_writers().unwrap();

    let closed = sealed_with(100, libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL);
    let foreign = Buffer::map_shared(closed, 0, 100, true).unwrap();
    assert!(foreign.deny_new_writers().unwrap_err().is_unsupported());
    assert!(foreign.into_sealed().unwrap_err().error.is_unsupported());

    let buffer = filled(b"abc");
    let array = DArray::from(Array::<u8, 1>::from_buffer(buffer, [3]).unwrap());
    let lent = shm::export(&array, &Request::pin()).unwrap();
    let theirs = shm::import(lent.fd().try_clone_to_owned().unwrap(), lent.description()).unwrap();
    assert!(theirs.buffer().unwrap().0.deny_new_writers().unwrap_err().is_read_only());
    assert!(theirs.into_sealed().unwrap_err().error.is_read_only());
}

#[test]
fn foreign_memory_is_constant_if_and_only_if_it_is_sealed_against_writing() {
    const SHRINK: i32 = libc::F_SEAL_SHRINK;
    for (seals, birth) in [
        (SHRINK, Birth::Aliased),
        (SHRINK | libc::F_SEAL_GROW, Birth::Aliased),
        (SHRINK | libc::F_SEAL_FUTURE_WRITE, Birth::Aliased),
        (SHRINK | libc::F_SEAL_WRITE, Birth::Constant),
    ] {
        let mapped = Buffer::map_shared(sealed_with(100, seals), 1, 99, false).unwrap();
        assert_eq!(mapped.birth(), birth, "{seals:#x}");
        assert_eq!(mapped.read().is_ok(), birth == Birth::Constant);
    }
    // Memory that may shrink is unsafe to access, sealed against writing or not.
    let shrinking = Buffer::map_shared(sealed_with(100, libc::F_SEAL_WRITE), 0, 100, false);
    assert!(shrinking.unwrap_err().is_unsupported());
}

#[test]
fn sealed_memory_is_lent_under_read_and_received_so() {
    let array = DArray::from(Array::from_vec(vec![1.5f64, 2.5, 3.5], [3]).unwrap());
    let shared = array.to_shared(Order::RowMajor).unwrap();
    assert!(shm::export(&shared, &Request::read()).is_err());
    let sealed = shared.into_sealed().unwrap();
    let lent = shm::export(&sealed.at("::-1").unwrap(), &Request::read()).unwrap();
    let theirs = shm::import(lent.fd().try_clone_to_owned().unwrap(), lent.description()).unwrap();
    let theirs: Array<f64, 1> = theirs.try_into().unwrap();
    assert_eq!(theirs.read().unwrap().iter().copied().collect::<Vec<_>>(), [3.5, 2.5, 1.5]);
    assert!(shm::export(&sealed, &Request::share()).is_err());
}

#[test]
fn sealing_and_its_failure_leave_no_map_and_no_descriptor() {
    let name = format!("sealing-{}", std::process::id());
    let label = std::ffi::CString::new(name.as_str()).unwrap();
    for _ in 0..10 {
        let buffer = Buffer::shared_named(PAGE, &label).unwrap();
        assert_eq!(held::holds("self", &name), 2, "a descriptor and a map");
        let theirs = Buffer::map_shared(descriptor(&buffer), 0, 3, true).unwrap();
        let back = buffer.into_sealed().unwrap_err();
        assert_eq!(held::holds("self", &name), 4);
        drop(theirs);
        let sealed = back.value.into_sealed().unwrap();
        assert_eq!(held::holds("self", &name), 2);
        drop(sealed);
        assert_eq!(held::holds("self", &name), 0);
    }
}

#[test]
fn a_name_that_is_too_long_is_an_error() {
    let long = std::ffi::CString::new(vec![b'x'; 250]).unwrap();
    let error = Buffer::shared_named(1, &long).unwrap_err();
    assert!(error.is_value() && error.to_string().contains("250 bytes"), "{error}");
    let mut writer = File::from(descriptor(&Buffer::shared_named(1, c"").unwrap()));
    writer.write_all(b"1").unwrap();
}
