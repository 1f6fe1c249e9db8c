//! What an object remembers of the buffers that it exported: their number, the lease that they
//! share, and the description that they all get.
//!
//! Reasons: `DESIGN.md`, "An object's buffers share one lease".

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::{CString, c_char};
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
    lease: RefCell<Option<ExportLease>>,
    described: Cell<Option<Description>>,
    aside: OnceCell<Box<Aside>>,
}

/// Where the parts of the description lie. Null where an array has none.
#[derive(Clone, Copy)]
pub(super) struct Description {
    pub(super) format: *const c_char,
    pub(super) shape: *const isize,
    pub(super) strides: *const isize,
    pub(super) suboffsets: *const isize,
    /// Why a consumer that asks for the format is refused, although it can be written.
    pub(super) misread: Option<&'static str>,
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
            lease: RefCell::new(None),
            described: Cell::new(None),
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

    /// The description of `array`, which belongs to the same object as `self`.
    #[inline]
    pub(super) fn describe(&self, array: &DArray) -> crossdock::Result<Description> {
        match self.described.get() {
            Some(description) => Ok(description),
            None => self.describe_anew(array),
        }
    }

    #[cold]
    fn describe_anew(&self, array: &DArray) -> crossdock::Result<Description> {
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
            format: match (letters, aside.and_then(|aside| aside.format.as_deref())) {
                (Some(letters), _) => letters.as_ptr(),
                (None, text) => text.map_or(ptr::null(), |text| text.as_ptr()),
            },
            // Lengths are at most `isize::MAX`.
            shape: if shape.is_empty() { ptr::null() } else { shape.as_ptr().cast() },
            strides: some(strides),
            suboffsets: some(aside.map_or(&[][..], |aside| &aside.suboffsets)),
            misread: misread_format(dtype),
        };
        self.described.set(Some(description));
        Ok(description)
    }

    /// Counts one more buffer, and returns whether it is read-only.
    #[inline]
    pub(super) fn begin(&self, array: &DArray) -> crossdock::Result<bool> {
        if self.count.get() == 0 {
            let lease = lend(array)?;
            // Cannot panic: only `begin` and `end` borrow the cell, and neither calls the other.
            *self.lease.borrow_mut() = Some(lease);
        }
        self.count.set(self.count.get() + 1);
        Ok(array.is_readonly())
    }

    /// Counts one buffer fewer. The last one ends the lease.
    #[inline]
    pub(super) fn end(&self) {
        let left = self.count.get().saturating_sub(1);
        self.count.set(left);
        if left == 0 {
            drop(self.lease.borrow_mut().take());
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
