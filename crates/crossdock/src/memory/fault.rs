//! The guard for files that shrink while they are mapped.
//!
//! Touching a page of a map behind the file's end raises `SIGBUS`, which ends the process. For ranges that are watched, a
//! handler puts a page of zeros in the place of the one that is gone and notes the address; the access goes on, and
//! whoever asks afterwards is told. The handler touches only the table below and makes one system call.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Kind, Result};

/// How many ranges can be watched at once. A fixed table, because a signal handler can neither lock nor allocate.
const SLOTS: usize = 128;

static TABLE: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

/// What was in force before the handler was installed. Set once, before any range is watched.
static PREVIOUS: OnceLock<Option<Previous>> = OnceLock::new();

struct Previous(libc::sigaction);

// SAFETY: a plain record; the function it names may be called on any thread, being a signal handler.
unsafe impl Send for Previous {}
// SAFETY: as for Send.
unsafe impl Sync for Previous {}

struct Slot {
    used: AtomicBool,
    /// The watched range. `start` is written last and cleared first: while it is not zero, the slot is complete.
    start: AtomicUsize,
    end: AtomicUsize,
    /// The first address that faulted, or 0.
    fault: AtomicUsize,
}

impl Slot {
    const fn new() -> Self {
        Self {
            used: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            fault: AtomicUsize::new(0),
        }
    }
}

/// A range that is watched until this is dropped.
pub(crate) struct Watch(&'static Slot);

impl Watch {
    /// Watches a mapped range, page by page. The caller drops the watch before it unmaps the range.
    pub(crate) fn new(base: NonNull<u8>, nbytes: usize) -> Result<Self> {
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
        slot.fault.store(0, Ordering::Relaxed);
        slot.end.store(start + nbytes, Ordering::Relaxed);
        slot.start.store(start, Ordering::Release);
        Ok(Self(slot))
    }

    /// The first address of the range that was gone when it was touched.
    pub(crate) fn fault(&self) -> Option<usize> {
        Some(self.0.fault.load(Ordering::Acquire)).filter(|&address| address != 0)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.start.store(0, Ordering::Release);
        self.0.used.store(false, Ordering::Release);
    }
}

fn install() -> Result<()> {
    let previous = PREVIOUS.get_or_init(|| {
        let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        // SAFETY: zeroed in full; every field of the record is a number, for which zero is a value.
        let fields = unsafe { action.assume_init_mut() };
        fields.sa_sigaction = handler as usize;
        fields.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: both records are valid for the call, and the handler keeps to what a handler may do.
        let failed = unsafe { libc::sigaction(libc::SIGBUS, action.as_ptr(), previous.as_mut_ptr()) } != 0;
        // SAFETY: zeroed in full, and written by the call that succeeded.
        (!failed).then(|| Previous(unsafe { previous.assume_init() }))
    });
    match previous {
        Some(_) => Ok(()),
        None => Err(Error::new(Kind::Io, "the handler that guards mapped files could not be installed")),
    }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the system passes a valid record.
    let fault = unsafe { &*info };
    // SAFETY: of SIGBUS, for which alone the handler is installed, the record holds an address.
    let address = unsafe { fault.si_addr() }.addr();
    if !replace_watched_page(address) {
        forward(signal, info, context);
    }
}

/// Puts a page of zeros where the address lies, if it lies in a watched range.
fn replace_watched_page(address: usize) -> bool {
    let slot = TABLE.iter().find(|slot| {
        let start = slot.start.load(Ordering::Acquire);
        start != 0 && (start..slot.end.load(Ordering::Relaxed)).contains(&address)
    });
    let Some(slot) = slot else { return false };
    // SAFETY: asks for a constant of the system, which a signal handler may do.
    let page_size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page_size) = usize::try_from(page_size) else { return false };
    let page = address & !(page_size - 1);
    // SAFETY: the page lies in a range that its owner mapped and has not unmapped (Watch::new). Replacing it changes
    // bytes that may change at any time anyway: file maps are aliased.
    let fresh = unsafe {
        libc::mmap(
            std::ptr::with_exposed_provenance_mut(page),
            page_size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    if fresh == libc::MAP_FAILED {
        return false;
    }
    let _first_only = slot.fault.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed);
    true
}

/// Hands a fault that is not ours to whoever handled it before: a function, or the system, which ends the process.
fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
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
        // The faulting instruction runs again under the default action.
        // SAFETY: a system call that a signal handler may make.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}
