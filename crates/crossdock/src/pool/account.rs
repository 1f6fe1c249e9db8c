//! The core of a pool: an account in a chain that ends at a source of memory.
//!
//! ```text
//!   Pool ──> Account "decoder" (limit) ──> Account "job" ──> Account "default" ──> source: where blocks come from
//!   Block ─────────┘
//! ```
//!
//! A block is charged to each account on the way. A block keeps the first account alive by its
//! charge, and each account keeps the next one.
//!
//! Reasons: `DESIGN.md`, "Pools are chains of accounts".

use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::memory::sync::{AtomicU64, Ordering, fence};
use crate::memory::thread_index::{self, INDEXED_THREADS};
use crate::pool::charge::{AccountCharge, UNIT, UNLIMITED, units};
use crate::pool::counters::{Counters, Statistics};
use crate::pool::log;
use crate::pool::source::BlockSource;
use crate::pool::thread_cache;

/// The destination of an account's requests.
pub(crate) enum Upstream {
    /// Another account. It counts as a handle on that one.
    Account(NonNull<Account>),
    Source(BlockSource),
}

/// # Invariants
///
/// 1. It is alive while a handle on it exists or while it is charged for anything; `charge` tells
///    the thread that must free it.
/// 2. `handles` counts the handles: [`AccountRef`]s and downstream accounts.
/// 3. If it is `immortal`, it is never freed once it is in use, it is the end of its chain, and
///    neither `charge` nor `handles` is used.
pub(crate) struct Account {
    charge: AccountCharge<INDEXED_THREADS>,
    upstream: Upstream,
    /// The upstream account, again: null at the end of the chain.
    next: *const Account,
    immortal: bool,
    /// Whether small blocks come directly from the global allocator.
    direct: bool,
    /// Whether, moreover, only statistics are kept: immortal, at the end of its chain, and silent.
    plain: bool,
    logged: bool,
    /// Whether its blocks have guards, because of this account or of one upstream.
    guarded: bool,
    name: &'static str,
    handles: AtomicU64,
    counters: Counters,
}

/// The properties of a new account.
pub(crate) struct AccountPlan {
    pub(crate) name: &'static str,
    pub(crate) upstream: Upstream,
    /// In units.
    pub(crate) limit: u64,
    pub(crate) immortal: bool,
    pub(crate) logged: bool,
    pub(crate) guarded: bool,
}

impl AccountPlan {
    /// Without a limit, silent, and freed when it is not needed any more.
    pub(crate) fn new(name: &'static str, upstream: Upstream) -> Self {
        Self { name, upstream, limit: UNLIMITED, immortal: false, logged: false, guarded: false }
    }
}

/// A counted handle on an account.
///
/// # Invariants
///
/// 1. It is counted in the account's `handles`, unless the account is immortal (hence [`Account`] 1
///    holds while it lives).
pub(crate) struct AccountRef(NonNull<Account>);

// SAFETY: an account consists of atomics, constants, and a `BlockSource`, which is `Send` and
// `Sync`; the last handle may free it on any thread.
unsafe impl Send for AccountRef {}
// SAFETY: through `&AccountRef` threads reach the account's atomics, constants and its
// `BlockSource`, which is `Sync`.
unsafe impl Sync for AccountRef {}

impl AccountRef {
    /// Opens an account. If out of memory, the plan is dropped, and with it its handle on the
    /// upstream account.
    pub(crate) fn open(plan: AccountPlan) -> Result<Self> {
        let layout = AllocLayout::new::<Account>();
        // SAFETY: `layout` is that of an `Account`, whose size is not zero.
        let room = NonNull::new(unsafe { alloc(layout) }.cast::<Account>());
        let AccountPlan { name, upstream, limit, immortal, logged, guarded } = plan;
        let Some(room) = room else {
            if let Upstream::Account(next) = upstream {
                // SAFETY: clause 1 of `from_counted`: the plan's handle keeps the account alive.
                // Clause 2: the plan's handle ends here, passed to the result.
                drop(unsafe { Self::from_counted(next) });
            }
            return Err(Error::out_of_memory(layout.size(), layout.align()));
        };
        let (next, direct, guarded) = match &upstream {
            Upstream::Account(next) => {
                // SAFETY: Account 1: the plan has a handle on the upstream account, which keeps it
                // alive.
                let account = unsafe { next.as_ref() };
                (next.as_ptr().cast_const(), account.direct && !guarded, account.guarded || guarded)
            }
            Upstream::Source(source) => (std::ptr::null(), source.is_direct() && !guarded, guarded),
        };
        debug_assert!(!immortal || next.is_null(), "Account 3");
        let account = Account {
            charge: AccountCharge::new(limit),
            upstream,
            next,
            immortal,
            direct,
            plain: direct && immortal && !logged,
            logged,
            guarded,
            name,
            handles: AtomicU64::new(1),
            counters: Counters::new(),
        };
        thread_cache::drain_at_end();
        // SAFETY: `room` was allocated above with the layout of an `Account`, and only this
        // function has its address.
        unsafe { room.write(account) };
        Ok(Self(room))
    }

    /// # Safety
    ///
    /// 1. The account is alive.
    /// 2. The caller has a handle on it, which passes to the result; on an immortal account handles
    ///    are not counted.
    pub(crate) unsafe fn from_counted(account: NonNull<Account>) -> Self {
        Self(account)
    }

    /// Returns the account, with the handle that this was.
    pub(crate) fn into_counted(self) -> NonNull<Account> {
        let account = self.0;
        std::mem::forget(self);
        account
    }

    #[inline]
    pub(crate) fn account(&self) -> &Account {
        // SAFETY: AccountRef 1 and Account 1: this handle is counted, or the account is immortal,
        // so it is alive.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for AccountRef {
    fn clone(&self) -> Self {
        if !self.account().immortal {
            // The count cannot wrap, since each handle takes memory.
            self.account().handles.fetch_add(1, Ordering::Relaxed);
        }
        Self(self.0)
    }
}

impl Drop for AccountRef {
    #[inline]
    fn drop(&mut self) {
        if !self.account().immortal {
            // SAFETY: clause 1 of `drop_handle`: this value is a counted handle (AccountRef 1), and
            // it ends here.
            unsafe { drop_handle(self.0) };
        }
    }
}

/// # Safety
///
/// 1. The caller has a handle on the account, which ends here.
unsafe fn drop_handle(account: NonNull<Account>) {
    let mut next = Some(account);
    // A chain can be long, so this loops instead of recursing.
    while let Some(account) = next.take() {
        let dead = {
            // SAFETY: Account 1: the handle of clause 1 of `# Safety`, or the handle that `free`
            // returned, keeps it alive until `drop_handles`.
            let account = unsafe { account.as_ref() };
            !account.immortal && account.handles.fetch_sub(1, Ordering::Release) == 1 && {
                // What was done through other handles happens before what follows.
                fence(Ordering::Acquire);
                account.charge.drop_handles()
            }
        };
        if dead {
            // SAFETY: clauses 1 and 2 of `free`: `drop_handles` returned `true`, which it does
            // once, when no handle and no charge is left.
            next = unsafe { free(account) };
        }
    }
}

/// Frees an immortal account that was never used.
///
/// # Safety
///
/// 1. Only the caller knows the account.
pub(crate) unsafe fn discard(account: NonNull<Account>) {
    // SAFETY: clauses 1 and 2 of `free`: only the caller knows the account (clause 1 of
    // `# Safety`), so no other handle or charge exists.
    let _upstream = unsafe { free(account) };
}

/// Frees an account, and returns the upstream one, with the handle on it that the account had.
///
/// # Safety
///
/// 1. The account has no handle and no charge any more.
/// 2. The call is the only one for the account.
unsafe fn free(account: NonNull<Account>) -> Option<NonNull<Account>> {
    let next = {
        // SAFETY: clause 2 of `# Safety`: the account is not freed yet, and by clause 1 no other
        // thread reaches it.
        let account = unsafe { account.as_ref() };
        NonNull::new(account.next.cast_mut())
    };
    // Dropped in place: a source must not move, since its locks are known by their addresses.
    // SAFETY: clauses 1 and 2 of `# Safety`: no other thread reaches the account, and this is its
    // last use.
    unsafe { account.drop_in_place() };
    // SAFETY: `open` allocated the account with this layout, and its content was dropped above.
    unsafe { dealloc(account.as_ptr().cast(), AllocLayout::new::<Account>()) };
    next
}

impl Account {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether blocks that are charged to this account have guards.
    #[inline]
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded
    }

    /// Whether releasing a block runs no foreign code, neither that of an allocator nor that of a
    /// listener.
    pub(crate) fn is_own(&self) -> bool {
        self.source().is_own() && self.chain().all(|account| !account.logged)
    }

    /// This account, the upstream one, and so on.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |account| account.next())
    }

    #[inline]
    fn next(&self) -> Option<&Self> {
        // SAFETY: Account 1 and 2: an account has a handle on the upstream one, which is alive
        // while `self` is; otherwise the pointer is null.
        unsafe { self.next.as_ref() }
    }

    /// The source at the end of the chain.
    #[inline]
    pub(crate) fn source(&self) -> &BlockSource {
        let mut account = self;
        loop {
            match &account.upstream {
                Upstream::Source(source) => return source,
                // SAFETY: Account 1 and 2: an account has a handle on the upstream one, which is
                // alive while `self` is.
                Upstream::Account(next) => account = unsafe { next.as_ref() },
            }
        }
    }

    /// Charges a block of `nbytes` to every account of the chain, or to none.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`, with the numbers of the account whose limit is reached.
    #[inline]
    pub(crate) fn charge(&self, thread_index: usize, nbytes: usize) -> Result<()> {
        if self.plain { Ok(()) } else { self.charge_units(thread_index, units(nbytes), nbytes) }
    }

    #[inline]
    fn charge_units(&self, thread_index: usize, units: u64, nbytes: usize) -> Result<()> {
        let mut used = 0;
        match self.refusing(thread_index, units, &mut used) {
            None => Ok(()),
            Some(account) => Err(self.refused(account, thread_index, units, used, nbytes)),
        }
    }

    /// Charges the chain up to the account that refuses; `used` is the number of units which that
    /// one has in use. Not inlined, and with the number apart, so that the result is one register.
    #[inline(never)]
    fn refusing(&self, thread_index: usize, units: u64, used: &mut u64) -> Option<&Self> {
        let mut account = self;
        while !account.immortal {
            if let Err(in_use) = account.charge.take(thread_index, units) {
                *used = in_use;
                return Some(account);
            }
            // A chain without an immortal account ends at the account of a source.
            let Some(next) = account.next() else { break };
            account = next;
        }
        None
    }

    #[cold]
    fn refused(&self, account: &Self, thread_index: usize, units: u64, used: u64, nbytes: usize) -> Error {
        self.give(thread_index, units, Some(account));
        let limit = account.charge.limit().saturating_mul(UNIT as u64);
        // An empty block is charged for its header.
        Error::limit(limit, used.saturating_mul(UNIT as u64), nbytes.max(UNIT), UNIT)
    }

    /// Refunds units that were charged to the accounts of the chain, or to those in front of `end`.
    /// This frees none of them: the caller has a handle on the first, or units there.
    #[cold]
    fn give(&self, thread_index: usize, units: u64, end: Option<&Self>) {
        let is_end = |account: &Self| end.is_some_and(|end| std::ptr::eq(account, end));
        for account in
            self.chain().take_while(|&account| !is_end(account)).filter(|account| !account.immortal)
        {
            let _never_last = account.charge.give(thread_index, units);
        }
    }

    /// Charges the growth of a block. The block is charged already, so its accounts are alive.
    pub(crate) fn charge_growth(&self, old_nbytes: usize, new_nbytes: usize) -> Result<()> {
        match units(new_nbytes).saturating_sub(units(old_nbytes)) {
            0 => Ok(()),
            more => self.charge_units(thread_index::current(), more, new_nbytes - old_nbytes),
        }
    }

    /// Refunds what a block no longer needs after a resize. The block keeps its charge for
    /// `new_nbytes`.
    pub(crate) fn refund_shrinkage(&self, old_nbytes: usize, new_nbytes: usize) {
        match units(old_nbytes).saturating_sub(units(new_nbytes)) {
            0 => {}
            less => self.give(thread_index::current(), less, None),
        }
    }

    /// Counts a new block in the statistics of the chain.
    #[inline]
    pub(crate) fn note_allocated(&self, thread_index: usize, nbytes: usize) {
        if self.plain {
            self.counters.allocated(thread_index, nbytes)
        } else {
            self.note_chain(thread_index, nbytes)
        }
    }

    #[inline(never)]
    fn note_chain(&self, thread_index: usize, nbytes: usize) {
        let mut account = self;
        loop {
            account.counters.allocated(thread_index, nbytes);
            if account.logged {
                log::allocated(account.name, nbytes);
            }
            match account.next() {
                Some(next) => account = next,
                None => return,
            }
        }
    }

    pub(crate) fn note_resized(&self, old_nbytes: usize, new_nbytes: usize) {
        for account in self.chain() {
            account.counters.resized(old_nbytes, new_nbytes);
            if account.logged {
                log::resized(account.name, old_nbytes, new_nbytes);
            }
        }
    }

    /// Refunds, to every account of the chain, the charge for a block that was not allocated.
    #[cold]
    pub(crate) fn refund_unused(&self, nbytes: usize) {
        self.give(thread_index::current(), units(nbytes), None);
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let limit = self.charge.limit();
        let limit_nbytes = (limit < UNLIMITED).then(|| limit * UNIT as u64);
        let read = self.counters.read();
        // While threads allocate, the sums are of no single moment; the limit holds at every
        // moment.
        let most = limit_nbytes.unwrap_or(u64::MAX);
        Statistics {
            live_nbytes: read.live_nbytes.min(most),
            peak_nbytes: read.peak_nbytes.min(most),
            cached_nbytes: self.source().cached_nbytes() as u64,
            limit_nbytes,
            ..read
        }
    }

    pub(crate) fn reset_peak(&self) {
        self.counters.reset_peak();
    }
}

/// Refunds the charge for a freed block, and frees the accounts that are not needed any more.
///
/// # Safety
///
/// 1. The account was charged for a block of `nbytes`, which is not refunded otherwise.
/// 2. The block has been returned to its source, or a thread's list of free blocks has it.
#[inline]
pub(crate) unsafe fn refund(account: NonNull<Account>, thread_index: usize, nbytes: usize) {
    {
        // SAFETY: Account 1: the account is charged for the block (clause 1 of `# Safety`), so it
        // is alive.
        let account = unsafe { account.as_ref() };
        if account.plain {
            return account.counters.freed(thread_index, nbytes);
        }
    }
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `refund_chain`, for the same account and
    // size.
    unsafe { refund_chain(account, thread_index, nbytes) }
}

/// # Safety
///
/// 1. The account was charged for a block of `nbytes`, which is not refunded otherwise.
/// 2. The block has been returned to its source, or a thread's list of free blocks has it.
#[inline(never)]
unsafe fn refund_chain(first: NonNull<Account>, thread_index: usize, nbytes: usize) {
    let units = units(nbytes);
    let mut at = first;
    loop {
        // SAFETY: Account 1: each account of the chain is charged for the block until its own
        // refund below, so it is alive; afterwards only `next` is used.
        let account = unsafe { at.as_ref() };
        account.counters.freed(thread_index, nbytes);
        if account.logged {
            log::freed(account.name, nbytes);
        }
        if account.immortal {
            return;
        }
        let next = account.next;
        if account.charge.give(thread_index, units) {
            // SAFETY: clauses 1 and 2 of `free_downstream`: `give` returned `true`, which it does
            // once, when no handle and no charge is left.
            unsafe { free_downstream(at) };
        }
        match NonNull::new(next.cast_mut()) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// Frees an account in the middle of a refund. The upstream account is still charged for the block,
/// and stays.
///
/// # Safety
///
/// 1. The account has no handle and no charge any more.
/// 2. The call is the only one for the account.
#[cold]
unsafe fn free_downstream(account: NonNull<Account>) {
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `free`, for the same account.
    if let Some(upstream) = unsafe { free(account) } {
        // The handle of the freed account.
        // SAFETY: clauses 1 and 2 of `from_counted`: `free` returned the handle of the freed
        // account, which keeps `upstream` alive.
        drop(unsafe { AccountRef::from_counted(upstream) });
    }
}
