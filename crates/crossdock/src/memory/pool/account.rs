//! The core of a pool: an account in a chain that ends at a source of memory.
//!
//! ```text
//!   Pool ──> Account "decoder" (limit) ──> Account "job" ──> Account "default" ──> source: where blocks come from
//!   Block ─────────┘
//! ```
//!
//! What a block takes is charged to each account on the way. A block keeps the first one alive by its charge, and each
//! account keeps the next.

use std::alloc::{Layout as AllocLayout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::memory::pool::charge::{Charge, UNIT, UNLIMITED, units};
use crate::memory::pool::counters::{Counters, Statistics};
use crate::memory::pool::log;
use crate::memory::pool::source::Source;
use crate::memory::sync::{AtomicU64, Ordering, fence};

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
/// 3. If it is `immortal`, it is never freed, and neither `charge` nor `handles` is used.
pub(crate) struct Account {
    charge: Charge,
    upstream: Upstream,
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
        let account = NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<Account>());
        let Plan { name, upstream, limit, immortal, logged, guarded } = plan;
        let (direct, guarded) = match &upstream {
            Upstream::Account(next) => {
                // SAFETY: the plan's hold on it is a handle.
                let next = unsafe { next.as_ref() };
                (next.direct && !guarded, next.guarded || guarded)
            }
            Upstream::Source(source) => (source.is_direct() && !guarded, guarded),
        };
        let plain = direct && immortal && !logged && matches!(upstream, Upstream::Source(_));
        let Some(account) = account else {
            if let Upstream::Account(next) = upstream {
                // SAFETY: the plan's hold was a handle, which ends here.
                drop(unsafe { Self::from_counted(next) });
            }
            return Err(Error::out_of_memory(layout.size(), layout.align()));
        };
        let at = account.as_ptr();
        // The counters are large, and zeroed already (Counters 1); the rest is written field by field.
        // SAFETY: a field of fresh memory of the account's layout.
        unsafe { (&raw mut (*at).charge).write(Charge::new(limit)) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).upstream).write(upstream) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).immortal).write(immortal) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).direct).write(direct) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).plain).write(plain) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).logged).write(logged) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).guarded).write(guarded) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).name).write(name) };
        // SAFETY: as above.
        unsafe { (&raw mut (*at).handles).write(AtomicU64::new(1)) };
        Ok(Self(account))
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
    // SAFETY: nobody else reaches the account any more.
    let next = match unsafe { &(*account.as_ptr()).upstream } {
        Upstream::Account(next) => Some(*next),
        Upstream::Source(_) => None,
    };
    // A source must not be moved: its locks are known by their addresses.
    // SAFETY: the last use of the field.
    unsafe { (&raw mut (*account.as_ptr()).upstream).drop_in_place() };
    // A model checker's atomics need a drop; the others hold nothing.
    #[cfg(loom)]
    // SAFETY: as above; the last use of the field.
    unsafe {
        (&raw mut (*account.as_ptr()).charge).drop_in_place()
    };
    #[cfg(loom)]
    // SAFETY: as above; the last use of the field.
    unsafe {
        (&raw mut (*account.as_ptr()).handles).drop_in_place()
    };
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

    /// This account, the one upstream, and so on.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |account| account.next())
    }

    #[inline]
    fn next(&self) -> Option<&Self> {
        match &self.upstream {
            // SAFETY: an account's hold on the one upstream is a handle (Account 1 and 2).
            Upstream::Account(next) => Some(unsafe { next.as_ref() }),
            Upstream::Source(_) => None,
        }
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
    pub(crate) fn charge(&self, nbytes: usize) -> Result<()> {
        if self.plain { Ok(()) } else { self.charge_units(units(nbytes), nbytes) }
    }

    fn charge_units(&self, units: u64, nbytes: usize) -> Result<()> {
        for account in self.chain() {
            if account.immortal {
                continue;
            }
            if let Err(used) = account.charge.take(units) {
                self.give_up_to(account, units);
                return Err(Error::limit(
                    account.charge.limit().saturating_mul(UNIT as u64),
                    used * UNIT as u64,
                    nbytes,
                    UNIT,
                ));
            }
        }
        Ok(())
    }

    /// Takes back what was charged to the accounts in front of `end`. None of them is freed by that: the caller has a handle on
    /// the first, or units of its own there.
    #[cold]
    fn give_up_to(&self, end: &Self, units: u64) {
        for account in self.chain().take_while(|&account| !std::ptr::eq(account, end)) {
            let _never_last = !account.immortal && account.charge.give(units);
        }
    }

    /// Charges what a block has more now. It is charged for already, so its accounts are alive.
    pub(crate) fn charge_growth(&self, old_nbytes: usize, new_nbytes: usize) -> Result<()> {
        match units(new_nbytes).saturating_sub(units(old_nbytes)) {
            0 => Ok(()),
            more => self.charge_units(more, new_nbytes - old_nbytes),
        }
    }

    /// Takes back what a block is charged too much after a resize. The block keeps its charge for `new_nbytes`.
    pub(crate) fn refund_shrinkage(&self, old_nbytes: usize, new_nbytes: usize) {
        let units = units(old_nbytes).saturating_sub(units(new_nbytes));
        for account in self.chain().filter(|account| units > 0 && !account.immortal) {
            let _never_last = account.charge.give(units);
        }
    }

    /// Notes, in the statistics of the chain, a block that was had.
    #[inline]
    pub(crate) fn note_allocated(&self, slot: usize, nbytes: usize) {
        if self.plain { self.counters.allocated(slot, nbytes) } else { self.note_chain(slot, nbytes) }
    }

    #[inline(never)]
    fn note_chain(&self, slot: usize, nbytes: usize) {
        for account in self.chain() {
            account.counters.allocated(slot, nbytes);
            if account.logged {
                log::allocated(account.name, nbytes);
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
        let units = units(nbytes);
        for account in self.chain().filter(|account| !account.immortal) {
            let _never_last = account.charge.give(units);
        }
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let limit = self.charge.limit();
        Statistics {
            cached_nbytes: self.source().cached_nbytes() as u64,
            limit_nbytes: (limit < UNLIMITED).then(|| limit * UNIT as u64),
            ..self.counters.read()
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
unsafe fn refund_chain(account: NonNull<Account>, slot: usize, nbytes: usize) {
    let units = units(nbytes);
    let mut next = Some(account);
    while let Some(at) = next.take() {
        let (dead, upstream) = {
            // SAFETY: Account 1: it is charged for the block, or (further on) its downstream account was until now, and
            // that one is freed only below.
            let account = unsafe { at.as_ref() };
            account.counters.freed(slot, nbytes);
            if account.logged {
                log::freed(account.name, nbytes);
            }
            let upstream = match account.upstream {
                Upstream::Account(upstream) => Some(upstream),
                Upstream::Source(_) => None,
            };
            (!account.immortal && account.charge.give(units), upstream)
        };
        next = upstream;
        if dead {
            // SAFETY: the charge said that nobody is left.
            let upstream = unsafe { free(at) };
            if let Some(upstream) = upstream {
                // The handle that the dead account had on it. It is charged for this block, too, until the next round.
                // SAFETY: handed over by `free`.
                drop(unsafe { AccountRef::from_counted(upstream) });
            }
        }
    }
}
