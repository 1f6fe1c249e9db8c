//! The common part of all functions of the driver, before and after their own work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::current;
use crate::state::{Locked, lock};
use crate::status::{Result, Status};

/// The preconditions of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// None: it works before the driver is initialised.
    Nothing,
    /// An initialised driver.
    Driver,
    /// Also a current context, in which no work has failed.
    Context,
    /// As `Context`, but the function destroys or frees: it may return the error of earlier work in
    /// a stream, after it has done its own work.
    ContextToDestroy,
    /// As `Driver`, for functions that destroy as with `ContextToDestroy`.
    DriverToDestroy,
}

/// The process that uses the driver, or 0.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// The number of calls in forked children of that process.
pub(crate) static CALLS_AFTER_FORK: AtomicU64 = AtomicU64::new(0);

/// Runs one function of the driver.
pub(crate) fn call(name: &'static str, needs: Needs, work: impl FnOnce(Locked) -> Result) -> Status {
    // Before any lock, which another thread of the parent may have held.
    if is_in_child() {
        CALLS_AFTER_FORK.fetch_add(1, Ordering::Relaxed);
        return Status::NOT_INITIALIZED;
    }
    match catch_unwind(AssertUnwindSafe(|| attempt(name, needs, work))) {
        Ok(Ok(())) => Status::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => lock().misuse(Status::UNKNOWN, "the mock driver panicked"),
    }
}

fn is_in_child() -> bool {
    let own = std::process::id().cast_signed();
    let first = PROCESS.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
    first.is_err_and(|process| process != own)
}

fn attempt(name: &'static str, needs: Needs, work: impl FnOnce(Locked) -> Result) -> Result {
    let mut state = lock();
    state.function = name;
    state.calls.count(name);
    // Names of errors can be queried in any state.
    let is_words = name.starts_with("cuGetError");
    if state.is_gone && !is_words {
        return Err(Status::DEINITIALIZED);
    }
    if current::is_in_host_function() {
        return Err(
            state.misuse(Status::NOT_PERMITTED, "a function that a stream calls must not call the driver")
        );
    }
    if needs != Needs::Nothing && !state.is_initialized {
        return Err(state.misuse(Status::NOT_INITIALIZED, "cuInit was not called"));
    }
    let mut failed = failure(&mut state, name);
    let destroys = matches!(needs, Needs::ContextToDestroy | Needs::DriverToDestroy);
    if let (Some(status), false) = (failed, destroys) {
        return Err(status);
    }
    if matches!(needs, Needs::Context | Needs::ContextToDestroy) {
        let context = current::context(&mut state)?;
        failed = failed.or(state.context(context)?.sticky);
        if let (Some(status), Needs::Context) = (failed, needs) {
            return Err(status);
        }
    }
    work(state)?;
    failed.map_or(Ok(()), Err)
}

/// The failure that a test has requested for this call.
fn failure(state: &mut Locked, name: &'static str) -> Option<Status> {
    let is_words = name.starts_with("cuGetError");
    for failure in &mut state.failures {
        failure.left -= u64::from(failure.function == name || (failure.function == "*" && !is_words));
    }
    let due = state.failures.iter().position(|failure| failure.left == 0)?;
    Some(state.failures.remove(due).status)
}

/// Defines functions of the driver, each with its name, its preconditions, and its effect on the
/// state.
macro_rules! driver {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $kind:ty),* $(,)?) needs $needs:ident |$state:pat_param| $work:expr)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($argument: $kind),*) -> $crate::status::Status {
            $crate::call::call(stringify!($name), $crate::call::Needs::$needs, |$state| $work)
        }
    )*};
}
pub(crate) use driver;
