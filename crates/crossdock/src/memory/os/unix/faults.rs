//! The handler of `SIGBUS`, which accesses to missing pages of mapped files raise.

use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// What to do about a missing page.
struct Handler {
    /// Replaces the page of an address. `false`: it is none of this library's.
    replace: fn(usize) -> bool,
    /// The action that was in force before the handler was installed.
    previous: libc::sigaction,
}

// SAFETY: plain records without thread-bound state; the functions that they name may run on any
// thread.
unsafe impl Send for Handler {}
// SAFETY: the record never changes once it is stored in `HANDLER`, so that threads only read it.
unsafe impl Sync for Handler {}

/// Set once, before the handler is installed.
static HANDLER: OnceLock<Option<Handler>> = OnceLock::new();

/// Installs the handler, in which `replace` runs. Faults that it
/// returns `false` for, and signals that a process sent, are forwarded to the previous handler.
/// `false`: the system refuses.
///
/// # Safety
///
/// 1. `replace` does only what a signal handler may: it neither locks nor allocates.
/// 2. Its code and this library's stay loaded while the process lives.
/// 3. The caller holds a lock that is held across forks, and calls this once.
pub(crate) unsafe fn install(replace: fn(usize) -> bool) -> bool {
    // The previous action is stored first, because the handler may run as soon as it is installed.
    let handler = || in_force().map(|previous| Handler { replace, previous });
    // SAFETY: `HANDLER` has the handler, and its code may run at any time from now on (clauses 1
    // and 2 of `# Safety`).
    HANDLER.get_or_init(handler).is_some() && unsafe { replace_handler() }
}

fn in_force() -> Option<libc::sigaction> {
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null action the call changes nothing; `previous` is a record of the right type
    // that it may write.
    let failed = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), previous.as_mut_ptr()) } != 0;
    // SAFETY: the record was zeroed before the call; every field of it is a number or an
    // optional function, for which zero is 0 or `None`.
    (!failed).then(|| unsafe { previous.assume_init() })
}

/// # Safety
///
/// 1. `HANDLER` has a handler, whose function may run in a signal handler and stays loaded, as does
///    this library.
unsafe fn replace_handler() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    // SAFETY: the record was zeroed above; every field of it is a number or an optional
    // function, for which zero is 0 or `None`.
    let fields = unsafe { action.assume_init_mut() };
    fields.sa_sigaction = handler as usize;
    fields.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `action` lives until the call returns and names a function of the type that
    // `SA_SIGINFO` requires. `on_fault` stays loaded and makes only calls that a signal handler may
    // make, as does the function in `HANDLER` (clause 1 of `# Safety`).
    unsafe { libc::sigaction(libc::SIGBUS, action.as_ptr(), std::ptr::null_mut()) == 0 }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let handler = HANDLER.get().and_then(Option::as_ref);
    // SAFETY: the handler is installed with `SA_SIGINFO` (`replace_handler`), so the system passes
    // a valid record.
    let fault = unsafe { &*info };
    // Any other code is an unaligned access, broken memory, or a signal that a process sent.
    if fault.si_code == libc::BUS_ADRERR {
        // SAFETY: the system sets the address in the record of a `SIGBUS` whose code is
        // `BUS_ADRERR`, as checked above.
        let address = unsafe { fault.si_addr() }.addr();
        if handler.is_some_and(|handler| (handler.replace)(address)) {
            return;
        }
    }
    let sent = fault.si_code <= 0;
    forward(handler.map(|handler| handler.previous), (signal, info, context), sent);
}

/// Forwards a signal to the previous handler: a function, or the system's default, which ends the
/// process. `sent`: a process sent the signal; it was not raised by a fault.
fn forward(
    previous: Option<libc::sigaction>,
    (signal, info, context): (libc::c_int, *mut libc::siginfo_t, *mut libc::c_void),
    sent: bool,
) {
    type Plain = extern "C" fn(libc::c_int);
    type Informed = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    match previous {
        Some(action) if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN => {
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: `SA_SIGINFO` is set and the field is neither `SIG_DFL` nor `SIG_IGN`
                // (checked above), so it holds a function of this type.
                let handler = unsafe { std::mem::transmute::<usize, Informed>(action.sa_sigaction) };
                handler(signal, info, context);
            } else {
                // SAFETY: `SA_SIGINFO` is not set and the field is neither `SIG_DFL` nor `SIG_IGN`
                // (checked above), so it holds a function of this type.
                let handler = unsafe { std::mem::transmute::<usize, Plain>(action.sa_sigaction) };
                handler(signal);
            }
        }
        Some(action) if sent && action.sa_sigaction == libc::SIG_IGN => {}
        _ => {
            // SAFETY: `signal` is async-signal-safe, and `SIG_DFL` is a valid action for every
            // signal that reaches this handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            // With the default action, a faulting instruction runs again and ends the process
            // there. A signal that was sent would not be repeated.
            if sent {
                // SAFETY: `raise` is async-signal-safe; the system delivers the signal when this
                // handler has returned.
                unsafe { libc::raise(signal) };
            }
        }
    }
}
