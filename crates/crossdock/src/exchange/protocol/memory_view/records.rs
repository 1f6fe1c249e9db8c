//! The hub's record of each view: what shape and strides point to, and what the release needs.
//!
//! ```text
//!   View::reserved = generation, number ──> ViewRecord { state, lease }        in chunks that are never freed
//!                                             │ free
//!          list of the thread ── (too many, or none) ── list of all ── never used so far
//! ```
//!
//! A view names its record by two numbers instead of an address, and a record found so must confirm
//! that it is still that view's. So the hub accesses only its own memory, whatever a struct
//! contains. A thread takes records from its own list and returns them to it, without a lock and
//! without a cache line that other threads write.
//!
//! Reasons: `DESIGN.md`, "A view of C names its record".

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::memory_view::state::{ClaimError, GENERATIONS, RecordState};
use crate::exchange::protocol::memory_view::view_lease::ViewLease;
use crate::memory::thread_index;

/// The size of the first chunk, which is static; each further one has twice as many records as the
/// one before.
const FIRST: u32 = 32;
const CHUNKS: usize = 19;
/// The limit of views at a time.
const MOST: u32 = FIRST * ((1 << CHUNKS) - 1);
/// The limit of records in a thread's own list.
const KEPT: u32 = 16;

/// The `next` of a record that belongs to a [`Reserved`].
const RESERVED: u32 = u32::MAX;

/// Bits of [`View::reserved`](super::View) for the number of the record; the generation has the
/// others.
const NUMBER_BITS: u32 = 24;
const _: () = assert!(MOST < 1 << NUMBER_BITS && GENERATIONS <= 1 << (64 - NUMBER_BITS));

/// One record.
///
/// # Invariants
///
/// 1. Only the owner of the record accesses `view_lease`: the one who took it from a list, or
///    claimed it. While the record is live, `view_lease` does not change.
/// 2. A free record that was used before is in at most one list; `next` is the number of the record
///    behind it plus 1, or 0. A record that is [`Reserved`] is in none, and `next` is [`RESERVED`].
#[repr(align(64))]
struct ViewRecord {
    state: RecordState,
    next: AtomicU32,
    /// The view's object, for [`count`] only.
    object: AtomicPtr<c_void>,
    view_lease: UnsafeCell<ViewLease>,
}

// SAFETY: ViewRecord 1: one thread at a time owns the view_lease, which is `Send` and may be
// released by any; while it is live, it is only read. The other fields are atomic.
unsafe impl Sync for ViewRecord {}

impl ViewRecord {
    const fn new() -> Self {
        Self {
            state: RecordState::new(),
            next: AtomicU32::new(0),
            object: AtomicPtr::new(ptr::null_mut()),
            view_lease: UnsafeCell::new(ViewLease::NONE),
        }
    }
}

static FIRST_CHUNK: [ViewRecord; FIRST as usize] = [const { ViewRecord::new() }; FIRST as usize];

/// Chunk `n + 1`: null, or `FIRST << n + 1` leaked records.
static MORE_CHUNKS: [AtomicPtr<ViewRecord>; CHUNKS - 1] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS - 1];

/// The number of records ever used.
static USED: AtomicU32 = AtomicU32::new(0);

/// The shared list: the number of its first record plus 1, or 0; in the upper half a count that
/// every change increments, so that a list that changed meanwhile is not mistaken for the one that
/// was read.
static SHARED: AtomicU64 = AtomicU64::new(0);

/// The list of records that one thread released.
///
/// # Invariants
///
/// 1. Only the thread with this index accesses it.
#[repr(align(64))]
struct Local {
    /// The number of its first record plus 1, or 0.
    head: Cell<u32>,
    len: Cell<u32>,
}

struct Locals([Local; thread_index::INDEXED_THREADS]);

// SAFETY: Local 1: `thread_index::current` is unique among running threads, so each thread accesses
// only its own entry; the index passes to the next thread with a happens-before edge.
unsafe impl Sync for Locals {}

static LOCALS: Locals =
    Locals([const { Local { head: Cell::new(0), len: Cell::new(0) } }; thread_index::INDEXED_THREADS]);

/// The record with a number, if it exists.
#[inline]
fn find(number: u32) -> Option<&'static ViewRecord> {
    if let Some(record) = FIRST_CHUNK.get(number as usize) {
        return Some(record);
    }
    find_in_more(number)
}

/// The position of a record beyond the first chunk: its chunk, counted from the second one, the
/// length of that chunk, and the index in it.
fn place(number: u32) -> (usize, usize, usize) {
    let doublings = (number / FIRST + 1).ilog2();
    let len = FIRST << doublings;
    (doublings as usize - 1, len as usize, (number - (len - FIRST)) as usize)
}

fn find_in_more(number: u32) -> Option<&'static ViewRecord> {
    let (chunk, _, index) = place(number);
    let records = MORE_CHUNKS.get(chunk)?.load(Ordering::Acquire);
    if records.is_null() {
        return None;
    }
    // SAFETY: `place` returns an index below the length of its chunk, and the chunk behind this
    // pointer was allocated with that length.
    let record = unsafe { records.add(index) };
    // SAFETY: `find_or_make` initialised the records before it published the chunk (the load
    // acquires that), and leaked them, so they are never freed.
    Some(unsafe { &*record })
}

/// As [`find_in_more`], but allocates the chunk if needed.
fn find_or_make(number: u32) -> Result<&'static ViewRecord> {
    if let Some(record) = find(number) {
        return Ok(record);
    }
    let (chunk, len, _) = place(number);
    let mut records = crate::error::try_with_capacity(len)?;
    records.resize_with(len, ViewRecord::new);
    let capacity = records.capacity();
    let made = Vec::leak(records).as_mut_ptr();
    if MORE_CHUNKS[chunk]
        .compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Relaxed)
        .is_err()
    {
        // SAFETY: `made` was leaked above from a vector with this length and capacity, and the
        // failed exchange published it to no other thread.
        drop(unsafe { Vec::from_raw_parts(made, len, capacity) });
    }
    find(number).ok_or_else(exhausted)
}

#[cold]
fn exhausted() -> Error {
    Error::new(Kind::Exhausted, format!("{MOST} views are held, which is the most; release some"))
}

// ===== the lists

/// A free record, which the caller owns from then on.
#[inline]
pub(super) fn take() -> Result<Vacant> {
    if let Some(local) = LOCALS.0.get(thread_index::current())
        && let Some(number) = local.head.get().checked_sub(1)
        && let Some(record) = find(number)
    {
        local.head.set(record.next.load(Ordering::Relaxed));
        local.len.set(local.len.get() - 1);
        return Ok(Vacant { record, number });
    }
    take_elsewhere()
}

#[cold]
#[inline(never)]
fn take_elsewhere() -> Result<Vacant> {
    let _number = thread_index::claim();
    let mut head = SHARED.load(Ordering::Acquire);
    while let Some(number) = (head as u32).checked_sub(1) {
        let record = find(number).ok_or_else(exhausted)?;
        let next = changed(head, record.next.load(Ordering::Relaxed));
        match SHARED.compare_exchange_weak(head, next, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => return Ok(Vacant { record, number }),
            Err(now) => head = now,
        }
    }
    let (record, number) = next_number(&USED, find_or_make)?;
    Ok(Vacant { record, number })
}

/// The first number without a record so far, and its record. The record is made first: if its
/// allocation fails, the number stays free.
fn next_number<S>(used: &AtomicU32, find_or_make: impl Fn(u32) -> Result<S>) -> Result<(S, u32)> {
    let mut number = used.load(Ordering::Relaxed);
    while number < MOST {
        let record = find_or_make(number)?;
        match used.compare_exchange_weak(number, number + 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Ok((record, number)),
            Err(now) => number = now,
        }
    }
    Err(exhausted())
}

/// The value of the shared list with another first record and the next count.
fn changed(head: u64, first: u32) -> u64 {
    (head >> 32).wrapping_add(1) << 32 | u64::from(first)
}

/// Puts a record into a list.
///
/// # Safety
///
/// 1. The caller owns the record with this number, which is in no list and reserved for no
///    exporter, and passes it on.
#[inline]
unsafe fn put(record: &'static ViewRecord, number: u32) {
    if let Some(local) = LOCALS.0.get(thread_index::current()).filter(|local| local.len.get() < KEPT) {
        record.next.store(local.head.replace(number + 1), Ordering::Relaxed);
        local.len.set(local.len.get() + 1);
        return;
    }
    // SAFETY: clause 1 of `put_elsewhere` is clause 1 of `# Safety`.
    unsafe { put_elsewhere(record, number) };
}

/// # Safety
///
/// Clause 1 of [`put`].
#[cold]
#[inline(never)]
unsafe fn put_elsewhere(record: &'static ViewRecord, number: u32) {
    let mut head = SHARED.load(Ordering::Relaxed);
    loop {
        record.next.store(head as u32, Ordering::Relaxed);
        match SHARED.compare_exchange_weak(
            head,
            changed(head, number + 1),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

// ===== what is done with a record

/// A record from a list, for a view that is about to be published. Returns to a list when it is
/// dropped.
pub(super) struct Vacant {
    record: &'static ViewRecord,
    number: u32,
}

impl Vacant {
    #[inline]
    pub(super) fn view_lease(&mut self) -> &mut ViewLease {
        // SAFETY: ViewRecord 1: this `Vacant` took the record from a list and so owns its view
        // lease, which `&mut self` borrows.
        unsafe { &mut *self.record.view_lease.get() }
    }

    /// Publishes the view. Returns its name.
    #[inline]
    pub(super) fn publish(self, object: *mut c_void) -> *mut c_void {
        self.record.object.store(object, Ordering::Relaxed);
        let name = self.record.state.publish() << NUMBER_BITS | u64::from(self.number);
        std::mem::forget(self);
        ptr::without_provenance_mut(name as usize)
    }
}

impl Drop for Vacant {
    fn drop(&mut self) {
        self.view_lease().clear();
        // SAFETY: clause 1 of `put`: this `Vacant` took the record from a list, and ends here.
        unsafe { put(self.record, self.number) };
    }
}

/// A record whose view the owner of this is releasing. If it is dropped, the view stays held.
pub(super) struct Claimed {
    record: &'static ViewRecord,
    number: u32,
}

impl Claimed {
    #[inline]
    pub(super) fn view_lease(&mut self) -> &mut ViewLease {
        // SAFETY: ViewRecord 1: this `Claimed` claimed the record and so owns its view lease, which
        // `&mut self` borrows.
        unsafe { &mut *self.record.view_lease.get() }
    }

    /// Completes the release of the view.
    #[inline]
    pub(super) fn retire(mut self) {
        self.view_lease().clear();
        let Self { record, number } = self;
        std::mem::forget(self);
        if record.state.retire() && record.next.load(Ordering::Relaxed) != RESERVED {
            // SAFETY: clause 1 of `put`: this `Claimed` owned the record, whose view is over, and
            // no exporter reserves it.
            unsafe { put(record, number) };
        }
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.record.state.keep();
    }
}

/// A record that one exporter keeps, for one view at a time, without a list and without an atomic
/// exchange. The exporter owns what the view shows.
pub(super) struct Reserved {
    record: &'static ViewRecord,
    number: u32,
}

impl Vacant {
    /// Keeps the record out of all lists, for the views of one object.
    pub(super) fn reserve(self, object: *mut c_void) -> Reserved {
        let Self { record, number } = self;
        std::mem::forget(self);
        record.object.store(object, Ordering::Relaxed);
        record.next.store(RESERVED, Ordering::Relaxed);
        Reserved { record, number }
    }
}

impl Reserved {
    /// Publishes a view, unless the one before is still held. Returns its name. Called by one
    /// thread at a time.
    #[inline]
    pub(super) fn publish(&self) -> Option<*mut c_void> {
        let generation = self.record.state.publish_again()?;
        Some(ptr::without_provenance_mut((generation << NUMBER_BITS | u64::from(self.number)) as usize))
    }

    /// Whether its view is held.
    pub(super) fn is_live(&self) -> bool {
        self.record.state.is_used()
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if !self.is_live() && self.record.state.is_usable() {
            // SAFETY: clause 1 of `put`: the record was reserved for this exporter, which ends
            // here, and has no view.
            unsafe { put(self.record, self.number) };
        }
    }
}

/// Whether the name was that of a held view of a reserved record; the view is released now. For one
/// name, called by one thread at a time.
#[inline]
pub(super) fn finish(name: *mut c_void) -> bool {
    let (generation, number) = parts(name);
    let Some(record) = find(number) else { return false };
    record.next.load(Ordering::Relaxed) == RESERVED && record.state.finish(generation)
}

#[inline]
fn parts(name: *mut c_void) -> (u64, u32) {
    let name = name.addr() as u64;
    (name >> NUMBER_BITS, (name & ((1 << NUMBER_BITS) - 1)) as u32)
}

/// Claims the view with this name, to release it.
#[inline]
pub(super) fn claim(name: *mut c_void) -> Result<Claimed, ClaimError> {
    let (generation, number) = parts(name);
    let Some(record) = find(number) else { return Err(ClaimError::Unknown) };
    record.state.claim(generation)?;
    Ok(Claimed { record, number })
}

/// The hub's data of a view.
///
/// # Safety
///
/// No code releases the view while the result is used.
pub(super) unsafe fn find_view_lease<'a>(name: *mut c_void) -> Option<&'a ViewLease> {
    let (generation, number) = parts(name);
    let record = find(number).filter(|record| record.state.is_held(generation))?;
    // SAFETY: ViewRecord 1: the record is live with this generation (checked above) and stays so
    // (`# Safety`), so the view_lease does not change.
    Some(unsafe { &*record.view_lease.get() })
}

/// The number of views of an object that are held. Reads every record that was ever used.
pub(super) fn count(object: *mut c_void) -> usize {
    let used = USED.load(Ordering::Relaxed);
    let of_object =
        |record: &&ViewRecord| record.state.is_used() && record.object.load(Ordering::Relaxed) == object;
    (0..used).filter_map(find).filter(of_object).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_each_other_without_a_gap() {
        assert_eq!(place(FIRST), (0, 64, 0));
        assert_eq!(place(FIRST + 63), (0, 64, 63));
        assert_eq!(place(FIRST + 64), (1, 128, 0));
        assert_eq!(place(MOST - 1), (CHUNKS - 2, 32 << (CHUNKS - 1), (32 << (CHUNKS - 1)) - 1));
        assert!(MORE_CHUNKS.get(place(MOST).0).is_none());
    }

    #[test]
    fn a_number_whose_record_could_not_be_allocated_stays_free() {
        let used = AtomicU32::new(MOST - 1);
        let failed = next_number(&used, |number| Err::<(), _>(Error::out_of_memory(number as usize, 1)));
        assert!(failed.unwrap_err().is_out_of_memory());
        assert_eq!(next_number(&used, |_| Ok(())).unwrap(), ((), MOST - 1));
        let error = next_number(&used, |_| Ok(())).unwrap_err();
        assert!(error.is_exhausted() && error.to_string().contains(&MOST.to_string()), "{error}");
    }

    #[test]
    fn threads_that_come_at_the_same_time_get_numbers_of_their_own() {
        let used = AtomicU32::new(0);
        let take = || (0..1000).map(|_| next_number(&used, Ok).unwrap()).collect::<Vec<_>>();
        let mut all = std::thread::scope(|scope| {
            let threads = [scope.spawn(take), scope.spawn(take), scope.spawn(take)];
            threads.map(|thread| thread.join().unwrap()).concat()
        });
        all.sort_unstable();
        assert!(all.into_iter().eq((0..3000).map(|number| (number, number))));
    }
}
