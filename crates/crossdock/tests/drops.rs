//! Every owner of memory releases it exactly once, after the last holder, in any order of drops and
//! on any thread.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, Once, PoisonError};

use crossdock::buffer::{Buffer, UninitBuffer};
use crossdock::ledger;
use crossdock::memory::{Birth, DeviceKind, LeaseKind, MapOptions, Place};

/// A small generator of pseudo-random numbers (SplitMix64): a seed gives the same run everywhere.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

/// Panics when it is dropped: code that catches it as a panic's payload must not drop it.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload of an owner's panic was dropped");
    }
}

/// The ledger and the count of failed releases belong to the whole program, so one test runs at a
/// time. Planned panics print nothing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<Bomb>() {
                before(info);
            }
        }));
        ledger::switch_on();
    });
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// An owner that contains its bytes, counts its drops and may panic in them.
struct Inline {
    bytes: [u8; 64],
    drops: Count,
    panics: bool,
}

impl Deref for Inline {
    type Target = [u8; 64];

    fn deref(&self) -> &[u8; 64] {
        &self.bytes
    }
}

impl Drop for Inline {
    fn drop(&mut self) {
        // The memory is unchanged, whatever happened before.
        assert_eq!(self.bytes, [7; 64]);
        self.drops.add();
        if self.panics {
            panic_any(Bomb);
        }
    }
}

/// Foreign memory of 64 bytes that counts its releases. The callback frees the bytes, so that
/// sanitizers see an early release as a use after free, and a second one as a double free.
fn foreign(releases: Count, birth: Birth, panics: bool) -> Buffer {
    let bytes = Box::leak(vec![7u8; 64].into_boxed_slice());
    let ptr = bytes.as_mut_ptr();
    let parts = (ptr.expose_provenance(), bytes.len());
    let release = move || {
        let slice =
            std::ptr::slice_from_raw_parts_mut(std::ptr::with_exposed_provenance_mut::<u8>(parts.0), parts.1);
        // SAFETY: `parts` are the address and length of the box leaked above, and a release is
        // called once.
        drop(unsafe { Box::from_raw(slice) });
        releases.add();
        if panics {
            panic_any(Bomb);
        }
    };
    // SAFETY: the leaked box has 64 initialised bytes, which only the buffer accesses until
    // `release` frees them.
    unsafe { Buffer::from_foreign(ptr, 64, Place::CPU, birth, release) }.unwrap()
}

/// The common prefix of the files that these tests map. The path of the program itself may contain
/// anything.
const MAPPED: &str = "crossdock-drops";

fn temporary_file(bytes: &[u8]) -> std::fs::File {
    use std::io::Write;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{MAPPED}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst));
    let path = std::env::temp_dir().join(name);
    let mut file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Pool,
    Uninit,
    Vec,
    Owner,
    PanickingOwner,
    Static,
    Foreign,
    PanickingForeign,
    AliasedForeign,
    Parts,
    File,
    GuardedFile,
    Shared,
}

const KINDS: [Kind; 13] = [
    Kind::Pool,
    Kind::Uninit,
    Kind::Vec,
    Kind::Owner,
    Kind::PanickingOwner,
    Kind::Static,
    Kind::Foreign,
    Kind::PanickingForeign,
    Kind::AliasedForeign,
    Kind::Parts,
    Kind::File,
    Kind::GuardedFile,
    Kind::Shared,
];

impl Kind {
    fn panics(self) -> bool {
        matches!(self, Kind::PanickingOwner | Kind::PanickingForeign)
    }

    /// Whether releases can be counted; for the other kinds, the ledger and the descriptors show
    /// them.
    fn counts(self) -> bool {
        matches!(
            self,
            Kind::Owner
                | Kind::PanickingOwner
                | Kind::Foreign
                | Kind::PanickingForeign
                | Kind::AliasedForeign
                | Kind::Parts
        )
    }

    /// 64 bytes of the value 7.
    fn make(self, releases: Count) -> Vec<Buffer> {
        let inline = |panics| Inline { bytes: [7; 64], drops: releases.clone(), panics };
        let buffer = match self {
            Kind::Pool => Buffer::copy_from_slice(&[7u8; 64]).unwrap(),
            Kind::Uninit => {
                let mut fresh = UninitBuffer::new(64).unwrap();
                fresh.as_uninit_mut().iter_mut().for_each(|byte| {
                    byte.write(7);
                });
                // SAFETY: the loop above wrote every byte of the block.
                unsafe { fresh.assume_init() }
            }
            Kind::Vec => Buffer::from_vec(vec![7u8; 64]).unwrap(),
            Kind::Owner => Buffer::from_owner::<u8, _>(inline(false)).unwrap(),
            Kind::PanickingOwner => Buffer::from_owner::<u8, _>(inline(true)).unwrap(),
            Kind::Static => Buffer::from_static(&[7u8; 64]).unwrap(),
            Kind::Foreign => foreign(releases, Birth::Sole, false),
            Kind::PanickingForeign => foreign(releases, Birth::Sole, true),
            Kind::AliasedForeign => foreign(releases, Birth::Aliased, false),
            Kind::Parts => {
                return foreign(releases, Birth::Sole, false).partition(&[0..20, 20..20, 30..64]).unwrap();
            }
            Kind::File => Buffer::map(temporary_file(&[7; 64]), MapOptions::new()).unwrap(),
            Kind::GuardedFile => {
                Buffer::map(temporary_file(&[7; 64]), MapOptions::new().guarded(true)).unwrap()
            }
            Kind::Shared => {
                let shared = Buffer::shared(64).unwrap();
                shared.share().unwrap().copy_from_slice(&[7; 64]).unwrap();
                shared
            }
        };
        vec![buffer]
    }
}

/// Anything that keeps memory alive.
enum Holder {
    Buffer(Buffer),
    Read(crossdock::buffer::ReadGuard),
    Write(crossdock::buffer::WriteGuard),
    Share(crossdock::buffer::ShareGuard),
    Pin(crossdock::buffer::PinGuard),
}

impl Holder {
    /// Another holder of the same memory, if this kind permits it.
    fn another(&self, random: &mut Random) -> Option<Holder> {
        let Holder::Buffer(buffer) = self else { return None };
        match random.below(7) {
            0 => Some(Holder::Buffer(buffer.clone())),
            1 => buffer.try_clone().ok().map(Holder::Buffer),
            2 => {
                let start = random.below(buffer.nbytes() + 1);
                let end = start + random.below(buffer.nbytes() - start + 1);
                buffer.slice(start..end).ok().map(Holder::Buffer)
            }
            3 => buffer.read().ok().map(Holder::Read),
            4 => buffer.write().ok().map(Holder::Write),
            5 => buffer.share().ok().map(Holder::Share),
            _ => buffer.pin().ok().map(Holder::Pin),
        }
    }

    /// Asserts that the memory is unchanged up to the last moment.
    fn assert_intact(&self) {
        let bytes = match self {
            Holder::Buffer(buffer) => match buffer.pin() {
                Ok(pin) => pin.to_vec(),
                Err(_) => return,
            },
            Holder::Read(guard) => guard.to_vec(),
            Holder::Write(guard) => guard.to_vec(),
            Holder::Share(guard) => {
                let mut bytes = vec![0; guard.nbytes()];
                guard.copy_to_slice(&mut bytes).unwrap();
                bytes
            }
            Holder::Pin(guard) => guard.to_vec(),
        };
        assert!(bytes.iter().all(|&byte| byte == 7), "{bytes:?}");
    }
}

/// The number of live allocations, without the one that a test leaks.
fn alive() -> usize {
    ledger::live().iter().filter(|entry| entry.handles > 0 || entry.birth != Birth::Constant).count()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn run_schedule(kind: Kind, random: &mut Random) {
    let releases = Count::default();
    let mut holders: Vec<Holder> = kind.make(releases.clone()).into_iter().map(Holder::Buffer).collect();
    for _ in 0..random.below(12) {
        let origin = random.below(holders.len());
        holders.extend(holders[origin].another(random));
        if random.below(4) == 0 && holders.len() > 1 {
            drop(holders.swap_remove(random.below(holders.len())));
        }
    }
    random.shuffle(&mut holders);
    // Half of the time one holder outlives the threads, and the memory with it.
    let survivor = if random.below(2) == 0 { holders.pop() } else { None };
    let split = random.below(holders.len() + 1);
    let second = holders.split_off(split);
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        for share in [holders, second] {
            scope.spawn(|| {
                start.wait();
                for holder in share {
                    holder.assert_intact();
                    drop(holder);
                }
            });
        }
    });
    if let Some(survivor) = survivor {
        assert_eq!(releases.get(), 0, "{kind:?}: released under a holder");
        assert!(!ledger::live().is_empty(), "{kind:?}: gone from the ledger under a holder");
        survivor.assert_intact();
        drop(survivor);
    }
    assert_eq!(releases.get(), usize::from(kind.counts()), "{kind:?}: releases");
    assert_eq!(alive(), 0, "{kind:?}: alive after the last holder");
}

#[test]
fn every_owner_releases_once_in_any_order_of_drops_on_two_threads() {
    let _alone = alone();
    let mut random = Random::new(1);
    for kind in KINDS {
        let (failed_before, descriptors_before) = (ledger::failed_releases(), open_descriptors());
        let schedules = if cfg!(miri) { 5 } else { crossdock_testkit::rounds(200) as u64 };
        for _ in 0..schedules {
            run_schedule(kind, &mut random);
        }
        let failed = ledger::failed_releases() - failed_before;
        assert_eq!(failed, if kind.panics() { schedules } else { 0 }, "{kind:?}: failed releases");
        assert_eq!(open_descriptors(), descriptors_before, "{kind:?}: open descriptors");
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let program = std::env::current_exe().unwrap();
    let files = maps.lines().filter(|line| !line.ends_with(program.to_str().unwrap()));
    let left: Vec<_> = files.filter(|line| line.contains(MAPPED) || line.contains("/memfd:")).collect();
    assert_eq!(left, [""; 0], "mappings were left behind");
}

#[test]
fn an_owner_that_panics_while_another_panic_unwinds_does_not_abort() {
    let _alone = alone();
    let failed_before = ledger::failed_releases();
    let releases = Count::default();
    let buffer = foreign(releases.clone(), Birth::Sole, true);
    let unwound = catch_unwind(AssertUnwindSafe(move || {
        let _held = buffer;
        std::panic::resume_unwind(Box::new("the first panic"));
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"the first panic"));
    assert_eq!(releases.get(), 1);
    assert_eq!(ledger::failed_releases(), failed_before + 1);
}

#[test]
fn foreign_memory_that_is_refused_is_released_once() {
    let _alone = alone();
    let mut byte = 7u8;
    let here: *mut u8 = &raw mut byte;
    let last = std::ptr::without_provenance_mut::<u8>(usize::MAX - 3);
    let cases = [
        (std::ptr::null_mut(), 1, "null"),
        (here, isize::MAX as usize + 1, "too large"),
        (here, usize::MAX, "too large"),
        (last, 5, "past the last address"),
    ];
    for (ptr, nbytes, case) in cases {
        for panics in [false, true] {
            let releases = Count::default();
            let count = releases.clone();
            let failed_before = ledger::failed_releases();
            let release = move || {
                count.add();
                if panics {
                    panic_any(Bomb);
                }
            };
            // SAFETY: the arguments are refused before any byte is read.
            let refused = unsafe { Buffer::from_foreign(ptr, nbytes, Place::CPU, Birth::Aliased, release) };
            let error = refused.unwrap_err();
            assert!(
                if ptr.is_null() { error.is_malformed() } else { error.is_overflow() },
                "{case}: {error}"
            );
            assert_eq!(releases.get(), 1, "{case}");
            assert_eq!(ledger::failed_releases() - failed_before, u64::from(panics), "{case}");
        }
    }
}

#[test]
fn foreign_memory_without_bytes_may_come_without_an_address() {
    let _alone = alone();
    for place in [Place::CPU, Place::new(DeviceKind::CUDA, 0)] {
        let releases = Count::default();
        let count = releases.clone();
        // SAFETY: the buffer has no bytes, so a null pointer is valid.
        let buffer =
            unsafe { Buffer::from_foreign(std::ptr::null_mut(), 0, place, Birth::Sole, move || count.add()) }
                .unwrap();
        assert_eq!((buffer.nbytes(), releases.get()), (0, 0));
        drop(buffer);
        assert_eq!(releases.get(), 1);
    }
}

/// An owner that cannot be dereferenced.
struct Unreadable(Count);

impl Deref for Unreadable {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        panic_any(Bomb)
    }
}

impl Drop for Unreadable {
    fn drop(&mut self) {
        self.0.add();
    }
}

#[test]
fn an_owner_that_panics_when_it_is_dereferenced_is_dropped_once() {
    let _alone = alone();
    let drops = Count::default();
    let owner = Unreadable(drops.clone());
    let payload = catch_unwind(AssertUnwindSafe(|| Buffer::from_owner::<u8, _>(owner))).unwrap_err();
    assert!(payload.is::<Bomb>());
    std::mem::forget(payload);
    assert_eq!(drops.get(), 1);
    assert_eq!(alive(), 0);
}

#[test]
fn a_refused_partition_gives_the_buffer_back_and_releases_nothing() {
    let _alone = alone();
    let releases = Count::default();
    let buffer = foreign(releases.clone(), Birth::Sole, false);
    let overlapping = buffer.partition(&[0..10, 9..12]).unwrap_err();
    assert!(overlapping.error.is_bounds());
    let other = overlapping.value.clone();
    let shared = overlapping.value.partition(&[0..10, 10..12]).unwrap_err();
    assert!(shared.error.is_conflict());
    drop(other);
    assert_eq!(releases.get(), 0);
    assert_eq!(shared.value.read().unwrap()[..], [7; 64]);
    drop(shared);
    assert_eq!(releases.get(), 1);
}

#[test]
fn parts_keep_the_whole_and_its_last_part_releases_it() {
    let _alone = alone();
    let releases = Count::default();
    let parts = foreign(releases.clone(), Birth::Sole, false).partition(&[0..8, 8..16]).unwrap();
    let [left, right]: [Buffer; 2] = parts.try_into().unwrap();
    let lease = left.write().unwrap();
    drop(left);
    drop(right);
    assert_eq!(releases.get(), 0, "a lease of one part is left");
    drop(lease);
    assert_eq!(releases.get(), 1);
}

#[test]
fn a_partition_into_no_parts_releases_the_memory() {
    let _alone = alone();
    let releases = Count::default();
    assert!(foreign(releases.clone(), Birth::Sole, false).partition(&[]).unwrap().is_empty());
    assert_eq!(releases.get(), 1);
}

#[test]
fn a_forgotten_guard_leaks_the_memory_and_never_frees_it_early() {
    let _alone = alone();
    let releases = Count::default();
    let buffer = foreign(releases.clone(), Birth::Constant, false);
    let address = buffer.as_ptr();
    std::mem::forget(buffer.read().unwrap());
    drop(buffer);
    assert_eq!(releases.get(), 0);
    // SAFETY: the forgotten guard leaked the memory, so it stays allocated forever, and no code
    // writes it.
    assert_eq!(unsafe { address.read() }, 7);
    let entry = ledger::live().into_iter().find(|entry| entry.address == address.addr()).unwrap();
    assert_eq!((entry.handles, entry.leases), (0, Some((LeaseKind::Read, 1))));
}

#[test]
fn an_owner_may_hold_buffers_of_its_own() {
    let _alone = alone();
    let releases = Count::default();
    let inner = foreign(releases.clone(), Birth::Sole, false);
    let mut bytes = [0u8; 4];
    let ptr = bytes.as_mut_ptr();
    // SAFETY: `bytes` has 4 bytes, outlives the buffer, and is only accessed through it meanwhile.
    let outer =
        unsafe { Buffer::from_foreign(ptr, 4, Place::CPU, Birth::Sole, move || drop(inner)) }.unwrap();
    drop(outer);
    assert_eq!(releases.get(), 1);
}

/// More allocations, each the owner of the next one, than a thread's stack has room for.
const CHAIN: usize = 20_000;

#[test]
fn a_long_chain_of_owners_is_released_on_a_short_stack() {
    let _alone = alone();
    let releases = Count::default();
    let mut last = foreign(releases.clone(), Birth::Sole, false);
    for _ in 0..CHAIN {
        let (inner, count) = (last, releases.clone());
        let mut byte = Box::new(0u8);
        let ptr = &raw mut *byte;
        let release = move || {
            drop(inner);
            drop(byte);
            count.add();
        };
        // SAFETY: the box has one byte, and lives until `release` drops it.
        last = unsafe { Buffer::from_foreign(ptr, 1, Place::CPU, Birth::Aliased, release) }.unwrap();
    }
    assert_eq!(releases.get(), 0);
    drop(last);
    assert_eq!(releases.get(), CHAIN + 1);
}

/// An owner of one byte and of the buffers at the next level.
struct Branch {
    byte: [u8; 1],
    below: Vec<Buffer>,
    drops: Count,
    panics: bool,
}

impl Deref for Branch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.byte
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        self.below.clear();
        self.drops.add();
        if self.panics {
            panic_any(Bomb);
        }
    }
}

#[test]
fn a_tree_of_owners_is_released_whole_though_some_panic() {
    let _alone = alone();
    let (drops, failed) = (Count::default(), ledger::failed_releases());
    let mut random = Random::new(11);
    let mut roots = Vec::new();
    let (mut made, mut panics) = (0, 0);
    while made < 4_000 {
        // The next one owns up to three of the newest, so that the tree is deep.
        let below = roots.split_off(roots.len() - random.below(4).min(roots.len()));
        let branch = Branch { byte: [7], below, drops: drops.clone(), panics: random.below(10) == 0 };
        panics += u64::from(branch.panics);
        roots.push(Buffer::from_owner(branch).unwrap());
        made += 1;
    }
    std::thread::spawn(move || drop(roots)).join().unwrap();
    assert_eq!(drops.get(), made);
    assert_eq!(ledger::failed_releases() - failed, panics);
}
