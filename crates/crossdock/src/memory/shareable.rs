//! The table of memory that can be shared with other processes later: mappings of a memfd each,
//! from which a pool takes its blocks.
//!
//! ```text
//!   private here ── publish ──> public: aliased for ever, and never used for another block
//!        │                           ▲
//!        └────────── fork ───────────┘   under a Read or Write lease, and before it is an
//!                                        allocation: the child gets a copy
//! ```
//!
//! Until its descriptor leaves the library, such memory is like any other of a pool. From then on
//! other processes may write it, and no process can find out when the last of them has unmapped it.
//! So its owner only unmaps it: the kernel keeps it for the others.
//!
//! A memfd belongs to one block, so its descriptor leads to no other array. Memory is found by
//! address, because other libraries (NumPy) own such blocks, too, and lend them without a
//! descriptor.
//!
//! Reasons: `DESIGN.md`, "A shareable block has a memfd of its own".
//! See also: `DESIGN.md`, "A published block is never used again".
//! See also: `DESIGN.md`, "A fork publishes".

use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory::copied::count_copied;
use crate::memory::fork::{Fork, ForkLock};
use crate::memory::header::{Descriptor, Header};
use crate::memory::memfd::Memfd;
use crate::memory::os::fd::{AsFd, AsRawFd};
use crate::memory::os::{PageAccess, anonymous, pages};
use crate::memory::word::{LeaseKind, WordValue};

/// A mapping of a memfd of its own, with one block in it.
///
/// # Invariants
///
/// 1. While it is in the table, `base..base + nbytes` is a mapping of the beginning of `memfd`, or,
///    in a child that has a copy, private memory without one.
/// 2. While it is in the table, `header` is the live header of the block.
pub(crate) struct ShareableRegion {
    base: NonNull<u8>,
    nbytes: usize,
    memfd: Option<Memfd>,
    header: NonNull<Header>,
    /// Whether no code uses what lies behind the bytes of the header (no guards do).
    has_slack: bool,
    /// Whether the system was asked to use huge pages for what is resident.
    is_huge: bool,
    is_public: bool,
    /// Whether other headers than this one govern parts of the bytes.
    is_divided: bool,
    /// Its entry in the table of overlaps, once it is public: dropped with it.
    registered: Option<Box<dyn Send>>,
    snapshot: ForkCopy,
}

// SAFETY: ShareableRegion 1 and 2 hold on every thread; the header's word, which alone is changed
// through the pointer, is atomic.
unsafe impl Send for ShareableRegion {}

/// What a child of the present fork gets in place of memory under a Read or Write lease.
enum ForkCopy {
    None,
    /// A private mapping of this many bytes, which nothing else knows.
    Copy(NonNull<u8>, usize),
    /// There was no memory for it.
    Failed,
}

static TABLE: ForkLock<Vec<ShareableRegion>> = ForkLock::with_hook(Vec::new(), on_fork);

/// The number of entries. A thread that receives memory from another sees at least the entries that
/// the other thread saw.
static COUNT: AtomicUsize = AtomicUsize::new(0);

impl ShareableRegion {
    /// # Safety
    ///
    /// Until [`remove`] is called, or `add` fails:
    ///
    /// 1. `base..base + nbytes` is a mapping of the beginning of `memfd`, and `nbytes` a multiple
    ///    of the page size.
    /// 2. `header` is the live header of a block in it, whose region is constant from its first
    ///    handle on. If `has_slack`, no code uses the bytes behind that region.
    pub(crate) unsafe fn new(
        base: NonNull<u8>,
        nbytes: usize,
        memfd: Memfd,
        header: NonNull<Header>,
        [has_slack, is_huge]: [bool; 2],
    ) -> Self {
        let (registered, snapshot) = (None, ForkCopy::None);
        let (is_public, is_divided, memfd) = (false, false, Some(memfd));
        Self { base, nbytes, memfd, header, has_slack, is_huge, is_public, is_divided, registered, snapshot }
    }

    /// Adds it to the table. The error returns the descriptor: there is no memory for an entry.
    pub(crate) fn add(self) -> Result<(), Option<Memfd>> {
        let mut table = TABLE.lock();
        if table.try_reserve(1).is_err() {
            return Err(self.memfd);
        }
        let at = table.partition_point(|region| region.base < self.base);
        table.insert(at, self);
        COUNT.store(table.len(), Ordering::Relaxed);
        Ok(())
    }

    fn end(&self) -> usize {
        self.base.addr().get() + self.nbytes
    }

    fn header(&self) -> &Header {
        // SAFETY: ShareableRegion 2: it is alive while `self` is in the table, as every caller has
        // it; only its word and its region are read.
        unsafe { self.header.as_ref() }
    }

    /// The descriptor of an address in it, if it may leave the library.
    fn descriptor(&self, ptr: NonNull<u8>) -> Option<Descriptor> {
        if self.is_divided && !self.is_public {
            return None;
        }
        let offset = (ptr.addr().get() - self.base.addr().get()) as u64;
        self.memfd.as_ref().map(|memfd| Descriptor { fd: memfd.as_raw_fd(), offset, writable: true })
    }

    /// Discards the pages behind the bytes of the block, which may hold the bytes of an earlier
    /// one.
    fn discard_slack(&self) {
        let (Some(memfd), true) = (&self.memfd, self.has_slack) else { return };
        let used = self.header().ptr().addr().get() + self.header().nbytes() - self.base.addr().get();
        if used < self.nbytes {
            // SAFETY: clause 1 of `discard`: `has_slack` says that no code uses these bytes.
            unsafe { anonymous::discard(memfd.as_fd(), used, self.nbytes - used) };
        }
    }
}

/// The position of the region that contains a range.
fn position(table: &[ShareableRegion], ptr: NonNull<u8>, nbytes: usize) -> Option<usize> {
    let at = table.partition_point(|region| region.base <= ptr).checked_sub(1)?;
    let end = ptr.addr().get().checked_add(nbytes)?;
    (end <= table[at].end()).then_some(at)
}

/// What [`remove`] returns.
pub(crate) struct Removed {
    /// `None` in a child that has a copy.
    pub(crate) memfd: Option<Memfd>,
    /// Whether only this process ever knew the memory, so that it may use it again.
    pub(crate) is_private: bool,
    pub(crate) is_huge: bool,
}

/// Removes the region in which the address lies.
pub(crate) fn remove(ptr: NonNull<u8>) -> Option<Removed> {
    let mut table = TABLE.lock();
    let at = position(&table, ptr, 0)?;
    let ShareableRegion { memfd, is_huge, is_public, registered, .. } = table.remove(at);
    COUNT.store(table.len(), Ordering::Relaxed);
    drop(table);
    // It takes another lock.
    drop(registered);
    Some(Removed { is_private: !is_public && memfd.is_some(), is_huge, memfd })
}

/// The descriptor behind a range of addresses that lies in one region. The caller's own means keep
/// the memory, and with it the descriptor, alive.
pub(crate) fn descriptor(ptr: NonNull<u8>, nbytes: usize) -> Option<Descriptor> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let table = TABLE.lock();
    table[position(&table, ptr, nbytes)?].descriptor(ptr)
}

/// The header of the block whose bytes begin at the address, and their number.
pub(crate) fn header_at(ptr: NonNull<u8>) -> Option<(NonNull<Header>, usize)> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let table = TABLE.lock();
    let region = &table[position(&table, ptr, 1)?];
    let header = region.header();
    (header.ptr() == ptr).then_some((region.header, header.nbytes()))
}

/// What [`publish`](crate::memory::publish()) does next.
pub(crate) enum PublishStep {
    /// The memory is not, or may not be, public.
    Refused,
    Done(Descriptor),
    /// The whole region is to be registered as reachable elsewhere, and then made public.
    Register {
        found: Descriptor,
        base: NonNull<u8>,
        nbytes: usize,
    },
}

/// The first step of publishing a range: discards what the receiver must not see.
pub(crate) fn prepare(ptr: NonNull<u8>, nbytes: usize) -> PublishStep {
    let table = TABLE.lock();
    let Some(region) = position(&table, ptr, nbytes).map(|at| &table[at]) else {
        return PublishStep::Refused;
    };
    let Some(found) = region.descriptor(ptr) else { return PublishStep::Refused };
    if region.is_public && region.registered.is_some() {
        return PublishStep::Done(found);
    }
    if !region.is_public {
        region.discard_slack();
    }
    PublishStep::Register { found, base: region.base, nbytes: region.nbytes }
}

/// The last step: makes the region public, with what is to be dropped when it is unmapped.
///
/// # Errors
///
/// The value of the lease word: a holder relies on the memory being private.
pub(crate) fn make_public(ptr: NonNull<u8>, mut registered: Option<Box<dyn Send>>) -> Result<(), WordValue> {
    let mut table = TABLE.lock();
    let Some(at) = position(&table, ptr, 0) else { return Ok(()) };
    let region = &mut table[at];
    region.header().word().set_aliased()?;
    region.is_public = true;
    mem::swap(&mut region.registered, &mut registered);
    drop(table);
    // A former value takes another lock.
    drop(registered);
    Ok(())
}

/// Records that other headers govern the bytes of a block from now on, so that publishing it would
/// not reach them. It stays private.
pub(crate) fn divide(header: &Header) {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut table = TABLE.lock();
    if let Some(at) = position(&table, header.ptr(), header.nbytes()) {
        table[at].is_divided = true;
    }
}

fn on_fork(table: &mut Vec<ShareableRegion>, fork: Fork) {
    for region in table {
        match fork {
            // The words of the parts say who relies on their bytes, and cannot be reached from
            // here.
            Fork::Before if region.is_divided && !region.is_public => {
                region.snapshot = region.copy(false);
            }
            Fork::Before => match region.header().word().set_aliased() {
                Ok(()) => region.is_public = true,
                // A block that is not an allocation yet has a Write lease, too, and may use all
                // bytes.
                Err(held) => {
                    let is_written = matches!(held.leases(), Some((LeaseKind::Write, _)));
                    region.snapshot = region.copy(is_written);
                }
            },
            Fork::InParent => region.drop_copy(),
            Fork::InChild => region.take_copy(),
        }
    }
}

/// Forks: what the child gets in place of memory whose holders rely on its constancy.
impl ShareableRegion {
    /// If `is_written`, any byte may be in use, and the region of the header may change meanwhile.
    fn copy(&self, is_written: bool) -> ForkCopy {
        let Some(memfd) = &self.memfd else { return ForkCopy::None };
        let used = if self.has_slack && !is_written {
            let end = self.header().ptr().addr().get() + self.header().nbytes();
            (end - self.base.addr().get()).next_multiple_of(pages::size())
        } else {
            self.nbytes
        };
        let used = used.clamp(pages::size(), self.nbytes);
        let Some(copy) = pages::map(used, PageAccess::ReadWrite) else {
            return ForkCopy::Failed;
        };
        // SAFETY: clause 1 of `read_to`: `copy` has `used` bytes, which only this function knows.
        if unsafe { anonymous::read_to(memfd.as_fd(), copy, used) }.is_err() {
            // SAFETY: clauses 1 to 3 of `unmap`: `copy` was mapped above, and no other code knows
            // it.
            unsafe { pages::unmap(copy, used) };
            return ForkCopy::Failed;
        }
        count_copied(used);
        ForkCopy::Copy(copy, used)
    }

    fn drop_copy(&mut self) {
        if let ForkCopy::Copy(copy, nbytes) = mem::replace(&mut self.snapshot, ForkCopy::None) {
            // SAFETY: clauses 1 to 3 of `unmap`: `ShareableRegion::copy` mapped it, and only the
            // snapshot, which has just been taken away, knew it.
            unsafe { pages::unmap(copy, nbytes) };
        }
    }

    /// Puts the copy in the place of the shared pages. Without one, the child cannot access the
    /// memory at all: it must not see what the parent writes.
    fn take_copy(&mut self) {
        let copy = match mem::replace(&mut self.snapshot, ForkCopy::None) {
            ForkCopy::None => return,
            ForkCopy::Copy(copy, nbytes) => Some((copy, nbytes)),
            ForkCopy::Failed => None,
        };
        let access = if copy.is_some() { PageAccess::ReadWrite } else { PageAccess::None };
        // SAFETY: clause 1 of `replace`: by ShareableRegion 1 the range is the region's own, and
        // this child, which has one thread, is in its fork.
        unsafe { pages::replace(self.base, self.nbytes, access) };
        if let Some((copy, nbytes)) = copy {
            // SAFETY: clause 1 of `move_to`: `copy` is a mapping of `nbytes` bytes that only this
            // region knows. Clause 2: it moves over the front of the region's own range
            // (ShareableRegion 1).
            unsafe { pages::move_to(copy, nbytes, nbytes, self.base) };
        }
        self.memfd = None;
    }
}
