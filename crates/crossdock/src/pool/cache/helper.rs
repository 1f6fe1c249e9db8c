//! The thread that gives back what nobody has asked for in a while. One for all caches, and only while one of them holds
//! something.
//!
//! It sleeps and looks, so that nobody has to wake it. A child of a fork does not have it, and starts its own.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::time::Duration;

use crate::memory::fork::{self, ForkLock};
use crate::memory::thread;
use crate::pool::cache::list::{Link, Node, State};

/// How often the thread looks, in milliseconds: four times in the time that a block is kept, within these bounds.
const LOOKS_PER_QUIET: u64 = 4;
const SHORTEST_PAUSE: u64 = 1;
const LONGEST_PAUSE: u64 = 250;

static ALL: ForkLock<All> = ForkLock::new(All { first: None, now: 0, helper: None });

/// What the one lock of all caches guards, beside the states themselves.
///
/// # Invariants
///
/// 1. The states from `first` on, by `next`, are alive, and touched only under the lock.
/// 2. If `helper` is the generation of this process, a thread runs in it that will look after all states, or one is about
///    to be started by whoever wrote that down.
pub(super) struct All {
    first: Option<NonNull<State>>,
    /// The time when the thread looked last, in milliseconds: new blocks are stamped with it.
    now: u64,
    helper: Option<u64>,
}

// SAFETY: the pointers are followed under the lock only (All 1).
unsafe impl Send for All {}

pub(super) fn lock() -> MutexGuard<'static, All> {
    ALL.lock()
}

impl All {
    /// When the thread looked last.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Called when something is cached. Whoever gets `true` lets go of the lock and calls [`start`].
    #[inline]
    pub(super) fn wants_helper(&mut self) -> bool {
        let generation = Some(fork::generation());
        if self.helper == generation {
            return false;
        }
        self.helper = generation;
        self.now = clock();
        true
    }

    /// # Safety
    ///
    /// The state stays alive until it is given to [`All::remove`].
    pub(super) unsafe fn add(&mut self, mut state: NonNull<State>) {
        // SAFETY: the caller's promise.
        unsafe { state.as_mut() }.next = self.first;
        if let Some(mut next) = self.first {
            // SAFETY: All 1.
            unsafe { next.as_mut() }.previous = Some(state);
        }
        self.first = Some(state);
    }

    /// Takes a state out that is in the list.
    pub(super) fn remove(&mut self, state: NonNull<State>) {
        // SAFETY: All 1.
        let State { previous, next, .. } = *unsafe { state.as_ref() };
        match previous {
            // SAFETY: All 1.
            Some(mut previous) => unsafe { previous.as_mut() }.next = next,
            None => self.first = next,
        }
        if let Some(mut next) = next {
            // SAFETY: All 1.
            unsafe { next.as_mut() }.previous = previous;
        }
    }

    fn each(&mut self, mut visit: impl FnMut(&mut State) -> Link) -> Link {
        let mut next = self.first;
        while let Some(mut state) = next {
            // SAFETY: All 1.
            let state = unsafe { state.as_mut() };
            let found = visit(state);
            if found.is_some() {
                return found;
            }
            next = state.next;
        }
        None
    }

    /// A block that nobody has asked for in its cache's time.
    fn pop_expired(&mut self) -> Link {
        let now = self.now;
        self.each(|state| {
            // What was given back between two looks was stamped with the first.
            let kept = state.quiet.saturating_add(pause(state.quiet));
            state.oldest_since().filter(|since| now.saturating_sub(*since) >= kept)?;
            state.pop_oldest()
        })
    }

    /// How long until the thread looks again, in milliseconds, or `None` where nothing is cached.
    fn next_pause(&mut self) -> Option<u64> {
        let mut shortest = None;
        self.each(|state| {
            if state.nbytes > 0 {
                shortest = Some(pause(state.quiet).min(shortest.unwrap_or(LONGEST_PAUSE)));
            }
            None
        });
        shortest
    }
}

fn pause(quiet: u64) -> u64 {
    (quiet / LOOKS_PER_QUIET).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// Gives back all that is in any cache.
fn release_all() {
    loop {
        let chain = lock().each(State::pop_all);
        if chain.is_none() {
            return;
        }
        // SAFETY: ours, as the state gave it.
        unsafe { Node::release_chain(chain) };
    }
}

/// Starts the thread. If none can be had, nothing is kept in the caches: it could stay there for ever.
#[cold]
pub(super) fn start() {
    if !thread::spawn(run) {
        lock().helper = None;
        release_all();
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    // SAFETY: the name is a C string of fewer than 16 bytes, and the thread is this one.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"crossdock-cache".as_ptr()) };
    while let Some(pause) = look() {
        std::thread::sleep(Duration::from_millis(pause));
    }
    std::ptr::null_mut()
}

/// Gives back what nobody has asked for in a while, and says when to look again: not at all where nothing is left.
fn look() -> Option<u64> {
    lock().now = clock();
    loop {
        let mut all = lock();
        let Some(expired) = all.pop_expired() else {
            let pause = all.next_pause();
            if pause.is_none() {
                all.helper = None;
            }
            return pause;
        };
        drop(all);
        // One at a time, and without the lock: the system takes a while for a large block.
        // SAFETY: ours, as the state gave it.
        unsafe { Node::release_chain(Some(expired)) };
    }
}

/// A clock that does not go back, in milliseconds.
fn clock() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr()) };
    // SAFETY: zeroed in full, and both fields are numbers.
    let now = unsafe { now.assume_init() };
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}
