//! What the hub keeps of a view while it is held.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::element::dialect::pack::Template;
use crate::exchange::protocol::memory_view::abi::{Release, View};
use crate::exchange::protocol::memory_view::format::{BytesFormat, Spelling};
use crate::layout::{INLINE_RANK, Layout};
use crate::memory::Lease;

/// Who lent what is viewed, and takes it back.
pub(super) enum Lender {
    /// Nobody: there is no view.
    Nobody,
    /// An array of ours, by a lease.
    Array(#[expect(dead_code, reason = "held until it is dropped")] Lease),
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
    pub(super) lender: Lender,
    /// Whether there is anything in `rest`.
    has_rest: bool,
    /// Lengths and strides of up to `INLINE_RANK` axes. No length has a sign, and none is greater than what has one.
    shape: [usize; INLINE_RANK],
    strides: [isize; INLINE_RANK],
    rest: Rest,
    /// The struct that the producer filled in, as the producer left it.
    pub(super) lent: View,
}

/// What hardly any view has.
struct Rest {
    /// Of more axes.
    layout: Option<Layout>,
    suboffsets: Option<Box<[isize]>>,
    /// The format of an array, where it is not a constant.
    spelling: Option<Arc<Spelling>>,
    /// The format that a producer gave, where its components are not constants.
    template: Option<Template>,
    /// The format, where a producer gave none.
    bytes: BytesFormat,
}

// SAFETY: what a producer lends may be released on any thread; so the original has it, and so `register` demands it.
unsafe impl Send for Loan {}

impl Loan {
    pub(super) const NONE: Self = Self {
        lender: Lender::Nobody,
        has_rest: false,
        shape: [0; INLINE_RANK],
        strides: [0; INLINE_RANK],
        rest: Rest {
            layout: None,
            suboffsets: None,
            spelling: None,
            template: None,
            bytes: BytesFormat::EMPTY,
        },
        lent: View::EMPTY,
    };

    /// Where the lengths and strides of up to `INLINE_RANK` axes are kept.
    #[inline]
    pub(super) fn axes(&mut self, rank: usize) -> (&mut [usize], &mut [isize]) {
        (&mut self.shape[..rank], &mut self.strides[..rank])
    }

    /// Keeps the numbers of all axes.
    #[inline]
    pub(super) fn keep_layout(&mut self, layout: &Layout) {
        let (shape, strides) = (layout.shape(), layout.strides());
        if shape.len() > INLINE_RANK {
            return self.keep_long(layout);
        }
        for ((&len, &stride), (kept_len, kept_stride)) in
            shape.iter().zip(strides).zip(self.shape.iter_mut().zip(&mut self.strides))
        {
            (*kept_len, *kept_stride) = (len, stride);
        }
    }

    #[cold]
    fn keep_long(&mut self, layout: &Layout) {
        self.has_rest = true;
        self.rest.layout = Some(layout.clone());
    }

    #[cold]
    pub(super) fn keep_suboffsets(&mut self, suboffsets: Box<[isize]>) {
        self.has_rest = true;
        self.rest.suboffsets = Some(suboffsets);
    }

    /// Points a view to the numbers of so many axes, which are kept.
    #[inline]
    pub(super) fn point(&self, rank: usize, view: &mut View) {
        view.ndim = rank.cast_signed();
        (view.shape, view.strides) = (self.shape.as_ptr().cast(), self.strides.as_ptr());
        view.sub_offsets = ptr::null();
        if self.has_rest {
            self.point_to_rest(view);
        }
    }

    #[cold]
    fn point_to_rest(&self, view: &mut View) {
        if let Some(layout) = &self.rest.layout {
            (view.shape, view.strides) = (layout.shape().as_ptr().cast(), layout.strides().as_ptr());
        }
        if let Some(suboffsets) = &self.rest.suboffsets {
            view.sub_offsets = suboffsets.as_ptr();
        }
    }

    pub(super) fn keep_spelling(&mut self, spelling: Arc<Spelling>) {
        self.has_rest = true;
        self.rest.spelling = Some(spelling);
    }

    pub(super) fn keep_template(&mut self, template: Template) -> &Template {
        self.has_rest = true;
        self.rest.template.insert(template)
    }

    pub(super) fn keep_bytes(&mut self, bytes: BytesFormat) -> &BytesFormat {
        self.rest.bytes = bytes;
        &self.rest.bytes
    }

    /// The format that a producer gave, where its components are not constants.
    pub(super) fn template(&self) -> Option<&Template> {
        self.rest.template.as_ref()
    }

    /// Drops what is held.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.lender = Lender::Nobody;
        if self.has_rest {
            self.clear_rest();
        }
    }

    #[cold]
    fn clear_rest(&mut self) {
        self.has_rest = false;
        (self.rest.layout, self.rest.suboffsets) = (None, None);
        (self.rest.spelling, self.rest.template) = (None, None);
    }
}
