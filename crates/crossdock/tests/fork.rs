//! After a fork the child uses and drops what it inherited, even where another thread was inside the library.

use std::os::unix::net::UnixStream;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossdock::DArray;
use crossdock::element::DType;
use crossdock::exchange::protocol::shm;
use crossdock::layout::Order;
use crossdock::memory::{Buffer, ledger};
use crossdock::view::Request;

/// A fork inherits what every test has: there is one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    let _alone = alone();
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
    let _alone = alone();
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

#[test]
fn a_child_that_could_write_stands_in_the_way_of_sealing_until_it_is_gone() {
    let _alone = alone();
    let buffer = Buffer::shared(4).unwrap();
    // SAFETY: the child does nothing but wait for a signal.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "no process could be made");
    if pid == 0 {
        // SAFETY: a system call.
        unsafe { libc::alarm(60) };
        loop {
            // SAFETY: a system call.
            unsafe { libc::pause() };
        }
    }
    let back = buffer.into_sealed().unwrap_err();
    // SAFETY: a child of ours, which nobody has waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    // SAFETY: as above; nothing is written.
    assert_eq!(unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) }, pid);
    assert!(back.error.is_conflict(), "{}", back.error);
    back.value.share().unwrap().store(0, 7u8).unwrap();
    assert_eq!(back.value.into_sealed().unwrap().read().unwrap()[0], 7);
}

/// Here because the limit is a process's own.
#[test]
fn a_process_that_may_open_no_more_descriptors_receives_an_error() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let array = DArray::zeros(DType::F64, &[2, 3], Order::RowMajor).unwrap();
    let shared = array.to_shared(Order::RowMajor).unwrap();
    shm::send(&theirs, &shm::export(&shared, &Request::pin()).unwrap()).unwrap();
    let status = fork_and_wait(|| {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the record is valid for the call.
        let limited = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) } == 0;
        let refused =
            shm::receive(&ours).is_err_and(|error| error.is_io() && error.to_string().contains("may"));
        limited && refused
    });
    assert_eq!(status, 0);
}
