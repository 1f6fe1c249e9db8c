//! Large blocks that were freed a moment ago and may be wanted again: what was resident stays so for a while.
//!
//! Taking and giving back cost one lock and a few pointers each. What nobody has asked for during the quiet time goes back
//! to the system, which needs no further call ([`helper`]).

mod helper;
mod list;
#[cfg(all(test, not(loom)))]
mod tests;

use std::alloc::Layout as AllocLayout;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::time::Duration;

use crate::memory::header::Header;
use crate::pool::cache::helper::All;
use crate::pool::cache::list::{Link, Node, State, free_slot, new_slot};
use crate::pool::hints::Hints;
use crate::pool::mapped::{self, class_nbytes};

/// A mapped block, of [`class_nbytes`] of what was asked for, and the place of its header, which is apart from it.
pub(crate) struct MappedBlock {
    pub(crate) base: NonNull<u8>,
    /// Room for a header, not initialised.
    pub(crate) header: NonNull<Header>,
    /// Nobody has written to it: every byte is 0.
    pub(crate) zeroed: bool,
}

/// Large blocks, some of which are kept for a while after they are freed.
///
/// # Invariants
///
/// 1. `state` is touched only under the lock of all caches. Once it is set it stays, and is alive and in their list until
///    the cache is dropped.
pub(crate) struct Cache {
    limit_nbytes: usize,
    quiet: Duration,
    state: UnsafeCell<Option<NonNull<State>>>,
}

// SAFETY: the state is behind a pointer, and touched under the lock (Cache 1); its blocks are nobody's.
unsafe impl Send for Cache {}
// SAFETY: as for Send.
unsafe impl Sync for Cache {}

impl Cache {
    /// A cache that holds `limit_nbytes` bytes at most, each block for about `quiet` (a quarter more, and up to a quarter
    /// of a second). Holds nothing where either is zero.
    pub(crate) const fn new(limit_nbytes: usize, quiet: Duration) -> Self {
        Self { limit_nbytes, quiet, state: UnsafeCell::new(None) }
    }

    /// A block of [`class_nbytes`]`(nbytes)` bytes: one from the cache, or a new mapping. Where there is no memory, the
    /// cache gives back what it holds before a last attempt. `None`: out of memory.
    #[inline]
    pub(crate) fn take(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        let nbytes = class_nbytes(nbytes)?;
        match self.take_cached(nbytes, hints) {
            Some(block) => Some(block),
            None => self.map(nbytes, hints),
        }
    }

    /// As [`Cache::take`], for what has grown already and will probably grow again: where a larger block is cached, this is
    /// its front, and [`Cache::resize`] then goes on into what is left of it, without a system call and without touching
    /// new pages. What is left stays cached, and goes back to the system in time like the rest.
    pub(crate) fn take_growing(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        let class = class_nbytes(nbytes)?;
        let front = if hints.is_common() { self.take_front(class, hints) } else { None };
        front.or_else(|| self.take(class, hints))
    }

    fn take_front(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        let slot = new_slot()?;
        let mut all = helper::lock();
        let wants_helper = self.state(&mut all).is_some_and(|state| state.nbytes > 0) && all.wants_helper();
        let now = all.now();
        let front = self.state(&mut all).and_then(|state| state.split_largest(nbytes, now));
        drop(all);
        if wants_helper {
            helper::start();
        }
        let Some(base) = front else {
            // SAFETY: new.
            unsafe { free_slot(slot) };
            return None;
        };
        if hints.is_populated() {
            mapped::populate(base, nbytes);
        }
        Some(MappedBlock { base, header: slot.cast(), zeroed: false })
    }

    #[inline]
    fn take_cached(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        if !hints.is_common() {
            return None;
        }
        let mut all = helper::lock();
        let state = self.state(&mut all)?;
        let node = state.pop(nbytes);
        let wants_helper = state.nbytes > 0 && all.wants_helper();
        drop(all);
        if wants_helper {
            helper::start();
        }
        let node = node?;
        // SAFETY: Node 1: alive, and ours now.
        let base = unsafe { node.as_ref() }.base;
        if hints.is_populated() {
            mapped::populate(base, nbytes);
        }
        Some(MappedBlock { base, header: node.cast(), zeroed: false })
    }

    #[cold]
    fn map(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        self.prepare();
        let fresh = || {
            let slot = new_slot()?;
            let Some(base) = mapped::map(nbytes, hints) else {
                // SAFETY: new.
                unsafe { free_slot(slot) };
                return None;
            };
            Some(MappedBlock { base, header: slot.cast(), zeroed: true })
        };
        fresh().or_else(|| if self.trim() > 0 { fresh() } else { None })
    }

    /// Takes a block back, and keeps it for a while if `cacheable`. Takes no memory and cannot fail.
    ///
    /// # Safety
    ///
    /// The block and the place of its header come from this cache ([`Cache::take`], [`Cache::take_growing`]), or the block
    /// from its [`Cache::resize`]; `nbytes` is its class's size; nobody uses either any more. If `cacheable`, it was taken
    /// and resized with hints that are common.
    #[inline]
    pub(crate) unsafe fn give(
        &self,
        base: NonNull<u8>,
        nbytes: usize,
        header: NonNull<Header>,
        cacheable: bool,
    ) {
        let mut node = header.cast::<Node>();
        // SAFETY: a slot, which has room for a node, and nobody uses it.
        unsafe { node.write(Node::new(base, nbytes)) };
        // SAFETY: the end of the block.
        let end = unsafe { base.add(nbytes) };
        let mut surplus = Some(node);
        let mut rest = None;
        let mut wants_helper = false;
        let mut all = helper::lock();
        if let Some(state) = self.state(&mut all) {
            rest = state.pop_behind(end);
            // SAFETY: written above, and the caller's.
            let block = unsafe { node.as_mut() };
            // SAFETY: ours, as the state gave it.
            block.nbytes += rest.map_or(0, |rest| unsafe { rest.as_ref() }.nbytes);
            if cacheable && block.nbytes <= self.limit_nbytes {
                surplus = make_room(state, self.limit_nbytes - block.nbytes);
                wants_helper = all.wants_helper();
                let now = all.now();
                if let Some(state) = self.state(&mut all) {
                    // SAFETY: written above, the caller's until now, and in no chain.
                    unsafe { state.push(node, now) };
                }
            }
        }
        drop(all);
        if let Some(rest) = rest {
            // SAFETY: ours; what it described belongs to the block now (Node 2: the same mapping).
            unsafe { free_slot(rest.cast()) };
        }
        if surplus.is_some() {
            // SAFETY: ours: what was given, or what the state gave up for it.
            unsafe { Node::release_chain(surplus) };
        }
        if wants_helper {
            helper::start();
        }
    }

    /// Makes a block larger or smaller: from the class of one size to that of another. What it holds stays, up to the
    /// smaller size, and what is behind that holds anything. Nothing is copied, but the pages may move, to a place that is
    /// aligned as that of a new block is. `None`: out of memory, and nothing has changed.
    ///
    /// # Safety
    ///
    /// `base` is a block of `old_nbytes` bytes from this cache: from [`Cache::take`], [`Cache::take_growing`] or from here;
    /// both sizes are classes'; nobody uses the block.
    pub(crate) unsafe fn resize(
        &self,
        base: NonNull<u8>,
        old_nbytes: usize,
        new_nbytes: usize,
        hints: Hints,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        let resize = || unsafe { self.resize_once(base, old_nbytes, new_nbytes, hints) };
        resize().or_else(|| if self.trim() > 0 { resize() } else { None })
    }

    /// # Safety
    ///
    /// As [`Cache::resize`].
    unsafe fn resize_once(
        &self,
        base: NonNull<u8>,
        old: usize,
        new: usize,
        hints: Hints,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the end of the block.
        let end = unsafe { base.add(old) };
        let rest = self.state(&mut helper::lock()).and_then(|state| state.pop_behind(end));
        let Some(mut node) = rest else {
            // SAFETY: the caller's promise.
            return unsafe { mapped::resize(base, old, new, hints) };
        };
        // SAFETY: ours, as the state gave it.
        let rest = unsafe { node.as_mut() };
        let whole = old + rest.nbytes;
        let result = if new <= whole {
            // SAFETY: within the block and its remainder, which are of one mapping (Node 2).
            rest.base = unsafe { base.add(new) };
            rest.nbytes = whole - new;
            Some(base)
        } else {
            // SAFETY: the caller's promise; with its remainder, it is a block again (Node 2).
            let moved = unsafe { mapped::resize(base, whole, new, hints) };
            if moved.is_some() {
                rest.nbytes = 0;
            }
            moved
        };
        if rest.nbytes > 0 {
            // SAFETY: ours, and it begins where the block ends.
            unsafe { self.keep_remainder(node) };
        } else {
            // SAFETY: ours, and it describes nothing any more.
            unsafe { free_slot(node.cast()) };
        }
        if hints.is_populated()
            && let Some(base) = result
        {
            mapped::populate(base, new);
        }
        result
    }

    /// # Safety
    ///
    /// The caller has the node, which is a remainder.
    unsafe fn keep_remainder(&self, node: NonNull<Node>) {
        let mut all = helper::lock();
        let wants_helper = all.wants_helper();
        let now = all.now();
        let mut surplus = None;
        if let Some(state) = self.state(&mut all) {
            // SAFETY: the caller's promise.
            unsafe { state.push_remainder(node, now) };
            surplus = make_room(state, self.limit_nbytes);
        }
        drop(all);
        // SAFETY: ours, as the state gave it.
        unsafe { Node::release_chain(surplus) };
        if wants_helper {
            helper::start();
        }
    }

    /// Gives all that is cached back to the system now, and says how many bytes that were.
    pub(crate) fn trim(&self) -> usize {
        let chain = self.state(&mut helper::lock()).and_then(State::pop_all);
        // SAFETY: ours, as the state gave it.
        unsafe { Node::release_chain(chain) }
    }

    /// How many bytes are cached now.
    pub(crate) fn cached_nbytes(&self) -> usize {
        self.state(&mut helper::lock()).map_or(0, |state| state.nbytes)
    }

    #[inline]
    fn state<'a>(&self, _all: &'a mut MutexGuard<'static, All>) -> Option<&'a mut State> {
        // SAFETY: Cache 1: the lock is held.
        let state = unsafe { *self.state.get() };
        // SAFETY: Cache 1: alive, and the lock is held for as long as the reference lives.
        state.map(|mut state| unsafe { state.as_mut() })
    }

    /// Makes the state, so that giving back needs no memory. Where there is none, nothing is cached.
    fn prepare(&self) {
        if self.limit_nbytes == 0 || self.quiet.is_zero() || self.state(&mut helper::lock()).is_some() {
            return;
        }
        // SAFETY: a state is not zero-sized.
        let fresh = unsafe { std::alloc::alloc(STATE) }.cast::<State>();
        let Some(fresh) = NonNull::new(fresh) else { return };
        let quiet = u64::try_from(self.quiet.as_millis()).unwrap_or(u64::MAX / 2);
        // SAFETY: allocated above with the layout of a state.
        unsafe { fresh.write(State::new(quiet)) };
        let mut all = helper::lock();
        // SAFETY: Cache 1: the lock is held.
        let state = unsafe { &mut *self.state.get() };
        if state.is_none() {
            *state = Some(fresh);
            // SAFETY: alive until `drop`, which takes it out.
            unsafe { all.add(fresh) };
        } else {
            drop(all);
            // SAFETY: allocated above with the same layout; nobody knows of it.
            unsafe { std::alloc::dealloc(fresh.as_ptr().cast(), STATE) };
        }
    }
}

const STATE: AllocLayout = AllocLayout::new::<State>();

/// Takes the oldest blocks out until there are `nbytes` bytes at most: a chain that becomes the caller's.
#[inline]
fn make_room(state: &mut State, nbytes: usize) -> Link {
    let mut chain = None;
    while state.nbytes > nbytes {
        let Some(mut oldest) = state.pop_oldest() else { break };
        // SAFETY: ours, as the state gave it.
        unsafe { oldest.as_mut() }.set_next(chain);
        chain = Some(oldest);
    }
    chain
}

impl Drop for Cache {
    fn drop(&mut self) {
        let Some(mut state) = *self.state.get_mut() else { return };
        let mut all = helper::lock();
        all.remove(state);
        // SAFETY: Cache 1: alive, and the lock is held.
        let chain = unsafe { state.as_mut() }.pop_all();
        drop(all);
        // SAFETY: ours, as the state gave it.
        unsafe { Node::release_chain(chain) };
        // SAFETY: allocated in `prepare` with the same layout; it is in no list any more.
        unsafe { std::alloc::dealloc(state.as_ptr().cast(), STATE) };
    }
}
