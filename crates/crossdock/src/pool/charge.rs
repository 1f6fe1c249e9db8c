//! The amount of a pool that is in use: one counter, which enforces the limit and keeps the pool's
//! core alive.
//!
//! Reasons: `DESIGN.md`, "A charge keeps a pool alive".
//! See also: `DESIGN.md`, "One counter holds the limit, and threads have credits".

use crate::memory::sync::{AtomicBool, AtomicU64, Ordering, fence};

/// Memory is charged in units of this many bytes.
pub(crate) const UNIT: usize = 64;

/// Set while any handle on the pool exists.
const HANDLED: u64 = 1 << 63;
/// More than any address space; far enough below [`HANDLED`] that no sum of a charge and a request
/// reaches it.
pub(crate) const UNLIMITED: u64 = 1 << 58;

/// The number of units charged for a block of `nbytes`: at least one, so that every block keeps its
/// pool's core alive.
pub(crate) fn units(nbytes: usize) -> u64 {
    nbytes.div_ceil(UNIT).max(1) as u64
}

/// The most units that a thread keeps of those it released, for its next request.
const MOST_CREDIT: u64 = 64;
/// Marks a credit that takes no more units. (Units that are added all the same are returned to the
/// counter instead, and their number in the credit is ignored.)
const SHUT: u64 = 1 << 63;

/// Units in use, and one bit for all handles together; and the credits of `THREADS` threads, in
/// which they keep a few units between two requests.
///
/// Units in a credit count as in use, so the limit holds in any case. Before a request is refused,
/// all credits are shut permanently and emptied, so that unused units cause no refusal. (When
/// several threads first reach the limit at the same time, one can be refused units that another is
/// just taking from its credit.) The same happens when the last handle is dropped, so that credits
/// do not keep the core alive.
///
/// Orderings. Releasing units or the handles' bit is a Release of what the thread did with the
/// core. The thread that brings the counter to zero fences with Acquire, so that all of it happens
/// before the core is freed. A credit passes what its thread did to the thread that empties it.
/// Taking units from the counter is Relaxed: the taker has a handle, or other units, which keep the
/// core alive meanwhile.
pub(crate) struct AccountCharge<const THREADS: usize> {
    counter: ChargeCounter,
    limit: u64,
    /// Whether two threads have contended for the counter. Until then it is cheaper than credits.
    is_contended: AtomicBool,
    credits: [ThreadCredit; THREADS],
}

// Padded to two cache lines to avoid false sharing (adjacent-line prefetch loads lines in pairs).
#[repr(align(128))]
struct ChargeCounter(AtomicU64);

/// The credit of a thread: units that it has taken and does not use, or [`SHUT`] and more. Only the
/// thread with the index adds and removes units; any other thread that writes it shuts it.
#[repr(align(64))]
struct ThreadCredit(AtomicU64);

impl<const THREADS: usize> AccountCharge<THREADS> {
    /// Nothing in use, and a handle. `limit` is in units, at most [`UNLIMITED`].
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            counter: ChargeCounter(AtomicU64::new(HANDLED)),
            limit: limit.min(UNLIMITED),
            is_contended: AtomicBool::new(false),
            credits: std::array::from_fn(|_| ThreadCredit(AtomicU64::new(0))),
        }
    }

    /// A charge whose threads have contended already.
    #[cfg(test)]
    pub(crate) fn contended(limit: u64) -> Self {
        Self { is_contended: AtomicBool::new(true), ..Self::new(limit) }
    }

    /// The most units that can be in use.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Units in use, or in credits.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn used(&self) -> u64 {
        self.counter.0.load(Ordering::Relaxed) & !HANDLED
    }

    /// Takes `units` if the limit permits it: from the thread's credit or, in one compare-and-swap,
    /// from the counter. Otherwise nothing changes, and the error is the number of units in use.
    #[inline]
    pub(crate) fn take(&self, thread_index: usize, units: u64) -> Result<(), u64> {
        if self.is_contended.load(Ordering::Relaxed)
            && let Some(ThreadCredit(credit)) = self.credits.get(thread_index)
        {
            let held = credit.load(Ordering::Relaxed);
            let enough = units <= held && held < SHUT;
            if enough
                && credit.compare_exchange(held, held - units, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                return Ok(());
            }
        }
        self.take_of_counter(units).or_else(|_| self.take_of_all(units))
    }

    #[inline]
    fn take_of_counter(&self, units: u64) -> Result<(), u64> {
        let mut value = self.counter.0.load(Ordering::Relaxed);
        loop {
            let used = value & !HANDLED;
            if units > self.limit - used.min(self.limit) {
                return Err(used);
            }
            match self.counter.0.compare_exchange_weak(
                value,
                value + units,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                Err(now) => {
                    self.is_contended.store(true, Ordering::Relaxed);
                    value = now;
                }
            }
        }
    }

    #[cold]
    fn take_of_all(&self, units: u64) -> Result<(), u64> {
        for credit in &self.credits {
            // Never the last units: the caller has a handle, or units.
            let _never_last = self.subtract(credit.shut());
        }
        self.take_of_counter(units)
    }

    /// Releases `units`. `true`: they were the last, there is no handle, and the caller must free
    /// the core.
    #[inline]
    #[must_use]
    pub(crate) fn give(&self, thread_index: usize, units: u64) -> bool {
        // Units in a credit do not keep the core alive: a thread that shuts the credit meanwhile
        // may free the core. So the credit is checked before it receives the units, and not touched
        // afterwards.
        if self.is_contended.load(Ordering::Relaxed)
            && units <= MOST_CREDIT
            && let Some(ThreadCredit(credit)) = self.credits.get(thread_index)
            && credit.load(Ordering::Relaxed) <= MOST_CREDIT
            && credit.fetch_add(units, Ordering::Release) < SHUT
        {
            return false;
        }
        self.subtract(units)
    }

    /// Releases the bit of all handles. `true`: nothing is in use either, and the caller must free
    /// the core.
    #[must_use]
    pub(crate) fn drop_handles(&self) -> bool {
        let kept: u64 = self.credits.iter().map(ThreadCredit::shut).sum();
        self.subtract(HANDLED + kept)
    }

    /// Accesses the credits as freeing the core does, for the model checker: it fails if another
    /// thread accesses one then or later.
    ///
    /// # Safety
    ///
    /// 1. `this` is alive, and no other thread uses it any more, as far as the caller can know.
    #[cfg(all(test, loom))]
    pub(crate) unsafe fn end_credits(this: *mut Self) {
        for thread_index in 0..THREADS {
            // SAFETY: clause 1 of `# Safety`: `this` is alive and unused; a concurrent access is
            // what the model checker detects here.
            unsafe { (*this).credits[thread_index].0.with_mut(|_| ()) };
        }
    }

    #[inline]
    fn subtract(&self, part: u64) -> bool {
        let last = part != 0 && self.counter.0.fetch_sub(part, Ordering::Release) == part;
        if last {
            fence(Ordering::Acquire);
        }
        last
    }
}

impl ThreadCredit {
    /// Shuts the credit permanently, and returns its units.
    fn shut(&self) -> u64 {
        let held = self.0.swap(SHUT, Ordering::Acquire);
        if held >= SHUT { 0 } else { held }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_can_be_reached_and_not_passed() {
        for (thread_index, charge) in [0, 1, 7].into_iter().flat_map(|thread_index| {
            [(thread_index, AccountCharge::<2>::new(10)), (thread_index, AccountCharge::contended(10))]
        }) {
            assert_eq!(charge.take(thread_index, 6), Ok(()));
            assert_eq!(charge.take(thread_index, 5), Err(6));
            assert_eq!(charge.take(thread_index, u64::MAX), Err(6));
            assert_eq!(charge.take(thread_index, 4), Ok(()));
            assert_eq!(charge.used(), 10);
            assert!(!charge.give(thread_index, 10));
            assert_eq!(charge.take(thread_index, 10), Ok(()));
        }
    }

    #[test]
    fn what_one_thread_keeps_is_not_refused_to_another() {
        let charge = AccountCharge::<2>::contended(10);
        assert_eq!(charge.take(0, 8), Ok(()));
        assert!(!charge.give(0, 8));
        assert_eq!(charge.used(), 8, "in the credit");
        assert_eq!(charge.take(1, 10), Ok(()));
        assert_eq!(charge.take(0, 1), Err(10));
        assert!(!charge.give(1, 10));
        assert_eq!(charge.used(), 0, "credits are shut");
    }

    #[test]
    fn a_thread_keeps_no_more_credit_than_its_share() {
        let charge = AccountCharge::<1>::contended(UNLIMITED);
        assert_eq!(charge.take(0, 1000), Ok(()));
        for _ in 0..1000 {
            assert!(!charge.give(0, 1));
        }
        assert!((1..=MOST_CREDIT + 1).contains(&charge.used()), "{}", charge.used());
    }

    #[test]
    fn a_credit_takes_what_it_may_hold_and_one_gift_more() {
        let charge = AccountCharge::<1>::contended(UNLIMITED);
        assert_eq!(charge.take(0, 400), Ok(()));
        // More than a credit may take at once.
        assert!(!charge.give(0, MOST_CREDIT + 1));
        assert_eq!(charge.used(), 400 - (MOST_CREDIT + 1));
        let used = charge.used();
        assert!(!charge.give(0, MOST_CREDIT) && !charge.give(0, 1));
        assert_eq!(charge.used(), used, "both are in the credit");
        assert!(!charge.give(0, 1));
        assert_eq!(charge.used(), used - 1, "the credit is full");
        // The credit is emptied to the last unit before the counter is used.
        assert_eq!(charge.take(0, MOST_CREDIT + 1), Ok(()));
        assert_eq!(charge.used(), used - 1);
        assert_eq!(charge.take(0, 1), Ok(()));
        assert_eq!(charge.used(), used);
    }

    #[test]
    fn no_limit_is_more_than_any_address_space() {
        assert_eq!(AccountCharge::<1>::new(10).limit(), 10);
        assert_eq!(AccountCharge::<1>::new(u64::MAX).limit(), UNLIMITED);
        assert!(u128::from(UNLIMITED) * UNIT as u128 > u128::from(u64::MAX) && UNLIMITED < HANDLED / 2);
    }

    #[test]
    fn the_core_is_freed_by_whoever_goes_last() {
        let charge = AccountCharge::<2>::contended(UNLIMITED);
        assert_eq!(charge.take(0, 4), Ok(()));
        assert!(!charge.give(1, 1));
        assert!(!charge.drop_handles());
        assert!(!charge.give(0, 2));
        assert!(charge.give(1, 1));

        let kept = AccountCharge::<2>::contended(UNLIMITED);
        assert_eq!(kept.take(0, 5), Ok(()));
        assert!(!kept.give(0, 5));
        assert!(kept.drop_handles());

        let unused = AccountCharge::<2>::new(0);
        assert!(unused.drop_handles());
    }

    #[test]
    fn an_empty_block_is_charged_one_unit() {
        assert_eq!((units(0), units(1), units(64), units(65)), (1, 1, 1, 2));
    }
}
