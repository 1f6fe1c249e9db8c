//! The table of memory that is reachable in a second space.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::memory::fork::ForkLock;
use crate::memory::overlap::extent::{Extent, Space};

/// Registers, while it lives, that two extents are the same bytes: a mapping and the file behind
/// it, or host memory and its address on a device. It must be dropped before the extent can become
/// other memory.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    from: Extent,
    number: u64,
}

impl Elsewhere {
    /// `to` has the length of `from`. O(entries).
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub(crate) fn new(from: Extent, to: Extent) -> Result<Self> {
        let mut table = table();
        if table.entries.try_reserve(1).is_err() {
            drop(table);
            return Err(Error::out_of_memory(size_of::<AliasEntry>(), align_of::<AliasEntry>()));
        }
        table.last += 1;
        let number = table.last;
        let at = table.entries.partition_point(|entry| entry.key() <= (from.space, from.start));
        table.entries.insert(at, AliasEntry { from, to: (to.space, to.start), reach: 0, number });
        table.settle(at);
        COUNT.store(table.entries.len(), Ordering::Relaxed);
        Ok(Self { from, number })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let mut table = table();
        let key = (self.from.space, self.from.start);
        let first = table.entries.partition_point(|entry| entry.key() < key);
        if let Some(at) = (first..table.entries.len()).find(|&at| table.entries[at].number == self.number) {
            table.entries.remove(at);
            table.settle(at);
            COUNT.store(table.entries.len(), Ordering::Relaxed);
        }
    }
}

struct AliasEntry {
    from: Extent,
    to: (Space, u64),
    /// The highest end of this entry and of all before it in the same space.
    reach: u64,
    number: u64,
}

impl AliasEntry {
    fn key(&self) -> (Space, u64) {
        (self.from.space, self.from.start)
    }

    /// Where the bytes shared by an extent and this entry lie in the second space.
    fn lead(&self, extent: &Extent) -> Option<Extent> {
        let common = self.from.common(extent)?;
        let (space, start) = self.to;
        Some(Extent { space, start: start.saturating_add(common.start - self.from.start), ..common })
    }
}

/// Rows sorted by space and start.
struct AliasTable {
    entries: Vec<AliasEntry>,
    /// The last number assigned.
    last: u64,
}

static TABLE: ForkLock<AliasTable> = ForkLock::new(AliasTable { entries: Vec::new(), last: 0 });

/// The number of entries. A thread that receives an array from another thread sees at least the
/// entries that the other thread saw.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn table() -> MutexGuard<'static, AliasTable> {
    TABLE.lock()
}

/// Whether any memory is known to be reachable in a second space. One load.
#[inline]
pub(super) fn is_any() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// The most entries in a chain: a device's view of host memory that maps a file takes two.
const DEPTH: usize = 4;

impl AliasTable {
    /// Recomputes `reach` of the entries from `at` on.
    fn settle(&mut self, at: usize) {
        let mut before =
            at.checked_sub(1).map(|before| (self.entries[before].from.space, self.entries[before].reach));
        for entry in &mut self.entries[at..] {
            let (space, end) = (entry.from.space, entry.from.end());
            entry.reach = before.filter(|&(of, _)| of == space).map_or(end, |(_, reach)| reach.max(end));
            before = Some((space, entry.reach));
        }
    }

    /// The entries that overlap an extent.
    fn of(&self, extent: Extent) -> impl Iterator<Item = &AliasEntry> {
        let end = self.entries.partition_point(|entry| entry.key() < (extent.space, extent.end()));
        let may_touch =
            move |entry: &&AliasEntry| entry.from.space == extent.space && entry.reach > extent.start;
        self.entries[..end].iter().rev().take_while(may_touch)
    }

    /// Adds an extent, and all extents with the same bytes in other spaces. `None` if the list
    /// cannot be allocated.
    fn add(&self, list: &mut Vec<OperandExtent>, is_other: bool, extent: Extent, depth: usize) -> Option<()> {
        list.try_reserve(1).ok()?;
        list.push(OperandExtent { space: extent.space, start: extent.start, end: extent.end(), is_other });
        if depth > 0 {
            self.of(extent)
                .filter_map(|entry| entry.lead(&extent))
                .try_for_each(|extent| self.add(list, is_other, extent, depth - 1))?;
        }
        Some(())
    }
}

/// An extent of one of the two operands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OperandExtent {
    space: Space,
    start: u64,
    end: u64,
    is_other: bool,
}

/// Whether bytes of the extent are registered in the table.
pub(super) fn leads_on(extent: Extent) -> bool {
    table().of(extent).any(|entry| entry.lead(&extent).is_some())
}

/// Whether an extent of one list and an extent of the other share a byte in any space. `true` if
/// the lists cannot be allocated.
pub(super) fn meet(one: impl IntoIterator<Item = Extent>, other: impl IntoIterator<Item = Extent>) -> bool {
    let mut list = Vec::new();
    let added = {
        let table = table();
        let mut add = |is_other, extent| table.add(&mut list, is_other, extent, DEPTH);
        let added = one.into_iter().try_for_each(|extent| add(false, extent));
        added.and_then(|()| other.into_iter().try_for_each(|extent| add(true, extent)))
    };
    if added.is_none() {
        return true;
    }
    list.sort_unstable();
    // The highest end so far of each operand, in the current space.
    let (mut space, mut ends) = (None, [0; 2]);
    list.into_iter().filter(|extent| extent.start < extent.end).any(|extent| {
        if space != Some(extent.space) {
            (space, ends) = (Some(extent.space), [0; 2]);
        }
        let [own, others] = if extent.is_other { [1, 0] } else { [0, 1] };
        ends[own] = ends[own].max(extent.end);
        ends[others] > extent.start
    })
}
