//! How new memory is to be had.

use crate::error::Result;
use crate::pool::block::Block;
use crate::pool::form::{ALIGNMENT, Demand};
use crate::pool::hints::Hints;
use crate::pool::pool::Pool;

/// How new memory is to be had: its alignment, and hints to the system.
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
}

impl Default for AllocOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl AllocOptions {
    /// Aligned to [`ALIGNMENT`], without hints.
    pub const fn new() -> Self {
        Self { align: ALIGNMENT, hints: Hints::new() }
    }

    /// The alignment of the first byte: a power of two, a page at most. Less than [`ALIGNMENT`] is as good as that. It is kept when
    /// a buffer grows.
    pub const fn align(mut self, align: usize) -> Self {
        self.align = align;
        self
    }

    /// What the system is asked to do for the memory. Nothing fails where it does not; small blocks and pools without a cache
    /// ignore it. It concerns the block as it is had first: what it grows by is the system's choice, except for what is true of
    /// a whole mapping (huge pages, a node).
    pub const fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }

    #[inline]
    pub(crate) fn block(&self, pool: &Pool, nbytes: usize, zeroed: bool) -> Result<Block> {
        let demand = if self.align == ALIGNMENT && self.hints == Hints::new() {
            Demand::PLAIN
        } else {
            Demand::new(self.align, self.hints)?
        };
        Block::take(pool.account(), nbytes, zeroed, demand)
    }
}
