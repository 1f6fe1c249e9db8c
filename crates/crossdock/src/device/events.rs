//! In-flight work on an allocation, which the next access waits for.
//!
//! A header has room for one flag; the events are in a table beside, which is asked only where the
//! flag is set. They are the allocation's, hence shared by all its slices, and go when it is
//! released.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use crate::buffer::Buffer;
use crate::device::{Event, Stream};
use crate::error::{Error, Kind, Result, try_box};
use crate::memory::LeaseKind;
use crate::memory::fork::ForkLock;
use crate::memory::header::Header;
use crate::memory::work::{self, Forgotten, Keeper};

/// What the layer of memory calls where work is noted.
static KEEPER: Keeper = Keeper { wait, check, take };

/// What work on a device does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It reads: writers have to wait for it.
    Reads,
    /// It writes: readers and writers have to wait for it.
    Writes,
}

impl Effect {
    /// Whether access under a lease of this kind comes after such work.
    fn concerns(self, kind: LeaseKind) -> bool {
        self == Self::Writes || matches!(kind, LeaseKind::Write | LeaseKind::Share)
    }
}

#[derive(Clone)]
struct Noted {
    event: Arc<dyn Event>,
    effect: Effect,
    since: Instant,
}

/// The notes of one allocation, the oldest first. In a box, so that they go as one thing when the
/// allocation does.
#[derive(Default)]
struct Notes(Vec<Noted>);

/// By the address of the header. Nothing of an event is called or dropped under the lock: events
/// have locks of their own.
type Rows = HashMap<usize, Box<Notes>, BuildHasherDefault<DefaultHasher>>;

static NOTED: ForkLock<Rows> = ForkLock::new(HashMap::with_hasher(BuildHasherDefault::new()));

fn rows() -> MutexGuard<'static, Rows> {
    NOTED.lock()
}

fn key(header: &Header) -> usize {
    std::ptr::from_ref(header).addr()
}

/// Notes an event that comes after those in `superseded`, which are taken out. `false`: there was
/// no memory for that, and the caller has to wait for it.
#[must_use]
pub(super) fn note(
    header: &Header,
    event: &Arc<dyn Event>,
    effect: Effect,
    superseded: &[Arc<dyn Event>],
) -> bool {
    // Before a row grows, which is once for each doubling.
    if rows().get(&key(header)).is_some_and(|row| row.0.len() >= 8 && row.0.len() == row.0.capacity()) {
        sweep(header);
    }
    let mut rows = rows();
    if rows.try_reserve(1).is_err() {
        return false;
    }
    let row = match rows.entry(key(header)) {
        Entry::Occupied(row) => row.into_mut(),
        Entry::Vacant(place) => match try_box(Notes::default()) {
            Ok(row) => place.insert(row),
            Err(_) => return false,
        },
    };
    let fits = row.0.try_reserve(1).is_ok();
    if fits {
        row.0.push(Noted { event: event.clone(), effect, since: Instant::now() });
        work::mark(header, &KEEPER);
    } else if row.0.is_empty() {
        rows.remove(&key(header));
    }
    drop(rows);
    if fits {
        superseded.iter().for_each(|event| remove(header, event, None));
    }
    fits
}

/// Waits for the work that access under a lease of this kind comes after. Failed writes stay noted,
/// so that every later access fails with their error, until a caller settles them.
#[cold]
fn wait(header: &Header, kind: LeaseKind) -> Result<()> {
    while let Some(noted) = first(header, |effect| effect.concerns(kind)) {
        let outcome = noted.event.wait();
        match (outcome, noted.effect) {
            (Err(error), Effect::Writes) => {
                return Err(failed(error));
            }
            _ => remove(header, &noted.event, Some(noted.effect)),
        }
    }
    Ok(())
}

/// Takes out what is noted on an allocation without holders. The caller drops the events, which are
/// foreign code.
fn take(header: NonNull<Header>) -> Forgotten {
    let notes = rows().remove(&header.as_ptr().addr());
    notes.map_or_else(Forgotten::default, |notes| Forgotten::new(notes))
}

fn first(header: &Header, concerns: impl Fn(Effect) -> bool) -> Option<Noted> {
    rows().get(&key(header))?.0.iter().find(|noted| concerns(noted.effect)).cloned()
}

/// Takes out an event: one event can be noted for each effect, as the end of a copy within one
/// allocation is.
fn remove(header: &Header, event: &Arc<dyn Event>, effect: Option<Effect>) {
    let mut rows = rows();
    let Some(row) = rows.get_mut(&key(header)) else { return };
    let is_it = |noted: &Noted| {
        Arc::ptr_eq(&noted.event, event) && effect.is_none_or(|effect| noted.effect == effect)
    };
    let place = row.0.iter().position(is_it);
    let removed = place.map(|place| row.0.remove(place));
    if row.0.is_empty() {
        rows.remove(&key(header));
        // Release: a thread that reads `false` (Acquire) sees the effects of the work that was
        // awaited.
        header.awaited.store(false, Ordering::Release);
    }
    drop(rows);
    drop(removed);
}

/// Removes finished work, except writes that failed.
fn sweep(header: &Header) {
    // Without memory for the list, it stays as it is.
    for noted in list(header).unwrap_or_default() {
        match (noted.event.poll(), noted.effect) {
            (None, _) | (Some(Err(_)), Effect::Writes) => {}
            _ => remove(header, &noted.event, Some(noted.effect)),
        }
    }
}

fn list(header: &Header) -> Result<Vec<Noted>> {
    chosen(key(header), |_| true)
}

/// The work noted at the address of a header, for the ledger. The header need not be alive. Empty
/// if the list cannot be allocated.
pub(crate) fn noted_at(address: usize) -> Vec<UnderWay> {
    let now = Instant::now();
    let noted = chosen(address, |_| true).unwrap_or_default();
    let age = |since: Instant| now.saturating_duration_since(since);
    noted.into_iter().map(|n| UnderWay { event: n.event, effect: n.effect, age: age(n.since) }).collect()
}

/// Work that is noted on an allocation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnderWay {
    /// The event of its end.
    pub event: Arc<dyn Event>,
    /// Whether it reads or writes the memory.
    pub effect: Effect,
    /// How long ago it was noted.
    pub age: Duration,
}

fn chosen(key: usize, is_chosen: impl Fn(Effect) -> bool) -> Result<Vec<Noted>> {
    let rows = rows();
    let row = rows.get(&key).map_or(&[][..], |row| row.0.as_slice());
    let mut list = Vec::new();
    for noted in row.iter().filter(|noted| is_chosen(noted.effect)) {
        list.try_reserve(1).map_err(|_| Error::out_of_memory(size_of_val(row), 1))?;
        list.push(noted.clone());
    }
    Ok(list)
}

/// The work that is under way, and that a lease of this kind comes after.
///
/// # Errors
///
/// The error of a write that failed already: a reader would copy bytes that were never written, and
/// a writer of a part would hide the failure.
pub(super) fn before(header: &Header, kind: LeaseKind) -> Result<Vec<Arc<dyn Event>>> {
    if !header.awaited.load(Ordering::Acquire) {
        return Ok(Vec::new());
    }
    let mut under_way = Vec::new();
    for noted in chosen(key(header), |effect| effect.concerns(kind))? {
        match noted.event.poll() {
            Some(Err(error)) if noted.effect == Effect::Writes => return Err(failed(error)),
            Some(_) => remove(header, &noted.event, Some(noted.effect)),
            None => {
                under_way.try_reserve(1).map_err(|_| Error::out_of_memory(size_of::<Noted>(), 1))?;
                under_way.push(noted.event);
            }
        }
    }
    Ok(under_way)
}

/// Refuses access that would have to wait.
///
/// # Errors
///
/// `is_conflict` where work is under way that a lease of this kind comes after; as [`before`].
#[cold]
fn check(header: &Header, kind: LeaseKind) -> Result<()> {
    let under_way = before(header, kind)?;
    let Some(oldest) = under_way.first() else { return Ok(()) };
    let count = under_way.len();
    Err(Error::new(
        Kind::Conflict,
        format!(
            "work on a device is under way on the memory, {count} in all: wait for it, or see `Buffer::events` for what it is (the oldest is {oldest:?})"
        ),
    ))
}

#[cold]
fn failed(error: Error) -> Error {
    error.within("the work that was to write this memory failed")
}

impl Buffer {
    /// Waits for all the work that is noted.
    pub(super) fn await_all(&self) -> Result<()> {
        self.handle().await_work(LeaseKind::Write)
    }

    /// Lets all that is put into a stream from now on come after the work that is noted on the
    /// allocation, as far as a lease of this kind does: for those who hand memory on in order with
    /// a stream, instead of waiting.
    ///
    /// # Errors
    ///
    /// What failed already, and was to write; what the stream says ([`Stream::wait`]).
    pub fn await_in(&self, stream: &dyn Stream, kind: LeaseKind) -> Result<()> {
        before(self.handle().header(), kind)?.iter().try_for_each(|event| stream.wait(event))
    }

    /// Notes that work is under way on the allocation: every slice of it, and everything made over
    /// it, waits for the event before the processor touches the bytes. The code that submits the
    /// work must keep the memory until then, by a [`Hold`](crate::device::Hold).
    ///
    /// Waits for the event at once where there is no memory to note it.
    ///
    /// # Errors
    ///
    /// Of the event, where it was waited for.
    pub fn note_event(&self, event: Arc<dyn Event>, effect: Effect) -> Result<()> {
        if note(self.handle().header(), &event, effect, &[]) { Ok(()) } else { event.wait() }
    }

    /// The work that is noted on the allocation, the oldest first: what is not over, and what was
    /// to write and failed; for protocols that carry events.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is none for the list.
    pub fn events(&self) -> Result<Vec<(Arc<dyn Event>, Effect)>> {
        let header = self.handle().header();
        if !header.awaited.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        sweep(header);
        Ok(list(header)?.into_iter().map(|noted| (noted.event, noted.effect)).collect())
    }

    /// Waits for all the work that is noted on the allocation, and forgets it. After a failure the
    /// memory can be touched again; what is in it is unspecified.
    ///
    /// # Errors
    ///
    /// Of the first work that failed, if any did.
    pub fn settle(&self) -> Result<()> {
        let header = self.handle().header();
        let mut outcome = Ok(());
        while header.awaited.load(Ordering::Acquire) {
            let Some(noted) = first(header, |_| true) else { break };
            outcome = outcome.and(noted.event.wait());
            remove(header, &noted.event, Some(noted.effect));
        }
        outcome
    }
}
