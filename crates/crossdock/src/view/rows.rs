//! Tables that are read far more often than written: rows that stay for ever, whose values come and
//! go.
//!
//! Reading takes no lock and writes nothing, so that threads do not slow each other. A row is made
//! for a key once and stays where it is until the process ends, with or without a value: what a
//! table takes is bounded by how many different keys it has ever seen.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What rows are found by.
pub(crate) trait Key: Eq + Send + Sync + 'static {
    /// A number that is likely to be another one for another key.
    fn hash(&self) -> usize;
}

/// A key, and what is registered for it.
pub(crate) struct Row<K: 'static> {
    key: K,
    value: AtomicPtr<()>,
    /// Invariant 1: null, or a row that was leaked.
    next: *const Row<K>,
}

impl<K> Row<K> {
    #[inline]
    pub(crate) fn key(&self) -> &K {
        &self.key
    }

    /// What is registered, or null. Acquire: what was written before it was registered can be seen.
    #[inline]
    pub(crate) fn value(&self) -> *mut () {
        self.value.load(Ordering::Acquire)
    }

    /// Registers a value that is not null, unless there is one: whether it did.
    pub(crate) fn set(&self, value: *mut ()) -> bool {
        self.value.compare_exchange(ptr::null_mut(), value, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Takes the value out: whether there was one.
    pub(crate) fn clear(&self) -> bool {
        !self.value.swap(ptr::null_mut(), Ordering::Relaxed).is_null()
    }
}

const BUCKETS: usize = 64;

/// A table of rows.
///
/// # Invariants
///
/// 1. Each head is null, or a row that was leaked.
pub(crate) struct Rows<K: 'static> {
    heads: [AtomicPtr<Row<K>>; BUCKETS],
}

impl<K: Key> Rows<K> {
    pub(crate) const fn new() -> Self {
        Self { heads: [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS] }
    }

    #[inline]
    fn head(&self, key: &K) -> &AtomicPtr<Row<K>> {
        // The upper half of the product depends on all bits.
        let mixed = (key.hash() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        &self.heads[mixed as usize % BUCKETS]
    }

    /// The row of a key, if it was ever registered.
    #[inline]
    pub(crate) fn find(&self, key: &K) -> Option<&'static Row<K>> {
        Self::search(self.head(key).load(Ordering::Acquire), ptr::null(), key)
    }

    /// Looks for a key from one row on up to another, which it leaves out.
    #[inline]
    fn search(from: *const Row<K>, to: *const Row<K>, key: &K) -> Option<&'static Row<K>> {
        let mut at = from;
        while at != to {
            // SAFETY: Rows 1 and Row 1: a row that stays for ever.
            let row = unsafe { &*at };
            if row.key == *key {
                return Some(row);
            }
            at = row.next;
        }
        None
    }

    /// The row of a key, made if need be.
    pub(crate) fn find_or_make(&self, key: K) -> &'static Row<K> {
        let head = self.head(&key);
        let mut first = head.load(Ordering::Acquire);
        if let Some(row) = Self::search(first, ptr::null(), &key) {
            return row;
        }
        let row = Box::leak(Box::new(Row { key, value: AtomicPtr::new(ptr::null_mut()), next: first }));
        loop {
            match head.compare_exchange(first, row, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return row,
                Err(now) => {
                    if let Some(other) = Self::search(now, first, &row.key) {
                        // SAFETY: leaked above, and nobody knows of it.
                        drop(unsafe { Box::from_raw(row) });
                        return other;
                    }
                    row.next = now;
                    first = now;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;

    impl Key for u32 {
        fn hash(&self) -> usize {
            // All in few buckets.
            *self as usize % 3
        }
    }

    #[test]
    fn a_value_is_registered_once_and_can_be_taken_out() {
        static TABLE: Rows<u32> = Rows::new();
        let (first, second) = (ptr::without_provenance_mut(8), ptr::without_provenance_mut(16));
        assert!(TABLE.find(&7).is_none());
        let row = TABLE.find_or_make(7);
        assert!(row.value().is_null() && row.set(first) && !row.set(second));
        assert_eq!(TABLE.find(&7).unwrap().value(), first);
        assert!(row.clear() && !row.clear());
        assert!(TABLE.find_or_make(7).set(second));
        assert_eq!((*row.key(), row.value()), (7, second));
    }

    #[test]
    fn threads_that_make_the_same_rows_find_the_same_rows() {
        static TABLE: Rows<u32> = Rows::new();
        let barrier = Barrier::new(4);
        let rows = thread::scope(|scope| {
            let make = || {
                barrier.wait();
                (0..200).map(|key| ptr::from_ref(TABLE.find_or_make(key)).addr()).collect::<Vec<_>>()
            };
            let threads = [(); 4].map(|()| scope.spawn(make));
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(rows.iter().all(|made| *made == rows[0]));
    }
}
