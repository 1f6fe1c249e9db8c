//! After a fork the child uses and drops what it inherited, even where another thread was inside the library.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

use crossdock::memory::{Buffer, ledger};

/// Runs `child` in a fork of this process, and returns the status with which it ended. A child that hangs is ended by the
/// system, with a signal.
fn fork_and_wait(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child does what a program with threads may do after a fork by glibc: it allocates, and ends by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "no process could be made");
    if pid == 0 {
        // SAFETY: a system call.
        unsafe { libc::alarm(60) };
        let code = if child() { 0 } else { 1 };
        // SAFETY: ends the process without running what belongs to the parent.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: the record is valid for the call.
    let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if ended != pid {
        exit(2);
    }
    status
}

#[test]
fn a_child_uses_and_drops_what_it_inherited_while_another_thread_had_the_ledger() {
    ledger::switch_on();
    let inherited = Buffer::from_vec(vec![5u8; 100]).unwrap();
    let lease = inherited.read().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let own = Buffer::zeroed(8).unwrap();
                let (pin, reading) = (own.pin().unwrap(), inherited.read().unwrap());
                assert!(!ledger::live().is_empty());
                let refused = inherited.write().unwrap_err();
                assert!(refused.to_string().contains("a guard"), "{refused}");
                drop((own, pin, reading));
            }
        });
        for _ in 0..300 {
            let status = fork_and_wait(|| {
                let (copy, reading) = (inherited.clone(), lease[99] == 5);
                let fresh = Buffer::zeroed(10);
                let another = copy.read();
                let entries = ledger::live();
                let entry = entries.iter().find(|entry| entry.address == copy.as_ptr().addr());
                // Ours, the one just taken, and maybe one of the thread that is gone.
                let listed = entry.is_some_and(|entry| (2..=3).contains(&entry.holders.len()));
                let told = ledger::report().to_string().contains("Read lease, a guard");
                drop((copy, fresh, another));
                reading && listed && told
            });
            if status != 0 {
                over.store(true, Ordering::Relaxed);
                panic!("the child ended with status {status:#x}");
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    drop((inherited, lease));
    assert!(ledger::live().is_empty());
}

#[test]
fn shared_memory_is_one_for_parent_and_child() {
    let buffer = Buffer::shared(4).unwrap();
    let status = fork_and_wait(|| {
        let written = buffer.share().is_ok_and(|guard| guard.store(0, 0xABCD_u32).is_ok());
        let lost = buffer.try_clone();
        drop(lost);
        written
    });
    assert_eq!(status, 0);
    assert_eq!(buffer.pin().unwrap().load::<u32>(0).unwrap(), 0xABCD);
    assert!(buffer.fault().is_none());
}
