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
    /// Lengths and strides of up to `INLINE_RANK` axes.
    shape: [isize; INLINE_RANK],
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

    /// Keeps the numbers of all axes, and points the view to them.
    #[inline]
    pub(super) fn keep_layout(&mut self, layout: &Layout, view: &mut View) {
        let (shape, strides) = (layout.shape(), layout.strides());
        view.ndim = shape.len() as isize;
        if shape.len() > INLINE_RANK {
            return self.keep_long(layout, view);
        }
        for ((&len, &stride), (kept_len, kept_stride)) in
            shape.iter().zip(strides).zip(self.shape.iter_mut().zip(&mut self.strides))
        {
            (*kept_len, *kept_stride) = (len as isize, stride);
        }
        (view.shape, view.strides) = (self.shape.as_ptr(), self.strides.as_ptr());
    }

    #[cold]
    fn keep_long(&mut self, layout: &Layout, view: &mut View) {
        self.has_rest = true;
        let layout = self.rest.layout.insert(layout.clone());
        // Lengths have no sign, and are never greater than what has one.
        (view.shape, view.strides) = (layout.shape().as_ptr().cast(), layout.strides().as_ptr());
    }

    #[cold]
    pub(super) fn keep_suboffsets(&mut self, suboffsets: Box<[isize]>, view: &mut View) {
        self.has_rest = true;
        view.sub_offsets = self.rest.suboffsets.insert(suboffsets).as_ptr();
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
