//! How new memory should be had.

/// Wishes about new memory: huge pages, pages at hand at once, a node of the machine.
///
/// They are hints: where the system does not grant one, the memory is had without it. They concern blocks that are large
/// enough to be mapped on their own; smaller ones share pages with others.
///
/// A block with a node, or with huge pages refused, is not kept for others when it is freed: it goes back to the system.
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
    node: Option<u32>,
}

impl Hints {
    /// No wishes: huge pages where a block has room for one, pages when they are first touched, any node.
    pub const fn new() -> Self {
        Self { huge: None, populate: false, node: None }
    }

    /// Whether to ask for huge pages (2 MiB). Refused, the block is resident by small pages: slower at first touch, but
    /// only what was touched is resident.
    #[must_use]
    pub const fn huge(mut self, huge: bool) -> Self {
        self.huge = Some(huge);
        self
    }

    /// Whether all pages are to be had at once rather than when they are first touched. O(n) in the bytes of the block.
    #[must_use]
    pub const fn populate(mut self, populate: bool) -> Self {
        self.populate = populate;
        self
    }

    /// The node of the machine (as `numactl --hardware` counts them) from which to have the pages if it has free ones.
    #[must_use]
    pub const fn node(mut self, node: u32) -> Self {
        self.node = Some(node);
        self
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

    /// Whether memory had in this way is like any other, so that a cache may hand it to whoever comes next.
    pub(crate) const fn is_common(self) -> bool {
        self.node.is_none() && !matches!(self.huge, Some(false))
    }
}
