//! The thread that releases cached blocks after their quiet time. One serves all caches, and only
//! while one of them holds a block.
//!
//! It polls, so that no thread has to wake it. A forked child does not have it, and starts its own.
//!
//! Reasons: `DESIGN.md`, "A clock returns cached memory".

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::time::Duration;

use crate::memory::fork::{self, Fork, ForkLock};
use crate::memory::os::{process, threads};
use crate::memory::thread;
use crate::pool::cache::list::{CacheState, Link, Node};

/// How often the thread looks: four times per quiet time, with a pause of milliseconds within these
/// bounds.
const LOOKS_PER_QUIET: u64 = 4;
const SHORTEST_PAUSE: u64 = 1;
const LONGEST_PAUSE: u64 = 250;

static ALL: ForkLock<All> = ForkLock::with_hook(All { first: None, now: 0, helper: None }, on_fork);

/// What the lock of all caches guards, besides the states themselves.
///
/// # Invariants
///
/// 1. The states from `first` on, linked by `next`, are alive and accessed only under the lock.
/// 2. If `helper` is the generation of this process, a thread of this process will visit all
///    states, or the thread that stored the generation is about to start it.
pub(super) struct All {
    first: Option<NonNull<CacheState>>,
    /// When the thread last looked, in milliseconds: new blocks are stamped with it.
    now: u64,
    helper: Option<u64>,
}

// SAFETY: All 1: the states that the pointers lead to are accessed under the lock only, on any
// thread.
unsafe impl Send for All {}

pub(super) fn lock() -> MutexGuard<'static, All> {
    ALL.lock()
}

impl All {
    /// When the thread last looked.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Called when a block is cached. On `true` the caller must release the lock and call
    /// [`start`].
    #[inline]
    pub(super) fn wants_helper(&mut self) -> bool {
        let generation = Some(fork::generation());
        if self.helper == generation {
            return false;
        }
        self.helper = generation;
        self.now = process::milliseconds();
        true
    }

    /// # Safety
    ///
    /// 1. The state stays alive until [`All::remove`] is called with it.
    pub(super) unsafe fn add(&mut self, mut state: NonNull<CacheState>) {
        // SAFETY: clause 1 of `# Safety`: the state is alive; it is in no list yet, and the lock is
        // held.
        unsafe { state.as_mut() }.next = self.first;
        if let Some(mut next) = self.first {
            // SAFETY: All 1: the first state of the list is alive, and `&mut self` shows that the
            // lock is held.
            unsafe { next.as_mut() }.previous = Some(state);
        }
        self.first = Some(state);
    }

    /// Removes a state from the list.
    ///
    /// # Safety
    ///
    /// 1. The state is in the list.
    pub(super) unsafe fn remove(&mut self, state: NonNull<CacheState>) {
        // SAFETY: clause 1 of `# Safety` and All 1: the state is in the list, so it is alive, and
        // `&mut self` shows that the lock is held.
        let CacheState { previous, next, .. } = *unsafe { state.as_ref() };
        match previous {
            // SAFETY: All 1: `previous` is in the list, so it is alive, and `&mut self` shows that
            // the lock is held.
            Some(mut previous) => unsafe { previous.as_mut() }.next = next,
            None => self.first = next,
        }
        if let Some(mut next) = next {
            // SAFETY: All 1: `next` is in the list, so it is alive, and `&mut self` shows that the
            // lock is held.
            unsafe { next.as_mut() }.previous = previous;
        }
    }

    fn each(&mut self, mut visit: impl FnMut(&mut CacheState) -> Link) -> Link {
        let mut next = self.first;
        while let Some(mut state) = next {
            // SAFETY: All 1: the state is in the list, so it is alive, and `&mut self` shows that
            // the lock is held.
            let state = unsafe { state.as_mut() };
            let found = visit(state);
            if found.is_some() {
                return found;
            }
            next = state.next;
        }
        None
    }

    /// A block whose quiet time has passed.
    fn pop_expired(&mut self) -> Link {
        let now = self.now;
        self.each(|state| {
            // A block released between two looks has the time of the first.
            let kept = state.quiet.saturating_add(pause(state.quiet));
            state.oldest_since().filter(|since| now.saturating_sub(*since) >= kept)?;
            state.pop_oldest()
        })
    }

    /// The time until the next look, in milliseconds, or `None` if nothing is cached.
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

/// A child has no use for cached shared memory: its parent uses the same pages for new blocks.
fn on_fork(all: &mut All, fork: Fork) {
    if fork == Fork::InChild {
        all.each(|state| {
            let chain = if state.is_shareable { state.pop_all() } else { None };
            // SAFETY: clause 1 of `release_chain`: `pop_all` took the chain out of its state.
            unsafe { Node::release_chain(chain) };
            None
        });
    }
}

/// Releases all blocks of all caches.
fn release_all() {
    loop {
        let chain = lock().each(CacheState::pop_all);
        if chain.is_none() {
            return;
        }
        // SAFETY: clause 1 of `release_chain`: `pop_all` took the chain out of its state and passed
        // it to this function.
        unsafe { Node::release_chain(chain) };
    }
}

/// Starts the thread. If that fails, the caches are emptied, because their blocks could stay for
/// ever.
#[cold]
pub(super) fn start() {
    if !thread::spawn(run) {
        lock().helper = None;
        release_all();
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    threads::name_this_thread(c"crossdock-cache");
    while let Some(pause) = look() {
        std::thread::sleep(Duration::from_millis(pause));
    }
    std::ptr::null_mut()
}

/// Releases blocks whose quiet time has passed, and returns the pause until the next look; `None`
/// if nothing is left.
fn look() -> Option<u64> {
    lock().now = process::milliseconds();
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
        // One at a time and without the lock, because unmapping a large block takes a while.
        // SAFETY: clause 1 of `release_chain`: `pop_expired` took this one block out of its state
        // and passed it to this function.
        unsafe { Node::release_chain(Some(expired)) };
    }
}
