//! Processes that are forked off to do one thing.

/// How a child of this process ended that did this: 0 where it came to its end. One that hangs is ended by the system, with a
/// signal.
pub fn status_of_child(does: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child does what a program with threads may do after a fork by glibc: it allocates, and ends by a signal or
    // by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "no process could be made");
    if pid == 0 {
        // A sanitizer's handler would turn the signal into something else.
        // SAFETY: a system call.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        // SAFETY: a system call.
        unsafe { libc::alarm(60) };
        let code = if does() { 0 } else { 1 };
        // SAFETY: ends the process without running what belongs to the parent.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: the record is valid for the call.
    let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(ended, pid);
    status
}
