//! The blocks of one cache: by size, the last released first, and by age.
//!
//! A block may be divided: its front is in use and will probably grow, and its rest stays here as a
//! *remainder*. The front grows into the remainder without a system call. When the front is
//! released, the two are one block again.
//!
//! A node in the place of the header describes a cached block, so that releasing a block allocates
//! nothing.

use std::alloc::Layout as AllocLayout;
use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::memory::memfd::Memfd;
use crate::memory::os::pages;
use crate::pool::mapped::{self, CLASSES, HUGE};

pub(super) type Link = Option<NonNull<Node>>;

/// The index of the list of remainders, behind those of the classes.
const REMAINDERS: usize = CLASSES;

const _: () = assert!(REMAINDERS <= u16::MAX as usize);

/// The most remainders: they are found by a linear search.
const MOST_REMAINDERS: usize = 16;

/// Room for a header or for a node. (The model checker's header is larger than a node.)
#[repr(C)]
pub(super) union HeaderOrNode {
    _header: std::mem::ManuallyDrop<std::mem::MaybeUninit<Header>>,
    _node: std::mem::ManuallyDrop<std::mem::MaybeUninit<Node>>,
}

const NODE_MEMORY: AllocLayout = AllocLayout::new::<HeaderOrNode>();

const _: () = assert!(size_of::<HeaderOrNode>() == 64 || cfg!(loom), "a node fits where a header was");

pub(super) fn new_node_memory() -> Option<NonNull<HeaderOrNode>> {
    // SAFETY: `NODE_MEMORY` is the layout of a `HeaderOrNode`, whose size is not zero.
    NonNull::new(unsafe { std::alloc::alloc(NODE_MEMORY) }.cast())
}

/// # Safety
///
/// 1. The memory comes from [`new_node_memory`].
/// 2. It is not used any more.
pub(super) unsafe fn free_node_memory(memory: NonNull<HeaderOrNode>) {
    // SAFETY: clause 1 of `# Safety`: `new_node_memory` allocated it with the layout `NODE_MEMORY`;
    // by clause 2 this is its last use.
    unsafe { std::alloc::dealloc(memory.as_ptr().cast(), NODE_MEMORY) };
}

/// An unused block.
///
/// # Invariants
///
/// 1. It lies in memory from [`new_node_memory`]. It and the mapping of `nbytes` bytes at `base`
///    belong to the owner of the node: the [`CacheState`] whose lists contain it, or else the
///    chain.
/// 2. It is a whole block, whose size is that of a class, or a remainder: the rest of a mapping
///    whose front is a block in use that ends where this one begins. A block that was released
///    after its remainder is whole.
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) base: NonNull<u8>,
    pub(super) nbytes: usize,
    /// When it was released, in milliseconds.
    since: u64,
    /// The list that contains it: that of its class, or of the remainders.
    list: u16,
    /// Of shared memory: whether its resident pages were moved into huge ones.
    pub(super) is_huge: bool,
    /// The descriptor of shared memory.
    pub(super) memfd: Option<Memfd>,
    /// Released before this one. In a chain: the next.
    older: Link,
    newer: Link,
    /// The neighbours of the same size.
    above: Link,
    below: Link,
}

impl Node {
    pub(super) fn new(base: NonNull<u8>, nbytes: usize) -> Self {
        let (is_huge, memfd) = (false, None);
        Self {
            base,
            nbytes,
            since: 0,
            list: 0,
            is_huge,
            memfd,
            older: None,
            newer: None,
            above: None,
            below: None,
        }
    }

    /// Appends a chain behind this node.
    pub(super) fn set_next(&mut self, chain: Link) {
        self.older = chain;
    }

    /// Releases a chain of blocks to the system, and returns the number of their bytes.
    ///
    /// # Safety
    ///
    /// 1. The caller owns the chain.
    pub(super) unsafe fn release_chain(mut chain: Link) -> usize {
        let mut nbytes = 0;
        while let Some(node) = chain {
            // SAFETY: clause 1 of `# Safety`: the chain's nodes are alive (Node 1), and each is
            // read once.
            let block = unsafe { node.read() };
            chain = block.older;
            nbytes += block.nbytes;
            // SAFETY: clauses 1 and 2 of `unmap`: the mapping belongs to the node (Node 1), and no
            // party uses the block. Clause 3: by Node 2 it is a whole block, or the end of one.
            unsafe { pages::unmap(block.base, block.nbytes) };
            drop(block.memfd);
            // SAFETY: clauses 1 and 2 of `free_node_memory`: the node lies in memory of
            // `new_node_memory` (Node 1), and it was read out above.
            unsafe { free_node_memory(node.cast()) };
        }
        nbytes
    }
}

/// The contents of a cache.
///
/// # Invariants
///
/// 1. A node is in the list of its class and in that by age, or in neither. The nodes in the lists
///    are alive and belong to the state.
/// 2. `nbytes` is the sum of their sizes, and `remainders` the number of remainders among them.
/// 3. `previous` and `next` are live states, which the lock of all caches guards.
pub(super) struct CacheState {
    tops: [Link; CLASSES + 1],
    remainders: usize,
    oldest: Link,
    newest: Link,
    pub(super) nbytes: usize,
    /// How long an unused block is kept, in milliseconds.
    pub(super) quiet: u64,
    /// Whether the blocks are shared memory.
    pub(super) is_shareable: bool,
    pub(super) previous: Option<NonNull<CacheState>>,
    pub(super) next: Option<NonNull<CacheState>>,
}

impl CacheState {
    pub(super) fn new(quiet: u64, is_shareable: bool) -> Self {
        let tops = [None; CLASSES + 1];
        Self {
            tops,
            remainders: 0,
            oldest: None,
            newest: None,
            nbytes: 0,
            quiet,
            is_shareable,
            previous: None,
            next: None,
        }
    }

    /// Adds the node of a whole block.
    ///
    /// # Safety
    ///
    /// 1. The caller owns the node, which is in no list or chain, and passes it to the state.
    #[inline]
    pub(super) unsafe fn push(&mut self, node: NonNull<Node>, now: u64) {
        // SAFETY: clause 1 of `# Safety`: the caller owns the node, so it is alive (Node 1).
        let nbytes = unsafe { node.as_ref() }.nbytes;
        // SAFETY: clause 1 of `# Safety` is that of `push_to`, and the index is that of the block's
        // class.
        unsafe { self.push_to(mapped::class_index(nbytes), node, now) };
    }

    /// Adds the node of a remainder.
    ///
    /// # Safety
    ///
    /// 1. The caller owns the node, which is in no list or chain, and passes it to the state.
    pub(super) unsafe fn push_remainder(&mut self, node: NonNull<Node>, now: u64) {
        self.remainders += 1;
        // SAFETY: clause 1 of `# Safety` is that of `push_to`, and `REMAINDERS` is the index of the
        // last list.
        unsafe { self.push_to(REMAINDERS, node, now) };
    }

    /// # Safety
    ///
    /// 1. The caller owns the node, which is in no list or chain, and passes it to the state.
    #[inline]
    unsafe fn push_to(&mut self, list: usize, mut node: NonNull<Node>, now: u64) {
        // SAFETY: clause 1 of `# Safety`: the caller owns the node, so it is alive (Node 1) and not
        // shared.
        let block = unsafe { node.as_mut() };
        let top = &mut self.tops[list];
        block.list = list as u16;
        block.since = now;
        block.above = None;
        block.below = top.replace(node);
        block.newer = None;
        block.older = self.newest.replace(node);
        self.nbytes += block.nbytes;
        if let Some(mut below) = block.below {
            // SAFETY: CacheState 1: `below` was the top of a list of this state, so it is alive,
            // and `&mut self` excludes other access.
            unsafe { below.as_mut() }.above = Some(node);
        }
        match block.older {
            // SAFETY: CacheState 1: `older` was the newest node of this state, so it is alive, and
            // `&mut self` excludes other access.
            Some(mut older) => unsafe { older.as_mut() }.newer = Some(node),
            None => self.oldest = Some(node),
        }
    }

    /// The last released block of that size. The caller owns it.
    #[inline]
    pub(super) fn pop(&mut self, nbytes: usize) -> Link {
        let node = self.tops[mapped::class_index(nbytes)]?;
        // SAFETY: clause 1 of `remove`: a list of this state led to the node.
        unsafe { self.remove(node) };
        Some(node)
    }

    /// Divides the largest block that has more than `nbytes` bytes and begins at a multiple of 2
    /// MiB. The caller owns its front; the rest stays.
    pub(super) fn split_largest(&mut self, nbytes: usize, now: u64) -> Option<NonNull<u8>> {
        if self.remainders >= MOST_REMAINDERS {
            return None;
        }
        let smallest = mapped::class_index(nbytes + 1).max(mapped::class_index(HUGE));
        let mut node = self.tops[smallest..CLASSES].iter().rev().find_map(|top| *top)?;
        // SAFETY: clause 1 of `remove`: a list of this state led to the node.
        unsafe { self.remove(node) };
        // SAFETY: CacheState 1: the node was in a list of this state, so it is alive; `remove` took
        // it out, so it is not shared.
        let block = unsafe { node.as_mut() };
        let front = block.base;
        // SAFETY: the search began at the class of `nbytes + 1`, so the block has more than
        // `nbytes` bytes.
        block.base = unsafe { front.add(nbytes) };
        block.nbytes -= nbytes;
        // SAFETY: clause 1 of `push_remainder`: `remove` took the node out of all lists above, and
        // it now describes the rest behind `front`.
        unsafe { self.push_remainder(node, now) };
        Some(front)
    }

    /// The remainder of the block that ends at `end`. The caller owns it.
    #[inline]
    pub(super) fn pop_behind(&mut self, end: NonNull<u8>) -> Link {
        let mut next = self.tops[REMAINDERS];
        while let Some(node) = next {
            // SAFETY: CacheState 1: the node is in the list of remainders of this state, so it is
            // alive.
            let block = unsafe { node.as_ref() };
            if block.base == end {
                // SAFETY: clause 1 of `remove`: the list of remainders led to the node.
                unsafe { self.remove(node) };
                return Some(node);
            }
            next = block.below;
        }
        None
    }

    /// The block that was released first. The caller owns it, as a chain of one.
    pub(super) fn pop_oldest(&mut self) -> Link {
        let mut node = self.oldest?;
        // SAFETY: clause 1 of `remove`: a list of this state led to the node.
        unsafe { self.remove(node) };
        // SAFETY: CacheState 1: the node was in a list of this state, so it is alive; `remove` took
        // it out, so it is not shared.
        unsafe { node.as_mut() }.older = None;
        Some(node)
    }

    /// When the oldest block was released.
    pub(super) fn oldest_since(&self) -> Option<u64> {
        // SAFETY: CacheState 1: `oldest` is in the lists of this state, so it is alive.
        self.oldest.map(|node| unsafe { node.as_ref() }.since)
    }

    /// All blocks, as a chain that the caller owns.
    pub(super) fn pop_all(&mut self) -> Link {
        self.tops = [None; CLASSES + 1];
        self.remainders = 0;
        self.oldest = None;
        self.nbytes = 0;
        self.newest.take()
    }

    /// Takes a node out of its lists.
    ///
    /// # Safety
    ///
    /// 1. The node is in the lists of this state.
    #[inline]
    unsafe fn remove(&mut self, node: NonNull<Node>) {
        // SAFETY: clause 1 of `# Safety` and CacheState 1: the node is in a list, so it is alive.
        let block = unsafe { node.as_ref() };
        self.nbytes -= block.nbytes;
        if usize::from(block.list) == REMAINDERS {
            self.remainders -= 1;
        }
        match block.above {
            // SAFETY: CacheState 1: `above` is in the same list of this state, so it is alive, and
            // `&mut self` excludes other access.
            Some(mut above) => unsafe { above.as_mut() }.below = block.below,
            None => self.tops[usize::from(block.list)] = block.below,
        }
        if let Some(mut below) = block.below {
            // SAFETY: CacheState 1: `below` is in the same list of this state, so it is alive, and
            // `&mut self` excludes other access.
            unsafe { below.as_mut() }.above = block.above;
        }
        match block.newer {
            // SAFETY: CacheState 1: `newer` is in the list by age of this state, so it is alive,
            // and `&mut self` excludes other access.
            Some(mut newer) => unsafe { newer.as_mut() }.older = block.older,
            None => self.newest = block.older,
        }
        match block.older {
            // SAFETY: CacheState 1: `older` is in the list by age of this state, so it is alive,
            // and `&mut self` excludes other access.
            Some(mut older) => unsafe { older.as_mut() }.newer = block.newer,
            None => self.oldest = block.newer,
        }
    }
}
