//! The blocks of one cache: by size, the one given back last in front, and by age.
//!
//! A block in a cache is described by a node in the place of its header, so that giving one back takes no memory.

use std::alloc::Layout as AllocLayout;
use std::ptr::NonNull;

use crate::memory::allocation::Header;
use crate::memory::mapped::{self, CLASSES};

pub(super) type Link = Option<NonNull<Node>>;

/// Room for a header or for a node. (The model checker's header is larger than a node.)
#[repr(C)]
pub(super) union Slot {
    _header: std::mem::ManuallyDrop<std::mem::MaybeUninit<Header>>,
    _node: std::mem::ManuallyDrop<std::mem::MaybeUninit<Node>>,
}

pub(super) const SLOT: AllocLayout = AllocLayout::new::<Slot>();

const _: () = assert!(size_of::<Slot>() == 64 || cfg!(loom), "a node fits where a header was");

/// A block that nobody uses.
///
/// # Invariants
///
/// 1. It lies in a slot that was allocated with the layout [`SLOT`], and it and the mapping of `nbytes` bytes at `base`
///    belong to whoever has the node: the [`State`] whose lists it is in, or else the chain.
/// 2. `nbytes` is the size of a class.
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) base: NonNull<u8>,
    pub(super) nbytes: usize,
    /// When it was given back, in milliseconds.
    pub(super) since: u64,
    /// Given back before this one. In a chain: the next.
    older: Link,
    newer: Link,
    /// Of the same size.
    above: Link,
    below: Link,
}

impl Node {
    pub(super) fn new(base: NonNull<u8>, nbytes: usize) -> Self {
        Self { base, nbytes, since: 0, older: None, newer: None, above: None, below: None }
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
            unsafe { std::alloc::dealloc(node.as_ptr().cast(), SLOT) };
        }
        nbytes
    }
}

/// What a cache holds.
///
/// # Invariants
///
/// 1. A node is in the list of its class and in that by age, or in neither; those in the lists are alive, and are ours.
/// 2. `nbytes` is the sum of theirs.
/// 3. `previous` and `next` are states that are alive, which the lock of all caches guards.
pub(super) struct State {
    tops: [Link; CLASSES],
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
        let tops = [None; CLASSES];
        Self { tops, oldest: None, newest: None, nbytes: 0, quiet, previous: None, next: None }
    }

    /// Takes over a node.
    ///
    /// # Safety
    ///
    /// The caller has the node, in no chain, and gives it to us.
    #[inline]
    pub(super) unsafe fn push(&mut self, mut node: NonNull<Node>) {
        // SAFETY: the caller has the node.
        let block = unsafe { node.as_mut() };
        let top = &mut self.tops[mapped::class_index(block.nbytes)];
        block.above = None;
        block.below = top.replace(node);
        block.newer = None;
        block.older = self.newest.replace(node);
        self.nbytes += block.nbytes;
        match block.below {
            // SAFETY: State 1.
            Some(mut below) => unsafe { below.as_mut() }.above = Some(node),
            None => {}
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
        self.tops = [None; CLASSES];
        self.oldest = None;
        self.nbytes = 0;
        self.newest.take()
    }

    #[inline]
    fn remove(&mut self, node: NonNull<Node>) {
        // SAFETY: State 1: of our lists.
        let block = unsafe { node.as_ref() };
        self.nbytes -= block.nbytes;
        match block.above {
            // SAFETY: State 1.
            Some(mut above) => unsafe { above.as_mut() }.below = block.below,
            None => self.tops[mapped::class_index(block.nbytes)] = block.below,
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
