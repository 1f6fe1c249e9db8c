//! Memory that is made before it is known whether another process will need it: blocks of a
//! shareable pool go to real processes in place.
//!
//! The receiver is this test program, started again, with a socket as its standard input.
#![cfg(not(miri))]

use std::io::{Read, Write};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossdock::buffer::Buffer;
use crossdock::exchange::protocol::shm;
use crossdock::memory::{Backing, Birth, Place, copied_bytes};
use crossdock::pool::{AllocOptions, Hints, Pool};
use crossdock::view::{CopyPolicy, Request};
use crossdock::{Array, Casting, DArray};
use crossdock_testkit::{cases, held, is_filled, not_run, rounds, seed, status_of_child};
use fastrand::Rng;

const ROLE: &str = "CROSSDOCK_TEST_ROLE";
const MIB: usize = 1 << 20;
const HOUR: Duration = Duration::from_secs(3600);

/// The tests count descriptors and fork, so one runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool() -> Pool {
    Pool::shareable(256 * MIB, HOUR).unwrap()
}

/// The bytes as an array.
fn array(buffer: Buffer) -> DArray {
    let shape = [buffer.nbytes()];
    Array::<u8, 1>::from_buffer(buffer, shape).unwrap().into()
}

fn bytes(array: &DArray) -> Vec<u8> {
    array.buffer().unwrap().0.pin().unwrap().to_vec()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn random_bytes(nbytes: usize, random: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; nbytes];
    random.fill(&mut bytes);
    bytes
}

/// Another process, and the socket to it.
struct Receiver {
    child: Child,
    socket: UnixStream,
}

impl Receiver {
    fn start() -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let child = crossdock_testkit::this_program()
            .args(["--exact", "role", "--nocapture", "--test-threads=1"])
            .env(ROLE, "receive")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, socket: ours }
    }

    fn send(&self, array: &DArray, request: &Request) {
        let exported = shm::export(array, request).unwrap();
        assert_eq!(exported.copied_nbytes(), 0);
        shm::send(&self.socket, &exported).unwrap();
    }

    /// The bytes that the other process sees now.
    fn sees(&mut self, nbytes: usize) -> Vec<u8> {
        self.socket.write_all(b"r").unwrap();
        let mut bytes = vec![0; nbytes];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Has the other process write its first byte.
    fn write(&mut self, byte: u8) {
        self.socket.write_all(&[b'w', byte]).unwrap();
        let mut done = [0];
        self.socket.read_exact(&mut done).unwrap();
        assert_eq!(done, *b"d");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _gone = self.socket.shutdown(std::net::Shutdown::Both);
        let _status = self.child.wait();
    }
}

/// The other process: receives one array, and then shows or changes its bytes on request.
#[test]
fn role() {
    if std::env::var(ROLE).as_deref() != Ok("receive") {
        return;
    }
    let mut socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let array = shm::receive(&socket).unwrap().unwrap();
    let mut word = [0];
    while socket.read_exact(&mut word).is_ok() {
        match word {
            [b'r'] => socket.write_all(&bytes(&array)).unwrap(),
            _ => {
                socket.read_exact(&mut word).unwrap();
                array.set(&[0], &i64::from(word[0]).into()).unwrap();
                socket.write_all(b"d").unwrap();
            }
        }
    }
}

#[test]
fn a_block_goes_to_another_process_in_place_and_both_see_later_writes() {
    let _alone = alone();
    let mut random = Rng::with_seed(seed());
    for nbytes in [1, 100, 5000, 70_000, 3 * MIB + 77] {
        let expected = random_bytes(nbytes, &mut random);
        let mut buffer = pool().zeroed(nbytes).unwrap();
        buffer.as_mut_slice().unwrap().copy_from_slice(&expected);
        assert_eq!((buffer.backing(), buffer.birth()), (Backing::Shared, Birth::Sole));
        let before = copied_bytes();
        let ours = array(buffer);
        let mut receiver = Receiver::start();
        receiver.send(&ours, &Request::share());
        assert_eq!(receiver.sees(nbytes), expected);
        assert_eq!((ours.birth(), copied_bytes()), (Birth::Aliased, before));
        ours.set(&[nbytes - 1], &77.into()).unwrap();
        assert_eq!(receiver.sees(nbytes)[nbytes - 1], 77);
        receiver.write(99);
        assert_eq!(ours.get(&[0]).unwrap().as_i64(), Some(99));
    }
}

#[test]
fn the_receiver_keeps_its_bytes_when_the_sender_drops_them_and_uses_the_pool_again() {
    let _alone = alone();
    let (pool, mut random) = (pool(), Rng::with_seed(seed()));
    let expected = random_bytes(3 * MIB, &mut random);
    let mut receiver = Receiver::start();
    let sent = array(pool.copy_from_slice(&expected).unwrap());
    receiver.send(&sent, &Request::pin());
    assert_eq!(receiver.sees(3 * MIB), expected);
    drop(sent);
    assert_eq!(pool.statistics().cached_nbytes, 0, "it is not kept for the next block");
    for value in 1..5 {
        let mut other = pool.zeroed(3 * MIB).unwrap();
        other.as_mut_slice().unwrap().fill(value);
        assert!(receiver.sees(3 * MIB) == expected, "a later block reached the receiver");
    }
    drop(pool);
    assert!(receiver.sees(3 * MIB) == expected);
}

#[test]
fn a_private_block_is_used_again_and_a_published_one_is_not() {
    let _alone = alone();
    let pool = pool();
    let first = pool.zeroed(MIB).unwrap();
    let address = first.address();
    drop(first);
    assert_eq!(pool.statistics().cached_nbytes, MIB as u64);
    let again = pool.zeroed(MIB).unwrap();
    assert_eq!(again.address(), address);
    assert!(is_filled(&again.read().unwrap(), 0));
    assert!(again.descriptor().is_some());
    drop(again);
    assert_eq!(pool.statistics().cached_nbytes, 0);
}

#[test]
fn a_descriptor_leads_to_one_array_and_to_no_byte_of_an_earlier_one() {
    let _alone = alone();
    let pool = pool();
    let mut secret = pool.zeroed(MIB).unwrap();
    secret.as_mut_slice().unwrap().fill(0xAA);
    let address = secret.address();
    drop(secret);
    for padding in [0, 13] {
        let mut buffer = pool.mutable(MIB - 1000).unwrap().freeze();
        buffer.resize(MIB - 9000 - padding).unwrap();
        buffer.as_mut_slice().unwrap().fill(1);
        assert!(buffer.address() == address || padding > 0, "the block of the secret is used again");
        let (fd, offset) = buffer.descriptor().unwrap();
        assert_eq!(offset, 0);
        let file = std::fs::File::from(fd.try_clone_to_owned().unwrap());
        let size = file.metadata().unwrap().len() as usize;
        assert!(size < 2 * MIB, "{size} bytes");
        let all = Buffer::map_shared(fd.try_clone_to_owned().unwrap(), 0, size, false).unwrap();
        let all = all.pin().unwrap().to_vec();
        assert!(is_filled(&all[..buffer.nbytes()], 1));
        assert!(is_filled(&all[buffer.nbytes()..], 0), "bytes of another array are visible");
    }
}

#[test]
fn publishing_waits_for_holders_that_rely_on_privacy_and_binds_later_ones() {
    let _alone = alone();
    let ours = array(pool().zeroed(5000).unwrap());
    let (buffer, _) = ours.buffer().unwrap();
    for is_reading in [true, false] {
        let reading = is_reading.then(|| buffer.read().unwrap());
        let writing = (!is_reading).then(|| buffer.write().unwrap());
        let refused = shm::export(&ours, &Request::pin()).unwrap_err().to_string();
        assert!(refused.contains("1 read lease") || refused.contains("1 write lease"), "{refused}");
        assert!(buffer.descriptor().is_none());
        assert_eq!(buffer.birth(), Birth::Sole);
        drop((reading, writing));
    }
    let pinned = buffer.pin().unwrap();
    let exported = shm::export(&ours, &Request::pin()).unwrap();
    assert_eq!((exported.copied_nbytes(), buffer.birth()), (0, Birth::Aliased));
    drop((exported, pinned));
    assert!(buffer.read().unwrap_err().is_conflict() && buffer.write().unwrap_err().is_conflict());
    let mut only = buffer;
    drop(ours);
    assert!(only.as_mut_slice().unwrap_err().is_conflict(), "another process may write it");
    assert!(only.share().is_ok());
}

#[test]
fn a_copy_is_made_only_with_permission_where_publishing_is_refused() {
    let _alone = alone();
    let ours = array(pool().zeroed(5000).unwrap());
    let (buffer, _) = ours.buffer().unwrap();
    let reading = buffer.read().unwrap();
    let copied = shm::export(&ours, &Request::pin().copy(CopyPolicy::IfNeeded)).unwrap();
    assert_eq!((copied.copied_nbytes(), ours.birth()), (5000, Birth::Sole));
    drop(reading);
}

#[test]
fn parts_with_leases_of_their_own_are_not_published() {
    let _alone = alone();
    let parts = pool().zeroed(8000).unwrap().partition(&[0..4000, 4000..8000]).unwrap();
    assert!(parts[0].descriptor().is_none(), "the descriptor would lead to the other part");
    let mut writing = parts[1].write().unwrap();
    writing[0] = 1;
    drop(writing);

    let whole = pool().zeroed(8000).unwrap();
    assert!(whole.descriptor().is_some());
    let parts = whole.partition(&[0..4000, 4000..8000]).unwrap();
    assert_eq!((parts[1].birth(), parts[1].descriptor().unwrap().1), (Birth::Aliased, 4000));
}

#[test]
fn what_another_library_lends_of_such_a_block_is_known_by_its_address() {
    let _alone = alone();
    let mut owner = pool().zeroed(9000).unwrap();
    let begin = owner.as_mut_slice().unwrap().as_mut_ptr();
    // SAFETY: `owner` keeps the bytes alive, and is only asked for its state below.
    let lent = unsafe { Buffer::non_owned(begin.wrapping_add(100), 500, Place::CPU) }.unwrap();
    assert_eq!(lent.backing(), Backing::Shared);
    let exported = shm::export(&array(lent), &Request::share()).unwrap();
    assert_eq!((exported.copied_nbytes(), exported.description().offset()), (0, 100));
    assert_eq!(owner.birth(), Birth::Aliased, "the block itself is published");
    for birth in [Birth::Sole, Birth::Constant] {
        // SAFETY: `owner` keeps the bytes alive, and nothing accesses them here.
        let relied_on = unsafe { Buffer::from_foreign(begin, 100, Place::CPU, birth, || {}) }.unwrap();
        assert_eq!((relied_on.backing(), relied_on.descriptor().is_none()), (Backing::Foreign, true));
        assert!(relied_on.into_sealed().unwrap_err().error.is_unsupported());
    }
    assert!(owner.as_mut_slice().unwrap_err().is_conflict());
}

#[test]
fn a_second_map_in_this_process_is_known_to_overlap() {
    let _alone = alone();
    let mut buffer = pool().zeroed(4096).unwrap();
    let content: Vec<u8> = (0..4096u32).map(|index| index as u8).collect();
    buffer.as_mut_slice().unwrap().copy_from_slice(&content);
    let ours = array(buffer);
    let exported = shm::export(&ours, &Request::share()).unwrap();
    let theirs = shm::import(exported.fd().try_clone_to_owned().unwrap(), exported.description()).unwrap();
    let (from, to) = (ours.at(":4000").unwrap(), theirs.at("96:").unwrap());
    to.assign(&from, Casting::Checked).unwrap();
    assert_eq!(bytes(&ours)[96..], content[..4000]);
}

#[test]
fn a_block_is_sealed_in_place() {
    let _alone = alone();
    let mut buffer = pool().zeroed(5000).unwrap();
    buffer.as_mut_slice().unwrap().fill(3);
    let before = copied_bytes();
    let sealed = buffer.into_sealed().unwrap();
    assert_eq!((sealed.birth(), copied_bytes()), (Birth::Constant, before));
    assert!(is_filled(&sealed.read().unwrap(), 3));
    let exported = shm::export(&array(sealed), &Request::read()).unwrap();
    let theirs = shm::import(exported.fd().try_clone_to_owned().unwrap(), exported.description()).unwrap();
    assert_eq!(theirs.birth(), Birth::Constant);
}

#[test]
fn thousands_of_rounds_leave_no_descriptor_and_no_memory() {
    let _alone = alone();
    let (before, open) = (held::holds("self", "crossdock-pool"), descriptors());
    let pool = pool();
    let mut random = Rng::with_seed(seed());
    let mut kept: Vec<Buffer> = Vec::new();
    for _ in 0..cases(3000) {
        let buffer = pool.zeroed(random.usize(1..600_000)).unwrap();
        if random.bool() {
            let exported = shm::export(&array(buffer.clone()), &Request::share()).unwrap();
            if random.u32(..8) == 0 {
                let fd = exported.fd().try_clone_to_owned().unwrap();
                drop(buffer);
                kept.push(shm::import(fd, exported.description()).unwrap().buffer().unwrap().0);
                continue;
            }
        }
        kept.push(buffer);
        while kept.len() > random.usize(..10) {
            kept.swap_remove(random.usize(..kept.len()));
        }
    }
    drop(kept);
    let now = pool.statistics();
    assert_eq!((now.live_nbytes, now.live_count), (0, 0));
    pool.trim();
    assert_eq!(pool.statistics().cached_nbytes, 0);
    assert_eq!((held::holds("self", "crossdock-pool"), descriptors()), (before, open));
}

#[test]
fn unused_blocks_are_returned_to_the_system_without_a_call() {
    let _alone = alone();
    let before = held::holds("self", "crossdock-pool");
    let pool = Pool::shareable(64 * MIB, Duration::from_millis(20)).unwrap();
    drop(pool.zeroed(4 * MIB).unwrap());
    for _ in 0..3000 {
        if held::holds("self", "crossdock-pool") == before {
            assert_eq!(pool.statistics().cached_nbytes, 0);
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the block is still there");
}

#[test]
fn the_bytes_are_those_of_an_anonymous_pool_in_any_schedule() {
    let _alone = alone();
    let pools = [pool(), Pool::caching(64 * MIB, HOUR).unwrap()];
    let mut random = Rng::with_seed(seed());
    let mut pairs: Vec<[Buffer; 2]> = Vec::new();
    let same = |[one, other]: &[Buffer; 2]| one.pin().unwrap().to_vec() == other.pin().unwrap().to_vec();
    for _ in 0..cases(600) {
        let most = 1 << random.u32(1..21);
        let nbytes = random.usize(..most);
        let options = AllocOptions::new().align(1 << random.u32(..13)).reserve(random.u32(..4) == 0);
        let options = if random.u32(..4) == 0 { options.hints(Hints::new().populate(true)) } else { options };
        match random.u32(..6) {
            0 | 1 => {
                pairs.push(pools.each_ref().map(|pool| options.zeroed(pool, nbytes).unwrap()));
            }
            2 => {
                let content = random_bytes(nbytes, &mut random);
                pairs.push(pools.each_ref().map(|pool| pool.copy_from_slice(&content).unwrap()));
            }
            _ if pairs.is_empty() => {}
            3 => {
                let at = random.usize(..pairs.len());
                let tag = random.u8(..);
                for buffer in &mut pairs[at] {
                    let len = buffer.nbytes();
                    let share = buffer.share().unwrap();
                    (0..len).step_by(997).for_each(|at| share.store(at, tag).unwrap());
                }
            }
            4 => {
                let at = random.usize(..pairs.len());
                let [one, other] = &mut pairs[at];
                // A published block cannot move.
                if one.birth() == Birth::Sole {
                    one.resize(nbytes).unwrap();
                    other.resize(nbytes).unwrap();
                } else {
                    assert!(one.resize(nbytes).unwrap_err().is_conflict());
                }
            }
            _ => {
                let at = random.usize(..pairs.len());
                if random.bool() {
                    pairs.swap_remove(at);
                } else {
                    let is_empty = pairs[at][0].nbytes() == 0;
                    assert!(pairs[at][0].descriptor().is_some() || is_empty);
                    assert!(pairs[at][1].descriptor().is_none());
                }
            }
        }
        assert!(pairs.iter().rev().take(3).all(same));
    }
    assert!(pairs.iter().all(same));
    let [one, other] = pools.each_ref().map(|pool| pool.statistics().live_count);
    assert_eq!(one, other);
}

#[test]
fn threads_make_publish_and_drop_blocks_at_once() {
    let _alone = alone();
    let (pool, open) = (pool(), descriptors());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                let mut random = Rng::with_seed(seed() + thread);
                for round in 0..rounds(300) {
                    let nbytes = random.usize(1..300_000);
                    let tag = random.u8(..);
                    let mut buffer = pool.zeroed(nbytes).unwrap();
                    assert!(is_filled(buffer.as_mut_slice().unwrap(), 0));
                    buffer.as_mut_slice().unwrap().fill(tag);
                    if random.bool() {
                        let ours = array(buffer.clone());
                        let sent = shm::export(&ours, &Request::share()).unwrap();
                        let fd = sent.fd().try_clone_to_owned().unwrap();
                        let theirs = shm::import(fd, sent.description()).unwrap();
                        assert!(is_filled(&bytes(&theirs), tag), "{thread}: {round}");
                    }
                    assert!(is_filled(&buffer.pin().unwrap().to_vec(), tag));
                }
            });
        }
    });
    pool.trim();
    assert_eq!(descriptors(), open);
}

#[test]
fn a_child_shares_what_it_inherited_and_nothing_that_either_makes_later() {
    let _alone = alone();
    let pool = pool();
    let ours = array(pool.zeroed(70_000).unwrap());
    drop(pool.zeroed(3 * MIB).unwrap()); // cached
    let status = status_of_child(|| {
        let cached = pool.statistics().cached_nbytes;
        let wrote = ours.set(&[1], &5.into()).is_ok();
        // New memory of the child, in the size that the parent has in its cache.
        let mut new = pool.zeroed(3 * MIB).unwrap();
        new.as_mut_slice().unwrap().fill(9);
        cached == 0 && wrote && ours.birth() == Birth::Aliased
    });
    assert_eq!(status, 0);
    assert_eq!((ours.birth(), ours.get(&[1]).unwrap().as_i64()), (Birth::Aliased, Some(5)));
    let again = pool.zeroed(3 * MIB).unwrap();
    assert!(is_filled(&again.read().unwrap(), 0));
    drop(again);
    let cached = pool.statistics().cached_nbytes;
    drop(ours);
    assert_eq!(pool.statistics().cached_nbytes, cached, "a child may still use it");
}

#[test]
fn a_child_gets_a_copy_of_what_a_holder_relies_on() {
    let _alone = alone();
    let pool = pool();
    for nbytes in [100, 70_000, 3 * MIB + 5] {
        let mut buffer = pool.zeroed(nbytes).unwrap();
        buffer.as_mut_slice().unwrap().fill(4);
        let reading = buffer.read().unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            let written = buffer.clone();
            let parent = scope.spawn(move || {
                let mut go = [0];
                ours.read_exact(&mut go).unwrap();
                ours.write_all(&go).unwrap();
                drop(written);
            });
            let before = copied_bytes();
            let status = status_of_child(|| {
                let mut theirs = theirs.try_clone().unwrap();
                theirs.write_all(b"g").unwrap();
                let mut go = [0];
                theirs.read_exact(&mut go).unwrap();
                let same = is_filled(&reading, 4);
                same && buffer.birth() == Birth::Sole && buffer.descriptor().is_none()
            });
            assert_eq!(status, 0, "{nbytes}");
            assert!(copied_bytes() - before >= nbytes as u64, "the copy is counted");
            parent.join().unwrap();
        });
        drop(reading);
        assert_eq!(buffer.birth(), Birth::Sole, "the parent's memory is its own");
        buffer.as_mut_slice().unwrap().fill(6);
        let address = buffer.address();
        let status = status_of_child(|| true);
        assert_eq!((status, buffer.address()), (0, address));
    }
    // What the child writes into its copy stays there.
    let buffer = pool.zeroed(70_000).unwrap();
    let reading = Mutex::new(Some(buffer.read().unwrap()));
    let status = status_of_child(|| {
        drop(reading.lock().unwrap().take());
        let done = buffer.share().unwrap().store(0, 1u8).is_ok();
        drop(buffer.clone());
        done
    });
    assert_eq!(status, 0);
    assert_eq!(reading.lock().unwrap().as_ref().unwrap()[0], 0);
}

#[test]
fn a_child_gets_a_copy_of_a_block_whose_parts_have_leases_of_their_own() {
    let _alone = alone();
    let pool = pool();
    let whole = pool.zeroed(70_000).unwrap();
    let parts = whole.partition(&[0..30_000, 30_000..70_000]).unwrap();
    let reading = parts[0].read().unwrap();
    let status = status_of_child(|| {
        // The child's own, which no other process reads.
        let first = parts[0].pin().unwrap().to_vec();
        parts[1].write().unwrap().fill(7);
        is_filled(&first, 0) && parts[1].descriptor().is_none()
    });
    assert_eq!(status, 0);
    assert!(is_filled(&reading, 0));
    assert_eq!(parts[1].birth(), Birth::Sole);
    assert!(is_filled(&parts[1].read().unwrap(), 0), "a child wrote what is read as constant");
}

#[test]
fn a_child_gets_a_copy_of_bytes_that_are_not_a_buffer_yet() {
    let _alone = alone();
    let pool = pool();
    for nbytes in [100, 70_000, 3 * MIB + 5] {
        let mut new = pool.mutable(nbytes).unwrap();
        new.extend_from_slice(&vec![1u8; nbytes]).unwrap();
        let mut thawed = pool.zeroed(nbytes).unwrap().try_into_mut().unwrap();
        thawed.resize(nbytes).unwrap();
        let mut uninit = pool.uninit(nbytes).unwrap();
        uninit.as_uninit_mut().fill(MaybeUninit::new(1));
        let status = status_of_child(|| {
            // SAFETY: the child drops neither value, and ends soon.
            let mut new = ManuallyDrop::new(unsafe { std::ptr::read(&new) });
            // SAFETY: the child drops neither the copy nor the original, and ends soon.
            let mut uninit = ManuallyDrop::new(unsafe { std::ptr::read(&uninit) });
            let same = is_filled(&new, 1) && is_filled(&thawed, 0);
            new.fill(2);
            uninit.as_uninit_mut().fill(MaybeUninit::new(2));
            same
        });
        assert_eq!(status, 0, "{nbytes}");
        assert!(is_filled(&new, 1));
        // SAFETY: `fill` wrote all bytes above.
        let filled = unsafe { uninit.assume_init() };
        thawed.extend_from_slice(&[0; 3]).unwrap();
        let buffers = [(new.freeze(), 1), (filled, 1), (thawed.freeze(), 0)];
        for (buffer, byte) in &buffers {
            assert_eq!(buffer.birth(), Birth::Sole, "no other process has it");
            assert!(is_filled(&buffer.read().unwrap(), *byte));
        }
        assert_eq!(status_of_child(|| buffers.iter().all(|(buffer, _)| buffer.read().is_err())), 0);
        for (buffer, _) in buffers {
            assert!(buffer.read().is_err() && buffer.try_into_mut().is_err(), "the child had it");
        }
    }
}

#[test]
fn half_of_the_descriptors_are_left_to_others() {
    let _alone = alone();
    let status = status_of_child(|| {
        let limit = libc::rlimit { rlim_cur: 400, rlim_max: 400 };
        // SAFETY: `limit` is a record of the right type, which the call only reads; it restricts
        // this child alone.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
        let pool = pool();
        let mut kept = Vec::new();
        let error = loop {
            match pool.zeroed(100) {
                Ok(buffer) => kept.push(buffer),
                Err(error) => break error,
            }
        };
        let text = error.to_string();
        let files = (0..100).all(|_| std::fs::File::open("/dev/null").map(std::mem::forget).is_ok());
        kept.truncate(1);
        let after = pool.zeroed(100).is_ok();
        let refused = error.is_exhausted() && text.contains("200") && text.contains("ulimit -n");
        refused && files && after
    });
    assert_eq!(status, 0);
}

#[test]
fn a_process_without_descriptors_is_told_the_limit() {
    let _alone = alone();
    let status = status_of_child(|| {
        let limit = libc::rlimit { rlim_cur: 400, rlim_max: 400 };
        // SAFETY: `limit` is a record of the right type, which the call only reads; it restricts
        // this child alone.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
        while std::fs::File::open("/dev/null").map(std::mem::forget).is_ok() {}
        let error = pool().zeroed(100).unwrap_err();
        let text = error.to_string();
        error.is_exhausted() && text.contains("limit 400") && text.contains("ulimit -n")
    });
    assert_eq!(status, 0);
}

#[test]
fn a_limit_on_files_is_an_error_and_no_signal() {
    let _alone = alone();
    let status = status_of_child(|| {
        let limit = libc::rlimit { rlim_cur: MIB as u64, rlim_max: MIB as u64 };
        // SAFETY: `limit` is a record of the right type, which the call only reads; it restricts
        // this child alone.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
        let pool = pool();
        let fits = pool.zeroed(MIB / 2).is_ok();
        let refused = pool.zeroed(2 * MIB).unwrap_err();
        fits && refused.is_out_of_memory() && Buffer::shared(2 * MIB).unwrap_err().is_out_of_memory()
    });
    assert_eq!(status, 0);
}

#[test]
fn reserved_memory_exists_before_it_is_written() {
    let _alone = alone();
    let resident = |buffer: &Buffer| {
        let (fd, _) = buffer.descriptor().unwrap();
        let file = std::fs::File::from(fd.try_clone_to_owned().unwrap());
        std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) as usize * 512
    };
    let pool = pool();
    let reserve = AllocOptions::new().reserve(true);
    let (reserved, plain) =
        (reserve.zeroed(&pool, 3 * MIB).unwrap(), AllocOptions::new().zeroed(&pool, 3 * MIB).unwrap());
    assert!(resident(&reserved) >= 3 * MIB && resident(&plain) == 0);
    assert_eq!(reserved.pin().unwrap().to_vec(), vec![0; 3 * MIB]);
    // More than any machine has.
    let refused = reserve.zeroed(&Pool::caching(0, HOUR).unwrap(), 1 << 46).unwrap_err();
    assert!(refused.is_out_of_memory(), "{refused}");
}

#[test]
fn debug_mode_finds_damage_in_shareable_blocks_too() {
    let _alone = alone();
    let pool = pool().guarded("guarded").unwrap();
    let mut buffer = pool.zeroed(5000).unwrap();
    buffer.as_mut_slice().unwrap().fill(1);
    let (fd, offset) = buffer.descriptor().unwrap();
    let again = Buffer::map_shared(fd.try_clone_to_owned().unwrap(), offset, 5000, false).unwrap();
    assert_eq!(again.pin().unwrap().to_vec(), vec![1; 5000]);
    drop(buffer);
    assert!(crossdock::pool::take_damage().is_empty(), "publishing leaves guards alone");
    assert!(fd_is_closed_on_exec());
}

fn fd_is_closed_on_exec() -> bool {
    let buffer = pool().zeroed(10).unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    // SAFETY: the descriptor is borrowed, so it is open; the call reads its flags.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) };
    flags & libc::FD_CLOEXEC != 0
}

/// A memory control group with a limit, which ends with this value.
struct Group(PathBuf);

impl Group {
    /// `None` where this user may make none.
    fn new(limit: usize) -> Option<Self> {
        let name = format!("crossdock-test-{}", std::process::id());
        let kinds = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        kinds.into_iter().find_map(|(parent, file)| {
            let folder = Path::new(parent).join(&name);
            std::fs::create_dir(&folder).ok()?;
            let group = Self(folder);
            std::fs::write(group.0.join(file), limit.to_string()).ok()?;
            Some(group)
        })
    }

    fn join(&self) -> bool {
        std::fs::write(self.0.join("cgroup.procs"), std::process::id().to_string()).is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _busy = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn more_than_a_control_group_has_is_promised_but_never_reserved() {
    let _alone = alone();
    let Some(group) = Group::new(64 * MIB) else {
        not_run("this user may make no memory control groups");
        return;
    };
    let (pool, reserve) = (pool(), AllocOptions::new().reserve(true));
    let within = status_of_child(|| group.join() && reserve.zeroed(&pool, 16 * MIB).is_ok());
    assert_eq!(within, 0);
    let promised = status_of_child(|| group.join() && pool.zeroed(256 * MIB).is_ok());
    assert_eq!(promised, 0);
    // The system ends the child, or refuses: what it does not is to go on.
    let beyond = status_of_child(|| group.join() && reserve.zeroed(&pool, 256 * MIB).is_ok());
    assert_ne!(beyond, 0);
}
