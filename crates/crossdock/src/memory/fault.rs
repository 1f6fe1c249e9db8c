//! The guard for files that shrink while they are mapped.
//!
//! Touching a page of a map behind the file's end raises `SIGBUS`, which ends the process. For ranges that are watched, a
//! handler puts a page of zeros in the place of the one that is gone and notes the address; the access goes on, and
//! whoever asks afterwards is told. The handler touches only the table below and makes one system call.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

use crate::error::{Error, Kind, Result};
use crate::memory::fork::ForkLock;
use crate::memory::unload;

/// How many ranges can be watched at once. A fixed table, because a signal handler can neither lock nor allocate.
const SLOTS: usize = 128;

static TABLE: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

/// What was in force before the handler was installed. Set once, under the lock of [`install`],
/// before any range is watched.
static PREVIOUS: OnceLock<Option<Previous>> = OnceLock::new();

struct Previous(libc::sigaction);

// SAFETY: a plain record; the function it names may be called on any thread, being a signal handler.
unsafe impl Send for Previous {}
// SAFETY: as for Send.
unsafe impl Sync for Previous {}

/// The size of a page, put down before the first range is watched, so that the handler need not ask for it.
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);

struct Slot {
    used: AtomicBool,
    /// Odd while the slot watches a range; counted up with every change. A thread that faults in a watched range holds
    /// the memory, so the slot of that range stands still; one that changes under the reader is another's.
    version: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    writable: AtomicBool,
    /// The first address that faulted, or 0.
    fault: AtomicUsize,
}

impl Slot {
    const fn new() -> Self {
        Self {
            used: AtomicBool::new(false),
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            writable: AtomicBool::new(false),
            fault: AtomicUsize::new(0),
        }
    }

    /// Whether the slot watches `address`, read while others may be changing it.
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
/// 1. The slot is ours, and its range is mapped.
pub(crate) struct Watch(&'static Slot);

impl Watch {
    /// Watches a mapped range, page by page.
    ///
    /// # Safety
    ///
    /// The range is a mapping of the caller's own, readable and, if `writable`, writable, which stays mapped until the watch
    /// is dropped: where it is gone, the handler maps zeros over whatever lies there by then.
    pub(crate) unsafe fn new(base: NonNull<u8>, nbytes: usize, writable: bool) -> Result<Self> {
        install()?;
        let free = TABLE.iter().find(|slot| {
            slot.used.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        });
        let slot = free.ok_or_else(|| {
            Error::new(
                Kind::Exhausted,
                format!("{SLOTS} maps are guarded already, which is the most there can be"),
            )
        })?;
        let start = base.addr().get();
        // Who sees any of what follows sees, too, that the version of the watch before is over.
        fence(Ordering::Release);
        slot.fault.store(0, Ordering::Relaxed);
        slot.start.store(start, Ordering::Relaxed);
        slot.end.store(start + nbytes, Ordering::Relaxed);
        slot.writable.store(writable, Ordering::Relaxed);
        slot.version.fetch_add(1, Ordering::Release);
        Ok(Self(slot))
    }

    /// The first address of the range that was gone when it was touched.
    pub(crate) fn fault(&self) -> Option<usize> {
        Some(self.0.fault.load(Ordering::Acquire)).filter(|&address| address != 0)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.version.fetch_add(1, Ordering::Relaxed);
        self.0.used.store(false, Ordering::Release);
    }
}

fn install() -> Result<()> {
    /// Held across forks, so that a child finds the handler installed or not, and never in between.
    static INSTALLED: ForkLock<Option<bool>> = ForkLock::new(None);
    let mut installed = INSTALLED.lock();
    let is_installed = *installed.get_or_insert_with(|| {
        unload::stay_loaded();
        // What was in force is put down first: the handler may be called as soon as it is installed.
        PAGE_SIZE.store(page_size(), Ordering::Relaxed);
        PREVIOUS.get_or_init(in_force).is_some() && replace_handler()
    });
    if is_installed {
        Ok(())
    } else {
        Err(Error::new(Kind::Io, "the handler that guards mapped files could not be installed"))
    }
}

fn in_force() -> Option<Previous> {
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only; the record is valid for the call.
    let failed = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), previous.as_mut_ptr()) } != 0;
    // SAFETY: zeroed in full; every field of the record is a number, for which zero is a value.
    (!failed).then(|| Previous(unsafe { previous.assume_init() }))
}

fn replace_handler() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    // SAFETY: as in `in_force`.
    let fields = unsafe { action.assume_init_mut() };
    fields.sa_sigaction = handler as usize;
    fields.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the record is valid for the call, and the handler keeps to what a handler may do.
    unsafe { libc::sigaction(libc::SIGBUS, action.as_ptr(), std::ptr::null_mut()) == 0 }
}

/// The size of a page of memory, in bytes.
pub(crate) fn page_size() -> usize {
    // SAFETY: asks for a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the system passes a valid record.
    let fault = unsafe { &*info };
    // Any other code is an unaligned access, broken memory, or a signal that somebody sent: not a file that shrank.
    let gone = fault.si_code == libc::BUS_ADRERR;
    // SAFETY: of a SIGBUS with this code, the record holds an address.
    if gone && replace_watched_page(unsafe { fault.si_addr() }.addr()) {
        return;
    }
    let sent = fault.si_code <= 0;
    forward(signal, info, context, sent);
}

/// Puts a page of zeros where the address lies, if it lies in a watched range.
fn replace_watched_page(address: usize) -> bool {
    let Some(slot) = TABLE.iter().find(|slot| slot.covers(address)) else { return false };
    let page_size = PAGE_SIZE.load(Ordering::Relaxed);
    let page = address & !(page_size - 1);
    let write = if slot.writable.load(Ordering::Relaxed) { libc::PROT_WRITE } else { 0 };
    // Noted before the zeros are there to be seen: who has read them and then asks is told.
    let _first_only = slot.fault.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed);
    // SAFETY: the page lies in a range that its owner mapped and has not unmapped (Watch 1). Replacing it changes
    // bytes that may change at any time anyway: file maps are aliased.
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

/// Hands a signal that is not ours to whoever handled it before: a function, or the system, which ends the process. `sent`:
/// by somebody, not raised by a fault.
fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void, sent: bool) {
    type Plain = extern "C" fn(libc::c_int);
    type Informed = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let previous = PREVIOUS.get().and_then(Option::as_ref);
    match previous.map(|previous| previous.0) {
        Some(action) if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN => {
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: with this flag, the field holds a function of this type.
                let handler = unsafe { std::mem::transmute::<usize, Informed>(action.sa_sigaction) };
                handler(signal, info, context);
            } else {
                // SAFETY: without the flag, the field holds a function of this type.
                let handler = unsafe { std::mem::transmute::<usize, Plain>(action.sa_sigaction) };
                handler(signal);
            }
        }
        Some(action) if sent && action.sa_sigaction == libc::SIG_IGN => {}
        _ => {
            // SAFETY: a system call that a signal handler may make.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            // Under the default action, a faulting instruction runs again and ends the process where it is. A signal that
            // was sent would not come again.
            if sent {
                // SAFETY: as above; the signal is delivered when this handler has returned.
                unsafe { libc::raise(signal) };
            }
        }
    }
}
