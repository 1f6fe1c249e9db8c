//! The blocks of one cache: by size, the one given back last in front, and by age.
//!
//! A block may be divided: its front is in use and will probably grow, and what is left of it stays here, a *remainder*.
//! The front grows into it without a system call, and when the front is given back, the two are one block again.
//!
//! A block in a cache is described by a node in the place of its header, so that giving one back takes no memory.

use std::alloc::Layout as AllocLayout;
use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::pool::mapped::{self, CLASSES, HUGE};

pub(super) type Link = Option<NonNull<Node>>;

/// The list of the remainders, behind those of the classes.
const REMAINDERS: usize = CLASSES;

/// How many remainders there are at most: they are found by looking at each.
const MOST_REMAINDERS: usize = 16;

/// Room for a header or for a node. (The model checker's header is larger than a node.)
#[repr(C)]
pub(super) union Slot {
    _header: std::mem::ManuallyDrop<std::mem::MaybeUninit<Header>>,
    _node: std::mem::ManuallyDrop<std::mem::MaybeUninit<Node>>,
}

const SLOT: AllocLayout = AllocLayout::new::<Slot>();

const _: () = assert!(size_of::<Slot>() == 64 || cfg!(loom), "a node fits where a header was");

pub(super) fn new_slot() -> Option<NonNull<Slot>> {
    // SAFETY: a slot is not zero-sized.
    NonNull::new(unsafe { std::alloc::alloc(SLOT) }.cast())
}

/// # Safety
///
/// The slot comes from [`new_slot`], and nobody uses it.
pub(super) unsafe fn free_slot(slot: NonNull<Slot>) {
    // SAFETY: allocated with the same layout.
    unsafe { std::alloc::dealloc(slot.as_ptr().cast(), SLOT) };
}

/// A block that nobody uses.
///
/// # Invariants
///
/// 1. It lies in a slot from [`new_slot`], and it and the mapping of `nbytes` bytes at `base`
///    belong to whoever has the node: the [`State`] whose lists it is in, or else the chain.
/// 2. It is a whole block, whose size is a class's, or a remainder: what was, in the same mapping, behind a block that has been
///    in use since, and ends where this one begins.
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) base: NonNull<u8>,
    pub(super) nbytes: usize,
    /// When it was given back, in milliseconds.
    since: u64,
    /// Which list it is in: that of its class, or of the remainders.
    list: usize,
    /// Given back before this one. In a chain: the next.
    older: Link,
    newer: Link,
    /// Of the same size.
    above: Link,
    below: Link,
}

impl Node {
    pub(super) fn new(base: NonNull<u8>, nbytes: usize) -> Self {
        Self { base, nbytes, since: 0, list: 0, older: None, newer: None, above: None, below: None }
    }

    /// Puts a chain behind this one.
    pub(super) fn set_next(&mut self, chain: Link) {
        self.older = chain;
    }

    /// Gives a chain of blocks back to the system, and says how many bytes they had.
    ///
    /// # Safety
    ///
    /// The caller has the chain.
    pub(super) unsafe fn release_chain(mut chain: Link) -> usize {
        let mut nbytes = 0;
        while let Some(node) = chain {
            // SAFETY: Node 1.
            let block = unsafe { node.read() };
            chain = block.older;
            nbytes += block.nbytes;
            // SAFETY: Node 1: the block's own, which nobody uses.
            unsafe { mapped::unmap(block.base, block.nbytes) };
            // SAFETY: Node 1, and the node has been read.
            unsafe { free_slot(node.cast()) };
        }
        nbytes
    }
}

/// What a cache holds.
///
/// # Invariants
///
/// 1. A node is in the list of its class and in that by age, or in neither; those in the lists are alive, and are ours.
/// 2. `nbytes` is the sum of theirs, and `remainders` the number of those that are remainders.
/// 3. `previous` and `next` are states that are alive, which the lock of all caches guards.
pub(super) struct State {
    tops: [Link; CLASSES + 1],
    remainders: usize,
    oldest: Link,
    newest: Link,
    pub(super) nbytes: usize,
    /// How long a block is kept that nobody asks for, in milliseconds.
    pub(super) quiet: u64,
    pub(super) previous: Option<NonNull<State>>,
    pub(super) next: Option<NonNull<State>>,
}

impl State {
    pub(super) fn new(quiet: u64) -> Self {
        let tops = [None; CLASSES + 1];
        Self { tops, remainders: 0, oldest: None, newest: None, nbytes: 0, quiet, previous: None, next: None }
    }

    /// Takes over the node of a whole block.
    ///
    /// # Safety
    ///
    /// The caller has the node, in no chain, and gives it to us.
    #[inline]
    pub(super) unsafe fn push(&mut self, node: NonNull<Node>, now: u64) {
        // SAFETY: the caller has the node.
        let nbytes = unsafe { node.as_ref() }.nbytes;
        // SAFETY: the caller's promise.
        unsafe { self.push_to(mapped::class_index(nbytes), node, now) };
    }

    /// Takes over the node of a remainder.
    ///
    /// # Safety
    ///
    /// As [`State::push`].
    pub(super) unsafe fn push_remainder(&mut self, node: NonNull<Node>, now: u64) {
        self.remainders += 1;
        // SAFETY: the caller's promise.
        unsafe { self.push_to(REMAINDERS, node, now) };
    }

    #[inline]
    unsafe fn push_to(&mut self, list: usize, mut node: NonNull<Node>, now: u64) {
        // SAFETY: the caller has the node.
        let block = unsafe { node.as_mut() };
        let top = &mut self.tops[list];
        block.list = list;
        block.since = now;
        block.above = None;
        block.below = top.replace(node);
        block.newer = None;
        block.older = self.newest.replace(node);
        self.nbytes += block.nbytes;
        if let Some(mut below) = block.below {
            // SAFETY: State 1.
            unsafe { below.as_mut() }.above = Some(node);
        }
        match block.older {
            // SAFETY: State 1.
            Some(mut older) => unsafe { older.as_mut() }.newer = Some(node),
            None => self.oldest = Some(node),
        }
    }

    /// The block of that size that was given back last. It becomes the caller's.
    #[inline]
    pub(super) fn pop(&mut self, nbytes: usize) -> Link {
        let node = self.tops[mapped::class_index(nbytes)]?;
        self.remove(node);
        Some(node)
    }

    /// Divides the largest block that has more than `nbytes` bytes and begins at a multiple of 2 MiB. Its front becomes the
    /// caller's; what is left of it stays.
    pub(super) fn split_largest(&mut self, nbytes: usize, now: u64) -> Option<NonNull<u8>> {
        if self.remainders >= MOST_REMAINDERS {
            return None;
        }
        let smallest = mapped::class_index(nbytes + 1).max(mapped::class_index(HUGE));
        let mut node = self.tops[smallest..CLASSES].iter().rev().find_map(|top| *top)?;
        self.remove(node);
        // SAFETY: State 1: alive, and taken out.
        let block = unsafe { node.as_mut() };
        let front = block.base;
        // SAFETY: the block has more bytes than that.
        block.base = unsafe { front.add(nbytes) };
        block.nbytes -= nbytes;
        // SAFETY: taken out above.
        unsafe { self.push_remainder(node, now) };
        Some(front)
    }

    /// The remainder of the block that ends at `end`. It becomes the caller's.
    #[inline]
    pub(super) fn pop_behind(&mut self, end: NonNull<u8>) -> Link {
        let mut next = self.tops[REMAINDERS];
        while let Some(node) = next {
            // SAFETY: State 1.
            let block = unsafe { node.as_ref() };
            if block.base == end {
                self.remove(node);
                return Some(node);
            }
            next = block.below;
        }
        None
    }

    /// The block that has been here longest. It becomes the caller's, a chain of one.
    pub(super) fn pop_oldest(&mut self) -> Link {
        let mut node = self.oldest?;
        self.remove(node);
        // SAFETY: State 1: alive, and now the caller's.
        unsafe { node.as_mut() }.older = None;
        Some(node)
    }

    /// Since when the oldest block has been here.
    pub(super) fn oldest_since(&self) -> Option<u64> {
        // SAFETY: State 1.
        self.oldest.map(|node| unsafe { node.as_ref() }.since)
    }

    /// All blocks, as a chain that becomes the caller's.
    pub(super) fn pop_all(&mut self) -> Link {
        self.tops = [None; CLASSES + 1];
        self.remainders = 0;
        self.oldest = None;
        self.nbytes = 0;
        self.newest.take()
    }

    #[inline]
    fn remove(&mut self, node: NonNull<Node>) {
        // SAFETY: State 1: of our lists.
        let block = unsafe { node.as_ref() };
        self.nbytes -= block.nbytes;
        if block.list == REMAINDERS {
            self.remainders -= 1;
        }
        match block.above {
            // SAFETY: State 1.
            Some(mut above) => unsafe { above.as_mut() }.below = block.below,
            None => self.tops[block.list] = block.below,
        }
        if let Some(mut below) = block.below {
            // SAFETY: State 1.
            unsafe { below.as_mut() }.above = block.above;
        }
        match block.newer {
            // SAFETY: State 1.
            Some(mut newer) => unsafe { newer.as_mut() }.older = block.older,
            None => self.newest = block.older,
        }
        match block.older {
            // SAFETY: State 1.
            Some(mut older) => unsafe { older.as_mut() }.newer = block.newer,
            None => self.oldest = block.newer,
        }
    }
}
