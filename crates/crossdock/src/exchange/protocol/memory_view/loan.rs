//! What the hub keeps of a view while it is held.

use std::ffi::c_void;
use std::sync::Arc;

use crate::element::dialect::pack::Template;
use crate::exchange::protocol::memory_view::abi::{Release, View};
use crate::exchange::protocol::memory_view::format::{BytesFormat, Spelling};
use crate::layout::Layout;
use crate::memory::Lease;

/// Who lent what is viewed, and takes it back.
pub(super) enum Lender {
    /// An array of ours: a lease, and the spelling of its dtype, where that is not a constant.
    Array(
        #[expect(dead_code, reason = "held until it is dropped")] Lease,
        #[expect(dead_code, reason = "held until it is dropped")] Option<Arc<Spelling>>,
    ),
    /// A producer, by the function that was registered when the view was given.
    Producer(Producer),
}

/// What a producer's release is called with, and by what.
#[derive(Clone, Copy)]
pub(super) struct Producer {
    pub(super) obj: *mut c_void,
    pub(super) release: Option<Release>,
}

/// The hub's side of one view. Its fields are what the pointers of the view point to.
pub(super) struct Loan {
    pub(super) lender: Option<Lender>,
    /// Shape and strides.
    pub(super) layout: Option<Layout>,
    /// As C has them, of an indirect array.
    pub(super) suboffsets: Option<Box<[isize]>>,
    /// The struct that the producer filled in, as the producer left it.
    pub(super) lent: View,
    /// The format of what a producer lent, where its components are no constants.
    pub(super) template: Option<Template>,
    /// The format, where the producer gave none.
    pub(super) bytes: BytesFormat,
}

// SAFETY: what a producer lends may be released on any thread; so the original has it, and so `get` demands it.
unsafe impl Send for Loan {}

impl Loan {
    pub(super) const NONE: Self = Self {
        lender: None,
        layout: None,
        suboffsets: None,
        lent: View::EMPTY,
        template: None,
        bytes: BytesFormat::EMPTY,
    };

    /// Drops what is held.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.lender = None;
        self.layout = None;
        self.suboffsets = None;
        self.template = None;
    }
}
