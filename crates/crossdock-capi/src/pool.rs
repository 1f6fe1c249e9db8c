//! Where memory comes from: pools, with their statistics and limits.

use std::alloc::Layout;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::time::Duration;

use allocator_api2::alloc::{AllocError, Allocator};
use crossdock::array::ArrayOptions;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::pool::{ALIGNMENT, AllocOptions, Hints, Pool, Statistics, take_damage};

use crate::array::XdArray;
use crate::array::make::zeros;
use crate::buffer::{CallerContext, Release};
use crate::error::Result;
use crate::foreign::{emptied, given, known_bits, string, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::names::lasting;

/// `XD_ALLOC_RESERVE` of the header.
pub const XD_ALLOC_RESERVE: u32 = 1;
/// `XD_ALLOC_HUGE` of the header.
pub const XD_ALLOC_HUGE: u32 = 2;
/// `XD_ALLOC_POPULATE` of the header.
pub const XD_ALLOC_POPULATE: u32 = 4;

/// `xd_statistics`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct XdStatistics {
    /// Bytes in use.
    pub live_nbytes: u64,
    /// Blocks in use.
    pub live_count: u64,
    /// The most bytes that were in use.
    pub peak_nbytes: u64,
    /// Bytes ever allocated.
    pub total_nbytes: u64,
    /// Blocks ever allocated.
    pub allocations: u64,
    /// How often a block grew.
    pub growths: u64,
    /// Unused bytes that are kept.
    pub cached_nbytes: u64,
    /// The limit; `u64::MAX` if there is none.
    pub limit_nbytes: u64,
}

impl From<Statistics> for XdStatistics {
    fn from(of: Statistics) -> Self {
        Self {
            live_nbytes: of.live_nbytes,
            live_count: of.live_count,
            peak_nbytes: of.peak_nbytes,
            total_nbytes: of.total_nbytes,
            allocations: of.allocations,
            growths: of.growths,
            cached_nbytes: of.cached_nbytes,
            limit_nbytes: of.limit_nbytes.unwrap_or(u64::MAX),
        }
    }
}

// ===== pools

/// The default pool.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_default(error: ErrorOut<'_>) -> Handle<Pool> {
    fallible(error, || hand_over(Pool::try_default()?))
}

/// A pool without a cache.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_system(error: ErrorOut<'_>) -> Handle<Pool> {
    fallible(error, || hand_over(Pool::system()?))
}

/// A pool with a cache for large blocks.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_caching(limit_nbytes: usize, quiet_ms: u64, error: ErrorOut<'_>) -> Handle<Pool> {
    fallible(error, || hand_over(Pool::caching(limit_nbytes, Duration::from_millis(quiet_ms))?))
}

/// A pool whose buffers can be sent to other processes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_shareable(limit_nbytes: usize, quiet_ms: u64, error: ErrorOut<'_>) -> Handle<Pool> {
    fallible(error, || hand_over(Pool::shareable(limit_nbytes, Duration::from_millis(quiet_ms))?))
}

/// A pool under a name, over another one.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
unsafe fn named_pool(
    pool: Option<&Pool>,
    name: *const c_char,
    make: impl FnOnce(&Pool, &'static str) -> crossdock::Result<Pool>,
) -> Result<Handle<Pool>> {
    let pool = given(pool, "pool")?;
    // SAFETY: `# Safety`: `name` is null or a C string that nothing writes during the call.
    hand_over(make(pool, lasting(unsafe { text(name, "name") }?)?)?)
}

/// A pool that takes its memory from another one, with a limit.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_pool_capped(
    pool: Option<&Pool>,
    name: *const c_char,
    limit_nbytes: usize,
    error: ErrorOut<'_>,
) -> Handle<Pool> {
    // SAFETY: `# Safety`: `name` is null or a C string that nothing writes during the call.
    fallible(error, || unsafe { named_pool(pool, name, |pool, name| pool.capped(name, limit_nbytes)) })
}

/// A pool that takes its memory from another one, with statistics of its own.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_pool_proxy(
    pool: Option<&Pool>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<Pool> {
    // SAFETY: `# Safety`: `name` is null or a C string that nothing writes during the call.
    fallible(error, || unsafe { named_pool(pool, name, Pool::proxy) })
}

/// A pool that takes its memory from another one, and finds writes outside a block.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_pool_guarded(
    pool: Option<&Pool>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<Pool> {
    // SAFETY: `# Safety`: `name` is null or a C string that nothing writes during the call.
    fallible(error, || unsafe { named_pool(pool, name, Pool::guarded) })
}

/// The damage that guarded pools found since the last call, a line for each.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_take_damage(error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(take_damage().iter().map(|damage| format!("{damage}\n")).collect()))
}

/// Another handle.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_clone(pool: Option<&Pool>, error: ErrorOut<'_>) -> Handle<Pool> {
    fallible(error, || hand_over(given(pool, "pool")?.clone()))
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_free(pool: Handle<Pool>) {
    answer(|| drop(pool));
}

/// The name.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_name(pool: Option<&Pool>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(given(pool, "pool")?.name().to_owned()))
}

/// The numbers of a pool; zeros for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_statistics(
    pool: Option<&Pool>,
    statistics: Option<&mut MaybeUninit<XdStatistics>>,
) -> bool {
    let out = emptied(statistics, XdStatistics::default());
    answer(|| match (pool, out) {
        (Some(pool), Some(out)) => {
            *out = pool.statistics().into();
            true
        }
        _ => false,
    })
}

/// Sets the peak to what is in use.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_reset_peak(pool: Option<&Pool>) {
    answer(|| pool.map(Pool::reset_peak));
}

/// Releases unused memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_trim(pool: Option<&Pool>) -> usize {
    answer(|| pool.map_or(0, Pool::trim))
}

// ===== memory of a pool

/// New bytes of a pool, all zero.
#[unsafe(no_mangle)]
pub extern "C" fn xd_pool_alloc(
    pool: Option<&Pool>,
    nbytes: usize,
    alignment: usize,
    flags: u32,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        let pool = given(pool, "pool")?;
        known_bits(flags, XD_ALLOC_RESERVE | XD_ALLOC_HUGE | XD_ALLOC_POPULATE, "flags")?;
        let hints = Hints::new().huge(flags & XD_ALLOC_HUGE != 0).populate(flags & XD_ALLOC_POPULATE != 0);
        let options = AllocOptions::new().align(if alignment == 0 { ALIGNMENT } else { alignment });
        let options = options.hints(hints).reserve(flags & XD_ALLOC_RESERVE != 0);
        hand_over(options.zeroed(pool, nbytes)?)
    })
}

/// A new array of zeros in a pool.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_pool_zeros(
    pool: Option<&Pool>,
    dtype: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    order: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let options = ArrayOptions::new().pool(given(pool, "pool")?);
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers that nothing writes
        // during the call.
        unsafe { zeros(dtype, ndim, shape, order, options) }
    })
}

/// The name of the pool that a buffer's memory is charged to; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_pool_name(buffer: Option<&Buffer>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || match given(buffer, "buffer")?.pool_name() {
        Some(name) => string(name.to_owned()),
        None => Ok(std::ptr::null_mut()),
    })
}

// ===== an allocator of the caller

/// `void *allocate(void *context, size_t nbytes, size_t alignment)`.
pub type Allocate = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
/// `void free(void *context, void *block, size_t nbytes, size_t alignment)`.
pub type Free = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize);

/// `xd_allocator`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct XdAllocator {
    /// Allocates a block.
    pub allocate: Option<Allocate>,
    /// Frees a block.
    pub free: Option<Free>,
    /// Is called when the pool is gone.
    pub release: Option<Release>,
    /// The first argument of each.
    pub context: *mut c_void,
}

/// The caller's functions.
///
/// # Invariants
///
/// 1. `allocate` returns null, or a block of the size that is valid until `free`.
struct OwnAllocator {
    allocate: Allocate,
    free: Free,
    context: CallerContext,
}

// SAFETY: OwnAllocator 1: a block is valid until it is freed, also if this value is moved; the
// alignment is checked below.
unsafe impl Allocator for OwnAllocator {
    fn allocate(&self, layout: Layout) -> std::result::Result<NonNull<[u8]>, AllocError> {
        let (nbytes, align) = (layout.size(), layout.align());
        if nbytes == 0 {
            let dangling = NonNull::without_provenance(layout.align().try_into().map_err(|_| AllocError)?);
            return Ok(NonNull::slice_from_raw_parts(dangling, 0));
        }
        // SAFETY: CallerContext 1: any thread may call it with the context.
        let block = unsafe { (self.allocate)(self.context.context, nbytes, align) };
        let found = NonNull::new(block.cast::<u8>()).ok_or(AllocError)?;
        if !found.addr().get().is_multiple_of(align) {
            // SAFETY: OwnAllocator 1: the block was allocated just now, and is not used.
            unsafe { (self.free)(self.context.context, block, nbytes, align) };
            return Err(AllocError);
        }
        Ok(NonNull::slice_from_raw_parts(found, nbytes))
    }

    unsafe fn deallocate(&self, ptr: NonNull<u8>, layout: Layout) {
        if layout.size() > 0 {
            // SAFETY: the contract of `Allocator`: `allocate` returned the block, for this layout.
            unsafe { (self.free)(self.context.context, ptr.as_ptr().cast(), layout.size(), layout.align()) };
        }
    }
}

/// A pool over functions of the caller.
///
/// # Safety
///
/// 1. `name` is null or a C string that nothing writes during the call.
/// 2. The functions may be called on any thread until `release`, with the context; `allocate`
///    returns null, or a block of at least that size, which is valid until `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_pool_over(
    name: *const c_char,
    allocator: Option<&XdAllocator>,
    error: ErrorOut<'_>,
) -> Handle<Pool> {
    // Clause 2 of `# Safety` is CallerContext 1. The owner exists before anything can fail, so
    // that `release` is called once on every path.
    let context =
        allocator.map(|allocator| CallerContext { context: allocator.context, release: allocator.release });
    fallible(error, || {
        let (allocator, context) = (*given(allocator, "allocator")?, given(context, "allocator")?);
        let allocate = given(allocator.allocate, "allocator->allocate")?;
        let free = given(allocator.free, "allocator->free")?;
        // SAFETY: clause 1: `name` is null or a C string that nothing writes during the call.
        let name = lasting(unsafe { text(name, "name") }?)?;
        // OwnAllocator 1 is clause 2.
        hand_over(Pool::over(name, OwnAllocator { allocate, free, context })?)
    })
}
