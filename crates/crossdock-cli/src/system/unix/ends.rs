//! Handles signals that end a conversion.
//!
//! The output has no name until it is complete, so a signal may end the process at any point: while
//! it inflates, casts, or waits for a disk. Two cases need more: if the file system does not
//! support unnamed files, the hidden name is removed; and the step that gives the file its name is
//! not interrupted. Ignored signals (`nohup`) stay ignored.

use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};

use crossdock::bindings::system_text;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Failure, Result};
use crate::system::is_ignored;

/// The file to remove. Null, or a string that is never freed.
static PART: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Whether a signal is deferred.
static HELD: AtomicBool = AtomicBool::new(false);

/// The deferred signal; 0 for none.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Removes a file when a signal ends the process.
pub(crate) fn remove_when_ended(part: &Path) -> Result<()> {
    let name = CString::new(part.as_os_str().as_bytes()).map_err(Failure::new)?;
    PART.store(name.into_raw(), Ordering::SeqCst);
    catch()
}

/// Defers signals until the result is dropped.
pub(crate) fn defer_signals() -> Result<DeferredSignals> {
    HELD.store(true, Ordering::SeqCst);
    let deferred = DeferredSignals(());
    catch().map(|()| deferred)
}

/// Signals are deferred while this lives.
pub(crate) struct DeferredSignals(());

impl Drop for DeferredSignals {
    fn drop(&mut self) {
        HELD.store(false, Ordering::SeqCst);
        match CAME.load(Ordering::SeqCst) {
            0 => {}
            signal => end(signal),
        }
    }
}

/// Installs the handlers once.
fn catch() -> Result<()> {
    static CAUGHT: Once = Once::new();
    let mut caught = Ok(());
    CAUGHT.call_once(|| {
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)) {
            let action = move || {
                CAME.store(signal, Ordering::SeqCst);
                if !HELD.load(Ordering::SeqCst) {
                    end(signal);
                }
            };
            // SAFETY: the action only uses atomics, `unlink` and `emulate_default_handler`, which
            // are async-signal-safe, and it cannot panic.
            if let Err(error) = unsafe { signal_hook::low_level::register(signal, action) } {
                caught = Err(Failure::new(format_args!(
                    "a handler for signal {signal} could not be installed: {}",
                    system_text(&error)
                )));
            }
        }
    });
    caught
}

/// Ends the process as if it did not handle the signal.
fn end(signal: i32) {
    let part = PART.load(Ordering::SeqCst);
    if !part.is_null() {
        // SAFETY: `part` is not null, as checked above; it is a string that ends with a NUL, which
        // `remove_when_ended` allocated and no code frees.
        let _ = unsafe { libc::unlink(part) };
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
