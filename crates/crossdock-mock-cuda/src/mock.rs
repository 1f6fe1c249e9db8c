//! How tests reach the driver that they, or the library under test, have loaded.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};

use libloading::Library;

use crate::lacking::hide;
use crate::status::Status;

type Named = unsafe extern "C" fn(*const c_char, u64) -> Status;
type Counted = unsafe extern "C" fn(*const c_char) -> u64;
type Told = unsafe extern "C" fn(*mut c_char, usize) -> usize;

/// The driver of this process.
#[derive(Debug)]
pub struct Mock {
    library: Library,
}

/// The live objects of the driver: created and not yet destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Live {
    pub contexts: u64,
    pub retained: u64,
    pub streams: u64,
    pub events: u64,
    pub modules: u64,
    pub pools: u64,
    pub device_memory: u64,
    pub host_memory: u64,
    pub registered: u64,
    pub managed: u64,
    pub nbytes: u64,
    /// Memory of `cuMemCreate`, or imported, that a handle or a mapping keeps.
    pub handles: u64,
    /// Reserved addresses.
    pub ranges: u64,
}

/// Pauses streams until it is dropped.
#[derive(Debug)]
pub struct Paused {
    mock: &'static Mock,
    stream: usize,
}

impl Drop for Paused {
    fn drop(&mut self) {
        let resume = self.mock.function::<unsafe extern "C" fn(usize)>("mock_cuda_resume");
        // SAFETY: the function has this type in `control.rs`, and accepts any number.
        unsafe { resume(self.stream) };
    }
}

/// Streams work only while a thread waits for them, until this is dropped.
#[derive(Debug)]
pub struct HeldBack(&'static Mock);

impl Drop for HeldBack {
    fn drop(&mut self) {
        self.0.set("waits_for_waiters", 0);
    }
}

impl Mock {
    /// Where Cargo puts the driver: next to the test, or in the folder above.
    ///
    /// # Panics
    ///
    /// If the file is missing, because the test was built without it.
    pub fn path() -> PathBuf {
        let this = env::current_exe().expect("a program has a file");
        let folders = this.ancestors().skip(1).take(2);
        let mut places = folders.flat_map(|folder| [folder.to_owned(), folder.join("deps")]);
        let path = places
            .find_map(|folder| Some(folder.join("libcrossdock_mock_cuda.so")).filter(|path| path.is_file()));
        path.unwrap_or_else(|| panic!("libcrossdock_mock_cuda.so is not near {}", this.display()))
    }

    /// The driver, loaded on first use: the same instance for all code in the process that loads
    /// [`Mock::path`].
    ///
    /// # Panics
    ///
    /// If it cannot be loaded.
    pub fn get() -> &'static Self {
        static MOCK: OnceLock<Mock> = OnceLock::new();
        MOCK.get_or_init(|| {
            let path = Self::path();
            // SAFETY: the file is a build of this crate, which has no initialisers of its own.
            let library = unsafe { Library::new(&path) };
            Self { library: library.unwrap_or_else(|error| panic!("{}: {error}", path.display())) }
        })
    }

    /// Writes a copy of the driver that lacks functions, as an old driver does.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    ///
    /// # Panics
    ///
    /// If the driver has no such function.
    pub fn without(functions: &[&str], copy: &Path) -> io::Result<()> {
        let mut bytes = fs::read(Self::path())?;
        for function in functions {
            assert!(hide(&mut bytes, function), "the driver has no {function}");
        }
        fs::write(copy, bytes)
    }

    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: each caller passes the type that the function has in `control.rs` or `driver`, by
        // the same name.
        let found = unsafe { self.library.get::<T>(name) };
        *found.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Resets settings, requested failures, counts and misuses; resumes all streams, and lets them
    /// work again after failures.
    pub fn reset(&self) {
        let reset = self.function::<unsafe extern "C" fn()>("mock_cuda_reset");
        // SAFETY: the function has this type in `control.rs`, and may be called at any time.
        unsafe { reset() };
    }

    /// Changes a setting of the driver: `device_count`, `driver_version`, `memory` (bytes of each
    /// device), `pageable_waits` (whether copies of pageable memory are over when the call
    /// returns), `reaches_peers`, `opens_own` (whether a process may open the handle of its own
    /// memory), `gone` (whether the driver has shut down).
    ///
    /// # Panics
    ///
    /// If there is no such setting.
    pub fn set(&self, name: &str, value: u64) {
        let set = self.function::<Named>("mock_cuda_set");
        let text = CString::new(name).expect("a name");
        // SAFETY: the function has this type in `control.rs`, and the argument is a C string that
        // it copies.
        let outcome = unsafe { set(text.as_ptr(), value) };
        assert_eq!(outcome, Status::SUCCESS, "{name}");
    }

    /// Sets an attribute of a device, by its number.
    pub fn set_attribute(&self, device: i32, attribute: i32, value: i32) {
        let set = self.function::<unsafe extern "C" fn(c_int, c_int, c_int)>("mock_cuda_set_attribute");
        // SAFETY: the function has this type in `control.rs`, and accepts any numbers.
        unsafe { set(device, attribute, value) };
    }

    /// Makes the `nth` next call of a function fail, counted from 1; `*` is any function. Functions
    /// that free or destroy still do so.
    pub fn fail(&self, function: &str, nth: u64, status: Status) {
        type Fail = unsafe extern "C" fn(*const c_char, u64, Status) -> Status;
        let fail = self.function::<Fail>("mock_cuda_fail");
        let text = CString::new(function).expect("a name");
        // SAFETY: the function has this type in `control.rs`, and the argument is a C string that
        // it copies.
        let _told = unsafe { fail(text.as_ptr(), nth, status) };
    }

    /// Makes the `nth` next piece of work in streams fail, which breaks its context until
    /// [`Mock::reset`].
    pub fn fail_work(&self, nth: u64, status: Status) {
        let fail = self.function::<unsafe extern "C" fn(u64, Status)>("mock_cuda_fail_work");
        // SAFETY: the function has this type in `control.rs`, and accepts any numbers.
        unsafe { fail(nth, status) };
    }

    /// The number of requested failures that have not happened yet.
    pub fn failures_left(&self) -> u64 {
        let left = self.function::<unsafe extern "C" fn() -> u64>("mock_cuda_failures_left");
        // SAFETY: the function has this type in `control.rs`, and may be called at any time.
        unsafe { left() }
    }

    /// Cancels the requested failures, and returns their number.
    pub fn take_failures(&self) -> u64 {
        let take = self.function::<unsafe extern "C" fn() -> u64>("mock_cuda_take_failures");
        // SAFETY: the function has this type in `control.rs`, and may be called at any time.
        unsafe { take() }
    }

    /// Pauses a stream, or all streams for 0. Work that has begun continues.
    ///
    /// # Panics
    ///
    /// If there is no such stream.
    #[must_use]
    pub fn pause(&'static self, stream: usize) -> Paused {
        let pause = self.function::<unsafe extern "C" fn(usize) -> Status>("mock_cuda_pause");
        // SAFETY: the function has this type in `control.rs`, and checks the number.
        let outcome = unsafe { pause(stream) };
        assert_eq!(outcome, Status::SUCCESS, "{stream:#x} is no stream");
        Paused { mock: self, stream }
    }

    /// Lets streams work only while a thread waits for one, so that no work is over before a wait
    /// for it.
    #[must_use]
    pub fn hold_back(&'static self) -> HeldBack {
        self.set("waits_for_waiters", 1);
        HeldBack(self)
    }

    /// Waits until all work in streams is done.
    ///
    /// # Panics
    ///
    /// If that takes a minute.
    pub fn settle(&self) {
        let settle = self.function::<unsafe extern "C" fn() -> Status>("mock_cuda_settle");
        // SAFETY: the function has this type in `control.rs`, and may be called at any time.
        let outcome = unsafe { settle() };
        assert_eq!(outcome, Status::SUCCESS);
    }

    /// The number of calls of a function; `*` is any function.
    pub fn calls(&self, function: &str) -> u64 {
        self.counted("mock_cuda_calls", function)
    }

    /// The number of calls of each function that was called.
    pub fn called(&self) -> BTreeMap<String, u64> {
        let lines = self.text("mock_cuda_called");
        let lines = lines.iter().filter_map(|line| line.split_once(' '));
        lines.map(|(name, count)| (name.to_owned(), count.parse().expect("a number"))).collect()
    }

    /// A count: a field of [`Live`], `reserved` (bytes that allocations and pools use on devices),
    /// `work` (done in streams), `current` (contexts that this thread has pushed),
    /// `calls_after_fork`.
    ///
    /// # Panics
    ///
    /// If there is no such count.
    pub fn count(&self, what: &str) -> u64 {
        let count = self.counted("mock_cuda_count", what);
        assert_ne!(count, u64::MAX, "{what}");
        count
    }

    /// The live objects.
    pub fn live(&self) -> Live {
        Live {
            contexts: self.count("contexts"),
            retained: self.count("retained"),
            streams: self.count("streams"),
            events: self.count("events"),
            modules: self.count("modules"),
            pools: self.count("pools"),
            device_memory: self.count("device_memory"),
            host_memory: self.count("host_memory"),
            registered: self.count("registered"),
            managed: self.count("managed"),
            nbytes: self.count("nbytes"),
            handles: self.count("handles"),
            ranges: self.count("ranges"),
        }
    }

    /// Creates a context on a device, as a program with its own CUDA code does, and makes it
    /// current for this thread.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn enter_context(&self, device: i32) -> usize {
        let create =
            self.function::<unsafe extern "C" fn(*mut usize, u32, c_int) -> Status>("cuCtxCreate_v2");
        let mut context = 0;
        // SAFETY: the function has this type in the driver's reference, and writes the handle to a
        // live local variable.
        let outcome = unsafe { create(&raw mut context, 0, device) };
        assert_eq!(outcome, Status::SUCCESS);
        context
    }

    /// The current context of this thread, or 0.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn current_context(&self) -> usize {
        let current = self.function::<unsafe extern "C" fn(*mut usize) -> Status>("cuCtxGetCurrent");
        let mut context = 0;
        // SAFETY: the function has this type in the driver's reference, and writes the handle to a
        // live local variable.
        let outcome = unsafe { current(&raw mut context) };
        assert_eq!(outcome, Status::SUCCESS);
        context
    }

    /// Destroys a context from [`Mock::enter_context`].
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn leave_context(&self, context: usize) {
        let destroy = self.function::<unsafe extern "C" fn(usize) -> Status>("cuCtxDestroy_v2");
        // SAFETY: the function has this type in the driver's reference, and the mock driver checks
        // the handle.
        let outcome = unsafe { destroy(context) };
        assert_eq!(outcome, Status::SUCCESS);
    }

    /// The recorded misuses of the driver.
    pub fn misuses(&self) -> Vec<String> {
        self.text("mock_cuda_misuses")
    }

    fn counted(&self, function: &str, name: &str) -> u64 {
        let counted = self.function::<Counted>(function);
        let text = CString::new(name).expect("a name");
        // SAFETY: the callers name functions of this type in `control.rs`, and the argument is a C
        // string that they copy.
        unsafe { counted(text.as_ptr()) }
    }

    fn text(&self, function: &str) -> Vec<String> {
        let told = self.function::<Told>(function);
        let mut room: Vec<u8> = vec![0; 1 << 16];
        // SAFETY: the callers name functions of this type in `control.rs`, and `room` is writable
        // for `room.len()` bytes.
        let nbytes = unsafe { told(room.as_mut_ptr().cast(), room.len()) };
        room.truncate(nbytes.min(room.len() - 1));
        String::from_utf8_lossy(&room).lines().map(str::to_owned).collect()
    }
}
