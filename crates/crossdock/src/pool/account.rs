//! The core of a pool: an account in a chain that ends at a source of memory.
//!
//! ```text
//!   Pool ──> Account "decoder" (limit) ──> Account "job" ──> Account "default" ──> source: where blocks come from
//!   Block ─────────┘
//! ```
//!
//! What a block takes is charged to each account on the way. A block keeps the first one alive by its charge, and each
//! account keeps the next.

use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::memory::sync::{AtomicU64, Ordering, fence};
use crate::pool::charge::{Charge, UNIT, UNLIMITED, units};
use crate::pool::counters::{Counters, Statistics};
use crate::pool::log;
use crate::pool::slot::{self, SLOTS};
use crate::pool::source::Source;

/// Where an account passes its requests on to.
pub(crate) enum Upstream {
    /// Another account. It counts as a handle on that one.
    Account(NonNull<Account>),
    Source(Source),
}

/// # Invariants
///
/// 1. It is alive while anybody has a handle on it or while it is charged for anything; `charge` tells the one who must free it.
/// 2. `handles` counts the handles: [`AccountRef`]s and accounts downstream.
/// 3. If it is `immortal`, it is never freed, it is the end of its chain, and neither `charge` nor `handles` is used.
pub(crate) struct Account {
    charge: Charge<SLOTS>,
    upstream: Upstream,
    /// The account upstream, once more: null at the end of the chain.
    next: *const Account,
    immortal: bool,
    /// Whether small blocks come from the global allocator without further ado.
    direct: bool,
    /// Whether, beside that, statistics are all that is kept: immortal, at the end of its chain, and silent.
    plain: bool,
    logged: bool,
    /// Whether its blocks have guards, which they have too where one further on in the chain wants them.
    guarded: bool,
    name: &'static str,
    handles: AtomicU64,
    counters: Counters,
}

/// What to make an account of.
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) upstream: Upstream,
    /// In units.
    pub(crate) limit: u64,
    pub(crate) immortal: bool,
    pub(crate) logged: bool,
    pub(crate) guarded: bool,
}

impl Plan {
    /// Without a limit, silent, and freed when nobody needs it any more.
    pub(crate) fn new(name: &'static str, upstream: Upstream) -> Self {
        Self { name, upstream, limit: UNLIMITED, immortal: false, logged: false, guarded: false }
    }
}

/// A counted handle on an account.
///
/// # Invariants
///
/// 1. It is counted in the account's `handles`, unless the account is immortal (hence [`Account`] 1 holds while it lives).
pub(crate) struct AccountRef(NonNull<Account>);

// SAFETY: an account is atomics, constants, and a source, which is Sync and Send.
unsafe impl Send for AccountRef {}
// SAFETY: as for Send.
unsafe impl Sync for AccountRef {}

impl AccountRef {
    /// Opens an account. Where there is no memory for it, the plan is dropped, and with it its hold on what is upstream.
    pub(crate) fn open(plan: Plan) -> Result<Self> {
        let layout = AllocLayout::new::<Account>();
        // SAFETY: the layout is not zero-sized.
        let room = NonNull::new(unsafe { alloc(layout) }.cast::<Account>());
        let Plan { name, upstream, limit, immortal, logged, guarded } = plan;
        let Some(room) = room else {
            if let Upstream::Account(next) = upstream {
                // SAFETY: the plan's hold was a handle, which ends here.
                drop(unsafe { Self::from_counted(next) });
            }
            return Err(Error::out_of_memory(layout.size(), layout.align()));
        };
        let (next, direct, guarded) = match &upstream {
            Upstream::Account(next) => {
                // SAFETY: the plan's hold on it is a handle.
                let account = unsafe { next.as_ref() };
                (next.as_ptr().cast_const(), account.direct && !guarded, account.guarded || guarded)
            }
            Upstream::Source(source) => (std::ptr::null(), source.is_direct() && !guarded, guarded),
        };
        debug_assert!(!immortal || next.is_null(), "Account 3");
        let account = Account {
            charge: Charge::new(limit),
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
        // SAFETY: freshly allocated with the layout of an account.
        unsafe { room.write(account) };
        Ok(Self(room))
    }

    /// # Safety
    ///
    /// The account is alive, and the caller has a handle on it that is not given up elsewhere.
    pub(crate) unsafe fn from_counted(account: NonNull<Account>) -> Self {
        Self(account)
    }

    /// The account, with the handle that this was.
    pub(crate) fn into_counted(self) -> NonNull<Account> {
        let account = self.0;
        std::mem::forget(self);
        account
    }

    #[inline]
    pub(crate) fn account(&self) -> &Account {
        // SAFETY: AccountRef 1, Account 1.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for AccountRef {
    fn clone(&self) -> Self {
        if !self.account().immortal {
            // As many handles as would wrap the count cannot be had: each takes memory.
            self.account().handles.fetch_add(1, Ordering::Relaxed);
        }
        Self(self.0)
    }
}

impl Drop for AccountRef {
    #[inline]
    fn drop(&mut self) {
        if !self.account().immortal {
            // SAFETY: AccountRef 1: this is that handle, which nobody uses again.
            unsafe { drop_handle(self.0) };
        }
    }
}

/// # Safety
///
/// The caller has a handle on the account, and gives it up.
unsafe fn drop_handle(account: NonNull<Account>) {
    let mut next = Some(account);
    // A chain can be long: it is walked, not recursed into.
    while let Some(account) = next.take() {
        let dead = {
            // SAFETY: Account 1: the handle, which is given up here, keeps it alive.
            let account = unsafe { account.as_ref() };
            !account.immortal && account.handles.fetch_sub(1, Ordering::Release) == 1 && {
                // What was done through other handles happens before what follows.
                fence(Ordering::Acquire);
                account.charge.drop_handles()
            }
        };
        if dead {
            // SAFETY: the charge said that nobody is left.
            next = unsafe { free(account) };
        }
    }
}

/// Frees an immortal account that nobody has used.
///
/// # Safety
///
/// Nobody else knows of it.
pub(crate) unsafe fn discard(account: NonNull<Account>) {
    // SAFETY: the caller's word.
    let _upstream = unsafe { free(account) };
}

/// Frees an account, and returns the one upstream, with the handle on it that the account had.
///
/// # Safety
///
/// Its charge said that it has no handle and is charged for nothing; and this is called once for it.
unsafe fn free(account: NonNull<Account>) -> Option<NonNull<Account>> {
    let next = {
        // SAFETY: nobody else reaches the account any more.
        let account = unsafe { account.as_ref() };
        NonNull::new(account.next.cast_mut())
    };
    // In place: a source must not be moved, since its locks are known by their addresses.
    // SAFETY: as above; its last use.
    unsafe { account.drop_in_place() };
    // SAFETY: allocated by `open` with this layout, and nobody's any more.
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

    /// Whether releasing a block runs no foreign code: neither a foreign allocator's nor a
    /// listener's.
    pub(crate) fn is_own(&self) -> bool {
        self.source().is_direct() && self.chain().all(|account| !account.logged)
    }

    /// This account, the one upstream, and so on.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |account| account.next())
    }

    #[inline]
    fn next(&self) -> Option<&Self> {
        // SAFETY: an account's hold on the one upstream is a handle (Account 1 and 2).
        unsafe { self.next.as_ref() }
    }

    /// Where the chain ends.
    #[inline]
    pub(crate) fn source(&self) -> &Source {
        let mut account = self;
        loop {
            match &account.upstream {
                Upstream::Source(source) => return source,
                // SAFETY: as in `next`.
                Upstream::Account(next) => account = unsafe { next.as_ref() },
            }
        }
    }

    /// Charges a block of `nbytes` to every account of the chain, or to none.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`, with the numbers of the account whose limit stands in the way.
    #[inline]
    pub(crate) fn charge(&self, slot: usize, nbytes: usize) -> Result<()> {
        if self.plain { Ok(()) } else { self.charge_units(slot, units(nbytes), nbytes) }
    }

    #[inline]
    fn charge_units(&self, slot: usize, units: u64, nbytes: usize) -> Result<()> {
        let mut used = 0;
        match self.refusing(slot, units, &mut used) {
            None => Ok(()),
            Some(account) => Err(self.refused(account, slot, units, used, nbytes)),
        }
    }

    /// Charges the chain, as far as the account that refuses; `used` is what that one has in use. Not inlined, and with the number
    /// apart: what it returns is one register.
    #[inline(never)]
    fn refusing(&self, slot: usize, units: u64, used: &mut u64) -> Option<&Self> {
        let mut account = self;
        while !account.immortal {
            if let Err(in_use) = account.charge.take(slot, units) {
                *used = in_use;
                return Some(account);
            }
            // The end of a chain that is not immortal is a source's.
            let Some(next) = account.next() else { break };
            account = next;
        }
        None
    }

    #[cold]
    fn refused(&self, account: &Self, slot: usize, units: u64, used: u64, nbytes: usize) -> Error {
        self.give(slot, units, Some(account));
        let limit = account.charge.limit().saturating_mul(UNIT as u64);
        // An empty block is charged for its header.
        Error::limit(limit, used.saturating_mul(UNIT as u64), nbytes.max(UNIT), UNIT)
    }

    /// Takes back units that were charged to the accounts of the chain, or to those in front of `end`. None of them is freed by that:
    /// the caller has a handle on the first, or units of its own there.
    #[cold]
    fn give(&self, slot: usize, units: u64, end: Option<&Self>) {
        let is_end = |account: &Self| end.is_some_and(|end| std::ptr::eq(account, end));
        for account in
            self.chain().take_while(|&account| !is_end(account)).filter(|account| !account.immortal)
        {
            let _never_last = account.charge.give(slot, units);
        }
    }

    /// Charges what a block has more now. It is charged for already, so its accounts are alive.
    pub(crate) fn charge_growth(&self, old_nbytes: usize, new_nbytes: usize) -> Result<()> {
        match units(new_nbytes).saturating_sub(units(old_nbytes)) {
            0 => Ok(()),
            more => self.charge_units(slot::current(), more, new_nbytes - old_nbytes),
        }
    }

    /// Takes back what a block is charged too much after a resize. The block keeps its charge for `new_nbytes`.
    pub(crate) fn refund_shrinkage(&self, old_nbytes: usize, new_nbytes: usize) {
        match units(old_nbytes).saturating_sub(units(new_nbytes)) {
            0 => {}
            less => self.give(slot::current(), less, None),
        }
    }

    /// Notes, in the statistics of the chain, a block that was had.
    #[inline]
    pub(crate) fn note_allocated(&self, slot: usize, nbytes: usize) {
        if self.plain { self.counters.allocated(slot, nbytes) } else { self.note_chain(slot, nbytes) }
    }

    #[inline(never)]
    fn note_chain(&self, slot: usize, nbytes: usize) {
        let mut account = self;
        loop {
            account.counters.allocated(slot, nbytes);
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

    /// Takes back, from every account of the chain, what was charged for a block that never came to be.
    #[cold]
    pub(crate) fn refund_unused(&self, nbytes: usize) {
        self.give(slot::current(), units(nbytes), None);
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let limit = self.charge.limit();
        let limit_nbytes = (limit < UNLIMITED).then(|| limit * UNIT as u64);
        let read = self.counters.read();
        // The sums are of no one moment while threads allocate; the limit holds at every moment.
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

/// Takes back what was charged for a block that is gone now, and frees the accounts that nobody needs any more.
///
/// # Safety
///
/// The account was charged for a block of `nbytes`, which has been given back to the source.
#[inline]
pub(crate) unsafe fn refund(account: NonNull<Account>, slot: usize, nbytes: usize) {
    {
        // SAFETY: Account 1: it is charged for the block.
        let account = unsafe { account.as_ref() };
        if account.plain {
            return account.counters.freed(slot, nbytes);
        }
    }
    // SAFETY: the caller's word.
    unsafe { refund_chain(account, slot, nbytes) }
}

/// # Safety
///
/// As for [`refund`].
#[inline(never)]
unsafe fn refund_chain(first: NonNull<Account>, slot: usize, nbytes: usize) {
    let units = units(nbytes);
    let mut at = first;
    loop {
        // SAFETY: Account 1: it is charged for the block. What follows its own refund touches the one upstream only.
        let account = unsafe { at.as_ref() };
        account.counters.freed(slot, nbytes);
        if account.logged {
            log::freed(account.name, nbytes);
        }
        if account.immortal {
            return;
        }
        let next = account.next;
        if account.charge.give(slot, units) {
            // SAFETY: the charge said that nobody is left.
            unsafe { free_downstream(at) };
        }
        match NonNull::new(next.cast_mut()) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// Frees an account in the middle of a refund: the one upstream is charged for the block still, and stays.
///
/// # Safety
///
/// As for [`free`].
#[cold]
unsafe fn free_downstream(account: NonNull<Account>) {
    // SAFETY: the caller's word.
    if let Some(upstream) = unsafe { free(account) } {
        // The handle that the dead account had on it.
        // SAFETY: handed over by `free`.
        drop(unsafe { AccountRef::from_counted(upstream) });
    }
}
