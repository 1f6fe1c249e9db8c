//! The guard for files that shrink while they are mapped.
//!
//! Accessing a mapped page beyond the file's end raises `SIGBUS`, which ends the process. For
//! watched ranges a handler replaces the missing page with a page of zeros and records the address.
//! The access then continues, and a later query reports the fault. The handler accesses only the
//! table below and makes one system call.

use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering, fence};

use crate::error::{Error, Kind, Result};
use crate::memory::fork::ForkLock;
use crate::memory::unload;

/// The most ranges that can be watched at once. A fixed table, because a signal handler can neither
/// lock nor allocate.
const ENTRIES: usize = 128;

static TABLE: [WatchEntry; ENTRIES] = [const { WatchEntry::new() }; ENTRIES];

/// The number of ranges that are watched, so that a copy without guarded maps costs one load.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

/// The action that was in force before the handler was installed. Set once, under the lock of
/// [`install`], before any range is watched.
static PREVIOUS: OnceLock<Option<Previous>> = OnceLock::new();

struct Previous(libc::sigaction);

// SAFETY: a plain record without thread-bound state; the function it names is a signal handler,
// which may run on any thread.
unsafe impl Send for Previous {}
// SAFETY: the record never changes once it is stored in `PREVIOUS`, so that threads only read it.
unsafe impl Sync for Previous {}

/// The size of a page, stored before the first range is watched, so that the handler need not query
/// it.
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);

struct WatchEntry {
    used: AtomicBool,
    /// Odd while the entry watches a range; incremented with every change. A thread that faults in
    /// a watched range holds that memory, so the entry of the range cannot change; a entry that
    /// changes under the reader belongs to another range.
    version: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    writable: AtomicBool,
    /// The first address that faulted, or 0.
    fault: AtomicUsize,
    fd: AtomicI32,
    offset: AtomicU64,
    nbytes: AtomicUsize,
}

/// The part of a file that a range maps.
pub(crate) struct FilePart {
    /// The descriptor, which stays open while the range is watched.
    pub(crate) fd: RawFd,
    /// The first byte; the range begins at the page of it.
    pub(crate) offset: u64,
    pub(crate) nbytes: usize,
}

impl WatchEntry {
    const fn new() -> Self {
        Self {
            used: AtomicBool::new(false),
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            writable: AtomicBool::new(false),
            fault: AtomicUsize::new(0),
            fd: AtomicI32::new(-1),
            offset: AtomicU64::new(0),
            nbytes: AtomicUsize::new(0),
        }
    }

    /// The fault of the range, which the caller keeps mapped, so that the entry does not change.
    fn fault(&self) -> Option<Error> {
        let offset = self.offset.load(Ordering::Relaxed);
        let touched = self.fault.load(Ordering::Acquire);
        if touched != 0 {
            let first = offset - offset % page_size() as u64;
            let byte = first + touched.saturating_sub(self.start.load(Ordering::Relaxed)) as u64;
            return Some(Error::new(
                Kind::Fault,
                format!("the mapped file shrank: its byte {byte} no longer exists"),
            ));
        }
        // If a file ends within a page, the rest of that page reads as zeros, without a fault.
        let size = file_size(self.fd.load(Ordering::Relaxed))?;
        let end = offset + self.nbytes.load(Ordering::Relaxed) as u64;
        (size < end).then(|| {
            Error::new(
                Kind::Fault,
                format!(
                    "the mapped file shrank: bytes {offset}..{end} are mapped, but it has only {size} now"
                ),
            )
        })
    }

    /// Whether the entry watches `address`. Other threads may be changing the entry meanwhile.
    fn covers(&self, address: usize) -> bool {
        let version = self.version.load(Ordering::Acquire);
        let range = self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        version % 2 == 1 && self.version.load(Ordering::Relaxed) == version && range.contains(&address)
    }
}

/// A range that is watched until this is dropped.
///
/// # Invariants
///
/// 1. The entry belongs to this watch, and its range is mapped.
pub(crate) struct Watch(&'static WatchEntry);

impl Watch {
    /// Watches a mapped range of a file, page by page.
    ///
    /// # Safety
    ///
    /// 1. The range is the caller's own mapping, readable and, if `writable`, writable.
    /// 2. It stays mapped until the watch is dropped. Otherwise the handler could map zeros over
    ///    other memory at these addresses.
    pub(crate) unsafe fn new(
        base: NonNull<u8>,
        nbytes: usize,
        writable: bool,
        file: &FilePart,
    ) -> Result<Self> {
        install()?;
        let free = TABLE.iter().find(|entry| {
            entry.used.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        });
        let entry = free.ok_or_else(|| {
            Error::new(
                Kind::Exhausted,
                format!("{ENTRIES} maps are guarded already, the most that are supported"),
            )
        })?;
        let start = base.addr().get();
        // A reader that sees any of the stores below also sees that the previous version has ended.
        fence(Ordering::Release);
        entry.fault.store(0, Ordering::Relaxed);
        entry.start.store(start, Ordering::Relaxed);
        entry.end.store(start + nbytes, Ordering::Relaxed);
        entry.writable.store(writable, Ordering::Relaxed);
        entry.fd.store(file.fd, Ordering::Relaxed);
        entry.offset.store(file.offset, Ordering::Relaxed);
        entry.nbytes.store(file.nbytes, Ordering::Relaxed);
        WATCHED.fetch_add(1, Ordering::Relaxed);
        entry.version.fetch_add(1, Ordering::Release);
        Ok(Self(entry))
    }

    pub(crate) fn fault(&self) -> Option<Error> {
        self.0.fault()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.fetch_sub(1, Ordering::Relaxed);
        self.0.version.fetch_add(1, Ordering::Relaxed);
        self.0.used.store(false, Ordering::Release);
    }
}

/// Whether there are guarded maps.
#[inline]
pub(crate) fn is_watching() -> bool {
    WATCHED.load(Ordering::Relaxed) != 0
}

/// The fault of the guarded map that has this address, if one does. It is found by the address,
/// because another library may lend the same memory. The caller keeps the memory alive.
pub(crate) fn fault_at(address: NonNull<u8>) -> Option<Error> {
    if !is_watching() {
        return None;
    }
    TABLE.iter().find(|entry| entry.covers(address.addr().get()))?.fault()
}

fn file_size(fd: RawFd) -> Option<u64> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `fstat` only writes the record, which is of the right type; for a descriptor that is
    // not open it fails.
    let failed = unsafe { libc::fstat(fd, stat.as_mut_ptr()) } != 0;
    // SAFETY: the record was zeroed before the call; every field of it is a number, for which zero
    // is a value.
    let stat = unsafe { stat.assume_init() };
    u64::try_from(stat.st_size).ok().filter(|_| !failed)
}

fn install() -> Result<()> {
    /// Held across forks, so that a child finds the handler either installed or not.
    static INSTALLED: ForkLock<Option<bool>> = ForkLock::new(None);
    let mut installed = INSTALLED.lock();
    let is_installed = *installed.get_or_insert_with(|| {
        unload::stay_loaded();
        // The previous action is stored first, because the handler may run as soon as it is
        // installed.
        PAGE_SIZE.store(page_size(), Ordering::Relaxed);
        PREVIOUS.get_or_init(in_force).is_some() && replace_handler()
    });
    if is_installed {
        Ok(())
    } else {
        Err(Error::new(
            Kind::Io,
            "the signal handler (SIGBUS) that guards mapped files could not be installed",
        ))
    }
}

fn in_force() -> Option<Previous> {
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null action the call changes nothing; `previous` is a record of the right type
    // that it may write.
    let failed = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), previous.as_mut_ptr()) } != 0;
    // SAFETY: the record was zeroed before the call; every field of it is a number, for which zero
    // is a value.
    (!failed).then(|| Previous(unsafe { previous.assume_init() }))
}

fn replace_handler() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    // SAFETY: the record was zeroed above; every field of it is a number, for which zero is a
    // value.
    let fields = unsafe { action.assume_init_mut() };
    fields.sa_sigaction = handler as usize;
    fields.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `action` lives until the call returns and names a function of the type that
    // `SA_SIGINFO` requires. `on_fault` makes only calls that a signal handler may make.
    unsafe { libc::sigaction(libc::SIGBUS, action.as_ptr(), std::ptr::null_mut()) == 0 }
}

/// The size of a page of memory, in bytes.
pub(crate) fn page_size() -> usize {
    // SAFETY: `sysconf` returns a constant of the system and takes no pointer, so it accesses no
    // memory of the caller.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the handler is installed with `SA_SIGINFO` (`replace_handler`), so the system passes
    // a valid record.
    let fault = unsafe { &*info };
    // Any other code is an unaligned access, broken memory, or a signal that a process sent.
    let gone = fault.si_code == libc::BUS_ADRERR;
    // SAFETY: the system sets the address in the record of a `SIGBUS` whose code is `BUS_ADRERR`
    // (`gone`, checked here).
    if gone && replace_watched_page(unsafe { fault.si_addr() }.addr()) {
        return;
    }
    let sent = fault.si_code <= 0;
    forward(signal, info, context, sent);
}

/// Replaces the page at the address with a page of zeros if the address is in a watched range.
fn replace_watched_page(address: usize) -> bool {
    let Some(entry) = TABLE.iter().find(|entry| entry.covers(address)) else { return false };
    let page_size = PAGE_SIZE.load(Ordering::Relaxed);
    let page = address & !(page_size - 1);
    let write = if entry.writable.load(Ordering::Relaxed) { libc::PROT_WRITE } else { 0 };
    // Recorded before the zeros become visible, so that a thread that has read them finds the
    // fault.
    let _first_only = entry.fault.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed);
    // SAFETY: Watch 1: the page lies in a range that is mapped now. Replacing the page changes only
    // bytes that may change at any time anyway, since file maps are aliased.
    let fresh = unsafe {
        libc::mmap(
            std::ptr::with_exposed_provenance_mut(page),
            page_size,
            libc::PROT_READ | write,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    fresh != libc::MAP_FAILED
}

/// Forwards a signal to the previous handler: a function, or the system's default, which ends the
/// process. `sent`: a process sent the signal; it was not raised by a fault.
fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void, sent: bool) {
    type Plain = extern "C" fn(libc::c_int);
    type Informed = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let previous = PREVIOUS.get().and_then(Option::as_ref);
    match previous.map(|previous| previous.0) {
        Some(action) if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN => {
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: `SA_SIGINFO` is set and the field is neither `SIG_DFL` nor `SIG_IGN`
                // (checked above), so it holds a function of this type.
                let handler = unsafe { std::mem::transmute::<usize, Informed>(action.sa_sigaction) };
                handler(signal, info, context);
            } else {
                // SAFETY: `SA_SIGINFO` is not set and the field is neither `SIG_DFL` nor `SIG_IGN`
                // (checked above), so it holds a function of this type.
                let handler = unsafe { std::mem::transmute::<usize, Plain>(action.sa_sigaction) };
                handler(signal);
            }
        }
        Some(action) if sent && action.sa_sigaction == libc::SIG_IGN => {}
        _ => {
            // SAFETY: `signal` is async-signal-safe, and `SIG_DFL` is a valid action for every
            // signal that reaches this handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            // With the default action, a faulting instruction runs again and ends the process
            // there. A signal that was sent would not be repeated.
            if sent {
                // SAFETY: `raise` is async-signal-safe; the system delivers the signal when this
                // handler has returned.
                unsafe { libc::raise(signal) };
            }
        }
    }
}
