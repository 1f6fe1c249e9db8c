//! How tests reach the driver that they, or the library that they test, have loaded.

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

/// What the driver has that somebody made and has not destroyed.
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
}

/// A pause of streams, until it is dropped.
#[derive(Debug)]
pub struct Paused {
    mock: &'static Mock,
    stream: usize,
}

impl Drop for Paused {
    fn drop(&mut self) {
        let resume = self.mock.function::<unsafe extern "C" fn(usize)>("mock_cuda_resume");
        // SAFETY: any number may be given.
        unsafe { resume(self.stream) };
    }
}

/// Streams work only while somebody waits for them, until this is dropped.
#[derive(Debug)]
pub struct HeldBack(&'static Mock);

impl Drop for HeldBack {
    fn drop(&mut self) {
        self.0.set("waits_for_waiters", 0);
    }
}

impl Mock {
    /// Where Cargo puts the driver: beside the test, or in the folder above.
    ///
    /// # Panics
    ///
    /// Where it is not: a test that was built without it.
    pub fn path() -> PathBuf {
        let this = env::current_exe().expect("a program has a file");
        let folders = this.ancestors().skip(1).take(2);
        let mut places = folders.flat_map(|folder| [folder.to_owned(), folder.join("deps")]);
        let path = places
            .find_map(|folder| Some(folder.join("libcrossdock_mock_cuda.so")).filter(|path| path.is_file()));
        path.unwrap_or_else(|| panic!("libcrossdock_mock_cuda.so is not near {}", this.display()))
    }

    /// The driver, loaded if it was not yet: the same one for everybody in the process who loads [`Mock::path`].
    ///
    /// # Panics
    ///
    /// Where it cannot be loaded.
    pub fn get() -> &'static Self {
        static MOCK: OnceLock<Mock> = OnceLock::new();
        MOCK.get_or_init(|| {
            let path = Self::path();
            // SAFETY: this very crate, which does nothing when it is loaded.
            let library = unsafe { Library::new(&path) };
            Self { library: library.unwrap_or_else(|error| panic!("{}: {error}", path.display())) }
        })
    }

    /// A copy of the driver that lacks functions, as an old one does.
    ///
    /// # Errors
    ///
    /// Of the file system.
    ///
    /// # Panics
    ///
    /// Where there is no such function.
    pub fn without(functions: &[&str], copy: &Path) -> io::Result<()> {
        let mut bytes = fs::read(Self::path())?;
        for function in functions {
            assert!(hide(&mut bytes, function), "the driver has no {function}");
        }
        fs::write(copy, bytes)
    }

    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: each caller names the type that the function has in `control.rs`.
        let found = unsafe { self.library.get::<T>(name) };
        *found.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Forgets what it was told, counts and misuses; lets all streams go on, and work again after failures.
    pub fn reset(&self) {
        let reset = self.function::<unsafe extern "C" fn()>("mock_cuda_reset");
        // SAFETY: it may be called at any time.
        unsafe { reset() };
    }

    /// Sets what the driver is: `device_count`, `driver_version`, `memory` (bytes of each device), `pageable_waits` (whether copies of
    /// memory that is not pinned are over when the call returns), `reaches_peers`, `opens_own` (whether a process may open the handle of
    /// its own memory), `gone` (whether it has shut down).
    ///
    /// # Panics
    ///
    /// Where there is no such thing.
    pub fn set(&self, name: &str, value: u64) {
        let set = self.function::<Named>("mock_cuda_set");
        let text = CString::new(name).expect("a name");
        // SAFETY: text that ends with a NUL.
        let outcome = unsafe { set(text.as_ptr(), value) };
        assert_eq!(outcome, Status::SUCCESS, "{name}");
    }

    /// Sets an attribute of a device, by its number.
    pub fn set_attribute(&self, device: i32, attribute: i32, value: i32) {
        let set = self.function::<unsafe extern "C" fn(c_int, c_int, c_int)>("mock_cuda_set_attribute");
        // SAFETY: any numbers may be given.
        unsafe { set(device, attribute, value) };
    }

    /// Makes the `nth` call of a function from now on fail, where 1 is the next; `*` is any function. What frees or destroys has done
    /// so all the same.
    pub fn fail(&self, function: &str, nth: u64, status: Status) {
        type Fail = unsafe extern "C" fn(*const c_char, u64, Status) -> Status;
        let fail = self.function::<Fail>("mock_cuda_fail");
        let text = CString::new(function).expect("a name");
        // SAFETY: text that ends with a NUL.
        let _told = unsafe { fail(text.as_ptr(), nth, status) };
    }

    /// Makes the `nth` piece of work in streams from now on fail, which no context survives until [`Mock::reset`].
    pub fn fail_work(&self, nth: u64, status: Status) {
        let fail = self.function::<unsafe extern "C" fn(u64, Status)>("mock_cuda_fail_work");
        // SAFETY: any numbers may be given.
        unsafe { fail(nth, status) };
    }

    /// How many failures were asked for and have not happened.
    pub fn failures_left(&self) -> u64 {
        let left = self.function::<unsafe extern "C" fn() -> u64>("mock_cuda_failures_left");
        // SAFETY: it may be called at any time.
        unsafe { left() }
    }

    /// Takes those back, and tells how many they were.
    pub fn take_failures(&self) -> u64 {
        let take = self.function::<unsafe extern "C" fn() -> u64>("mock_cuda_take_failures");
        // SAFETY: it may be called at any time.
        unsafe { take() }
    }

    /// Holds the work of a stream back, or that of all for 0. What has begun goes on.
    ///
    /// # Panics
    ///
    /// Where there is no such stream.
    #[must_use]
    pub fn pause(&'static self, stream: usize) -> Paused {
        let pause = self.function::<unsafe extern "C" fn(usize) -> Status>("mock_cuda_pause");
        // SAFETY: any number may be given.
        let outcome = unsafe { pause(stream) };
        assert_eq!(outcome, Status::SUCCESS, "{stream:#x} is no stream");
        Paused { mock: self, stream }
    }

    /// Lets all streams work only while somebody waits for one, so that nothing is over before it is waited for.
    #[must_use]
    pub fn hold_back(&'static self) -> HeldBack {
        self.set("waits_for_waiters", 1);
        HeldBack(self)
    }

    /// Waits until all that was put into streams is done.
    ///
    /// # Panics
    ///
    /// Where that takes a minute.
    pub fn settle(&self) {
        let settle = self.function::<unsafe extern "C" fn() -> Status>("mock_cuda_settle");
        // SAFETY: it may be called at any time.
        let outcome = unsafe { settle() };
        assert_eq!(outcome, Status::SUCCESS);
    }

    /// How often a function was called; `*` is any function.
    pub fn calls(&self, function: &str) -> u64 {
        self.counted("mock_cuda_calls", function)
    }

    /// How often each function was called that was called.
    pub fn called(&self) -> BTreeMap<String, u64> {
        let lines = self.text("mock_cuda_called");
        let lines = lines.iter().filter_map(|line| line.split_once(' '));
        lines.map(|(name, count)| (name.to_owned(), count.parse().expect("a number"))).collect()
    }

    /// How much there is of something: a field of [`Live`], `reserved` (bytes that devices gave to allocations and pools), `work` (done
    /// in streams), `current` (contexts that this thread has pushed), `calls_after_fork`.
    ///
    /// # Panics
    ///
    /// Where there is no such thing.
    pub fn count(&self, what: &str) -> u64 {
        let count = self.counted("mock_cuda_count", what);
        assert_ne!(count, u64::MAX, "{what}");
        count
    }

    /// What there is.
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
        }
    }

    /// Makes a context on a device, as a program does that uses CUDA by itself, and makes it current for this thread.
    ///
    /// # Panics
    ///
    /// Where the driver refuses.
    pub fn enter_context(&self, device: i32) -> usize {
        let create =
            self.function::<unsafe extern "C" fn(*mut usize, u32, c_int) -> Status>("cuCtxCreate_v2");
        let mut context = 0;
        // SAFETY: the answer goes to a variable of ours.
        let outcome = unsafe { create(&raw mut context, 0, device) };
        assert_eq!(outcome, Status::SUCCESS);
        context
    }

    /// The context that is current for this thread, or 0.
    ///
    /// # Panics
    ///
    /// Where the driver refuses.
    pub fn current_context(&self) -> usize {
        let current = self.function::<unsafe extern "C" fn(*mut usize) -> Status>("cuCtxGetCurrent");
        let mut context = 0;
        // SAFETY: the answer goes to a variable of ours.
        let outcome = unsafe { current(&raw mut context) };
        assert_eq!(outcome, Status::SUCCESS);
        context
    }

    /// Destroys a context that [`Mock::enter_context`] made.
    ///
    /// # Panics
    ///
    /// Where the driver refuses.
    pub fn leave_context(&self, context: usize) {
        let destroy = self.function::<unsafe extern "C" fn(usize) -> Status>("cuCtxDestroy_v2");
        // SAFETY: a number, which the driver checks.
        let outcome = unsafe { destroy(context) };
        assert_eq!(outcome, Status::SUCCESS);
    }

    /// What the driver was used for that it must not be.
    pub fn misuses(&self) -> Vec<String> {
        self.text("mock_cuda_misuses")
    }

    fn counted(&self, function: &str, name: &str) -> u64 {
        let counted = self.function::<Counted>(function);
        let text = CString::new(name).expect("a name");
        // SAFETY: text that ends with a NUL.
        unsafe { counted(text.as_ptr()) }
    }

    fn text(&self, function: &str) -> Vec<String> {
        let told = self.function::<Told>(function);
        let mut room: Vec<u8> = vec![0; 1 << 16];
        // SAFETY: room of as many bytes.
        let nbytes = unsafe { told(room.as_mut_ptr().cast(), room.len()) };
        room.truncate(nbytes.min(room.len() - 1));
        String::from_utf8_lossy(&room).lines().map(str::to_owned).collect()
    }
}
