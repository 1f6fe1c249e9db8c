//! Locks that a forked child can take.
//!
//! A child has the memory of its parent, but only the thread that forked. A lock that another
//! thread held would stay locked in the child for ever, and its data could be half changed. So the
//! thread that forks takes all of these locks first, and parent and child release them.
//!
//! No thread takes one of these locks while it holds another; only the fork holds all of them.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::memory::os::process;

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The number of forks between the process that loaded this library and this one. A driver stores
/// it when it is loaded and compares it later: in a child, threads that the driver or the parent
/// started do not exist.
///
/// ```
/// let opened = crossdock::device::driver::generation();
/// let is_inherited = || crossdock::device::driver::generation() != opened;
/// assert!(!is_inherited()); // true in a child of this process
/// ```
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// A lock that is held across forks, for a `static` that a forked child uses as well. A child has
/// the memory of its parent, but only the thread that forked: an ordinary lock that another thread
/// held would stay locked for ever.
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
/// 1. Only a thread that forks accesses `held`: from the call of `before_fork` to the end of the
///    handler that runs after the fork, and while that thread holds the lock.
/// 2. A registered lock stays at its address until it is dropped, and its drop removes it from the
///    registry.
pub struct ForkLock<T: 'static> {
    mutex: Mutex<T>,
    held: UnsafeCell<Option<MutexGuard<'static, T>>>,
    registered: AtomicU8,
    on_fork: Option<fn(&mut T, Fork)>,
}

/// The moments of a fork at which the owner of a lock can change the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fork {
    /// In the process that forks, before it does.
    Before,
    /// In the same process, afterwards.
    InParent,
    /// In the new process.
    InChild,
}

const NEW: u8 = 0;
const REGISTERED: u8 = 1;

// SAFETY: the mutex gives one thread at a time access to the value, and by ForkLock 1 only the
// holder of the mutex accesses `held`.
unsafe impl<T: Send> Sync for ForkLock<T> {}

// SAFETY: the value is `Send`. `held` is empty except during a fork, and a lock that takes part in
// a fork is registered, so it does not move (ForkLock 2).
unsafe impl<T: Send> Send for ForkLock<T> {}

impl<T: Send> ForkLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> Self {
        Self::with(value, None)
    }

    /// An unlocked lock whose value takes part in forks, once it has been locked: `on_fork` is
    /// called under the lock at each of these moments. It takes no other lock and does not panic.
    pub(crate) const fn with_hook(value: T, on_fork: fn(&mut T, Fork)) -> Self {
        Self::with(value, Some(on_fork))
    }

    const fn with(value: T, on_fork: Option<fn(&mut T, Fork)>) -> Self {
        Self {
            mutex: Mutex::new(value),
            held: UnsafeCell::new(None),
            registered: AtomicU8::new(NEW),
            on_fork,
        }
    }

    /// Takes the lock, poisoned or not. The data must be consistent whenever code that may panic
    /// runs.
    pub fn lock(&'static self) -> MutexGuard<'static, T> {
        // SAFETY: clause 1 of `lock_in_place`: what is borrowed for `'static` never moves and is
        // never dropped.
        unsafe { self.lock_in_place() }
    }

    /// Like [`ForkLock::lock`], for a lock that is not a `static`.
    ///
    /// # Safety
    ///
    /// 1. From the first call until it is dropped, the lock stays at its address. (A `static`
    ///    does.)
    pub(crate) unsafe fn lock_in_place(&self) -> MutexGuard<'_, T> {
        if self.registered.load(Ordering::Acquire) == NEW {
            // SAFETY: clause 1 of `register` is clause 1 of `# Safety`; clause 2: `ForkLock::drop`
            // unregisters the lock.
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
        // SAFETY: only the lifetime changes. By clause 1 of `# Safety` the lock does not move, and
        // by clause 2 its drop removes the entry, so the pointer never outlives the lock.
        let lock =
            unsafe { std::mem::transmute::<NonNull<dyn AcrossFork + '_>, NonNull<dyn AcrossFork>>(lock) };
        locks.push(LockEntry(lock));
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

/// Held while a cell is set, so that no fork copies a cell that another thread is setting. The
/// child lacks that thread, so the cell would block for ever.
static SETTING: ForkLock<()> = ForkLock::new(());

/// The value of a cell, made on first use. Use this in place of [`OnceLock::get_or_init`] wherever
/// a forked child may need the value. `make` runs under no lock: two threads that arrive at the
/// same time both make a value, and one value is kept.
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

/// Foreign code runs under a lock while this value lives: see [`ForkLock::calls_out`].
#[derive(Debug)]
pub struct CallsOut(*const ());

impl Drop for CallsOut {
    fn drop(&mut self) {
        OWN.set(self.0);
    }
}

/// The two steps of holding a lock across a fork.
trait AcrossFork: Sync {
    fn take(&self);
    fn give(&self, fork: Fork);
}

impl<T: Send> AcrossFork for ForkLock<T> {
    fn take(&self) {
        if std::ptr::eq(OWN.get(), std::ptr::from_ref(self).cast()) {
            return;
        }
        let mut guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(on_fork) = self.on_fork {
            on_fork(&mut guard, Fork::Before);
        }
        // SAFETY: only the lifetime changes: `give` drops the guard while the fork holds the
        // registry, and without the registry the lock cannot be dropped.
        let guard = unsafe { std::mem::transmute::<MutexGuard<'_, T>, MutexGuard<'static, T>>(guard) };
        // SAFETY: ForkLock 1: this thread is forking and has just taken the lock, so no other
        // thread accesses `held`.
        unsafe { *self.held.get() = Some(guard) }
    }

    fn give(&self, fork: Fork) {
        // SAFETY: ForkLock 1: this thread, or the parent's thread of which it is a copy, took the
        // lock in `take` and still holds it.
        let held = unsafe { (*self.held.get()).take() };
        if let (Some(mut held), Some(on_fork)) = (held, self.on_fork) {
            on_fork(&mut held, fork);
        }
    }
}

/// # Invariants
///
/// 1. It points to a lock that is alive: the drop of a lock removes its entry.
struct LockEntry(NonNull<dyn AcrossFork>);

// SAFETY: LockEntry 1: it acts as a shared reference to a live `AcrossFork`, which is `Sync` (its
// supertrait).
unsafe impl Send for LockEntry {}

impl LockEntry {
    fn lock(&self) -> &dyn AcrossFork {
        // SAFETY: LockEntry 1: the lock is alive while its entry is in the registry, and only
        // shared references to it are made.
        unsafe { self.0.as_ref() }
    }
}

static LOCKS: Mutex<Vec<LockEntry>> = Mutex::new(Vec::new());

fn registry() -> MutexGuard<'static, Vec<LockEntry>> {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The registry's guard during a fork.
///
/// # Invariants
///
/// 1. Only a thread that forks accesses the cell: from the call of `before_fork` to the end of the
///    handler that runs after the fork, and while that thread holds the registry's lock.
struct HeldRegistry(UnsafeCell<Option<MutexGuard<'static, Vec<LockEntry>>>>);

// SAFETY: HeldRegistry 1: only the thread that holds the registry's lock accesses the cell, so the
// lock orders all accesses.
unsafe impl Sync for HeldRegistry {}

static HELD: HeldRegistry = HeldRegistry(UnsafeCell::new(None));

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
    /// registration. The handlers tolerate running several times for one fork.
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
    // SAFETY: clause 1 of `at_fork`: the three functions only lock and unlock mutexes and access
    // state of this module and of their own thread, which is permitted around a fork.
    unsafe { process::at_fork(before_fork, in_parent, in_child) }
}

/// What a layer above does in each forked child, once the locks are free: it closes descriptors
/// that only the parent may have.
static CLOSE_IN_CHILD: OnceLock<fn()> = OnceLock::new();

/// Has forked children call `close`, from the first use of a [`ForkLock`] on. There can be one such
/// function, and setting it again changes nothing.
pub(crate) fn close_in_child(close: fn()) {
    get_or_make(&CLOSE_IN_CHILD, || close);
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
    // SAFETY: HeldRegistry 1: this thread is forking and holds the registry's lock, in `locks`, so
    // no other thread accesses the cell.
    unsafe { *HELD.0.get() = Some(locks) }
}

unsafe extern "C" fn in_parent() {
    // SAFETY: clause 1 of `after_fork`: the system calls this in the parent after a fork, on the
    // thread that forked.
    unsafe { after_fork(Fork::InParent) }
}

/// Releases what [`before_fork`] took.
///
/// # Safety
///
/// 1. This thread forked, or is the copy of the one that did.
unsafe fn after_fork(fork: Fork) {
    let depth = DEPTH.get();
    // Another thread registered the handlers during this fork, so the system did not call
    // `before_fork`.
    let Some(left) = depth.checked_sub(1) else { return };
    DEPTH.set(left);
    if left > 0 {
        return;
    }
    // SAFETY: HeldRegistry 1: `depth` was 1, so this thread, or the parent's thread of which it is
    // a copy, took the registry's lock in `before_fork`.
    let Some(locks) = (unsafe { (*HELD.0.get()).take() }) else { return };
    for entry in locks.iter().rev() {
        entry.lock().give(fork);
    }
}

unsafe extern "C" fn in_child() {
    // If not, another thread registered the handlers during this fork, and may have a lock.
    let are_locks_free = DEPTH.get() == 1;
    if DEPTH.get() <= 1 {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: clause 1 of `after_fork`: the system calls this after a fork, on the only thread of
    // the child, a copy of the one that forked.
    unsafe { after_fork(Fork::InChild) }
    if are_locks_free && let Some(close) = CLOSE_IN_CHILD.get() {
        close();
    }
}

#[cfg(all(test, unix, not(loom)))]
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

    /// Whether a forked child finished its work.
    fn child_ends(does: impl FnOnce()) -> bool {
        let does = || {
            does();
            true
        };
        crossdock_testkit::status_of_child(does) == 0
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
        let (mut out, mut held) = (Some(out), Some(held));
        // The child continues where the parent was: it holds the lock, and releases it.
        assert!(child_ends(|| {
            drop(out.take());
            drop(held.take());
            drop(lock());
        }));
        drop((out, held));
        assert!(child_ends(|| drop(lock())), "the next fork holds it again");
    }
}
