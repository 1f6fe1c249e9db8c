//! Instrumented allocators: minimally aligned addresses, dirty memory, a check of every free, and
//! failure of the n-th request.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossdock::buffer::{BitmapBuilder, Buffer, BufferBuilder, BufferView, MutableBuffer, UninitBuffer};
use crossdock::element::DType;
use crossdock::io::{BufferReader, BufferWriter, FixedWriter};
use crossdock::layout::Order;
use crossdock::ledger;
use crossdock::memory::{Birth, LeaseKind, MapOptions, Place};
use crossdock::pool::{ALIGNMENT, Pool, take_damage};
use crossdock::view::{CopyPolicy, Reason, Request};
use crossdock::{Array, Casting, DArray, Result};

/// In front of every block: the beginning of the system's block, and the requested layout.
#[derive(Clone, Copy)]
#[repr(C)]
struct Prefix {
    magic: usize,
    lead: usize,
    size: usize,
    align: usize,
}

const ALIVE: usize = 0x0A11_71E0_0A11_71E0;
const FREED: usize = 0x0DEA_D000_0DEA_D000;
/// The pattern of new memory, so that nothing is zero by chance.
const DIRT: u8 = 0xA5;

struct Instrument;

thread_local! {
    /// The number of bytes that this thread has allocated and not freed.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// The number of requests that succeed before one fails, if failures are switched on.
    static FAIL_AFTER: Cell<Option<u64>> = const { Cell::new(None) };
    /// Whether, after the first failure, all requests fail.
    static FAIL_ALWAYS: Cell<bool> = const { Cell::new(false) };
    /// Whether a request failed.
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

/// Rotates through the addresses that a block aligned to 16 may have.
static TURN: AtomicUsize = AtomicUsize::new(0);

fn must_fail() -> bool {
    FAIL_AFTER.get().is_some_and(|left| {
        FAIL_AFTER.set(left.checked_sub(1).or(FAIL_ALWAYS.get().then_some(0)));
        FAILED.set(FAILED.get() || left == 0);
        left == 0
    })
}

fn system_layout(lead: usize, layout: Layout) -> Layout {
    let align = layout.align().max(ALIGNMENT);
    Layout::from_size_align(lead + layout.size(), align).expect("a size that was allocated before")
}

// SAFETY: each block lies in a larger block of `System`, behind a prefix; `system_layout` gives it
// the requested size and alignment.
unsafe impl GlobalAlloc for Instrument {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if must_fail() {
            return std::ptr::null_mut();
        }
        let align = layout.align().max(16);
        let odd = if align >= ALIGNMENT { 0 } else { 16 * (1 + TURN.fetch_add(1, Ordering::Relaxed) % 3) };
        // Room for the prefix, then the smallest sufficient alignment.
        let lead = align.max(ALIGNMENT) + odd / align * align;
        if layout.size() > isize::MAX as usize - 2 * lead - layout.align() {
            return std::ptr::null_mut();
        }
        // SAFETY: the layout is not zero-sized, since it includes the lead, which is at least the
        // size of a prefix.
        let base = unsafe { System.alloc(system_layout(lead, layout)) };
        if base.is_null() {
            return base;
        }
        let block = base.wrapping_add(lead);
        let prefix = Prefix { magic: ALIVE, lead, size: layout.size(), align: layout.align() };
        // SAFETY: the lead before `block` has room for the prefix, and the block is aligned to at
        // least 16 bytes.
        unsafe { block.cast::<Prefix>().wrapping_sub(1).write(prefix) };
        // SAFETY: the system's block has `layout.size()` writable bytes behind the lead.
        unsafe { block.write_bytes(DIRT, layout.size()) };
        LIVE.set(LIVE.get() + layout.size() as isize);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `alloc` wrote a prefix in front of every block, and no other code accesses it.
        let prefix = unsafe { &mut *block.cast::<Prefix>().wrapping_sub(1) };
        let found = (prefix.magic, prefix.size, prefix.align);
        if found != (ALIVE, layout.size(), layout.align()) {
            // An allocator must not unwind, and formatting would allocate.
            eprintln!("a block was freed twice, or with another layout than it was allocated with");
            std::process::abort();
        }
        prefix.magic = FREED;
        let lead = prefix.lead;
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: the system's block began `lead` bytes before `block`, so the address stays within
        // it.
        let base = unsafe { block.sub(lead) };
        // SAFETY: `alloc` got this block from `System` with the same layout, computed from the lead
        // and the size in the prefix.
        unsafe { System.dealloc(base, system_layout(lead, layout)) };
    }
}

#[global_allocator]
static ALLOCATOR: Instrument = Instrument;

/// Excludes requests that are not under test from the count.
fn undisturbed<T>(action: impl FnOnce() -> T) -> T {
    let left = FAIL_AFTER.replace(None);
    let result = action();
    FAIL_AFTER.set(left);
    result
}

#[test]
fn the_instrument_hands_out_odd_addresses() {
    let odd = (0..100).map(|_| vec![0u128; 4]).filter(|vec| vec.as_ptr().addr() % ALIGNMENT != 0).count();
    assert!(odd > 0);
}

#[test]
fn pool_memory_is_aligned_and_padded_with_zeros_wherever_its_block_begins() {
    // Another thread would free a cached block: this cache keeps nothing.
    let mapped = Pool::caching(0, Duration::ZERO).unwrap();
    drop((Buffer::zeroed(1).unwrap(), mapped.zeroed(1 << 20).unwrap()));
    Pool::default().trim();
    let live = LIVE.get();
    for nbytes in (0..200).chain([1000, 4095, 4096, 1 << 20]) {
        let pool = if nbytes < 1 << 18 { Pool::default() } else { mapped.clone() };
        let zeroed = pool.zeroed(nbytes).unwrap();
        let mut fresh = pool.uninit(nbytes).unwrap();
        fresh.as_uninit_mut().iter_mut().for_each(|byte| {
            byte.write(1);
        });
        // SAFETY: the loop above wrote every byte of the block.
        let filled = unsafe { fresh.assume_init() };
        for (buffer, value) in [(&zeroed, 0), (&filled, 1)] {
            assert!(buffer.as_ptr().addr().is_multiple_of(ALIGNMENT), "{nbytes}");
            assert!(buffer.read().unwrap().iter().all(|&byte| byte == value), "{nbytes}");
            for at in nbytes..nbytes.next_multiple_of(ALIGNMENT) {
                // SAFETY: `at` is below the size rounded up to `ALIGNMENT`, so the byte belongs to
                // the pool's block, which is zeroed.
                let byte = unsafe { buffer.as_ptr().wrapping_add(at).read() };
                assert_eq!(byte, 0, "byte {at} behind {nbytes}");
            }
        }
        drop(pool.uninit(nbytes).unwrap());
    }
    // Frees what this thread caches for its next request.
    Pool::default().trim();
    assert_eq!(LIVE.get(), live, "bytes that were not freed");
}

#[test]
fn vectors_are_freed_as_they_were_allocated() {
    let live = LIVE.get();
    let mut roomy = Vec::with_capacity(100);
    roomy.extend([1u64, 2, 3]);
    drop(Buffer::from_vec(roomy).unwrap());
    drop(Buffer::from_vec(Vec::<u128>::with_capacity(7)).unwrap());
    drop(Buffer::from_vec(vec![[0u16; 3]; 5]).unwrap());
    drop(Buffer::from_vec(Vec::<u8>::new()).unwrap());
    drop(Buffer::from_vec(vec![[0u8; 0]; 9]).unwrap());
    assert_eq!(LIVE.get(), live, "bytes that were not freed");
}

#[test]
fn sizes_that_no_memory_has_are_errors() {
    for nbytes in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 200] {
        for error in [Buffer::zeroed(nbytes).unwrap_err(), UninitBuffer::new(nbytes).unwrap_err()] {
            assert!(error.is_out_of_memory(), "{nbytes}: {error}");
            assert!(error.to_string().contains(&nbytes.to_string()));
        }
    }
}

#[test]
fn copies_of_arrays_that_repeat_more_than_any_memory_holds_are_errors() {
    let nbytes = isize::MAX as usize;
    assert!(Array::<u8, 1>::zeros([nbytes]).unwrap_err().is_out_of_memory());
    let array = DArray::from(Array::from_vec(vec![7u8], []).unwrap()).broadcast_to(&[nbytes]).unwrap();
    for error in [
        array.to_order(Order::RowMajor).unwrap_err(),
        array.cast(&DType::I8, Order::RowMajor, Casting::Checked).unwrap_err(),
        array.export(&Request::read()).unwrap().to_bytes().unwrap_err(),
    ] {
        assert!(error.is_out_of_memory(), "{error}");
        assert!(error.to_string().contains(&nbytes.to_string()), "{error}");
    }
    let refusal = array.export(&Request::write().copy(CopyPolicy::IfNeeded)).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Failed(error) if error.is_out_of_memory()), "{refusal:?}");
    assert!(array.get(&[nbytes - 1]).is_ok(), "no lease is left");
}

/// An owner that contains its bytes.
struct Inline([u8; 40]);

impl std::ops::Deref for Inline {
    type Target = [u8; 40];

    fn deref(&self) -> &[u8; 40] {
        &self.0
    }
}

struct Sample {
    file: File,
    owner: Arc<Vec<u8>>,
    releases: Arc<AtomicUsize>,
}

/// Every way to create memory, and the operations that may allocate afterwards. Each step has an
/// undisturbed half, for what belongs to the test.
fn scenario(sample: &Sample) -> Result<()> {
    let zeroed = Buffer::zeroed(100)?;
    drop(UninitBuffer::new(100)?);
    let copy = Buffer::copy_from_slice(&[1u8, 2, 3])?;
    let vec = undisturbed(|| vec![7u32; 10]);
    let adopted = Buffer::from_vec(vec)?;
    let owner = Buffer::from_owner(sample.owner.clone())?;
    let inline = Buffer::from_owner::<u8, _>(Inline([7; 40]))?;
    let constant = Buffer::from_static(&[1u8, 2, 3])?;
    let releases = sample.releases.clone();
    let release = move || {
        releases.fetch_add(1, Ordering::SeqCst);
    };
    // SAFETY: the buffer has no bytes, so a null pointer is valid.
    let foreign = unsafe { Buffer::from_foreign(std::ptr::null_mut(), 0, Place::CPU, Birth::Sole, release) }?;
    let map = |options| Buffer::map(undisturbed(|| sample.file.try_clone()).expect("a descriptor"), options);
    let plain = map(MapOptions::new())?;
    let guarded = map(MapOptions::new().guarded(true))?;
    let shared = Buffer::shared(10)?;
    let (fd, offset) = shared.descriptor().expect("of shared memory");
    let again =
        Buffer::map_shared(undisturbed(|| fd.try_clone_to_owned()).expect("a copy"), offset, 10, true)?;
    let sealed = Buffer::shared(10)?.into_sealed()?;
    let handles =
        [&zeroed, &copy, &adopted, &owner, &inline, &constant, &foreign, &plain, &guarded, &again, &sealed];
    for buffer in handles {
        drop((buffer.clone(), buffer.slice(..)?, buffer.pin()?));
    }
    let ranges: [_; 30] = std::array::from_fn(|index| 3 * index..3 * index + 2);
    let parts = zeroed.partition(&ranges)?;
    assert_eq!(parts.len(), 30);
    drop(BufferWriter::new(MutableBuffer::with_capacity(100)?));
    FixedWriter::new(again.clone())?.write_at(3, b"in plac")?;
    stage(BufferReader::new(again)?)
}

/// Makes a reader read its first bytes, which it may have to copy.
fn stage(mut reader: BufferReader) -> Result<()> {
    let error = match reader.fill_buf() {
        Ok(shown) => {
            assert_eq!(shown, b"\0\0\0in plac");
            return Ok(());
        }
        Err(error) => error,
    };
    assert_eq!((error.kind(), reader.position()), (ErrorKind::OutOfMemory, 0));
    Err(undisturbed(|| Buffer::zeroed(usize::MAX).unwrap_err()))
}

/// Runs the scenario with a failure at every request in turn, until it runs through without one,
/// and returns how many requests it makes.
fn fail_everywhere(swallowed: bool) -> u64 {
    let path = std::env::temp_dir().join(format!("crossdock-allocators-{}-{swallowed}", std::process::id()));
    std::fs::write(&path, [1u8; 100]).unwrap();
    let file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let sample = Sample { file, owner: Arc::new(vec![1; 10]), releases: Arc::default() };
    // The default pool keeps what it allocates when it is opened; a failure to open it is an error,
    // too.
    FAIL_AFTER.set(Some(0));
    let unopened = Buffer::zeroed(1);
    FAIL_AFTER.set(None);
    assert!(unopened.unwrap_err().is_out_of_memory());
    drop(Buffer::zeroed(1).unwrap());
    // The table of mappings keeps its capacity, too.
    let map = |_| Buffer::map(sample.file.try_clone().unwrap(), MapOptions::new()).unwrap();
    drop((0..8).map(map).collect::<Vec<_>>());
    let mut runs_past_the_foreign = 0;
    for nth in 0.. {
        Pool::default().trim();
        let live = LIVE.get();
        FAILED.set(false);
        FAIL_AFTER.set(Some(nth));
        let outcome = scenario(&sample);
        FAIL_AFTER.set(None);
        match outcome {
            Err(error) => assert!(FAILED.get() && error.is_out_of_memory(), "request {nth}: {error}"),
            Ok(()) if FAILED.get() => assert!(swallowed, "request {nth} failed, and nothing was said"),
            Ok(()) => return nth,
        }
        // Caches of threads and pools do not count, either.
        undisturbed(|| Pool::default().trim());
        // The ledger's table keeps its room.
        assert!(swallowed || LIVE.get() == live, "request {nth}: bytes that were not freed");
        assert_eq!(Arc::strong_count(&sample.owner), 1, "request {nth}: the owner was not dropped");
        let releases = sample.releases.load(Ordering::SeqCst);
        assert!(releases - runs_past_the_foreign <= 1, "request {nth}: released twice");
        runs_past_the_foreign = releases;
    }
    unreachable!("the scenario ends")
}

#[test]
fn failure_at_any_request_is_an_error_and_leaks_nothing() {
    let requests = fail_everywhere(false);
    // 13 allocations, 2 blocks of owners, 30 parts and 2 lists of them.
    assert!(requests >= 40, "{requests}");
}

// ===== pools =====

/// Runs a fallible operation on a buffer, which must be unchanged after a failure.
fn or_unchanged(
    bytes: &mut MutableBuffer,
    action: impl FnOnce(&mut MutableBuffer) -> Result<()>,
) -> Result<()> {
    let before = undisturbed(|| (bytes.as_ptr(), bytes.capacity(), bytes.to_vec()));
    let result = action(bytes);
    if result.is_err() {
        assert_eq!((bytes.as_ptr(), bytes.capacity(), &bytes[..]), (before.0, before.1, &before.2[..]));
    }
    undisturbed(|| drop(before));
    result
}

/// Typical operations on a pool's blocks.
fn use_pool(pool: &Pool) -> Result<()> {
    let zeroed = pool.zeroed(100)?;
    let large = pool.zeroed(300 << 10)?;
    let mut bytes = pool.mutable(10)?;
    for size in [100, 5000, 300 << 10] {
        or_unchanged(&mut bytes, |bytes| bytes.extend_from_slice(&[7u8; 40]))?;
        or_unchanged(&mut bytes, |bytes| bytes.reserve_exact(size))?;
        or_unchanged(&mut bytes, |bytes| bytes.reserve(size + 1))?;
    }
    or_unchanged(&mut bytes, MutableBuffer::shrink_to_fit)?;
    or_unchanged(&mut bytes, |bytes| bytes.resize(320 << 10))?;
    let mut frozen = bytes.freeze();
    if let Err(error) = frozen.resize(600 << 10) {
        assert_eq!((frozen.nbytes(), frozen.read()?[119]), (320 << 10, 7));
        return Err(error);
    }
    let mut thawed = frozen.try_into_mut()?;
    thawed.truncate(50);
    or_unchanged(&mut thawed, MutableBuffer::shrink_to_fit)?;
    let thawed = thawed.freeze();
    let slice = large.slice(10..2000)?;
    drop((slice.to_hex_string()?, slice.to_text()?, slice.copy_slice(5..500, pool)?));
    drop((slice.ensure_alignment(4096, pool)?, thawed.equals(&zeroed)?));
    let address = slice.as_ptr();
    match slice.compact(pool) {
        Ok(compact) => assert_eq!((compact.nbytes(), compact.retained_nbytes()), (1990, 2048)),
        Err(rejected) => {
            assert_eq!((rejected.value.as_ptr(), rejected.value.nbytes()), (address, 1990));
            return Err(rejected.error);
        }
    }
    let mut numbers = BufferBuilder::over(pool.mutable(0)?)?;
    numbers.append_n(100, 5u32)?;
    let mut bits = BitmapBuilder::over(pool.mutable(0)?);
    bits.append(true)?;
    if let Err(error) = bits.append_n(5000, true) {
        assert_eq!((bits.len(), bits.count_false(), bits.as_bytes()), (1, 0, &[1][..]));
        return Err(error);
    }
    let view = BufferView::from("borrowed");
    drop((numbers.finish(), bits.finish(), view.to_buffer(pool)?, view.to_hex_string()?));
    Ok(())
}

/// Creates, uses and drops pools of every kind, dropping them before their blocks.
fn pool_scenario() -> Result<()> {
    // No other thread frees a cached block during this time.
    let long = Duration::from_secs(3600);
    let roots = [Pool::system()?, Pool::caching(8 << 20, long)?, foreign()?];
    for root in roots {
        let capped = root.capped("capped", 16 << 20)?;
        let pools = [root.proxy("proxy")?.logging("logging")?, capped.guarded("guarded")?, capped];
        let kept = [pools[0].zeroed(10)?, pools[1].zeroed(10)?, pools[2].zeroed(300 << 10)?];
        for pool in &pools {
            let before = pool.statistics();
            let result = use_pool(pool);
            let after = pool.statistics();
            assert_eq!((after.live_nbytes, after.live_count), (before.live_nbytes, before.live_count));
            result?;
        }
        let refused = pools[2].zeroed(17 << 20).unwrap_err();
        assert!(refused.is_out_of_memory());
        undisturbed(|| assert!(refused.to_string().contains(&(17 << 20).to_string()), "{refused}"));
        drop((root, pools));
        drop(kept);
    }
    Ok(())
}

#[cfg(feature = "allocator-api2-0_2")]
fn foreign() -> Result<Pool> {
    Pool::over("over an allocator", allocator_api2::alloc::Global)
}

#[cfg(not(feature = "allocator-api2-0_2"))]
fn foreign() -> Result<Pool> {
    Pool::system()
}

/// Runs the pools' scenario with a failure at every request in turn, or from every request on.
/// Returns the number of requests, and how often the scenario succeeded without one.
fn fail_everywhere_in_pools(always: bool) -> (u64, u64) {
    // The tables of locks and registrations keep their capacity.
    pool_scenario().unwrap();
    let mut did_without = 0;
    for nth in 0.. {
        Pool::default().trim();
        let live = LIVE.get();
        FAILED.set(false);
        FAIL_ALWAYS.set(always);
        FAIL_AFTER.set(Some(nth));
        let outcome = pool_scenario();
        FAIL_AFTER.set(None);
        FAIL_ALWAYS.set(false);
        // Frees what this thread caches for its next request.
        Pool::default().trim();
        match outcome {
            Err(error) => assert!(FAILED.get() && error.is_out_of_memory(), "request {nth}: {error}"),
            Ok(()) if FAILED.get() => did_without += 1,
            Ok(()) => {
                assert_eq!(take_damage(), []);
                return (nth, did_without);
            }
        }
        assert_eq!(LIVE.get(), live, "request {nth}: bytes that were not freed");
    }
    unreachable!("the scenario ends")
}

#[test]
fn failure_at_any_request_of_a_pool_is_an_error_and_leaks_nothing() {
    // A block that cannot grow in place is moved, and one that cannot have spare capacity has the
    // required size.
    let (requests, did_without) = fail_everywhere_in_pools(false);
    println!("{requests} requests, of which {did_without} had a way out");
    assert!(requests > 200 && did_without < requests / 2, "{requests}, {did_without}");
    // If no request succeeds any more, only the text of the last refusal is shorter.
    let (requests, did_without) = fail_everywhere_in_pools(true);
    println!("{requests} requests, of which {did_without} were not needed");
    assert!(requests > 200 && did_without <= 1, "{requests}, {did_without}");
}

/// Children of this program, since the ledger is the program's: see
/// `the_ledger_gives_way_to_missing_memory`.
#[test]
fn child() {
    if std::env::var_os("CROSSDOCK_TEST_LEDGER").is_none() {
        return;
    }
    ledger::switch_on();
    fail_everywhere(true);
    assert!(ledger::live().is_empty());
    assert!(ledger::missed() > 0, "no row was left out");
    a_lease_that_is_not_listed_is_a_lease();
}

/// A lease, a protocol and a refusal while no allocation succeeds.
fn a_lease_that_is_not_listed_is_a_lease() {
    let buffer = Buffer::from_vec(vec![7u8; 8]).unwrap();
    let before = ledger::missed();
    FAIL_AFTER.set(Some(0));
    let first = buffer.read();
    FAIL_AFTER.set(None);
    let first = first.unwrap();
    assert_eq!(ledger::missed(), before + 1);
    let second = buffer.read().unwrap();
    FAIL_AFTER.set(Some(0));
    let is_exclusive = buffer.clone().is_exclusive();
    FAIL_AFTER.set(None);
    assert!(!is_exclusive);
    let entry = ledger::live().remove(0);
    assert_eq!((entry.leases, entry.holders.len()), (Some((LeaseKind::Read, 2)), 1));
    assert_eq!((first[7], second[7]), (7, 7));
    drop((first, second));
    drop(buffer.write().unwrap());
    drop(buffer);
    assert!(ledger::live().is_empty());
}

#[test]
fn the_ledger_gives_way_to_missing_memory() {
    let status = crossdock_testkit::this_program()
        .args(["--exact", "child", "--quiet", "--nocapture"])
        .env("CROSSDOCK_TEST_LEDGER", "on")
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}
