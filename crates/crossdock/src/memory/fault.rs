//! The guard for files that shrink while they are mapped.
//!
//! Accessing a mapped page beyond the file's end raises `SIGBUS`, which ends the process. For
//! watched ranges a handler replaces the missing page with a page of zeros and records the address.
//! The access then continues, and a later query reports the fault. The handler accesses only the
//! table below and makes one system call.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering, fence};

use crate::error::{Error, Kind, Result};
use crate::memory::fork::ForkLock;
use crate::memory::os::fd::RawFd;
use crate::memory::os::{PageAccess, faults, files, pages};
use crate::memory::thread::stay_loaded;

/// The most ranges that can be watched at once. A fixed table, because a signal handler can neither
/// lock nor allocate.
const ENTRIES: usize = 128;

static TABLE: [WatchEntry; ENTRIES] = [const { WatchEntry::new() }; ENTRIES];

/// The number of ranges that are watched, so that a copy without guarded maps costs one load.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

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
    /// The first byte; the range begins at the multiple of [`pages::granularity`] before it.
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
            let first = offset - offset % pages::granularity() as u64;
            let byte = first + touched.saturating_sub(self.start.load(Ordering::Relaxed)) as u64;
            return Some(Error::new(
                Kind::Fault,
                format!("the mapped file shrank: its byte {byte} no longer exists"),
            ));
        }
        // If a file ends within a page, the rest of that page reads as zeros, without a fault.
        let size = files::size(self.fd.load(Ordering::Relaxed))?;
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

fn install() -> Result<()> {
    /// Held across forks, so that a child finds the handler either installed or not.
    static INSTALLED: ForkLock<Option<bool>> = ForkLock::new(None);
    let mut installed = INSTALLED.lock();
    let is_installed = *installed.get_or_insert_with(|| {
        stay_loaded();
        PAGE_SIZE.store(pages::size(), Ordering::Relaxed);
        // SAFETY: 1. `replace_watched_page` works on atomics and replaces a page, without a lock or
        // the heap; 2. `stay_loaded` has just kept this library's code loaded; 3. `INSTALLED` is
        // locked, and holds the answer of the only call.
        unsafe { faults::install(replace_watched_page) }
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

/// Replaces the page at the address with a page of zeros if the address is in a watched range.
fn replace_watched_page(address: usize) -> bool {
    let Some(entry) = TABLE.iter().find(|entry| entry.covers(address)) else { return false };
    let page_size = PAGE_SIZE.load(Ordering::Relaxed);
    let page = address & !(page_size - 1);
    let access = PageAccess::to_write(entry.writable.load(Ordering::Relaxed));
    // Recorded before the zeros become visible, so that a thread that has read them finds the
    // fault.
    let _first_only = entry.fault.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed);
    let Some(page) = NonNull::new(std::ptr::with_exposed_provenance_mut(page)) else { return false };
    // SAFETY: clause 1 of `replace`: by Watch 1 the page lies in a range that is mapped now.
    // Replacing it changes only bytes that may change at any time, since file maps are aliased.
    unsafe { pages::replace(page, page_size, access) }
}
