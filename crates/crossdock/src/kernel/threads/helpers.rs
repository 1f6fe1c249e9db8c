//! The helper threads: they start with the first large work, and end half a second after the last.
//!
//! A forked child has no helpers and starts none ([`count`](number::count) is 1 there), so it
//! never uses the list that it inherited.

use std::ffi::c_void;
use std::hint::spin_loop;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

use crate::kernel::threads::enabled::SharedWork;
use crate::kernel::threads::number;
use crate::memory::fork::ForkLock;
use crate::memory::os::threads;
use crate::memory::thread;

/// The time that a helper stays without work.
const LINGERS: Duration = Duration::from_millis(500);

/// How often a caller looks for the end of its helpers before it sleeps: for some ten microseconds.
const SPINS: usize = 512;

static TEAM: ForkLock<Team> = ForkLock::new(Team { posted: Vec::new(), helpers: 0, idle: 0 });
/// Work was posted.
static MORE: Condvar = Condvar::new();
/// The last helper has left some work.
static LEFT: Condvar = Condvar::new();

struct Team {
    posted: Vec<PostedWork>,
    /// The helpers that run or are being started.
    helpers: usize,
    /// The helpers that wait for work.
    idle: usize,
}

/// Work that helpers may join.
///
/// # Invariants
///
/// 1. `shared` is alive while the list, which has this entry, is locked, and while a helper is
///    counted in its `helpers`: [`Posting`] removes the entry when there is none.
struct PostedWork {
    shared: NonNull<SharedWork<'static>>,
    /// The helpers that may still join.
    wanted: usize,
}

// SAFETY: PostedWork 1: the pointer acts as a shared reference to a live `SharedWork`, which is
// `Sync`: it has a reference to a `Sync` function, numbers and a mutex of a `Send` value.
unsafe impl Send for PostedWork {}

fn team() -> MutexGuard<'static, Team> {
    TEAM.lock()
}

impl Team {
    /// Counts the calling helper at the first work that it may join.
    fn join(&mut self) -> Option<NonNull<SharedWork<'static>>> {
        let entry = self.posted.iter_mut().find(|entry| entry.is_open())?;
        entry.wanted -= 1;
        entry.shared().helpers.fetch_add(1, Relaxed);
        Some(entry.shared)
    }
}

impl PostedWork {
    fn is_open(&self) -> bool {
        self.wanted > 0 && self.shared().has_parts_left()
    }

    fn shared(&self) -> &SharedWork<'static> {
        // SAFETY: PostedWork 1: the list that this entry is borrowed from is locked.
        unsafe { self.shared.as_ref() }
    }
}

/// Does the work on this thread and on at most `most` helpers. When it returns, no helper uses the
/// work.
pub(super) fn work_with(shared: &SharedWork<'_>, most: usize) {
    let posting = post(shared, most);
    shared.run();
    drop(posting);
}

/// Some work is in the list. The drop of this waits until no helper uses the work.
struct Posting<'a>(&'a SharedWork<'a>);

impl Drop for Posting<'_> {
    fn drop(&mut self) {
        let at_work = || self.0.helpers.load(Relaxed) > 0;
        // The last part of a helper ends soon, often before this thread would be asleep.
        let _gave_up = (0..SPINS).all(|_| {
            spin_loop();
            at_work()
        });
        let mut team = team();
        while at_work() {
            team = LEFT.wait(team).unwrap_or_else(PoisonError::into_inner);
        }
        team.posted.retain(|entry| entry.shared != erased(self.0));
    }
}

/// Without its lifetime: a [`Posting`] removes the entry while `shared` is borrowed (PostedWork 1).
fn erased(shared: &SharedWork<'_>) -> NonNull<SharedWork<'static>> {
    NonNull::from(shared).cast()
}

/// Lists some work and wakes or starts helpers; `None` if there is no memory for the list.
fn post<'a>(shared: &'a SharedWork<'a>, most: usize) -> Option<Posting<'a>> {
    let mut team = team();
    team.posted.try_reserve(1).ok()?;
    team.posted.push(PostedWork { shared: erased(shared), wanted: most });
    let idle = team.idle.min(most);
    let missing = (most - idle).min((number::count_for(most) - 1).saturating_sub(team.helpers));
    team.helpers += missing;
    drop(team);
    let posting = Posting(shared);
    (0..idle).for_each(|_| MORE.notify_one());
    for started in 0..missing {
        if !thread::spawn(run) {
            self::team().helpers -= missing - started;
            break;
        }
    }
    Some(posting)
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    threads::name_this_thread(c"crossdock-work");
    let mut team = team();
    loop {
        if let Some(joined) = team.join() {
            drop(team);
            // SAFETY: PostedWork 1: `join` counted this thread in `helpers`, so the work is alive.
            let shared = unsafe { joined.as_ref() };
            shared.run();
            team = self::team();
            // Under the lock: the work may end as soon as the lock is free.
            if shared.helpers.fetch_sub(1, Relaxed) == 1 {
                LEFT.notify_all();
            }
            continue;
        }
        if !number::is_known() {
            drop(team);
            number::count();
            team = self::team();
            continue;
        }
        team.idle += 1;
        let (again, timeout) = MORE.wait_timeout(team, LINGERS).unwrap_or_else(PoisonError::into_inner);
        team = again;
        team.idle -= 1;
        if timeout.timed_out() && !team.posted.iter().any(PostedWork::is_open) {
            team.helpers -= 1;
            return std::ptr::null_mut();
        }
    }
}
