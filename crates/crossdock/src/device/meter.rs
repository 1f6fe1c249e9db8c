//! Accounting of a device's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// The use of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The bytes of live allocations.
    pub live_nbytes: u64,
    /// The number of live allocations.
    pub live_count: u64,
    /// The maximum of live bytes so far.
    pub peak_nbytes: u64,
}

/// Counts the bytes that a memory manager has allocated, under a limit that is never exceeded.
///
/// ```
/// use std::sync::Arc;
/// use crossdock::device::Meter;
///
/// let meter = Arc::new(Meter::new(1000));
/// let charge = Meter::charge(&meter, 600)?;
/// assert!(Meter::charge(&meter, 401).unwrap_err().is_out_of_memory());
/// assert_eq!(meter.usage().live_nbytes, 600);
/// drop(charge);
/// assert_eq!(meter.usage().live_nbytes, 0);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Debug)]
pub struct Meter {
    nbytes: AtomicU64,
    count: AtomicU64,
    peak: AtomicU64,
    limit: AtomicU64,
}

impl Meter {
    /// A meter with a limit in bytes; `u64::MAX` is no limit.
    pub const fn new(limit: u64) -> Self {
        Self {
            nbytes: AtomicU64::new(0),
            count: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            limit: AtomicU64::new(limit),
        }
    }

    /// Sets the limit for new charges. Existing charges stay, even above it.
    pub fn set_limit(&self, nbytes: u64) {
        self.limit.store(nbytes, Ordering::Relaxed);
    }

    /// Whether `nbytes` bytes could be charged now, so that a driver is not asked in vain.
    ///
    /// # Errors
    ///
    /// As [`Meter::charge`], and for more bytes than an allocation can have.
    #[doc(hidden)]
    pub fn check(&self, nbytes: usize) -> Result<()> {
        if isize::try_from(nbytes).is_err() {
            return Err(Error::out_of_memory(nbytes, 1));
        }
        let (limit, used) = (self.limit.load(Ordering::Relaxed), self.nbytes.load(Ordering::Relaxed));
        match after(limit, used, nbytes) {
            Some(_) => Ok(()),
            None => Err(beyond(limit, used, nbytes)),
        }
    }

    /// Charges `nbytes` bytes until the charge is dropped.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` if that would exceed the limit.
    pub fn charge(meter: &Arc<Self>, nbytes: usize) -> Result<Charge> {
        let limit = meter.limit.load(Ordering::Relaxed);
        let within = |used| after(limit, used, nbytes);
        // Relaxed: the counts order no access to memory.
        let before = meter.nbytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        let before = before.map_err(|used| beyond(limit, used, nbytes))?;
        let nbytes = nbytes as u64;
        meter.count.fetch_add(1, Ordering::Relaxed);
        meter.peak.fetch_max(before + nbytes, Ordering::Relaxed);
        Ok(Charge { meter: meter.clone(), nbytes })
    }

    /// The current charges.
    pub fn usage(&self) -> Usage {
        Usage {
            live_nbytes: self.nbytes.load(Ordering::Relaxed),
            live_count: self.count.load(Ordering::Relaxed),
            peak_nbytes: self.peak.load(Ordering::Relaxed),
        }
    }
}

/// The live bytes after a charge; `None` beyond the limit. No bytes are always within it.
fn after(limit: u64, used: u64, nbytes: usize) -> Option<u64> {
    used.checked_add(nbytes as u64).filter(|&after| nbytes == 0 || after <= limit)
}

#[cold]
fn beyond(limit: u64, used: u64, nbytes: usize) -> Error {
    match limit {
        u64::MAX => Error::out_of_memory(nbytes, 1),
        limit => Error::limit(limit, used, nbytes, 1),
    }
}

/// Bytes that are charged to a [`Meter`] until this is dropped.
#[derive(Debug)]
pub struct Charge {
    meter: Arc<Meter>,
    nbytes: u64,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.meter.nbytes.fetch_sub(self.nbytes, Ordering::Relaxed);
        self.meter.count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_never_exceeded_from_any_number_of_threads() {
        let meter = Arc::new(Meter::new(100));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let charge = Meter::charge(&meter, 40);
                        assert!(meter.usage().live_nbytes <= 100);
                        drop(charge);
                    }
                });
            }
        });
        let usage = meter.usage();
        assert_eq!((usage.live_nbytes, usage.live_count), (0, 0));
        assert!((40..=80).contains(&usage.peak_nbytes), "{usage:?}");
    }

    #[test]
    fn what_is_refused_changes_no_number() {
        let meter = Arc::new(Meter::new(usize::MAX as u64));
        let _held = Meter::charge(&meter, usize::MAX).unwrap();
        let before = meter.usage();
        assert!(Meter::charge(&meter, 1).unwrap_err().is_out_of_memory());
        assert_eq!(meter.usage(), before);
        meter.set_limit(10);
        assert!(Meter::charge(&meter, 0).is_ok());
    }
}
