//! Options of a new allocation.

use crate::error::Result;
use crate::pool::block::Block;
use crate::pool::form::{ALIGNMENT, Demand};
use crate::pool::hints::Hints;
use crate::pool::pool::Pool;

/// Options of a new allocation: its alignment, and hints to the system.
///
/// ```
/// use crossdock::pool::{AllocOptions, Pool};
///
/// let pool = Pool::default();
/// let page = AllocOptions::new().align(4096).zeroed(&pool, 100)?; // for direct input and output
/// assert!(page.as_ptr().addr().is_multiple_of(4096));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AllocOptions {
    align: usize,
    hints: Hints,
    reserve: bool,
}

impl Default for AllocOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl AllocOptions {
    /// Aligned to [`ALIGNMENT`], without hints.
    pub const fn new() -> Self {
        Self { align: ALIGNMENT, hints: Hints::new(), reserve: false }
    }

    /// The alignment of the first byte: a power of two, at most a page. A value below [`ALIGNMENT`]
    /// has the effect of [`ALIGNMENT`]. A buffer keeps it when it grows.
    pub const fn align(mut self, align: usize) -> Self {
        self.align = align;
        self
    }

    /// Hints to the system. An allocation succeeds even if the system ignores them; small blocks
    /// and pools without a cache ignore them. They apply to the block when it is first allocated.
    /// What it grows by is the system's choice, except for properties of a whole mapping (huge
    /// pages, a node).
    pub const fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }

    /// Whether the pages exist when the allocation returns: it fails (`is_out_of_memory`) where the
    /// system refuses them. Without it, the system promises pages that it may not have, and a later
    /// write can end the process. O(n) in the bytes. It applies to blocks of at least a page, when
    /// they are first allocated.
    ///
    /// Linux refuses by its limits on files and on overcommitted memory. At the limit of a memory
    /// control group, or of the machine's memory, it does not refuse: it ends a process, here as on
    /// a write.
    pub const fn reserve(mut self, reserve: bool) -> Self {
        self.reserve = reserve;
        self
    }

    #[inline]
    pub(crate) fn block(&self, pool: &Pool, nbytes: usize, zeroed: bool) -> Result<Block> {
        let hints = self.hints.reserved(self.reserve);
        let demand = if self.align == ALIGNMENT && hints == Hints::new() {
            Demand::PLAIN
        } else {
            Demand::new(self.align, hints)?
        };
        Block::take(pool.account(), nbytes, zeroed, demand)
    }
}
