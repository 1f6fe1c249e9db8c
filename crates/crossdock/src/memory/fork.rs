//! Locks that a forked child can take.
//!
//! A child has the memory of its parent, but of its threads only the one that forked: a lock that
//! another thread had would stay locked in the child for ever, and what it guards half changed. So
//! the thread that forks takes all of these locks first, and parent and child release them.
//!
//! No thread takes one of these locks while it holds another; only the fork holds all of them.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// How many forks lie between the process that loaded this library and this one. A driver stores it
/// when it is loaded and compares: in a child, the driver's threads, and those that the parent
/// started, do not exist.
///
/// ```
/// let opened = crossdock::device::driver::generation();
/// let is_inherited = || crossdock::device::driver::generation() != opened;
/// assert!(!is_inherited()); // true in a child of this process
/// ```
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// A lock that is held across forks, for a `static` that a forked child uses as well: a child has
/// the memory of its parent, but of its threads only the one that forked, so that an ordinary lock
/// that another thread had would stay locked for ever.
///
/// No thread takes one of these locks while it holds another.
///
/// ```
/// use crossdock::device::driver::ForkLock;
///
/// static OPENED: ForkLock<Vec<String>> = ForkLock::new(Vec::new());
/// OPENED.lock().push("libdriver.so".to_owned());
/// assert_eq!(OPENED.lock().len(), 1);
/// ```
///
/// # Invariants
///
/// 1. `held` is touched only by a thread that forks, between the system's call of `before_fork` and
///    of what follows the fork, while that thread has the lock.
/// 2. Once it has been registered, it stays at its address until it is dropped, which takes it out
///    of the registry.
pub struct ForkLock<T: 'static> {
    mutex: Mutex<T>,
    held: UnsafeCell<Option<MutexGuard<'static, T>>>,
    registered: AtomicU8,
}

const NEW: u8 = 0;
const REGISTERED: u8 = 1;

// SAFETY: the mutex gives the value to one thread at a time; `held` is ordered by it (ForkLock 1).
unsafe impl<T: Send> Sync for ForkLock<T> {}

// SAFETY: as for Sync; `held` is empty but while a fork is under way, which has the lock where it
// is.
unsafe impl<T: Send> Send for ForkLock<T> {}

impl<T: Send> ForkLock<T> {
    /// A lock that is free.
    pub const fn new(value: T) -> Self {
        Self { mutex: Mutex::new(value), held: UnsafeCell::new(None), registered: AtomicU8::new(NEW) }
    }

    /// Takes the lock. What is guarded must be whole whenever code runs that may panic: a poisoned
    /// lock is taken all the same.
    pub fn lock(&'static self) -> MutexGuard<'static, T> {
        // SAFETY: what is borrowed for `'static` stays where it is, and is never dropped.
        unsafe { self.lock_in_place() }
    }

    /// As [`ForkLock::lock`], for a lock that is not a `static`.
    ///
    /// # Safety
    ///
    /// From the first call on, until it is dropped, the lock stays where it is. (A `static` does.)
    pub(crate) unsafe fn lock_in_place(&self) -> MutexGuard<'_, T> {
        if self.registered.load(Ordering::Acquire) == NEW {
            // SAFETY: clause 1 is this function's own contract, and `drop` unregisters the lock.
            unsafe { register(NonNull::from(self), &self.registered) };
        }
        self.mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks that foreign code runs under this lock, which the caller holds, until the result is
    /// dropped. If that code forks, the fork handlers leave the lock to this thread, in the parent
    /// and in the child.
    #[must_use = "the mark lasts until the result is dropped"]
    pub fn calls_out(&self) -> CallsOut {
        CallsOut(OWN.replace(std::ptr::from_ref(self).cast()))
    }
}

/// Registers a lock, whose field `registered` is the second argument. Not generic: one copy serves
/// all locks.
///
/// # Safety
///
/// 1. The lock stays where it is until it is dropped.
/// 2. Its drop calls [`unregister`] if `registered` is [`REGISTERED`].
#[cold]
unsafe fn register(lock: NonNull<dyn AcrossFork + '_>, registered: &AtomicU8) {
    // If the system is out of memory, the next thread that takes the lock tries again.
    if !HANDLERS.ensure(register_handlers) {
        return;
    }
    let mut locks = registry();
    if registered.load(Ordering::Relaxed) == NEW && locks.try_reserve(1).is_ok() {
        // SAFETY: only the lifetime changes: by clauses 1 and 2 the entry is taken out before the
        // lock is gone.
        let lock =
            unsafe { std::mem::transmute::<NonNull<dyn AcrossFork + '_>, NonNull<dyn AcrossFork>>(lock) };
        locks.push(Entry(lock));
        registered.store(REGISTERED, Ordering::Release);
    }
}

fn unregister(lock: *const ()) {
    registry().retain(|entry| !std::ptr::addr_eq(entry.0.as_ptr(), lock));
}

impl<T> fmt::Debug for ForkLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForkLock")
    }
}

impl<T: 'static> Drop for ForkLock<T> {
    fn drop(&mut self) {
        if *self.registered.get_mut() == REGISTERED {
            unregister(std::ptr::from_ref(self).cast());
        }
    }
}

/// Held while a cell gets its value, so that no fork copies a cell that a thread is in the middle
/// of setting: in the child that thread does not exist, and the cell would block for ever.
static SETTING: ForkLock<()> = ForkLock::new(());

/// The value of a cell, made on first use. Use this in place of [`OnceLock::get_or_init`] wherever
/// a forked child may ask. `make` runs under no lock: two threads that come first at the same time
/// both make a value, and one value is kept.
pub(crate) fn get_or_make<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(value) => value,
        None => set(cell, make()),
    }
}

#[cold]
fn set<T>(cell: &OnceLock<T>, made: T) -> &T {
    let setting = SETTING.lock();
    let second = cell.set(made);
    // Dropping a second value can take other locks.
    drop(setting);
    drop(second);
    cell.get().expect("this thread set the cell, or another thread did before")
}

thread_local! {
    /// The lock that this thread holds while it runs foreign code, or null.
    static OWN: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
    /// The depth of [`before_fork`] calls on this thread: the handlers may be registered more than
    /// once.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Foreign code runs under a lock while this lives: see [`ForkLock::calls_out`].
#[derive(Debug)]
pub struct CallsOut(*const ());

impl Drop for CallsOut {
    fn drop(&mut self) {
        OWN.set(self.0);
    }
}

/// The two halves of holding a lock across a fork.
trait AcrossFork: Sync {
    fn take(&self);
    fn give(&self);
}

impl<T: Send> AcrossFork for ForkLock<T> {
    fn take(&self) {
        if std::ptr::eq(OWN.get(), std::ptr::from_ref(self).cast()) {
            return;
        }
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: only the lifetime changes: the guard is dropped in `give`, while the fork has the
        // registry, without which the lock cannot be dropped.
        let guard = unsafe { std::mem::transmute::<MutexGuard<'_, T>, MutexGuard<'static, T>>(guard) };
        // SAFETY: ForkLock 1: we have the lock.
        unsafe { *self.held.get() = Some(guard) }
    }

    fn give(&self) {
        // SAFETY: ForkLock 1: this thread, or the one that it is a copy of, took the lock in
        // `take`.
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

/// Whether the handlers are registered with the system.
struct Handlers {
    are_registered: AtomicBool,
}

static HANDLERS: Handlers = Handlers { are_registered: AtomicBool::new(false) };

impl Handlers {
    /// Registers the handlers if they are not registered yet, and returns whether they are now. If
    /// so, a call of `register` has returned, and any fork that begins later runs them.
    ///
    /// Not a `Once`: a fork in the middle of it would leave it locked in the child. Two threads can
    /// both register instead, and so can a child forked before its parent recorded the
    /// registration; the handlers tolerate running several times for one fork.
    fn ensure(&self, register: impl FnOnce() -> bool) -> bool {
        if self.are_registered.load(Ordering::Acquire) {
            return true;
        }
        let done = register();
        if done {
            self.are_registered.store(true, Ordering::Release);
        }
        done
    }
}

fn register_handlers() -> bool {
    // SAFETY: the three handlers are functions of this program, and do only what is permitted
    // around a fork.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) == 0 }
}

unsafe extern "C" fn before_fork() {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    if depth > 0 {
        return;
    }
    let locks = registry();
    for entry in locks.iter() {
        entry.lock().take();
    }
    // SAFETY: Held 1: we have the lock.
    unsafe { *HELD.0.get() = Some(locks) }
}

unsafe extern "C" fn in_parent() {
    let depth = DEPTH.get();
    // Another thread registered the handlers during this fork, so `before_fork` was not called for
    // it.
    let Some(left) = depth.checked_sub(1) else { return };
    DEPTH.set(left);
    if left > 0 {
        return;
    }
    // SAFETY: Held 1: this thread, or the one that it is a copy of, took the lock in `before_fork`.
    let Some(locks) = (unsafe { (*HELD.0.get()).take() }) else { return };
    for entry in locks.iter().rev() {
        entry.lock().give();
    }
}

unsafe extern "C" fn in_child() {
    if DEPTH.get() <= 1 {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the system calls this after a fork, as `in_parent` requires.
    unsafe { in_parent() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn handlers_count_as_registered_when_the_system_has_them_and_not_before() {
        let handlers = Handlers { are_registered: AtomicBool::new(false) };
        let mut calls = 0;
        // The system is out of memory: the next call tries again.
        assert!(!handlers.ensure(|| false));
        let inner = || {
            // A second thread arrives during the registration: it registers, too, instead of
            // relying on the first.
            assert!(handlers.ensure(|| {
                calls += 1;
                true
            }));
            true
        };
        assert!(handlers.ensure(inner));
        assert_eq!(calls, 1);
        assert!(handlers.ensure(|| unreachable!("they are registered")));
    }

    /// Whether a forked child finished its work. A child that hangs is killed by the alarm.
    fn child_ends(does: impl FnOnce()) -> bool {
        // SAFETY: the child only takes a lock and ends by `_exit`.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "no process could be made");
        if pid == 0 {
            // SAFETY: `alarm` accesses no memory.
            unsafe { libc::alarm(60) };
            does();
            // SAFETY: `_exit` ends the child without running the parent's destructors.
            unsafe { libc::_exit(0) }
        }
        let mut status = 0;
        // SAFETY: `waitpid` writes to `status`, which lives until it returns.
        let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        ended == pid && status == 0
    }

    static LOCK: ForkLock<u32> = ForkLock::new(0);

    fn lock() -> MutexGuard<'static, u32> {
        LOCK.lock()
    }

    #[test]
    fn handlers_that_are_registered_several_times_hold_the_locks_once() {
        assert!(register_handlers() && register_handlers());
        let before = *lock();
        let generation = generation();
        assert!(child_ends(|| {
            *lock() += 1;
            assert_ne!(super::generation(), generation);
        }));
        assert_eq!(*lock(), before);
    }

    #[test]
    fn a_child_gets_the_value_that_another_thread_was_making() {
        static CELL: OnceLock<u32> = OnceLock::new();
        let (begun, go_on) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                *get_or_make(&CELL, || {
                    begun.wait();
                    go_on.wait();
                    1
                })
            });
            begun.wait();
            let child = child_ends(|| assert_eq!(*get_or_make(&CELL, || 2), 2));
            go_on.wait();
            assert!(child, "the child waited for a thread that it does not have");
            assert_eq!(made.join().unwrap(), 1);
        });
        assert_eq!(*get_or_make(&CELL, || 3), 1);
    }

    #[test]
    fn a_value_may_be_made_of_another() {
        static CELLS: [OnceLock<u32>; 2] = [const { OnceLock::new() }; 2];
        assert_eq!(*get_or_make(&CELLS[0], || 1 + *get_or_make(&CELLS[1], || 5)), 6);
    }

    #[test]
    fn code_of_another_library_may_fork_under_a_lock() {
        let held = lock();
        let out = LOCK.calls_out();
        let child = |held| {
            // The child continues where the parent was: it holds the lock, and releases it.
            drop::<MutexGuard<'_, u32>>(held);
            drop(lock());
        };
        // SAFETY: the child only takes a lock and ends by `_exit`.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "no process could be made");
        if pid == 0 {
            // SAFETY: `alarm` accesses no memory.
            unsafe { libc::alarm(60) };
            drop(out);
            child(held);
            // SAFETY: `_exit` ends the child without running the parent's destructors.
            unsafe { libc::_exit(0) }
        }
        let mut status = 0;
        // SAFETY: `waitpid` writes to `status`, which lives until it returns.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0);
        drop((out, held));
        assert!(child_ends(|| drop(lock())), "the next fork holds it again");
    }
}
