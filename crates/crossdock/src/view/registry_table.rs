//! A lock-free registry table for data that is read far more often than written: permanent entries
//! with replaceable values.
//!
//! Readers take no lock and write nothing, so threads do not contend. An entry is made once per key
//! and keeps its address until the process ends, with or without a value. The memory of a table is
//! bounded by the number of distinct keys that it has seen.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The key of an entry.
pub(crate) trait Key: Eq + Send + Sync + 'static {
    /// A hash, likely to differ for different keys.
    fn hash(&self) -> usize;
}

/// A key and its registered value.
pub(crate) struct RegistryEntry<K: 'static> {
    key: K,
    value: AtomicPtr<()>,
    /// Invariant 1: null, or an entry that was leaked.
    next: *const RegistryEntry<K>,
}

impl<K> RegistryEntry<K> {
    #[inline]
    pub(crate) fn key(&self) -> &K {
        &self.key
    }

    /// The registered value, or null. Acquire: writes before the registration are visible.
    #[inline]
    pub(crate) fn value(&self) -> *mut () {
        self.value.load(Ordering::Acquire)
    }

    /// Registers a non-null value, unless one is registered. Returns whether it did.
    pub(crate) fn set(&self, value: *mut ()) -> bool {
        self.value.compare_exchange(ptr::null_mut(), value, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Removes the value. Returns whether there was one.
    pub(crate) fn clear(&self) -> bool {
        !self.value.swap(ptr::null_mut(), Ordering::Relaxed).is_null()
    }
}

const BUCKETS: usize = 64;

/// A table of entries.
///
/// # Invariants
///
/// 1. Each head is null, or an entry that was leaked.
pub(crate) struct RegistryTable<K: 'static> {
    heads: [AtomicPtr<RegistryEntry<K>>; BUCKETS],
}

impl<K: Key> RegistryTable<K> {
    pub(crate) const fn new() -> Self {
        Self { heads: [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS] }
    }

    #[inline]
    fn head(&self, key: &K) -> &AtomicPtr<RegistryEntry<K>> {
        // The upper half of the product depends on all bits.
        let mixed = (key.hash() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        &self.heads[mixed as usize % BUCKETS]
    }

    /// The entry of a key, if it was ever registered.
    #[inline]
    pub(crate) fn find(&self, key: &K) -> Option<&'static RegistryEntry<K>> {
        Self::search(self.head(key).load(Ordering::Acquire), ptr::null(), key)
    }

    /// Searches the entries from `from` up to, but not including, `to`.
    #[inline]
    fn search(
        from: *const RegistryEntry<K>,
        to: *const RegistryEntry<K>,
        key: &K,
    ) -> Option<&'static RegistryEntry<K>> {
        let mut at = from;
        while at != to {
            // SAFETY: `at` comes from a head or a `next`, and is not null, since every chain ends
            // with null, or with `to` before that: a leaked entry (RegistryTable 1,
            // RegistryEntry 1), which is never freed.
            let entry = unsafe { &*at };
            if entry.key == *key {
                return Some(entry);
            }
            at = entry.next;
        }
        None
    }

    /// The entry of a key, made if it does not exist.
    pub(crate) fn find_or_make(&self, key: K) -> &'static RegistryEntry<K> {
        let head = self.head(&key);
        let mut first = head.load(Ordering::Acquire);
        if let Some(entry) = Self::search(first, ptr::null(), &key) {
            return entry;
        }
        let entry =
            Box::leak(Box::new(RegistryEntry { key, value: AtomicPtr::new(ptr::null_mut()), next: first }));
        loop {
            match head.compare_exchange(first, entry, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return entry,
                Err(now) => {
                    if let Some(other) = Self::search(now, first, &entry.key) {
                        // SAFETY: `entry` is the box leaked above; every `compare_exchange` failed,
                        // so no other thread has its address.
                        drop(unsafe { Box::from_raw(entry) });
                        return other;
                    }
                    entry.next = now;
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
            // All keys in few buckets.
            *self as usize % 3
        }
    }

    #[test]
    fn a_value_is_registered_once_and_can_be_taken_out() {
        static TABLE: RegistryTable<u32> = RegistryTable::new();
        let (first, second) = (ptr::without_provenance_mut(8), ptr::without_provenance_mut(16));
        assert!(TABLE.find(&7).is_none());
        let entry = TABLE.find_or_make(7);
        assert!(entry.value().is_null() && entry.set(first) && !entry.set(second));
        assert_eq!(TABLE.find(&7).unwrap().value(), first);
        assert!(entry.clear() && !entry.clear());
        assert!(TABLE.find_or_make(7).set(second));
        assert_eq!((*entry.key(), entry.value()), (7, second));
    }

    #[test]
    fn threads_that_make_the_same_entries_find_the_same_entries() {
        static TABLE: RegistryTable<u32> = RegistryTable::new();
        let barrier = Barrier::new(4);
        let entries = thread::scope(|scope| {
            let make = || {
                barrier.wait();
                (0..200).map(|key| ptr::from_ref(TABLE.find_or_make(key)).addr()).collect::<Vec<_>>()
            };
            let threads = [(); 4].map(|()| scope.spawn(make));
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(entries.iter().all(|made| *made == entries[0]));
    }
}
