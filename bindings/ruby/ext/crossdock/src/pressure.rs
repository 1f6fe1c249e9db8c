//! Reports the memory behind Ruby objects to the collector, and retries after a collection.
//!
//! A Ruby object of a few words can keep an array of gigabytes alive. Ruby sees only the words;
//! [`ReportedMemory`] reports the bytes. Each block of memory is reported once, however many
//! objects share it: a view, and a capsule that exports an array, share the [`ReportedMemory`] of
//! the array.
//!
//! The report counts objects, not memory: memory that outlives its last object (a consumer in C
//! still holds it) cannot be freed by a collection. Objects are freed on threads that hold the GVL,
//! in a sweep, and before the virtual machine ends; so no other thread reports, and nothing is
//! reported after the end.
//!
//! Memory that another Ruby object owns (a String, the producer of a MemoryView, an `IO::Buffer`)
//! is for that object to report.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::DArray;
use crossdock::memory::Backing;
use magnus::Ruby;
use magnus::rb_sys::protect;
use rb_sys::VALUE;

use crate::error::{ENOMEM, Failure, Result, errno};
use crate::handle::Wrapped;
use crate::keep;

/// After this many reported bytes, Ruby checks whether a collection is due.
const ASKED_EVERY: usize = 256 << 10;

/// Bytes reported since Ruby last checked.
static SINCE: AtomicUsize = AtomicUsize::new(0);

/// Memory that Crossdock objects keep alive: reported when it is allocated, and taken back when the
/// last of them is freed.
#[derive(Debug)]
pub(crate) struct ReportedMemory {
    nbytes: usize,
    /// The address of the data of the object that counts these bytes in `ObjectSpace.memsize_of`; 0
    /// once that object is freed.
    teller: AtomicUsize,
}

impl ReportedMemory {
    /// Reports the memory that an array keeps alive. This may run a collection.
    ///
    /// # Errors
    ///
    /// `NoMemoryError`, from the collection.
    pub(crate) fn of(array: &DArray) -> Result<Option<Arc<Self>>> {
        // An indirect array comes from another object, which reports its memory.
        Self::new(array.buffer().map_or(0, |(buffer, _)| match buffer.backing() {
            // A file with many arrays is mapped once, and each array reports its part.
            Backing::File => buffer.nbytes(),
            _ => buffer.retained_nbytes(),
        }))
    }

    /// Reports this many bytes. This may run a collection.
    ///
    /// # Errors
    ///
    /// As [`ReportedMemory::of`].
    pub(crate) fn new(nbytes: usize) -> Result<Option<Arc<Self>>> {
        if nbytes == 0 {
            return Ok(None);
        }
        adjust(nbytes as isize);
        // If `ask` fails, dropping this takes the report back.
        let kept = Arc::new(Self { nbytes, teller: AtomicUsize::new(0) });
        if SINCE.fetch_add(nbytes, Ordering::Relaxed).saturating_add(nbytes) >= ASKED_EVERY {
            SINCE.store(0, Ordering::Relaxed);
            ask()?;
        }
        Ok(Some(kept))
    }

    /// The bytes, if the object with data at this address counts them: the first object that was
    /// asked, until it is freed.
    pub(crate) fn told_by(&self, data: usize) -> usize {
        match self.teller.compare_exchange(0, data, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => self.nbytes,
            Err(teller) if teller == data => self.nbytes,
            Err(_) => 0,
        }
    }

    /// Called when the object with data at this address is freed: another object may count the
    /// bytes from now on.
    pub(crate) fn leave(&self, data: usize) {
        // Unchanged if another object counts them.
        let _other = self.teller.compare_exchange(data, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Drop for ReportedMemory {
    fn drop(&mut self) {
        adjust(-(self.nbytes as isize));
    }
}

fn adjust(nbytes: isize) {
    // SAFETY: atomically adds to counters of the virtual machine, which is alive: this runs only on
    // threads that hold the GVL, and is permitted in a sweep.
    unsafe { rb_sys::rb_gc_adjust_memory_usage(nbytes as _) };
}

/// Makes Ruby check its counters, which it does only when it allocates.
fn ask() -> Result<()> {
    protect(|| {
        // SAFETY: this thread holds the GVL, outside of a sweep. An exception leaves nothing
        // behind.
        let little = unsafe { rb_sys::ruby_xmalloc(1) };
        // SAFETY: allocated above, and no other code has the pointer.
        unsafe { rb_sys::ruby_xfree(little) };
        rb_sys::Qnil as VALUE
    })?;
    Ok(())
}

/// The bytes kept by an object that exports an array, if it is the one that counts them.
pub(crate) fn told(kept: Option<&Arc<ReportedMemory>>, data: usize) -> usize {
    kept.map_or(0, |kept| kept.told_by(data))
}

/// The memory that an export keeps: that of the array, or that of the copy made for it.
///
/// # Errors
///
/// As [`ReportedMemory::of`].
pub(crate) fn of_export(array: Wrapped, copied_nbytes: usize) -> Result<Option<Arc<ReportedMemory>>> {
    if copied_nbytes == 0 { Ok(array.kept()) } else { ReportedMemory::new(copied_nbytes) }
}

/// Runs work that needs memory or descriptors. If it runs out of them, collects and tries once
/// more: unreachable objects may hold what is lacking. Work that runs out of either must leave no
/// changes.
///
/// # Errors
///
/// Those of the work.
pub(crate) fn again<T>(ruby: &Ruby, mut work: impl FnMut() -> Result<T>) -> Result<T> {
    match work() {
        Err(failure) if is_scarcity(ruby, &failure) => {
            drop(failure);
            collect()?;
            work()
        }
        done => done,
    }
}

/// Whether a collection may help.
fn is_scarcity(ruby: &Ruby, failure: &Failure) -> bool {
    match failure {
        Failure::Raised(error) => error.is_kind_of(ruby.exception_no_mem_error()),
        Failure::System(error, _) => error.raw_os_error().is_some_and(is_scarce),
        Failure::Refused(_) | Failure::Ours(_) => failure
            .cause()
            .is_some_and(|error| error.is_out_of_memory() || errno(error).is_some_and(is_scarce)),
    }
}

/// Whether the system is out of memory (`ENOMEM`), or the process (`EMFILE`) or the machine
/// (`ENFILE`) is out of descriptors.
fn is_scarce(errno: i32) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(errno, ENOMEM | ENFILE | EMFILE)
}

/// A full collection, including deferred finalizers.
fn collect() -> Result<()> {
    protect(|| {
        // SAFETY: this thread holds the GVL, outside of a sweep. Finalizers may run Ruby code.
        unsafe { rb_sys::rb_gc() };
        rb_sys::Qnil as VALUE
    })?;
    keep::give_back();
    Ok(())
}
