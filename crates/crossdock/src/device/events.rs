//! In-flight work on an allocation, which the next access waits for.
//!
//! A header has room for one flag. The events are in a separate table, which is read only if the
//! flag is set. They belong to the allocation, so all its slices share them, and they are removed
//! when it is released.
//!
//! Reasons: `DESIGN.md`, "Events are in a table, not in the header".

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use crate::buffer::Buffer;
use crate::device::{Event, Stream};
use crate::error::{Advice, Error, Kind, Result, try_box};
use crate::memory::LeaseKind;
use crate::memory::fork::ForkLock;
use crate::memory::header::Header;
use crate::memory::work::{self, Forgotten, Keeper};

/// The callbacks of the memory layer for recorded work.
static KEEPER: Keeper = Keeper { wait, check, take };

/// The access of device work to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It reads: writers must wait for it.
    Reads,
    /// It writes: readers and writers must wait for it.
    Writes,
}

impl Effect {
    /// Whether access under a lease of this kind must wait for such work.
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

/// The records of one allocation, the oldest first. Boxed, so that they are removed as one value
/// with the allocation.
#[derive(Default)]
struct Notes(Vec<Noted>);

/// Keyed by the address of the header. No method of an event is called, and none is dropped, under
/// the lock: events have locks of their own.
type NotesByHeader = HashMap<usize, Box<Notes>, BuildHasherDefault<DefaultHasher>>;

static NOTED: ForkLock<NotesByHeader> = ForkLock::new(HashMap::with_hasher(BuildHasherDefault::new()));

fn rows() -> MutexGuard<'static, NotesByHeader> {
    NOTED.lock()
}

fn key(header: &Header) -> usize {
    std::ptr::from_ref(header).addr()
}

/// Records an event that comes after those in `superseded`, which are removed. `false` if there was
/// no memory for the record: then the caller must wait for the event.
#[must_use]
pub(super) fn note(
    header: &Header,
    event: &Arc<dyn Event>,
    effect: Effect,
    superseded: &[Arc<dyn Event>],
) -> bool {
    // Sweeps before a row grows, which is once per doubling.
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

/// Waits for the work that precedes access under a lease of this kind. Failed writes stay recorded,
/// so every later access fails with their error, until a caller settles them.
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

/// Removes the records of an allocation without holders. The caller drops the events, which are
/// foreign code.
fn take(header: NonNull<Header>) -> Forgotten {
    let notes = rows().remove(&header.as_ptr().addr());
    notes.map_or_else(Forgotten::default, |notes| Forgotten::new(notes))
}

fn first(header: &Header, concerns: impl Fn(Effect) -> bool) -> Option<Noted> {
    rows().get(&key(header))?.0.iter().find(|noted| concerns(noted.effect)).cloned()
}

/// Removes an event. One event can be recorded for each effect, like the end of a copy within one
/// allocation.
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
    // Without memory for the list, nothing is removed.
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

/// The work recorded for the address of a header, for the ledger. The header need not be alive.
/// Empty if the list cannot be allocated.
pub(crate) fn noted_at(address: usize) -> Vec<UnderWay> {
    let now = Instant::now();
    let noted = chosen(address, |_| true).unwrap_or_default();
    let age = |since: Instant| now.saturating_duration_since(since);
    noted.into_iter().map(|n| UnderWay { event: n.event, effect: n.effect, age: age(n.since) }).collect()
}

/// Work that is recorded on an allocation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnderWay {
    /// The event of its end.
    pub event: Arc<dyn Event>,
    /// Whether it reads or writes the memory.
    pub effect: Effect,
    /// The time since it was recorded.
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

/// The in-flight work that must precede access under a lease of this kind.
///
/// # Errors
///
/// The error of a failed write: a reader would copy bytes that were never written, and a writer of
/// a part would hide the failure.
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

/// Fails if access would have to wait.
///
/// # Errors
///
/// `is_conflict` while work is in flight that access under a lease of this kind must wait for; as
/// [`before`].
#[cold]
fn check(header: &Header, kind: LeaseKind) -> Result<()> {
    let under_way = before(header, kind)?;
    let Some(oldest) = under_way.first() else { return Ok(()) };
    let count = under_way.len();
    Err(Error::new(
        Kind::Conflict,
        format!("work of devices on the memory is in flight: {count} in all, and the oldest is {oldest:?}"),
    )
    .advising(Advice::AwaitWork))
}

#[cold]
fn failed(error: Error) -> Error {
    error.within("device work that writes this memory failed")
}

impl Buffer {
    /// Waits for all recorded work.
    pub(super) fn await_all(&self) -> Result<()> {
        self.handle().await_work(LeaseKind::Write)
    }

    /// Orders later work in a stream after the recorded work on the allocation that a lease of this
    /// kind would wait for. It is for exports that are ordered by a stream instead of waiting.
    ///
    /// # Errors
    ///
    /// The error of a failed write; the stream's errors ([`Stream::wait`]).
    pub fn await_in(&self, stream: &dyn Stream, kind: LeaseKind) -> Result<()> {
        before(self.handle().header(), kind)?.iter().try_for_each(|event| stream.wait(event))
    }

    /// Records in-flight work on the allocation: CPU access to any slice or array of it waits for
    /// the event. The code that submits the work must keep the memory until then, by a
    /// [`DeviceLease`](crate::device::DeviceLease).
    ///
    /// If there is no memory for the record, it waits for the event at once.
    ///
    /// # Errors
    ///
    /// The error of the event, if this waited for it.
    pub fn note_event(&self, event: Arc<dyn Event>, effect: Effect) -> Result<()> {
        if note(self.handle().header(), &event, effect, &[]) { Ok(()) } else { event.wait() }
    }

    /// The recorded work on the allocation, the oldest first: in-flight work and failed writes. For
    /// protocols that carry events.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` if there is no memory for the list.
    pub fn events(&self) -> Result<Vec<(Arc<dyn Event>, Effect)>> {
        let header = self.handle().header();
        if !header.awaited.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        sweep(header);
        Ok(list(header)?.into_iter().map(|noted| (noted.event, noted.effect)).collect())
    }

    /// Waits for all recorded work on the allocation, and removes the records. After a failure the
    /// memory is accessible again, with unspecified contents.
    ///
    /// # Errors
    ///
    /// The error of the first failed work, if any.
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
