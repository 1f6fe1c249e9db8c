//! Hints about how the system provides new memory.

/// Hints about new memory: huge pages, pages that are resident at once, a node of the machine.
///
/// If the system does not grant a hint, the memory is allocated without it. Hints apply to blocks
/// that are large enough for a mapping of their own; smaller ones share pages with other blocks.
///
/// A block with a node, or with huge pages refused, is not kept when it is freed: it is returned to
/// the system.
///
/// ```
/// use crossdock::pool::Hints;
///
/// let hints = Hints::new().populate(true).node(0);
/// assert_ne!(hints, Hints::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    huge: Option<bool>,
    populate: bool,
    reserve: bool,
    node: Option<u32>,
}

impl Hints {
    /// No hints: huge pages if a block has room for one, pages on first touch, any node.
    pub const fn new() -> Self {
        Self { huge: None, populate: false, reserve: false, node: None }
    }

    /// Whether to request huge pages (2 MiB). With `false`, the block is resident by small pages:
    /// slower at first touch, but only touched bytes are resident.
    #[must_use]
    pub const fn huge(mut self, huge: bool) -> Self {
        self.huge = Some(huge);
        self
    }

    /// Whether all pages become resident at once instead of on first touch. O(n) in the bytes of
    /// the block.
    #[must_use]
    pub const fn populate(mut self, populate: bool) -> Self {
        self.populate = populate;
        self
    }

    /// The preferred node of the machine (numbered as in `numactl --hardware`), used if it has free
    /// pages.
    #[must_use]
    pub const fn node(mut self, node: u32) -> Self {
        self.node = Some(node);
        self
    }

    /// As [`AllocOptions::reserve`](super::AllocOptions::reserve), which is more than a hint.
    pub(super) const fn reserved(mut self, reserve: bool) -> Self {
        self.reserve = reserve;
        self
    }

    pub(crate) const fn is_reserved(self) -> bool {
        self.reserve
    }

    pub(crate) const fn is_huge(self) -> Option<bool> {
        self.huge
    }

    pub(crate) const fn is_populated(self) -> bool {
        self.populate
    }

    pub(crate) const fn on_node(self) -> Option<u32> {
        self.node
    }

    /// Whether this memory is like any other, so that a cache may use it for the next request.
    pub(crate) const fn is_common(self) -> bool {
        self.node.is_none() && !matches!(self.huge, Some(false))
    }
}
