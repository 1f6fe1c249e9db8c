//! Recently freed large blocks, kept resident for a while for the next request.
//!
//! Taking and returning a block costs one lock and a few pointer updates each. Blocks that stay
//! unused for the quiet time are returned to the system by a helper thread ([`helper`]).

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
use crate::memory::memfd::Memfd;
use crate::memory::os::pages;
use crate::pool::cache::helper::All;
use crate::pool::cache::list::{CacheState, Link, Node, free_node_memory, new_node_memory};
use crate::pool::hints::Hints;
use crate::pool::mapped::{self, class_nbytes};

/// A mapped block, of [`class_nbytes`] of the requested size, and the place of its header, which
/// lies elsewhere.
pub(crate) struct MappedBlock {
    pub(crate) base: NonNull<u8>,
    /// Room for a header, not initialised.
    pub(crate) header: NonNull<Header>,
    /// Never written: every byte is 0.
    pub(crate) zeroed: bool,
    /// The descriptor of shared memory, and whether its resident pages were moved into huge ones.
    pub(crate) memfd: Option<Memfd>,
    pub(crate) is_huge: bool,
}

/// Large blocks, some of which are kept for a while after they are freed.
///
/// # Invariants
///
/// 1. `state` is accessed only under the lock of all caches. Once set it never changes, and it is
///    alive and in their list until the cache is dropped.
pub(crate) struct Cache {
    limit_nbytes: usize,
    quiet: Duration,
    is_shareable: bool,
    state: UnsafeCell<Option<NonNull<CacheState>>>,
}

// SAFETY: Cache 1: the state is behind a pointer and accessed under the lock only, and the blocks
// it owns may be unmapped on any thread.
unsafe impl Send for Cache {}
// SAFETY: Cache 1: through `&Cache` threads access the state under the lock only; the other fields
// are constant.
unsafe impl Sync for Cache {}

impl Cache {
    /// A cache that holds at most `limit_nbytes` bytes, each block for about `quiet` (a quarter
    /// more, and up to a quarter of a second). It holds nothing if either is zero.
    pub(crate) const fn new(limit_nbytes: usize, quiet: Duration) -> Self {
        Self { limit_nbytes, quiet, is_shareable: false, state: UnsafeCell::new(None) }
    }

    /// A cache of blocks of shared memory, each in a memfd of its own. They do not grow in place.
    pub(crate) const fn shareable(limit_nbytes: usize, quiet: Duration) -> Self {
        Self { limit_nbytes, quiet, is_shareable: true, state: UnsafeCell::new(None) }
    }

    #[inline]
    pub(crate) fn is_shareable(&self) -> bool {
        self.is_shareable
    }

    /// A block of [`class_nbytes`]`(nbytes)` bytes: from the cache, or newly mapped. If there is no
    /// memory, the cache first releases what it holds and tries once more. `None`: out of memory.
    #[inline]
    pub(crate) fn take(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        let class = class_nbytes(nbytes)?;
        let block = match self.take_cached(class, hints) {
            Some(block) => block,
            None => self.map(class, hints)?,
        };
        if hints.is_reserved() { self.reserved(block, class, nbytes) } else { Some(block) }
    }

    /// The block, if the system has memory for the first `nbytes` of its bytes.
    #[cold]
    fn reserved(&self, block: MappedBlock, class: usize, nbytes: usize) -> Option<MappedBlock> {
        let is_reserved = match &block.memfd {
            Some(memfd) => memfd.reserve(0, nbytes),
            None => pages::populate(block.base, nbytes.next_multiple_of(pages::size())),
        };
        if is_reserved {
            return Some(block);
        }
        let MappedBlock { base, header, memfd, is_huge, .. } = block;
        // SAFETY: clause 1 of `give_shareable`: the block is new from this cache, and nothing uses
        // it. Clause 2: it is not kept.
        unsafe { self.give_shareable(base, class, header, (memfd, is_huge), false) };
        None
    }

    /// Like [`Cache::take`], for a block that has grown and will probably grow again. If a larger
    /// block is cached, the result is its front. [`Cache::resize`] then extends it into the rest,
    /// without a system call and without touching new pages. The rest stays cached, and is returned
    /// to the system in time like other blocks.
    pub(crate) fn take_growing(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        let class = class_nbytes(nbytes)?;
        let may_divide = hints.is_common() && !self.is_shareable;
        let front = if may_divide { self.take_front(class, hints) } else { None };
        front.or_else(|| self.take(class, hints))
    }

    fn take_front(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        let memory = new_node_memory()?;
        let mut all = helper::lock();
        let wants_helper = self.state(&mut all).is_some_and(|state| state.nbytes > 0) && all.wants_helper();
        let now = all.now();
        let front = self.state(&mut all).and_then(|state| state.split_largest(nbytes, now));
        drop(all);
        if wants_helper {
            helper::start();
        }
        let Some(base) = front else {
            // SAFETY: `new_node_memory` returned the memory above, and it was neither used nor
            // passed on.
            unsafe { free_node_memory(memory) };
            return None;
        };
        if hints.is_populated() {
            let _as_far_as_it_goes = pages::populate(base, nbytes);
        }
        Some(MappedBlock { base, header: memory.cast(), zeroed: false, memfd: None, is_huge: false })
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
        let mut node = node?;
        // SAFETY: Node 1: `pop` took the node out of the lists and passed it to this function, so
        // it is alive and not shared.
        let block = unsafe { node.as_mut() };
        let (base, memfd, is_huge) = (block.base, block.memfd.take(), block.is_huge);
        // See `DESIGN.md`, "Recycled shared memory moves to huge pages".
        if memfd.is_some() && !is_huge && hints.is_huge() != Some(false) {
            mapped::collapse(base, nbytes);
        }
        if hints.is_populated() {
            let _as_far_as_it_goes = pages::populate(base, nbytes);
        }
        Some(MappedBlock { base, header: node.cast(), zeroed: false, is_huge: memfd.is_some(), memfd })
    }

    #[cold]
    fn map(&self, nbytes: usize, hints: Hints) -> Option<MappedBlock> {
        self.prepare();
        let fresh = || {
            let memory = new_node_memory()?;
            let mapped = match self.is_shareable {
                true => mapped::map_shareable(nbytes, hints).map(|(base, memfd)| (base, Some(memfd))),
                false => mapped::map(nbytes, hints).map(|base| (base, None)),
            };
            let Some((base, memfd)) = mapped else {
                // SAFETY: `new_node_memory` returned the memory above, and it was neither used nor
                // passed on.
                unsafe { free_node_memory(memory) };
                return None;
            };
            Some(MappedBlock { base, header: memory.cast(), zeroed: true, memfd, is_huge: false })
        };
        fresh().or_else(|| if self.trim() > 0 { fresh() } else { None })
    }

    /// Releases a block, and keeps it for a while if `cacheable`. It allocates nothing and cannot
    /// fail.
    ///
    /// # Safety
    ///
    /// 1. The block and the place of its header come from this cache ([`Cache::take`],
    ///    [`Cache::take_growing`]), or the block from its [`Cache::resize`].
    /// 2. `nbytes` is the size of the block's class.
    /// 3. The block and its header are not used any more.
    /// 4. If `cacheable`, the block was taken and resized with common hints.
    #[inline]
    pub(crate) unsafe fn give(
        &self,
        base: NonNull<u8>,
        nbytes: usize,
        header: NonNull<Header>,
        cacheable: bool,
    ) {
        // SAFETY: clauses 1 to 4 of `# Safety` are those of `give_node`.
        unsafe { self.give_node(Node::new(base, nbytes), header, cacheable) };
    }

    /// As [`Cache::give`], for a block of shared memory with its descriptor.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 to 4 of [`Cache::give`] hold.
    /// 2. If `cacheable`, no other process ever had the descriptor.
    pub(crate) unsafe fn give_shareable(
        &self,
        base: NonNull<u8>,
        nbytes: usize,
        header: NonNull<Header>,
        memory: (Option<Memfd>, bool),
        cacheable: bool,
    ) {
        let mut content = Node::new(base, nbytes);
        (content.memfd, content.is_huge) = memory;
        // SAFETY: clause 1 of `# Safety`: clauses 1 to 4 of `give` are those of `give_node`.
        unsafe { self.give_node(content, header, cacheable) };
    }

    /// # Safety
    ///
    /// 1. Clauses 1 to 4 of [`Cache::give`] hold for the block that `content` describes.
    #[inline]
    unsafe fn give_node(&self, content: Node, header: NonNull<Header>, cacheable: bool) {
        let (base, nbytes) = (content.base, content.nbytes);
        let mut node = header.cast::<Node>();
        // SAFETY: clause 1 of `# Safety`: the place of a header is a `HeaderOrNode`, which has room
        // for a node, and it is not used any more.
        unsafe { node.write(content) };
        // SAFETY: clause 1 of `# Safety`: the block has `nbytes` bytes, so this is its end.
        let end = unsafe { base.add(nbytes) };
        let mut surplus = Some(node);
        let mut rest = None;
        let mut wants_helper = false;
        let mut all = helper::lock();
        if let Some(state) = self.state(&mut all) {
            rest = state.pop_behind(end);
            // SAFETY: the node was written above and is in no list, so no other reference to it
            // exists.
            let block = unsafe { node.as_mut() };
            // SAFETY: `pop_behind` took the node out of the lists and passed it to this function
            // (Node 1), so it is alive.
            block.nbytes += rest.map_or(0, |rest| unsafe { rest.as_ref() }.nbytes);
            if cacheable && block.nbytes <= self.limit_nbytes {
                surplus = make_room(state, self.limit_nbytes - block.nbytes);
                wants_helper = all.wants_helper();
                let now = all.now();
                if let Some(state) = self.state(&mut all) {
                    // SAFETY: clause 1 of `push`: the node was written above, is in no list or
                    // chain, and is passed on here.
                    unsafe { state.push(node, now) };
                }
            }
        }
        drop(all);
        if let Some(rest) = rest {
            // SAFETY: `pop_behind` passed the node to this function, and its range now belongs to
            // the block (Node 2: the same mapping), so the memory is unused.
            unsafe { free_node_memory(rest.cast()) };
        }
        if surplus.is_some() {
            // SAFETY: clause 1 of `release_chain`: the chain is the node written above, which was
            // not pushed, or what `make_room` took out of the state.
            unsafe { Node::release_chain(surplus) };
        }
        if wants_helper {
            helper::start();
        }
    }

    /// Grows or shrinks a block from the class of one size to that of another. The content stays,
    /// up to the smaller size; what lies behind is unspecified. Nothing is copied, but the pages
    /// may move, to an address that is aligned as that of a new block. `None`: out of memory, and
    /// the block is unchanged.
    ///
    /// # Safety
    ///
    /// 1. `base` is a block of `old_nbytes` bytes from this cache: from [`Cache::take`],
    ///    [`Cache::take_growing`] or this function.
    /// 2. Both sizes are sizes of classes.
    /// 3. No other party accesses the block.
    pub(crate) unsafe fn resize(
        &self,
        base: NonNull<u8>,
        old_nbytes: usize,
        new_nbytes: usize,
        hints: Hints,
    ) -> Option<NonNull<u8>> {
        // SAFETY: clauses 1 to 3 of `# Safety` are those of `resize_once`; a first call that failed
        // left the block unchanged.
        let resize = || unsafe { self.resize_once(base, old_nbytes, new_nbytes, hints) };
        resize().or_else(|| if self.trim() > 0 { resize() } else { None })
    }

    /// # Safety
    ///
    /// 1. `base` is a block of `old` bytes from this cache: from [`Cache::take`],
    ///    [`Cache::take_growing`] or [`Cache::resize`].
    /// 2. Both sizes are sizes of classes.
    /// 3. No other party accesses the block.
    unsafe fn resize_once(
        &self,
        base: NonNull<u8>,
        old: usize,
        new: usize,
        hints: Hints,
    ) -> Option<NonNull<u8>> {
        // SAFETY: clause 1 of `# Safety`: the block has `old` bytes, so this is its end.
        let end = unsafe { base.add(old) };
        let rest = self.state(&mut helper::lock()).and_then(|state| state.pop_behind(end));
        let Some(mut node) = rest else {
            // SAFETY: clause 1 of `mapped::resize`: the block has `old` bytes and no remainder, so
            // it is a whole block. Clause 2 is clause 3 of `# Safety`.
            return unsafe { mapped::resize(base, old, new, hints) };
        };
        // SAFETY: `pop_behind` took the node out of the lists and passed it to this function (Node
        // 1), so it is alive and not shared.
        let rest = unsafe { node.as_mut() };
        let whole = old + rest.nbytes;
        let result = if new <= whole {
            // SAFETY: `new <= whole`: the sum stays within the block and its remainder, which are
            // one mapping (Node 2).
            rest.base = unsafe { base.add(new) };
            rest.nbytes = whole - new;
            Some(base)
        } else {
            // SAFETY: clause 1 of `mapped::resize`: the block and its remainder together are a
            // whole block of `whole` bytes (Node 2). Clause 2: clause 3 of `# Safety`, and
            // `pop_behind` passed the remainder to this function.
            let moved = unsafe { mapped::resize(base, whole, new, hints) };
            if moved.is_some() {
                rest.nbytes = 0;
            }
            moved
        };
        if rest.nbytes > 0 {
            // SAFETY: clause 1 of `keep_remainder`: this function owns the node, whose range now
            // begins where the block ends.
            unsafe { self.keep_remainder(node) };
        } else {
            // SAFETY: this function owns the node, which lies in memory of `new_node_memory`
            // (Node 1) and describes no bytes any more.
            unsafe { free_node_memory(node.cast()) };
        }
        if hints.is_populated()
            && let Some(base) = result
        {
            let _as_far_as_it_goes = pages::populate(base, new);
        }
        result
    }

    /// # Safety
    ///
    /// 1. The caller owns the node, which is in no list or chain and describes a remainder.
    unsafe fn keep_remainder(&self, node: NonNull<Node>) {
        let mut all = helper::lock();
        let wants_helper = all.wants_helper();
        let now = all.now();
        let mut surplus = None;
        if let Some(state) = self.state(&mut all) {
            // SAFETY: clause 1 of `push_remainder` is clause 1 of `# Safety`: the caller passes the
            // node on.
            unsafe { state.push_remainder(node, now) };
            surplus = make_room(state, self.limit_nbytes);
        }
        drop(all);
        // SAFETY: clause 1 of `release_chain`: `make_room` took the chain out of the state and
        // passed it to this function.
        unsafe { Node::release_chain(surplus) };
        if wants_helper {
            helper::start();
        }
    }

    /// Releases all cached blocks to the system now, and returns the number of their bytes.
    pub(crate) fn trim(&self) -> usize {
        let chain = self.state(&mut helper::lock()).and_then(CacheState::pop_all);
        // SAFETY: clause 1 of `release_chain`: `pop_all` took the chain out of the state and passed
        // it to this function.
        unsafe { Node::release_chain(chain) }
    }

    /// The number of cached bytes.
    pub(crate) fn cached_nbytes(&self) -> usize {
        self.state(&mut helper::lock()).map_or(0, |state| state.nbytes)
    }

    #[inline]
    fn state<'a>(&self, _all: &'a mut MutexGuard<'static, All>) -> Option<&'a mut CacheState> {
        // SAFETY: Cache 1: `_all` shows that the lock of all caches is held, so no other thread
        // accesses the cell.
        let state = unsafe { *self.state.get() };
        // SAFETY: Cache 1: the state is alive, and the result borrows the guard, so the lock is
        // held while the reference lives.
        state.map(|mut state| unsafe { state.as_mut() })
    }

    /// Allocates the state, so that releasing a block needs no memory. If there is no memory,
    /// nothing is cached.
    fn prepare(&self) {
        if self.limit_nbytes == 0 || self.quiet.is_zero() || self.state(&mut helper::lock()).is_some() {
            return;
        }
        // SAFETY: `STATE` is the layout of a `CacheState`, whose size is not zero.
        let fresh = unsafe { std::alloc::alloc(STATE) }.cast::<CacheState>();
        let Some(fresh) = NonNull::new(fresh) else { return };
        let quiet = u64::try_from(self.quiet.as_millis()).unwrap_or(u64::MAX / 2);
        // SAFETY: `fresh` was allocated above with the layout `STATE`, and only this function has
        // its address.
        unsafe { fresh.write(CacheState::new(quiet, self.is_shareable)) };
        let mut all = helper::lock();
        // SAFETY: Cache 1: `all` holds the lock of all caches, so no other thread accesses the
        // cell.
        let state = unsafe { &mut *self.state.get() };
        if state.is_none() {
            *state = Some(fresh);
            // SAFETY: clause 1 of `add`: `Cache::drop` removes the state from the list before it
            // frees it (Cache 1).
            unsafe { all.add(fresh) };
        } else {
            drop(all);
            // SAFETY: `fresh` was allocated above with the layout `STATE`, and it was not stored
            // anywhere.
            unsafe { std::alloc::dealloc(fresh.as_ptr().cast(), STATE) };
        }
    }
}

const STATE: AllocLayout = AllocLayout::new::<CacheState>();

/// Takes the oldest blocks out until at most `nbytes` bytes are left. The caller owns the resulting
/// chain.
#[inline]
fn make_room(state: &mut CacheState, nbytes: usize) -> Link {
    let mut chain = None;
    while state.nbytes > nbytes {
        let Some(mut oldest) = state.pop_oldest() else { break };
        // SAFETY: `pop_oldest` took the node out of the lists and passed it to this function (Node
        // 1), so it is alive and not shared.
        unsafe { oldest.as_mut() }.set_next(chain);
        chain = Some(oldest);
    }
    chain
}

impl Drop for Cache {
    fn drop(&mut self) {
        let Some(mut state) = *self.state.get_mut() else { return };
        let mut all = helper::lock();
        // SAFETY: clause 1 of `remove`: `prepare` added the state to the list, and only this drop
        // removes it.
        unsafe { all.remove(state) };
        // SAFETY: Cache 1: the state is alive, the lock is held, and `remove` took it out of the
        // list.
        let chain = unsafe { state.as_mut() }.pop_all();
        drop(all);
        // SAFETY: clause 1 of `release_chain`: `pop_all` took the chain out of the state and passed
        // it to this function.
        unsafe { Node::release_chain(chain) };
        // SAFETY: `prepare` allocated the state with the layout `STATE`; it is in no list any more,
        // and the cache ends here.
        unsafe { std::alloc::dealloc(state.as_ptr().cast(), STATE) };
    }
}
