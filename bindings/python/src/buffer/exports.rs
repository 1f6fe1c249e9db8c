//! What an object remembers of the buffers that it exported: their number, the lease that they
//! share, and the description that they all get.
//!
//! Reasons: `DESIGN.md`, "An object's buffers share one lease".

use std::cell::{Cell, OnceCell};
use std::ffi::{CString, c_char, c_int};
use std::ptr;

use crossdock::DArray;
use crossdock::bindings::dialect::pep3118 as format;
use crossdock::bindings::explain::misread_format;
use crossdock::bindings::pep3118::{ExportLease, lend};
use crossdock::layout::{AxisSlice, Layout};

/// The buffers that consumers have of one object. They share one lease. Only threads that hold the
/// GIL touch it.
///
/// # Invariants
///
/// 1. While `count` is not 0, there is a lease, and what `described` points to stays as it is.
/// 2. `described` points into the object that this is part of, or into `aside`, which is written
///    once.
pub(crate) struct Exports {
    count: Cell<usize>,
    lease: Cell<Option<ExportLease>>,
    described: OnceCell<Description>,
    aside: OnceCell<Box<Aside>>,
}

/// Where the parts of the description lie, null where an array has none, and its numbers.
pub(super) struct Description {
    pub(super) len: isize,
    pub(super) itemsize: isize,
    pub(super) format: *const c_char,
    pub(super) shape: *const isize,
    pub(super) strides: *const isize,
    pub(super) suboffsets: *const isize,
    pub(super) ndim: c_int,
    /// Whether every consumer that reads all parts gets these.
    is_plain: bool,
}

/// The parts of the description that the array does not store in C's form.
struct Aside {
    format: Option<CString>,
    strides: Vec<isize>,
    suboffsets: Vec<isize>,
}

impl Exports {
    pub(crate) fn new() -> Self {
        Self {
            count: Cell::new(0),
            lease: Cell::new(None),
            described: OnceCell::new(),
            aside: OnceCell::new(),
        }
    }

    /// How many buffers of this object, and how many other leases on the memory of `array`, which
    /// belongs to the same object, have not been released.
    pub(crate) fn count_all(&self, array: &DArray) -> u64 {
        let buffers = self.count.get() as u64;
        // The buffers share one of the leases.
        (array.lease_count() + buffers).saturating_sub(u64::from(buffers > 0))
    }

    /// The description for a consumer that reads all its parts, if there is one already.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<&Description> {
        self.described.get().filter(|description| description.is_plain)
    }

    /// The description of `array`, which belongs to the same object as `self`.
    pub(super) fn describe(&self, array: &DArray) -> crossdock::Result<&Description> {
        if let Some(description) = self.described.get() {
            return Ok(description);
        }
        let (dtype, layout) = (array.dtype(), array.layout());
        let aligned = is_aligned(array)?;
        let letters = format::print_static(dtype).filter(|_| aligned);
        let written = match letters {
            Some(_) => None,
            None if aligned => Some(format::print(dtype)?),
            None => Some(format::print_unaligned(dtype)?),
        };
        // A format has no NUL: names with one are refused.
        let written = written.map(|text| CString::new(text).unwrap_or_default());
        // Consumers look at the strides of axes of length 1, whatever stands there.
        let normalized = layout.normalized();
        let own_strides = normalized.strides() == layout.strides();
        let suboffsets = suboffsets(layout);
        let is_plain = suboffsets.is_empty() && misread_format(dtype).is_none();
        let aside = if written.is_some() || !own_strides || !suboffsets.is_empty() {
            let strides = normalized.strides().to_vec();
            Some(&**self.aside.get_or_init(|| Box::new(Aside { format: written, strides, suboffsets })))
        } else {
            None
        };
        let some = |slice: &[isize]| if slice.is_empty() { ptr::null() } else { slice.as_ptr() };
        let strides = match aside {
            Some(aside) => &aside.strides,
            None => layout.strides(),
        };
        let shape = layout.shape();
        let description = Description {
            len: array.nbytes().cast_signed(),
            itemsize: layout.itemsize().cast_signed(),
            ndim: array.rank() as c_int,
            is_plain,
            format: match (letters, aside.and_then(|aside| aside.format.as_deref())) {
                (Some(letters), _) => letters.as_ptr(),
                (None, text) => text.map_or(ptr::null(), |text| text.as_ptr()),
            },
            // Lengths are at most `isize::MAX`.
            shape: if shape.is_empty() { ptr::null() } else { shape.as_ptr().cast() },
            strides: some(strides),
            suboffsets: some(aside.map_or(&[][..], |aside| &aside.suboffsets)),
        };
        Ok(self.described.get_or_init(|| description))
    }

    /// Counts one more buffer.
    #[inline]
    pub(super) fn begin(&self, array: &DArray) -> crossdock::Result<()> {
        if self.count.get() == 0 {
            self.lease.set(Some(lend(array)?));
        }
        self.count.set(self.count.get() + 1);
        Ok(())
    }

    /// Counts one buffer fewer. The last one ends the lease.
    #[inline]
    pub(super) fn end(&self) {
        let left = self.count.get().saturating_sub(1);
        self.count.set(left);
        if left == 0 {
            drop(self.lease.take());
        }
    }
}

/// Whether every element lies where C would have it. O(1), or O(pointers) for an indirect array.
fn is_aligned(array: &DArray) -> crossdock::Result<bool> {
    let (alignment, layout) = (array.dtype().alignment(), array.layout());
    if layout.suboffsets().is_none() || alignment == 1 {
        return Ok(array.as_ptr().addr().is_multiple_of(alignment) && layout.is_aligned(alignment));
    }
    for index in 0..layout.shape()[0] {
        if !is_aligned(&array.slice([AxisSlice::Index(index.cast_signed()), AxisSlice::Ellipsis])?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As C has them; none where no axis follows pointers.
fn suboffsets(layout: &Layout) -> Vec<isize> {
    let all = layout.suboffsets().unwrap_or_default();
    all.iter().map(|suboffset| suboffset.unwrap_or(-1)).collect()
}
