//! Mapped files and shared memory: ranges, refusals, files that shrink, and other processes.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossdock::bindings::description::Frame;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::files;
use crossdock::layout::Order;
use crossdock::memory::{Backing, Birth, DeviceKind, MapOptions, Place};
use crossdock::view::{CopyPolicy, Request};
use crossdock::{Array, Casting, DArray, device, s};

const PAGE: usize = 4096;

/// A file for one test, which is deleted after it.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-files-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn open(&self) -> File {
        File::open(&self.0).unwrap()
    }

    fn open_writable(&self) -> File {
        OpenOptions::new().read(true).write(true).open(&self.0).unwrap()
    }

    fn shrink(&self, nbytes: usize) {
        self.open_writable().set_len(nbytes as u64).unwrap();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.0);
    }
}

/// `nbytes` nonzero bytes, which differ between neighbouring pages.
fn pattern(nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|index| (index % 251) as u8 + 1).collect()
}

/// The entries of guarded maps belong to the whole program: tests that count or fill them run one
/// at a time.
fn watch_entries() -> MutexGuard<'static, ()> {
    static ENTRIES: Mutex<()> = Mutex::new(());
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the test `child` of this program in a separate process, with a task.
fn run_child(task: &str, arguments: &str) -> ExitStatus {
    crossdock_testkit::this_program()
        .args(["--exact", "child", "--quiet", "--nocapture"])
        .env("CROSSDOCK_TEST_TASK", task)
        .env("CROSSDOCK_TEST_ARGUMENTS", arguments)
        .status()
        .unwrap()
}

/// The body of [`run_child`]'s process, not a test by itself.
#[test]
fn child() {
    let Ok(task) = std::env::var("CROSSDOCK_TEST_TASK") else { return };
    let arguments = std::env::var("CROSSDOCK_TEST_ARGUMENTS").unwrap();
    match task.as_str() {
        "unguarded fault" => {
            touch_shrunken(Path::new(&arguments));
        }
        "handled fault" => {
            exit_on_fault(77);
            touch_shrunken(Path::new(&arguments));
        }
        "sent signal" => {
            // Replaces the handler of Rust's runtime, which ignores the first signal.
            // SAFETY: `SIG_DFL` installs no handler function, so none can run at a wrong time.
            unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
            let _guarded =
                Buffer::map(File::open(&arguments).unwrap(), MapOptions::new().guarded(true)).unwrap();
            // SAFETY: `raise` has no memory arguments; the default action of the signal ends this
            // process.
            unsafe { libc::raise(libc::SIGBUS) };
        }
        "ignored signal" => {
            // SAFETY: `SIG_IGN` installs no handler function, so none can run at a wrong time.
            unsafe { libc::signal(libc::SIGBUS, libc::SIG_IGN) };
            let path = Path::new(&arguments);
            let guarded = Buffer::map(File::open(path).unwrap(), MapOptions::new().guarded(true)).unwrap();
            // SAFETY: `raise` has no memory arguments, and the signal is ignored.
            unsafe { libc::raise(libc::SIGBUS) };
            OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
            assert_eq!(guarded.pin().unwrap().load::<u8>(0).unwrap(), 0, "the guard is still there");
        }
        "shared memory" => {
            // SAFETY: the parent passed an open descriptor to this process alone, and no other
            // object owns it.
            let fd = unsafe { OwnedFd::from_raw_fd(arguments.parse().unwrap()) };
            let buffer = Buffer::map_shared(fd, 3, 5, true).unwrap();
            let guard = buffer.share().unwrap();
            let mut seen = [0; 5];
            guard.copy_to_slice(&mut seen).unwrap();
            assert_eq!(seen, *b"shore");
            guard.copy_from_slice(b"ships").unwrap();
        }
        _ => panic!("no such task: {task}"),
    }
}

/// Accesses an unguarded map of a file that has shrunk, beside a guarded one.
fn touch_shrunken(path: &Path) {
    let guarded = Buffer::map(File::open(path).unwrap(), MapOptions::new().guarded(true)).unwrap();
    let unguarded = Buffer::map(File::open(path).unwrap(), MapOptions::new()).unwrap();
    OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
    assert_eq!(guarded.pin().unwrap().load::<u8>(PAGE).unwrap(), 0);
    assert!(guarded.fault().is_some_and(|fault| fault.is_fault() && fault.is_io()));
    let byte = unguarded.pin().unwrap().load::<u8>(PAGE);
    unreachable!("read {byte:?} where there is no file any more");
}

fn exit_on_fault(code: c_int) {
    static CODE: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
    extern "C" fn exit(_: c_int) {
        // SAFETY: `_exit` is async-signal-safe and never returns; `CODE` is atomic.
        unsafe { libc::_exit(CODE.load(std::sync::atomic::Ordering::Relaxed)) }
    }
    CODE.store(code, std::sync::atomic::Ordering::Relaxed);
    let handler: extern "C" fn(c_int) = exit;
    // SAFETY: the handler has the required signature, and only calls the async-signal-safe `_exit`.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
}

#[test]
fn any_range_of_a_file_is_mapped_in_place() {
    let bytes = pattern(3 * PAGE + 123);
    let file = Temporary::new("ranges", &bytes);
    let mut offsets = vec![0, 1, 63, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 4095, bytes.len() - 1, bytes.len()];
    offsets.extend((0..20).map(|step| step * 619));
    for offset in offsets {
        let available = bytes.len() - offset;
        for nbytes in [0, 1, 2, 1000, PAGE, PAGE + 1, available] {
            if nbytes > available {
                continue;
            }
            let options = MapOptions::new().range(offset as u64, nbytes);
            let buffer = Buffer::map(file.open(), options).unwrap();
            assert_eq!(buffer.nbytes(), nbytes);
            assert_eq!(buffer.pin().unwrap().to_vec(), bytes[offset..offset + nbytes], "{offset}+{nbytes}");
            let (_, at) = buffer.descriptor().unwrap();
            assert_eq!(at, offset as u64);
        }
    }
}

#[test]
fn a_map_is_aliased_readonly_host_memory_of_a_file() {
    let file = Temporary::new("kind", &pattern(100));
    let mut buffer = Buffer::map(file.open(), MapOptions::new()).unwrap();
    assert_eq!(
        (buffer.place(), buffer.backing(), buffer.birth()),
        (Place::CPU, Backing::File, Birth::Aliased)
    );
    assert_eq!(buffer.place().kind(), DeviceKind::CPU);
    assert!(buffer.is_readonly());
    assert!(buffer.read().unwrap_err().is_conflict());
    assert!(buffer.share().unwrap_err().is_read_only());
    assert!(buffer.write().unwrap_err().is_read_only());
    assert!(buffer.as_mut_slice().unwrap_err().is_read_only());
}

#[test]
fn the_descriptor_of_a_slice_or_part_leads_to_its_own_bytes() {
    let bytes = pattern(2 * PAGE);
    let file = Temporary::new("descriptor", &bytes);
    let mapped = Buffer::map(file.open(), MapOptions::new().range(1001, 5000)).unwrap();
    let slice = mapped.slice(500..600).unwrap();
    drop(mapped);
    let assert_same = |buffer: &Buffer| {
        let (fd, offset) = buffer.descriptor().unwrap();
        let mut read = vec![0; buffer.nbytes()];
        File::from(fd.try_clone_to_owned().unwrap()).read_exact_at(&mut read, offset).unwrap();
        assert_eq!(read, buffer.pin().unwrap().to_vec());
        offset
    };
    assert_eq!(assert_same(&slice), 1501);
    let parts = slice.partition(&[90..100, 7..20]).unwrap();
    assert_eq!(assert_same(&parts[0]), 1591);
    assert_eq!(assert_same(&parts[1]), 1508);
    assert_eq!(assert_same(&parts[1].slice(3..5).unwrap()), 1511);
}

#[test]
fn an_empty_file_and_empty_ranges_are_buffers_without_bytes() {
    let empty = Temporary::new("empty", b"");
    let full = Temporary::new("full", b"full");
    for guarded in [false, true] {
        for (file, options) in [
            (&empty, MapOptions::new()),
            (&empty, MapOptions::new().range(0, 0)),
            (&full, MapOptions::new().range(4, 0)),
            (&full, MapOptions::new().range(2, 0)),
        ] {
            let buffer = Buffer::map(file.open(), options.guarded(guarded)).unwrap();
            assert_eq!(buffer.nbytes(), 0);
            assert!(buffer.pin().unwrap().to_vec().is_empty());
            assert!(buffer.fault().is_none());
            assert!(buffer.descriptor().is_some());
        }
    }
}

#[test]
fn ranges_past_the_end_are_refused_with_numbers() {
    let file = Temporary::new("past", &pattern(10));
    for (offset, nbytes, number) in [
        (0, 11, "11"),
        (10, 1, "1 are missing"),
        (11, 0, "11"),
        (u64::MAX, 1, "18446744073709551615"),
        (1, usize::MAX, "18446744073709551615"),
    ] {
        let error = Buffer::map(file.open(), MapOptions::new().range(offset, nbytes)).unwrap_err();
        assert!(error.is_bounds(), "{offset}+{nbytes}: {error}");
        assert!(error.to_string().contains(number), "{offset}+{nbytes}: {error}");
    }
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let directory = File::open(std::env::temp_dir()).unwrap();
    assert!(Buffer::map(directory, MapOptions::new()).unwrap_err().is_unsupported());
    let device = File::open("/dev/zero").unwrap();
    assert!(Buffer::map(device, MapOptions::new()).unwrap_err().is_unsupported());
    let (reader, _writer) = std::io::pipe().unwrap();
    let pipe = File::from(OwnedFd::from(reader));
    assert!(Buffer::map(pipe, MapOptions::new()).unwrap_err().is_unsupported());
}

#[test]
fn a_descriptor_without_the_permission_is_an_error_of_the_system() {
    let file = Temporary::new("permission", &pattern(10));
    let write_only = OpenOptions::new().write(true).open(&file.0).unwrap();
    for (descriptor, options) in
        [(write_only, MapOptions::new()), (file.open(), MapOptions::new().writable(true))]
    {
        let error = Buffer::map(descriptor, options).unwrap_err();
        assert!(error.is_io(), "{error}");
        let source = std::error::Error::source(&error).unwrap().downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_writable_map_writes_the_file_and_a_second_map_sees_it() {
    let file = Temporary::new("writable", &pattern(PAGE + 50));
    let options = MapOptions::new().range(PAGE as u64 - 2, 10).writable(true);
    let buffer = Buffer::map(file.open_writable(), options).unwrap();
    let other = Buffer::map(file.open(), MapOptions::new()).unwrap();
    buffer.share().unwrap().copy_from_slice(b"0123456789").unwrap();
    assert_eq!(other.slice(PAGE - 2..PAGE + 8).unwrap().pin().unwrap().to_vec(), b"0123456789");
    drop((buffer, other));
    let mut expected = pattern(PAGE + 50);
    expected[PAGE - 2..PAGE + 8].copy_from_slice(b"0123456789");
    let mut read = Vec::new();
    file.open().read_to_end(&mut read).unwrap();
    assert_eq!(read, expected);
}

#[test]
fn a_guarded_map_of_a_file_that_shrinks_reads_zeros_and_tells() {
    let _entries = watch_entries();
    let bytes = pattern(5 * PAGE);
    let file = Temporary::new("shrinks", &bytes);
    let offset = PAGE + 10;
    let options = MapOptions::new().range(offset as u64, 3 * PAGE).guarded(true);
    let (hit, spared) =
        (Buffer::map(file.open(), options.clone()).unwrap(), Buffer::map(file.open(), options).unwrap());
    let other = Temporary::new("does-not-shrink", &bytes);
    let other = Buffer::map(other.open(), MapOptions::new().guarded(true)).unwrap();
    assert!(hit.fault().is_none());
    assert_eq!(hit.pin().unwrap().to_vec(), bytes[offset..offset + 3 * PAGE]);
    file.shrink(2 * PAGE);

    let pin = hit.pin().unwrap();
    assert_eq!(pin.load::<u8>(0).unwrap(), bytes[offset], "what is left is read");
    let first_gone = 2 * PAGE - offset;
    assert_eq!(pin.load::<u8>(first_gone + 5).unwrap(), 0);
    let fault = hit.fault().unwrap();
    assert!(fault.is_io());
    assert!(fault.to_string().contains(&format!("byte {} no longer exists", 2 * PAGE + 5)), "{fault}");
    assert_eq!(pin.load::<u64>(2 * PAGE).unwrap(), 0, "every page that is gone");
    assert_eq!(hit.fault().unwrap().to_string(), fault.to_string(), "the first fault is told");
    assert!(hit.slice(1..2).unwrap().fault().is_some(), "through every handle");
    // A copy of zeros that stand in for lost bytes is refused.
    let array = Array::<u8, 1>::from_buffer(hit.clone(), [3 * PAGE]).unwrap();
    let error = DArray::from(array.clone()).to_order(Order::RowMajor).unwrap_err();
    assert!(error.is_fault(), "{error}");
    let request = Request::read().copy(CopyPolicy::IfNeeded);
    assert!(crossdock::view(&array, request).unwrap_err().to_string().contains("no longer exists"));
    assert!(files::save(file.0.with_extension("npy"), &array.into()).unwrap_err().is_fault());

    // The other map of the same file lost the same bytes, but no thread accessed them there.
    let text = spared.fault().unwrap().to_string();
    assert!(text.contains(&format!("it has only {} now", 2 * PAGE)), "{text}");
    assert!(other.fault().is_none());
    assert_eq!(other.pin().unwrap().to_vec(), bytes);
}

#[test]
fn each_copy_of_a_guarded_map_whose_file_shrank_is_an_error() {
    type Copy = fn(&DArray) -> crossdock::Result<()>;
    const COPIES: &[(&str, Copy)] = &[
        ("to_order", |x| x.to_order(Order::RowMajor).map(drop)),
        ("cast", |x| x.cast(&DType::F32, Order::RowMajor, Casting::Checked).map(drop)),
        ("a strided copy", |x| x.slice(s![..;-3])?.to_order(Order::RowMajor).map(drop)),
        ("to_shared", |x| x.to_shared(Order::RowMajor).map(drop)),
        ("copy_to", |x| x.copy_to(&device::shared_memory()).map(drop)),
        ("copy_to with gaps", |x| x.slice(s![..;2])?.copy_to(&device::shared_memory()).map(drop)),
        ("a copy of the buffer", |x| x.buffer()?.0.copy_to(&device::shared_memory()).map(drop)),
        ("assign", |x| zeros_like(x, DType::U8)?.assign(x, Casting::Checked)),
        ("assign with a cast", |x| zeros_like(x, DType::I64)?.assign(x, Casting::Checked)),
        ("from_columns", |x| DArray::from_columns(&[("x", x), ("again", x)]).map(drop)),
        ("assign_columns", |x| {
            let records = zeros_like(x, DType::packed_record([("x", DType::U8), ("y", DType::F32)])?)?;
            records.assign_columns(&[("y", x)], Casting::Checked)
        }),
        ("to_columns", |x| x.view_as(&DType::packed_record([("x", DType::U8)])?)?.to_columns().map(drop)),
        ("bytes of a view", |x| x.export(&Request::pin())?.to_bytes().map(drop)),
        ("a view into a slice", |x| x.export(&Request::pin())?.copy_to_slice(&mut vec![0; x.nbytes()])),
        ("bytes of a guard", |x| x.buffer()?.0.pin()?.copy_to_slice(&mut vec![0; x.nbytes()])),
        ("save", |x| files::save(std::env::temp_dir().join("crossdock-files-never.npy"), x)),
        ("a frame in place", |x| Frame::new(x).map(drop)),
    ];
    let _entries = watch_entries();
    for (name, copy) in COPIES {
        let file = Temporary::new("each-copy", &pattern(3 * PAGE));
        let buffer = Buffer::map(file.open(), MapOptions::new().guarded(true)).unwrap();
        let array = DArray::from(Array::<u8, 1>::from_buffer(buffer, [3 * PAGE]).unwrap());
        let (ptr, holder) = (array.as_ptr().cast_mut(), array.clone());
        // SAFETY: the release holds the array, so that the map is alive until the last handle is
        // dropped; it is read-only, aliased memory on the host.
        let lent =
            unsafe { Buffer::from_foreign(ptr, 3 * PAGE, Place::CPU, Birth::Aliased, move || drop(holder)) };
        let lent = lent.unwrap().into_readonly();
        let lent = DArray::from(Array::<u8, 1>::from_buffer(lent, [3 * PAGE]).unwrap());
        copy(&array).unwrap_or_else(|error| panic!("{name}: {error}"));
        file.shrink(PAGE);
        for (how, array) in [("the map", array), ("the same memory, lent by another library", lent)] {
            match copy(&array) {
                Ok(()) => panic!("{name} of {how} copied zeros"),
                Err(error) => assert!(error.is_fault(), "{name} of {how}: {error}"),
            }
        }
    }
    let _saved_before_it_shrank =
        std::fs::remove_file(std::env::temp_dir().join("crossdock-files-never.npy"));
}

fn zeros_like(array: &DArray, dtype: DType) -> crossdock::Result<DArray> {
    DArray::zeros(dtype, array.shape(), Order::RowMajor)
}

#[test]
fn a_copy_over_the_end_of_a_shrunken_file_goes_on_with_zeros() {
    let _entries = watch_entries();
    let bytes = pattern(4 * PAGE);
    let file = Temporary::new("copy", &bytes);
    let buffer = Buffer::map(file.open(), MapOptions::new().guarded(true)).unwrap();
    file.shrink(PAGE);
    let mut expected = bytes;
    expected[PAGE..].fill(0);
    assert!(buffer.pin().unwrap().to_vec() == expected);
    let fault = buffer.fault().unwrap().to_string();
    assert!(fault.contains(&format!("byte {PAGE} no longer exists")), "{fault}");
}

#[test]
fn a_file_that_ends_within_a_page_is_told_too() {
    let _entries = watch_entries();
    let file = Temporary::new("within-page", &pattern(PAGE));
    let buffer = Buffer::map(file.open(), MapOptions::new().guarded(true)).unwrap();
    file.shrink(100);
    assert_eq!(buffer.pin().unwrap().load::<u8>(200).unwrap(), 0);
    let fault = buffer.fault().unwrap();
    assert!(fault.is_io());
    assert!(fault.to_string().contains("it has only 100 now"), "{fault}");
}

#[test]
fn a_guarded_part_tells_the_fault_of_the_whole() {
    let _entries = watch_entries();
    let file = Temporary::new("part", &pattern(2 * PAGE));
    let buffer = Buffer::map(file.open(), MapOptions::new().guarded(true)).unwrap();
    let parts = buffer.partition(&[0..10, PAGE..PAGE + 10]).unwrap();
    file.shrink(0);
    assert_eq!(parts[1].pin().unwrap().to_vec(), [0; 10]);
    assert!(parts[1].fault().unwrap().to_string().contains(&format!("byte {PAGE} no longer exists")));
}

#[test]
fn a_page_put_in_place_is_as_writable_as_the_map_was() {
    let _entries = watch_entries();
    let file = Temporary::new("protection", &pattern(2 * PAGE));
    let options = MapOptions::new().guarded(true);
    let readonly = Buffer::map(file.open(), options.clone()).unwrap();
    let writable = Buffer::map(file.open_writable(), options.writable(true)).unwrap();
    file.shrink(0);
    assert_eq!(readonly.pin().unwrap().load::<u8>(0).unwrap(), 0);
    writable.share().unwrap().store(PAGE, 9u8).unwrap();
    assert_eq!(writable.pin().unwrap().load::<u8>(PAGE).unwrap(), 9);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let protection = |address: usize| {
        let line = maps.lines().find(|line| {
            let range = line.split(' ').next().unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
            (start..end).contains(&address)
        });
        line.unwrap().split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(protection(readonly.as_ptr().addr()), "r--p");
    assert_eq!(protection(writable.as_ptr().addr() + PAGE), "rw-p");
}

#[test]
fn more_guarded_maps_than_entries_are_a_clear_error_and_entries_come_back() {
    let _entries = watch_entries();
    let file = Temporary::new("entries", &pattern(10));
    let options = MapOptions::new().guarded(true);
    let mut maps: Vec<_> = (0..128).map(|_| Buffer::map(file.open(), options.clone()).unwrap()).collect();
    let error = Buffer::map(file.open(), options.clone()).unwrap_err();
    assert!(error.is_exhausted(), "{error}");
    assert!(error.to_string().contains("128"), "{error}");
    assert!(Buffer::map(file.open(), MapOptions::new()).is_ok(), "unguarded maps are not counted");
    maps.swap_remove(64);
    drop(Buffer::map(file.open(), options).unwrap());
}

#[test]
fn entries_are_reused_by_many_threads_while_others_fault() {
    let _entries = watch_entries();
    let steady = Temporary::new("steady", &pattern(PAGE));
    std::thread::scope(|scope| {
        for number in 0..2 {
            let steady = &steady;
            scope.spawn(move || {
                for round in 0..200 {
                    let file = Temporary::new(&format!("churn-{number}-{round}"), &pattern(2 * PAGE));
                    let buffer = Buffer::map(file.open(), MapOptions::new().guarded(true)).unwrap();
                    let beside = Buffer::map(steady.open(), MapOptions::new().guarded(true)).unwrap();
                    file.shrink(PAGE);
                    assert_eq!(buffer.pin().unwrap().load::<u8>(PAGE + 1).unwrap(), 0);
                    let fault = buffer.fault().unwrap().to_string();
                    assert!(fault.contains(&format!("byte {} no longer exists", PAGE + 1)), "{fault}");
                    assert!(beside.fault().is_none());
                    assert_eq!(beside.pin().unwrap().load::<u8>(7).unwrap(), 8);
                }
            });
        }
    });
}

#[test]
fn a_fault_elsewhere_ends_the_process_as_before() {
    let file = Temporary::new("unguarded", &pattern(2 * PAGE));
    let status = run_child("unguarded fault", file.0.to_str().unwrap());
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
}

#[test]
fn a_fault_elsewhere_goes_to_the_handler_that_was_there_before() {
    let file = Temporary::new("handled", &pattern(2 * PAGE));
    let status = run_child("handled fault", file.0.to_str().unwrap());
    assert_eq!(status.code(), Some(77), "{status}");
}

#[test]
fn a_signal_that_somebody_sends_has_its_effect() {
    let file = Temporary::new("sent", &pattern(2 * PAGE));
    let status = run_child("sent signal", file.0.to_str().unwrap());
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
    let status = run_child("ignored signal", file.0.to_str().unwrap());
    assert!(status.success(), "{status}");
}

#[test]
fn shared_memory_starts_zeroed_and_is_seen_through_a_second_map() {
    let buffer = Buffer::shared(PAGE + 5).unwrap();
    assert_eq!((buffer.backing(), buffer.birth()), (Backing::Shared, Birth::Aliased));
    assert!(buffer.pin().unwrap().to_vec().iter().all(|&byte| byte == 0));
    let slice = buffer.slice(PAGE - 1..PAGE + 3).unwrap();
    let (fd, offset) = slice.descriptor().unwrap();
    assert_eq!(offset, PAGE as u64 - 1);
    let readonly = Buffer::map_shared(fd.try_clone_to_owned().unwrap(), offset, 4, false).unwrap();
    assert_ne!(readonly.as_ptr(), slice.as_ptr());
    assert!(readonly.is_readonly());
    assert!(readonly.share().unwrap_err().is_read_only());
    slice.share().unwrap().copy_from_slice(b"seen").unwrap();
    assert_eq!(readonly.pin().unwrap().to_vec(), b"seen");
    drop((buffer, slice));
    assert_eq!(readonly.pin().unwrap().to_vec(), b"seen", "each map keeps the pages");
}

#[test]
fn shared_memory_cannot_be_resized() {
    let buffer = Buffer::shared(PAGE).unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    let file = File::from(fd.try_clone_to_owned().unwrap());
    for nbytes in [0, PAGE as u64 - 1, 2 * PAGE as u64] {
        let error = file.set_len(nbytes).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{nbytes}");
    }
}

#[test]
fn shared_memory_without_bytes() {
    let buffer = Buffer::shared(0).unwrap();
    let (fd, offset) = buffer.descriptor().unwrap();
    let other = Buffer::map_shared(fd.try_clone_to_owned().unwrap(), offset, 0, true).unwrap();
    assert_eq!((buffer.nbytes(), other.nbytes()), (0, 0));
    assert!(other.share().unwrap().copy_from_slice(&[]).is_ok());
}

#[test]
fn shared_memory_that_cannot_be_had_is_an_error() {
    assert!(Buffer::shared(usize::MAX).unwrap_err().is_out_of_memory());
    assert!(Buffer::shared(isize::MAX as usize).unwrap_err().is_out_of_memory());
}

#[test]
fn what_is_not_sealed_shared_memory_is_refused() {
    // SAFETY: the name is a C string, and `memfd_create` accesses no other memory.
    let fd = unsafe { libc::memfd_create(c"unsealed".as_ptr(), libc::MFD_ALLOW_SEALING) };
    assert!(fd >= 0);
    // SAFETY: `memfd_create` returned this new descriptor, and no other object owns it.
    let mut memory = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    memory.write_all(&pattern(100)).unwrap();
    let unsealed = memory.try_clone().unwrap();
    assert!(Buffer::map_shared(unsealed.into(), 0, 100, false).unwrap_err().is_unsupported());
    let file = Temporary::new("no-shared-memory", &pattern(100));
    assert!(Buffer::map_shared(file.open().into(), 0, 100, false).unwrap_err().is_unsupported());

    // SAFETY: `F_ADD_SEALS` takes an integer and accesses no memory; `memory` keeps the descriptor
    // open.
    let sealed = unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
    assert_eq!(sealed, 0);
    let mapped = Buffer::map_shared(memory.try_clone().unwrap().into(), 1, 99, false).unwrap();
    assert_eq!(mapped.pin().unwrap().to_vec(), pattern(100)[1..]);
    for (offset, nbytes) in [(0, 101), (100, 1), (101, 0), (u64::MAX, 1), (1, usize::MAX)] {
        let error =
            Buffer::map_shared(memory.try_clone().unwrap().into(), offset, nbytes, false).unwrap_err();
        assert!(error.is_bounds(), "{offset}+{nbytes}: {error}");
    }
}

#[test]
fn another_process_reads_and_writes_shared_memory_in_place() {
    let buffer = Buffer::shared(20).unwrap();
    buffer.slice(3..8).unwrap().share().unwrap().copy_from_slice(b"shore").unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    // Children inherit a duplicate that `dup` makes.
    // SAFETY: `dup` takes an integer and accesses no memory; `buffer` keeps the descriptor `fd`
    // open.
    let inherited = unsafe { libc::dup(fd.as_raw_fd()) };
    assert!(inherited >= 0);
    let status = run_child("shared memory", &inherited.to_string());
    // SAFETY: `dup` returned this descriptor above, and no other object of this process owns it.
    drop(unsafe { OwnedFd::from_raw_fd(inherited) });
    assert!(status.success(), "{status}");
    assert_eq!(buffer.slice(3..8).unwrap().pin().unwrap().to_vec(), b"ships");
}
