//! What the hub keeps of a view while it is held.

use std::ffi::c_void;
use std::sync::Arc;

use crate::element::dialect::pack::Template;
use crate::exchange::protocol::memory_view::abi::{Release, View};
use crate::exchange::protocol::memory_view::format::{BytesFormat, Spelling};
use crate::layout::{INLINE_RANK, Layout};
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

/// Shape and strides as C has them: those of few axes in place, of which only as many are written as there are axes.
pub(super) struct Axes {
    few: [isize; 2 * INLINE_RANK],
    many: Option<Box<[isize]>>,
}

impl Axes {
    const NONE: Self = Self { few: [0; 2 * INLINE_RANK], many: None };

    /// Those of a layout. Where they are, shape and strides.
    #[inline]
    pub(super) fn set(&mut self, layout: &Layout) -> (*const isize, *const isize) {
        let (shape, strides) = (layout.shape(), layout.strides());
        let rank = shape.len();
        let (own_shape, own_strides) = if rank <= INLINE_RANK {
            self.few.split_at_mut(INLINE_RANK)
        } else {
            self.many.insert(vec![0; 2 * rank].into_boxed_slice()).split_at_mut(rank)
        };
        for (own, len) in own_shape.iter_mut().zip(shape) {
            *own = len.cast_signed();
        }
        for (own, stride) in own_strides.iter_mut().zip(strides) {
            *own = *stride;
        }
        (own_shape.as_ptr(), own_strides.as_ptr())
    }

    #[inline]
    fn clear(&mut self) {
        self.many = None;
    }
}

/// The hub's side of one view. Its fields are what the pointers of the view point to.
pub(super) struct Loan {
    pub(super) lender: Option<Lender>,
    pub(super) axes: Axes,
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
        axes: Axes::NONE,
        suboffsets: None,
        lent: View::EMPTY,
        template: None,
        bytes: BytesFormat::EMPTY,
    };

    /// Drops what is held.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.lender = None;
        self.axes.clear();
        self.suboffsets = None;
        self.template = None;
    }
}
