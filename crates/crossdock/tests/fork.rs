//! After a fork the child uses and drops what it inherited, even where another thread was inside
//! the library.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::protocol::shm;
use crossdock::layout::Order;
use crossdock::ledger;
use crossdock::pool::Pool;
use crossdock::view::Request;
use crossdock_testkit::rounds;

/// A fork inherits the state of every test, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `child` in a fork of this process, and returns the status with which it ended. A child that
/// hangs is ended by the system, with a signal.
fn fork_and_wait(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: after a fork with glibc, the child of a threaded process may allocate. It calls only
    // `child`, and ends by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "no process could be made");
    if pid == 0 {
        // SAFETY: `alarm` accesses no memory; its signal ends the child.
        unsafe { libc::alarm(60) };
        let code = if child() { 0 } else { 1 };
        // SAFETY: `_exit` accesses no memory, and skips the parent's exit handlers.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: `pid` is a child of this process, and `status` is a writable local variable.
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
        for _ in 0..rounds(300) {
            let status = fork_and_wait(|| {
                let (copy, reading) = (inherited.clone(), lease[99] == 5);
                let fresh = Buffer::zeroed(10);
                let another = copy.read();
                let entries = ledger::live();
                let entry = entries.iter().find(|entry| entry.address == copy.as_ptr().addr());
                // The thread's own, the new one, and maybe one of the thread that is gone.
                let listed = entry.is_some_and(|entry| (2..=3).contains(&entry.holders.len()));
                let told = ledger::report().to_string().contains("read lease, a guard");
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
    // SAFETY: the child of the fork makes only system calls, until a signal ends it.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "no process could be made");
    if pid == 0 {
        // SAFETY: `alarm` accesses no memory; its signal ends the child.
        unsafe { libc::alarm(60) };
        loop {
            // SAFETY: `pause` accesses no memory, and waits for a signal.
            unsafe { libc::pause() };
        }
    }
    let back = buffer.into_sealed().unwrap_err();
    // SAFETY: `kill` accesses no memory. `pid` is a child that was not waited for, so the number is
    // not reused.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    // SAFETY: `waitpid` accepts a null pointer for the status. `pid` is a child that was not waited
    // for.
    assert_eq!(unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) }, pid);
    assert!(back.error.is_conflict(), "{}", back.error);
    back.value.share().unwrap().store(0, 7u8).unwrap();
    assert_eq!(back.value.into_sealed().unwrap().read().unwrap()[0], 7);
}

/// In this file because the limit belongs to the process.
#[test]
fn a_process_that_may_open_no_more_descriptors_receives_an_error() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let array = DArray::zeros(DType::F64, &[2, 3], Order::RowMajor).unwrap();
    let shared = array.to_shared(Order::RowMajor).unwrap();
    shm::send(&theirs, &shm::export(&shared, &Request::pin()).unwrap()).unwrap();
    let status = fork_and_wait(|| {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `none` is an initialised `rlimit` that outlives the call.
        let limited = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) } == 0;
        let refused =
            shm::receive(&ours).is_err_and(|error| error.is_io() && error.to_string().contains("may"));
        limited && refused
    });
    assert_eq!(status, 0);
}

/// Pools of every kind, with a cache that releases continuously.
fn pools() -> Vec<Pool> {
    let caching = Pool::caching(1 << 26, Duration::from_millis(1)).unwrap();
    let capped = caching.capped("capped", 1 << 28).unwrap();
    let guarded = caching.guarded("guarded").unwrap();
    vec![Pool::default(), caching, capped, guarded]
}

/// The child's use of pools and of an inherited buffer, after a fork while other threads were
/// inside the pool.
fn use_pool(pool: &Pool, mut inherited: Vec<Buffer>) -> bool {
    let mut good = true;
    for buffer in &mut inherited {
        let nbytes = buffer.nbytes();
        good &= buffer.resize(nbytes + (1 << 20)).is_ok();
        good &= buffer
            .read()
            .is_ok_and(|bytes| bytes[..nbytes].iter().all(|&byte| byte == 5) && bytes[nbytes] == 0);
    }
    inherited.truncate(1);
    for nbytes in [1, 1000, 300 << 10] {
        let Ok(mut own) = pool.mutable(nbytes) else { return false };
        good &= own.resize(2 * nbytes).is_ok() && own.iter().all(|&byte| byte == 0);
        let own = own.freeze();
        good &= own.clone().pool_name() == Some(pool.name());
        inherited.push(own);
    }
    let proxy = pool.proxy("of the child");
    good &= proxy.is_ok_and(|proxy| proxy.zeroed(1 << 20).is_ok());
    drop(inherited);
    pool.trim();
    // The thread that releases blocks is not inherited: the child has its own.
    drop(pool.zeroed(1 << 20));
    good
}

/// Runs `body` while other threads are busy in all pools.
fn while_others_allocate(pools: &[Pool], body: impl FnOnce()) {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&over);
        for thread in 0..2 {
            let over = &over;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                let mut kept = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let pool = &pools[random.usize(..pools.len())];
                    let mut bytes = pool.mutable(random.usize(..1000)).unwrap();
                    bytes.reserve(random.usize(..20) << random.u32(..17)).unwrap();
                    kept.push((bytes.freeze(), pool.zeroed(random.usize(..2) << 20).unwrap(), pool.clone()));
                    if kept.len() > 8 {
                        kept.swap_remove(random.usize(..8));
                    }
                }
            });
        }
        body();
    });
}

fn inherited(pool: &Pool) -> Vec<Buffer> {
    [1, 1000, 300 << 10].map(|nbytes| pool.copy_from_slice(&vec![5u8; nbytes]).unwrap()).into()
}

#[test]
fn a_child_allocates_resizes_and_frees_whatever_other_threads_did_in_the_pools() {
    let _alone = alone();
    let pools = pools();
    while_others_allocate(&pools, || {
        for round in 0..rounds(120) {
            let pool = &pools[round % pools.len()];
            let buffers = inherited(pool);
            let status = fork_and_wait(|| use_pool(pool, buffers));
            assert_eq!(status, 0, "round {round}, {pool:?}: the child ended with status {status:#x}");
        }
    });
    for pool in &pools[1..] {
        assert_eq!(pool.statistics().live_nbytes, 0, "{pool:?}");
    }
}

#[test]
fn a_child_goes_on_when_its_parent_is_gone() {
    let _alone = alone();
    let pools = pools();
    while_others_allocate(&pools, || {
        for round in 0..rounds(24) {
            let pool = &pools[round % pools.len()];
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            let buffers = inherited(pool);
            let status = fork_and_wait(|| {
                let parent = std::process::id();
                // SAFETY: the child of a fork may allocate with glibc; this grandchild uses a pool
                // and a socket, and ends by `_exit`.
                let pid = unsafe { libc::fork() };
                if pid != 0 {
                    return pid > 0;
                }
                // SAFETY: `alarm` accesses no memory; its signal ends the grandchild.
                unsafe { libc::alarm(60) };
                while std::os::unix::process::parent_id() == parent {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let good = use_pool(pool, buffers);
                let told = (&theirs).write_all(if good { b"good" } else { b"bad" });
                // SAFETY: `_exit` accesses no memory, and skips the exit handlers of the parents.
                unsafe { libc::_exit(i32::from(told.is_err())) }
            });
            assert_eq!(status, 0, "round {round}");
            drop(theirs);
            let mut said = String::new();
            ours.read_to_string(&mut said).unwrap();
            assert_eq!(said, "good", "round {round}, {pool:?}");
        }
    });
}

/// A field whose dtype another thread is initialising at the moment of a fork.
#[cfg(feature = "derive")]
mod slow {
    use std::sync::Barrier;

    use super::*;

    pub(super) static BEGUN: Barrier = Barrier::new(2);
    pub(super) static GO_ON: Barrier = Barrier::new(2);

    thread_local! {
        pub(super) static WAITS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub(super) struct Slow(u32);

    // SAFETY: `Slow` is transparent over `u32`, which is `Pod`: no padding, and every bit pattern
    // is valid.
    unsafe impl crossdock::memory::Pod for Slow {}
    // SAFETY: the dtype describes 4 bytes as one number, which is what `u32` is.
    unsafe impl crossdock::element::Element for Slow {
        fn dtype() -> DType {
            if WAITS.get() {
                BEGUN.wait();
                GO_ON.wait();
            }
            DType::U32
        }
    }

    #[derive(Clone, Copy, crossdock::element::Element)]
    #[repr(C)]
    pub(super) struct Record {
        slow: Slow,
        number: f32,
    }
}

#[cfg(feature = "derive")]
#[test]
fn a_child_makes_the_dtype_of_a_record_that_another_thread_was_making() {
    use crossdock::element::Element;

    let _alone = alone();
    let text = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            slow::WAITS.set(true);
            slow::Record::dtype().to_string()
        });
        slow::BEGUN.wait();
        let status = fork_and_wait(|| slow::Record::dtype().itemsize() == 8);
        slow::GO_ON.wait();
        assert_eq!(status, 0, "the child waited for a thread that it does not have");
        other.join().unwrap()
    });
    assert_eq!(slow::Record::dtype().to_string(), text);
}
