//! A pool: a handle on an account.

use std::fmt;
use std::io::Write;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use crate::error::{Error, Kind, Result};
use crate::memory::os::anonymous;
use crate::memory::thread_index;
use crate::pool::account::{self, Account, AccountPlan, AccountRef, Upstream};
use crate::pool::block::Block;
use crate::pool::cache::Cache;
use crate::pool::charge::UNIT;
use crate::pool::counters::Statistics;
use crate::pool::form::Demand;
use crate::pool::source::BlockSource;
use crate::pool::thread_cache;

/// Where new memory comes from, with its statistics and its limit.
///
/// A pool is a counted handle: cloning is O(1), and a pool lives until its last handle and its last
/// buffer are dropped, in any order. Pools form chains: [`Pool::capped`] and [`Pool::proxy`] make a
/// pool that takes its memory from another pool. Both are charged for it.
///
/// The default pool takes small blocks from the program's global allocator, and large ones (256 KiB
/// and more) from a cache of mapped memory, which requests huge pages. Each thread keeps a few of
/// the small blocks that it freed for its next request ([`Pool::trim`] releases them). The cache
/// keeps unused blocks for the next request, up to a limit, and returns them to the system about
/// half a second later. The environment variable `CROSSDOCK_POOL` selects another source: `system`
/// has no cache. `CROSSDOCK_POOL_DEBUG=1` puts guard bytes around every block (see
/// [`Pool::guarded`]).
///
/// ```
/// use crossdock::pool::Pool;
///
/// let pool = Pool::default().capped("thumbnails", 1 << 20)?;
/// let buffer = pool.zeroed(1000)?;
/// assert_eq!(pool.statistics().live_nbytes, 1024); // capacities are multiples of 64 bytes
///
/// let error = pool.zeroed(1 << 20).unwrap_err();
/// assert!(error.is_out_of_memory());
/// assert!(error.to_string().contains("1024"), "it says how much is in use");
///
/// drop(pool); // the buffer keeps what it needs
/// drop(buffer);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// Threads: pools and their buffers can move to any thread. Allocating blocks only on the cache's
/// lock (large blocks only).
#[derive(Clone)]
pub struct Pool {
    account: AccountRef,
}

/// The account of the default pool, once it is open. It is never freed.
static DEFAULT: AtomicPtr<Account> = AtomicPtr::new(std::ptr::null_mut());

/// The most unused bytes that the default pool keeps.
const CACHE_LIMIT: usize = 1 << 30;
/// How long an unused block is kept.
const CACHE_QUIET: Duration = Duration::from_millis(500);

impl Pool {
    /// The account of the default pool, which is immortal.
    #[inline]
    fn default_account() -> Result<&'static Account> {
        let account = match NonNull::new(DEFAULT.load(Ordering::Acquire)) {
            Some(account) => account,
            None => open_default()?,
        };
        // SAFETY: Account 3: `open_default` made the account immortal, so it is never freed.
        Ok(unsafe { account.as_ref() })
    }

    /// A handle on the default pool. `Pool::default()` returns the same, or panics.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`, the first time only.
    pub fn try_default() -> Result<Self> {
        let account = NonNull::from(Self::default_account()?);
        // SAFETY: clause 1 of `from_counted`: the account is never freed (Account 3). Clause 2:
        // handles on an immortal account are not counted.
        Ok(Self { account: unsafe { AccountRef::from_counted(account) } })
    }

    /// A separate pool that takes all its blocks from the program's global allocator.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn system() -> Result<Self> {
        Self::of_source("system", BlockSource::system())
    }

    /// A separate pool with a cache of mapped memory for large blocks, which keeps up to
    /// `limit_nbytes` unused bytes for `quiet`. (The default pool keeps 1 GiB for half a second.) A
    /// helper thread returns them to the system; it exists only while the cache holds a block.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn caching(limit_nbytes: usize, quiet: Duration) -> Result<Self> {
        Self::of_source("caching", BlockSource::caching(Cache::new(limit_nbytes, quiet)))
    }

    /// A separate pool whose buffers can be sent to other processes in place, without being made
    /// for it: each block lies in a memfd of its own, of sealed size, so that its descriptor leads
    /// to no other array. The cache is that of [`Pool::caching`].
    ///
    /// A new block is private, with all leases. It becomes public when its descriptor is requested
    /// ([`Buffer::descriptor`], [`shm::export`]), and when the process forks: from then on it is
    /// aliased, so that Read and Write leases are refused, and its memory is never used for another
    /// block. The kernel keeps it for as long as any process does. Publishing is refused while a
    /// Read or Write lease is held. A child of a fork has the same memory as its parent, except for
    /// blocks under such a lease, and those of an `UninitBuffer` or `MutableBuffer`: of these it
    /// gets a copy. A `&mut` slice of a [`Buffer`](crate::buffer::Buffer) is no lease: let it end
    /// before the thread that has it forks.
    ///
    /// A block takes a descriptor and at least a page. At most half of the descriptors that the
    /// process may open are used. An empty buffer has no memory to share. Buffers move when they
    /// grow beyond their block.
    ///
    /// ```
    /// use crossdock::exchange::protocol::shm;
    /// use crossdock::pool::Pool;
    /// use crossdock::view::Request;
    /// use crossdock::{Array, DArray};
    /// use std::time::Duration;
    ///
    /// let pool = Pool::shareable(1 << 30, Duration::from_millis(500))?;
    /// let mut buffer = pool.zeroed(1 << 20)?;
    /// buffer.as_mut_slice()?.fill(7); // like any memory of a pool
    ///
    /// let array = DArray::from(Array::<u8, 1>::from_buffer(buffer, [1 << 20])?);
    /// let exported = shm::export(&array, &Request::share())?;
    /// assert_eq!(exported.copied_nbytes(), 0);
    /// assert!(array.export(&Request::read()).is_err()); // another process may write now
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_unsupported` on systems without shared memory. Its allocations fail
    /// with `is_exhausted` if they would take too many descriptors.
    ///
    /// [`Buffer::descriptor`]: crate::buffer::Buffer::descriptor
    /// [`shm::export`]: crate::exchange::protocol::shm::export
    pub fn shareable(limit_nbytes: usize, quiet: Duration) -> Result<Self> {
        if !anonymous::HAS_SHARED {
            return Err(Error::new(Kind::Unsupported, "this system has no shared memory for pools"));
        }
        Self::of_source("shareable", BlockSource::shareable(limit_nbytes, quiet))
    }

    pub(super) fn of_source(name: &'static str, source: BlockSource) -> Result<Self> {
        Ok(Self { account: AccountRef::open(AccountPlan::new(name, Upstream::Source(source)))? })
    }

    /// A pool that takes its memory from this one, with statistics of its own.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn proxy(&self, name: &'static str) -> Result<Self> {
        self.downstream(name, |plan| plan)
    }

    /// A pool that takes its memory from this one, with a limit: never more than `limit_nbytes` are
    /// in use, not by one byte, from any number of threads. Capacities count, which are multiples
    /// of 64 bytes; an empty block counts as 64. (A block that moves because it grows counts once,
    /// while its bytes are copied.)
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn capped(&self, name: &'static str, limit_nbytes: usize) -> Result<Self> {
        self.downstream(name, |plan| AccountPlan { limit: (limit_nbytes / UNIT) as u64, ..plan })
    }

    /// A pool that takes its memory from this one, and reports every block to the `tracing` facade:
    /// events of level TRACE with the target `crossdock::pool`. Without the feature `tracing` it is
    /// silent.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn logging(&self, name: &'static str) -> Result<Self> {
        self.downstream(name, |plan| AccountPlan { logged: true, ..plan })
    }

    /// A pool in debug mode that takes its memory from this one. Every block has guard bytes on
    /// both sides (as many as its alignment, at least 64). New memory is filled with a pattern, and
    /// freed memory with another. Guards are checked when a block grows and when it is freed, and
    /// so is the padding behind a buffer's bytes, which is zero. Damage is written to standard
    /// error and kept for [`take_damage`](crate::pool::take_damage). A damaged block is leaked, so
    /// that no allocator trips over it.
    ///
    /// Pools that take their memory from this one have guards as well. Guards are not charged.
    /// `CROSSDOCK_POOL_DEBUG=1` does the same to the default pool.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn guarded(&self, name: &'static str) -> Result<Self> {
        self.downstream(name, |plan| AccountPlan { guarded: true, ..plan })
    }

    fn downstream(
        &self,
        name: &'static str,
        change: impl FnOnce(AccountPlan) -> AccountPlan,
    ) -> Result<Self> {
        let upstream = Upstream::Account(self.account.clone().into_counted());
        Ok(Self { account: AccountRef::open(change(AccountPlan::new(name, upstream)))? })
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.account().name()
    }

    /// The statistics of this pool, including the pools that take their memory from it. O(1) in the
    /// number of blocks.
    pub fn statistics(&self) -> Statistics {
        self.account().statistics()
    }

    /// Resets the peak to what is in use now.
    pub fn reset_peak(&self) {
        self.account().reset_peak();
    }

    /// Releases what is kept for the next request: to the system, the content of the cache at the
    /// end of the chain; to the global allocator, the few small blocks that this thread keeps, of
    /// any pool. Returns the number of these bytes. (Memory that the global allocator itself keeps
    /// is not included.)
    pub fn trim(&self) -> usize {
        // SAFETY: clause 1 of `drain`: `thread_index::current` returns this thread's index, or a
        // number that is no index.
        let kept = unsafe { thread_cache::drain(thread_index::current()) };
        kept + self.account().source().cache().map_or(0, Cache::trim)
    }

    #[inline]
    pub(super) fn account(&self) -> &Account {
        self.account.account()
    }
}

/// A block of the default pool.
#[inline]
pub(crate) fn take_default(nbytes: usize, zeroed: bool) -> Result<Block> {
    Block::take(Pool::default_account()?, nbytes, zeroed, Demand::PLAIN)
}

impl Default for Pool {
    /// The default pool.
    ///
    /// # Panics
    ///
    /// If there is no memory for it, the first time. [`Pool::try_default`] returns that error.
    fn default() -> Self {
        match Self::try_default() {
            Ok(pool) => pool,
            Err(error) => panic!("{error}"),
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.account().chain().map(Account::name);
        write!(
            f,
            "Pool({}, {} bytes in use)",
            names.collect::<Vec<_>>().join(" of "),
            self.statistics().live_nbytes
        )
    }
}

/// Opens the default pool as the environment specifies. An unknown value is reported on standard
/// error and ignored.
#[cold]
fn open_default() -> Result<NonNull<Account>> {
    let is_set = |name: &str, value: &str| std::env::var_os(name).is_some_and(|text| text == value);
    let cache = || BlockSource::caching(Cache::new(CACHE_LIMIT, CACHE_QUIET));
    let source = match std::env::var_os("CROSSDOCK_POOL") {
        Some(word) if word == "system" => BlockSource::system(),
        Some(word) if !word.is_empty() && word != "caching" => {
            let word = word.display();
            let _unheard = writeln!(
                std::io::stderr(),
                "crossdock: CROSSDOCK_POOL={word} is neither `system` nor `caching`"
            );
            cache()
        }
        _ => cache(),
    };
    let guarded = is_set("CROSSDOCK_POOL_DEBUG", "1");
    let plan =
        AccountPlan { immortal: true, guarded, ..AccountPlan::new("default", Upstream::Source(source)) };
    let opened = AccountRef::open(plan)?.into_counted();
    let first =
        DEFAULT.compare_exchange(std::ptr::null_mut(), opened.as_ptr(), Ordering::AcqRel, Ordering::Acquire);
    match first {
        Ok(_) => Ok(opened),
        // Another thread was faster; the account opened here is unused.
        Err(other) => {
            // SAFETY: clause 1 of `discard`: `opened` was not stored, so no other party knows it.
            unsafe { account::discard(opened) };
            Ok(NonNull::new(other).unwrap_or(opened))
        }
    }
}
