//! Locks that a forked child can take.
//!
//! A child has the memory of its parent, but of its threads only the one that forked: a lock that another thread had would
//! stay locked in the child for ever, and what it guards half changed. So whoever forks takes all of these locks first,
//! and both sides give them back.
//!
//! Nobody takes one of these locks while having another; the fork alone has all of them.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often this process descends from a fork. Whoever started a thread compares: a child has none of its parent's.
static GENERATION: AtomicU64 = AtomicU64::new(0);

pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// A lock that is held across forks.
///
/// # Invariants
///
/// 1. `held` is touched only by a thread that forks, between the system's call of [`before_fork`] and of what follows the
///    fork, while that thread has the lock.
/// 2. Once it has been registered, it stays at its address until it is dropped, which takes it out of the registry.
pub(crate) struct ForkLock<T: 'static> {
    mutex: Mutex<T>,
    held: UnsafeCell<Option<MutexGuard<'static, T>>>,
    registered: AtomicU8,
}

const NEW: u8 = 0;
const REGISTERED: u8 = 1;

// SAFETY: the mutex gives the value to one thread at a time; `held` is ordered by it (ForkLock 1).
unsafe impl<T: Send> Sync for ForkLock<T> {}

// SAFETY: as for Sync; `held` is empty but while a fork is under way, which has the lock where it is.
unsafe impl<T: Send> Send for ForkLock<T> {}

impl<T: Send> ForkLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { mutex: Mutex::new(value), held: UnsafeCell::new(None), registered: AtomicU8::new(NEW) }
    }

    /// Takes the lock. What is guarded must be whole whenever code runs that may panic: a poisoned lock is taken all the same.
    ///
    /// # Safety
    ///
    /// From the first call on, until it is dropped, the lock stays where it is. (A `static` does.)
    pub(crate) unsafe fn lock(&self) -> MutexGuard<'_, T> {
        if self.registered.load(Ordering::Acquire) == NEW {
            self.register();
        }
        self.mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn register(&self) {
        hold_across_forks();
        let mut locks = registry();
        if self.registered.load(Ordering::Relaxed) == NEW && locks.try_reserve(1).is_ok() {
            let lock: NonNull<dyn AcrossFork + '_> = NonNull::from(self);
            // SAFETY: only the lifetime changes: the entry is taken out before the lock is gone (ForkLock 2, `drop`).
            let lock =
                unsafe { std::mem::transmute::<NonNull<dyn AcrossFork + '_>, NonNull<dyn AcrossFork>>(lock) };
            locks.push(Entry(lock));
            self.registered.store(REGISTERED, Ordering::Release);
        }
    }
}

impl<T: 'static> Drop for ForkLock<T> {
    fn drop(&mut self) {
        if *self.registered.get_mut() == REGISTERED {
            let this: *const () = std::ptr::from_ref(self).cast();
            registry().retain(|entry| !std::ptr::addr_eq(entry.0.as_ptr(), this));
        }
    }
}

/// The two halves of holding a lock across a fork.
trait AcrossFork: Sync {
    fn take(&self);
    fn give(&self);
}

impl<T: Send> AcrossFork for ForkLock<T> {
    fn take(&self) {
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: only the lifetime changes: the guard is dropped in `give`, while the fork has the registry, without
        // which the lock cannot be dropped.
        let guard = unsafe { std::mem::transmute::<MutexGuard<'_, T>, MutexGuard<'static, T>>(guard) };
        // SAFETY: ForkLock 1: we have the lock.
        unsafe { *self.held.get() = Some(guard) }
    }

    fn give(&self) {
        // SAFETY: ForkLock 1: this thread, or the one that it is a copy of, took the lock in `take`.
        drop(unsafe { (*self.held.get()).take() });
    }
}

/// # Invariants
///
/// 1. It points to a lock that is alive: a lock's drop takes its entry out.
struct Entry(NonNull<dyn AcrossFork>);

// SAFETY: a shared reference to something Sync (Entry 1).
unsafe impl Send for Entry {}

impl Entry {
    fn lock(&self) -> &dyn AcrossFork {
        // SAFETY: Entry 1.
        unsafe { self.0.as_ref() }
    }
}

static LOCKS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn registry() -> MutexGuard<'static, Vec<Entry>> {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The registry, while a fork is under way.
///
/// # Invariants
///
/// 1. As [`ForkLock`] 1, of the registry's lock.
struct Held(UnsafeCell<Option<MutexGuard<'static, Vec<Entry>>>>);

// SAFETY: Held 1: the lock orders all access.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

fn hold_across_forks() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    // Not a `Once`, which a fork in the middle of it would leave locked in the child.
    if !ASKED.swap(true, Ordering::Relaxed) {
        // SAFETY: the three are functions of the program, and do what may be done around a fork.
        let _no_memory = unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    }
}

unsafe extern "C" fn before_fork() {
    let locks = registry();
    for entry in locks.iter() {
        entry.lock().take();
    }
    // SAFETY: Held 1: we have the lock.
    unsafe { *HELD.0.get() = Some(locks) }
}

unsafe extern "C" fn in_parent() {
    // SAFETY: Held 1: this thread, or the one that it is a copy of, took the lock in `before_fork`.
    let Some(locks) = (unsafe { (*HELD.0.get()).take() }) else { return };
    for entry in locks.iter().rev() {
        entry.lock().give();
    }
}

unsafe extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    // SAFETY: as the parent's half.
    unsafe { in_parent() }
}
