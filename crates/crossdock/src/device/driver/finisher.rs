//! The thread that finishes work for which no other thread waits. There is one for all devices, and
//! it runs only while there is work and shortly after.
//!
//! Reasons: `DESIGN.md`, "Leases are released outside the driver's callbacks".

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::time::Duration;

use crate::device::Event;
use crate::memory::fork::{self, ForkLock};
use crate::memory::os::threads;
use crate::memory::release::release_quietly;
use crate::memory::thread;

/// The time that the thread stays without work.
const LINGERS: Duration = Duration::from_millis(200);

/// The pause between two polls of unfinished work. The thread waits for no single event, because
/// another may finish sooner.
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

struct Watched {
    events: VecDeque<Arc<dyn Event>>,
    /// The generation of the process in which the thread runs, or is being started.
    thread: Option<u64>,
}

static WATCHED: ForkLock<Watched> = ForkLock::new(Watched { events: VecDeque::new(), thread: None });
static MORE: Condvar = Condvar::new();

fn watched() -> MutexGuard<'static, Watched> {
    WATCHED.lock()
}

/// Makes the thread finish an event's work. `false` if that is not possible: then the caller waits.
pub(super) fn watch(event: &Arc<dyn Event>) -> bool {
    let mut watched = watched();
    let generation = Some(fork::generation());
    let mut inherited = VecDeque::new();
    if watched.thread != generation {
        // Events of the parent process stay with the parent.
        inherited = std::mem::take(&mut watched.events);
    }
    let fits = watched.events.try_reserve(1).is_ok();
    if fits {
        watched.events.push_back(event.clone());
    }
    let starts = fits && watched.thread != generation;
    if starts {
        watched.thread = generation;
    }
    drop(watched);
    // The values that they hold are dropped without the lock.
    release_quietly(|| drop(inherited));
    MORE.notify_one();
    if starts && !thread::spawn(run) {
        let mut watched = self::watched();
        watched.thread = None;
        let unwatched = std::mem::take(&mut watched.events);
        drop(watched);
        unwatched.iter().for_each(|event| release_quietly(|| drop(event.wait())));
    }
    fits
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    threads::name_this_thread(c"crossdock-devs");
    let mut pause = SHORTEST_PAUSE;
    while let Some(mut events) = next() {
        let before = events.len();
        events.retain(|event| !is_over(event));
        pause = if events.len() < before { SHORTEST_PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
        if !events.is_empty() {
            put_back(events);
            std::thread::sleep(pause);
        }
    }
    std::ptr::null_mut()
}

/// The events to poll; `None` after some time without events.
fn next() -> Option<VecDeque<Arc<dyn Event>>> {
    let mut watched = watched();
    loop {
        if !watched.events.is_empty() {
            return Some(std::mem::take(&mut watched.events));
        }
        let (again, timeout) = MORE.wait_timeout(watched, LINGERS).unwrap_or_else(PoisonError::into_inner);
        watched = again;
        if timeout.timed_out() && watched.events.is_empty() {
            watched.thread = None;
            return None;
        }
    }
}

/// Appends the unfinished events to those added meanwhile.
fn put_back(mut events: VecDeque<Arc<dyn Event>>) {
    let mut watched = watched();
    std::mem::swap(&mut watched.events, &mut events);
    watched.events.append(&mut events);
}

/// Polling releases the memory that finished work held. An event runs the device implementer's
/// code, which may panic: such an event is not polled again.
fn is_over(event: &Arc<dyn Event>) -> bool {
    let mut over = true;
    release_quietly(|| over = event.is_done());
    over
}
