//! The hub's data of a view while it is held.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::element::dialect::pack::Template;
use crate::exchange::protocol::memory_view::abi::{Release, View};
use crate::exchange::protocol::memory_view::format::{BytesFormat, Spelling};
use crate::layout::{FEW_AXES, Layout};
use crate::memory::Lease;

/// The party that exports the viewed memory, and gets the release.
pub(super) enum Lender {
    /// There is no view.
    Nobody,
    /// An array of this library, by a lease.
    Array(#[expect(dead_code, reason = "held until it is dropped")] Lease),
    /// A producer, by the function that was registered at the time of the request.
    Producer(ReleaseCall),
}

/// The arguments of a producer's release, and the function.
#[derive(Clone, Copy)]
pub(super) struct ReleaseCall {
    pub(super) obj: *mut c_void,
    pub(super) release: Option<Release>,
}

/// The hub's data of one view. Pointers of the view lead to its fields.
pub(super) struct ViewLease {
    pub(super) lender: Lender,
    /// Whether `rest` holds anything.
    has_rest: bool,
    /// Lengths and strides of up to `FEW_AXES` axes. Lengths fit in an `isize`.
    shape: [usize; FEW_AXES],
    strides: [isize; FEW_AXES],
    rest: Rest,
    /// The struct that the producer filled in, as the producer left it.
    pub(super) filled: View,
}

/// Data that few views have.
struct Rest {
    /// The layout, for more axes.
    layout: Option<Layout>,
    suboffsets: Option<Box<[isize]>>,
    /// The format of an array, unless it is a constant.
    spelling: Option<Arc<Spelling>>,
    /// The producer's format, unless its components are constants.
    template: Option<Template>,
    /// The format, if the producer has none.
    bytes: BytesFormat,
}

/// Where the numbers of a view are stored: of each axis a length, a stride and, unless the pointer
/// is null, a suboffset.
pub(super) struct ViewNumbers {
    pub(super) shape: *const isize,
    pub(super) strides: *const isize,
    pub(super) sub_offsets: *const isize,
}

// SAFETY: a producer's view may be released on any thread (clause 2 of `register`); leases,
// layouts, formats and templates are `Send`.
unsafe impl Send for ViewLease {}

impl ViewLease {
    pub(super) const NONE: Self = Self {
        lender: Lender::Nobody,
        has_rest: false,
        shape: [0; FEW_AXES],
        strides: [0; FEW_AXES],
        rest: Rest {
            layout: None,
            suboffsets: None,
            spelling: None,
            template: None,
            bytes: BytesFormat::EMPTY,
        },
        filled: View::EMPTY,
    };

    /// The storage for lengths and strides of up to `FEW_AXES` axes.
    #[inline]
    pub(super) fn axes(&mut self, rank: usize) -> (&mut [usize], &mut [isize]) {
        (&mut self.shape[..rank], &mut self.strides[..rank])
    }

    /// Stores the numbers of all axes.
    #[inline]
    pub(super) fn keep_layout(&mut self, layout: &Layout) {
        if layout.copy_few_axes(&mut self.shape, &mut self.strides).is_none() {
            self.keep_many(layout);
        }
    }

    /// [`keep_layout`](Self::keep_layout) of more axes than lie in place, or of suboffsets.
    #[cold]
    fn keep_many(&mut self, layout: &Layout) {
        let (shape, strides) = (layout.shape(), layout.strides());
        if shape.len() > FEW_AXES {
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

    /// The addresses of the stored numbers.
    #[inline]
    pub(super) fn numbers(&self) -> ViewNumbers {
        let mut numbers = ViewNumbers {
            shape: self.shape.as_ptr().cast(),
            strides: self.strides.as_ptr(),
            sub_offsets: ptr::null(),
        };
        if self.has_rest {
            self.point_to_rest(&mut numbers);
        }
        numbers
    }

    #[cold]
    fn point_to_rest(&self, numbers: &mut ViewNumbers) {
        if let Some(layout) = &self.rest.layout {
            numbers.shape = layout.shape().as_ptr().cast();
            numbers.strides = layout.strides().as_ptr();
        }
        if let Some(suboffsets) = &self.rest.suboffsets {
            numbers.sub_offsets = suboffsets.as_ptr();
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

    /// The producer's format, unless its components are constants.
    pub(super) fn template(&self) -> Option<&Template> {
        self.rest.template.as_ref()
    }

    /// Drops the contents.
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
