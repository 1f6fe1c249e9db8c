//! Functions by which tests control and query the driver, in the same library as the driver's own
//! functions.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use crate::abi::{Room, Text};
use crate::call::CALLS_AFTER_FORK;
use crate::config::Config;
use crate::counts::Counts;
use crate::current;
use crate::memory::Kind;
use crate::state::{Failure, changed, lock, wait_until};
use crate::status::{Result, Status};

/// The status of a control function: 0 for success.
fn told(outcome: Result) -> Status {
    outcome.err().unwrap_or(Status::SUCCESS)
}

/// Resets settings, requested failures, counts and misuses, and resumes all streams. Objects stay.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_reset() {
    let mut state = lock();
    state.config = Config::new();
    state.is_gone = false;
    state.pauses = 0;
    state.failures.clear();
    state.failing_work = None;
    state.calls = Counts::new();
    state.work_done = 0;
    state.misuses.clear();
    state.queues.values_mut().for_each(|queue| queue.pauses = 0);
    state.contexts.values_mut().for_each(|context| context.sticky = None);
    CALLS_AFTER_FORK.store(0, Ordering::Relaxed);
    changed();
}

/// Changes a setting of the driver, by name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_set(name: Text, value: u64) -> Status {
    let name = name.get();
    let mut state = lock();
    let config = &mut state.config;
    let number = i32::try_from(value).unwrap_or(i32::MAX);
    match name.as_deref() {
        Ok("device_count") => config.device_count = number,
        Ok("driver_version") => config.driver_version = number,
        Ok("memory") => config.memory = value,
        Ok("pageable_waits") => config.pageable_waits = value != 0,
        Ok("reaches_peers") => config.reaches_peers = value != 0,
        Ok("opens_own") => config.opens_own = value != 0,
        Ok("waits_for_waiters") => config.waits_for_waiters = value != 0,
        Ok("gone") => state.is_gone = value != 0,
        _ => return Status::NOT_FOUND,
    }
    changed();
    Status::SUCCESS
}

/// Sets an attribute of a device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_set_attribute(device: c_int, attribute: c_int, value: c_int) {
    lock().config.set_attribute(device, attribute, value);
}

/// Makes the `nth` next call of a function fail, counted from 1; `*` is any function. Functions
/// that free or destroy still do so.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_fail(function: Text, nth: u64, status: Status) -> Status {
    told(function.get().map(|function| {
        if nth > 0 {
            lock().failures.push(Failure { function, left: nth, status });
        }
    }))
}

/// Makes the `nth` next piece of work in streams fail, which breaks its context until
/// [`mock_cuda_reset`].
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_fail_work(nth: u64, status: Status) {
    lock().failing_work = (nth > 0).then_some((nth, status));
}

/// The number of requested failures that have not happened yet.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_failures_left() -> u64 {
    let state = lock();
    state.failures.len() as u64 + u64::from(state.failing_work.is_some())
}

/// Cancels the requested failures, and returns their number.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_take_failures() -> u64 {
    let mut state = lock();
    let left = state.failures.len() as u64 + u64::from(state.failing_work.take().is_some());
    state.failures.clear();
    left
}

/// Pauses a stream; 0 is all streams. Work that has begun continues.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_pause(stream: usize) -> Status {
    let mut state = lock();
    match (stream, state.queues.get_mut(&stream)) {
        (0, _) => state.pauses += 1,
        (_, Some(queue)) => queue.pauses += 1,
        (_, None) => return Status::INVALID_HANDLE,
    }
    Status::SUCCESS
}

/// Reverts one [`mock_cuda_pause`].
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_resume(stream: usize) {
    let mut state = lock();
    if stream == 0 {
        state.pauses = state.pauses.saturating_sub(1);
    } else if let Some(queue) = state.queues.get_mut(&stream) {
        queue.pauses = queue.pauses.saturating_sub(1);
    }
    changed();
}

/// Waits until all work in streams is done.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_settle() -> Status {
    let state = lock();
    let marks: Vec<_> = state.queues.keys().filter_map(|&stream| state.last(stream)).collect();
    told(wait_until(state, |_| marks.iter().all(|mark| mark.is_reached())).map(drop))
}

/// The number of calls of a function; `*` is any function.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_calls(function: Text) -> u64 {
    let function = function.get();
    let state = lock();
    match function.as_deref() {
        Ok("*") => state.calls.rows().iter().map(|(_, count)| count).sum(),
        Ok(function) => state.calls.of(function),
        Err(_) => 0,
    }
}

/// A count, by name; the largest number for an unknown name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_count(what: Text) -> u64 {
    let what = what.get();
    if what.as_deref() == Ok("calls_after_fork") {
        return CALLS_AFTER_FORK.load(Ordering::Relaxed);
    }
    let state = lock();
    let of = |is_it: fn(Kind) -> bool| state.allocations.values().filter(|memory| is_it(memory.kind)).count();
    let count = match what.as_deref() {
        Ok("contexts") => state.contexts.len(),
        Ok("retained") => return state.devices.values().map(|device| device.retained).sum(),
        Ok("streams") => state.streams.values().filter(|stream| stream.is_made).count(),
        Ok("events") => state.events.len(),
        Ok("modules") => state.modules.len(),
        Ok("pools") => state.pools.values().filter(|pool| !pool.is_default).count(),
        Ok("handles") => state.physical.len(),
        Ok("ranges") => state.ranges.len(),
        Ok("device_memory") => of(Kind::is_fenced),
        Ok("host_memory") => of(|kind| kind == Kind::Pinned),
        Ok("registered") => of(|kind| kind == Kind::Registered),
        Ok("managed") => of(|kind| kind == Kind::Managed),
        Ok("nbytes") => state.allocations.values().map(|memory| memory.nbytes).sum(),
        Ok("reserved") => return state.devices.values().map(|device| device.used).sum(),
        Ok("work") => return state.work_done,
        Ok("current") => current::depth(),
        _ => return u64::MAX,
    };
    count as u64
}

/// The functions that were called, one per line with the number of calls; returns the length of the
/// text in bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_called(text: Room, room: usize) -> usize {
    let lines: String = lock().calls.rows().iter().map(|(name, count)| format!("{name} {count}\n")).collect();
    let _too_small = text.fill(room, &lines);
    lines.len()
}

/// The recorded misuses of the driver, one per line; returns the length of the text in bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mock_cuda_misuses(text: Room, room: usize) -> usize {
    let lines: String = lock().misuses.iter().map(|line| format!("{line}\n")).collect();
    let _too_small = text.fill(room, &lines);
    lines.len()
}
