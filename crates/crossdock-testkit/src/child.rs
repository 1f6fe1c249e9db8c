//! Forked processes that perform one task.

/// The wait status of a forked child that runs `does`: 0 if it returned true. A signal of the
/// system ends a child that hangs.
pub fn status_of_child(does: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child does only what glibc permits in a child of a multithreaded process: it may
    // allocate, and it ends by a signal or `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "no process could be made");
    if pid == 0 {
        // A sanitizer's handler would change the signal.
        // SAFETY: the call sets the default action of a signal, in this child only, and takes no
        // pointer.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        // SAFETY: the call sets a timer of this child, and takes no pointer.
        unsafe { libc::alarm(60) };
        let code = if does() { 0 } else { 1 };
        // SAFETY: `_exit` ends the child at once, without running handlers or destructors of the
        // parent's objects.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: `status` is a live local variable, and `pid` is the child that the fork above
    // created.
    let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(ended, pid);
    status
}
