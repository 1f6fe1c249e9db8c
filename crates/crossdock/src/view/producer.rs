//! Producers, and how arrays lend themselves.

use crate::array::CopyPolicy;
use crate::array::{Array, Casting, DArray, PlacedArray, RawArray};
use crate::device::Moved;
use crate::element::{DType, Element};
use crate::error::Error;
use crate::layout::{Layout, Order};
use crate::memory::{Lease, LeaseKind};
use crate::view::copied::Copied;
use crate::view::handover::copy_instead;
use crate::view::memory_view::MemoryView;
use crate::view::refusal::{Offer, Reason, Refusal};
use crate::view::request::Request;
use crate::view::route::Route;

/// Something that lends its memory as an array.
///
/// An implementation describes its memory as an [`Array`] or a [`DArray`] and lets that export itself, which enforces the
/// request:
///
/// ```
/// use std::sync::Arc;
/// use crossdock::view::{MemoryView, Producer, Refusal, Request};
/// use crossdock::Array;
///
/// struct Photo { pixels: Arc<Vec<u8>>, height: usize, width: usize, pitch: usize }
///
/// impl Producer for Photo {
///     fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
///         Array::from_owner(self.pixels.clone(), [self.height, self.width, 3])?
///             .with_row_stride(self.pitch)?
///             .export(request)
///     }
/// }
///
/// let photo = Photo { pixels: Arc::new(vec![7; 2 * 16]), height: 2, width: 5, pitch: 16 };
/// let view = crossdock::view(&photo, Request::read())?;
/// assert_eq!((view.shape(), view.strides()), (&[2, 5, 3][..], &[16, 3, 1][..]));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub trait Producer {
    /// Lends the memory as the request asks, or says why not.
    ///
    /// # Errors
    ///
    /// A [`Refusal`].
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal>;
}

/// Asks a producer for its memory. What comes back is checked against the request, whoever the producer is.
///
/// # Errors
///
/// The producer's refusal, or one of its own where the producer gave something else than was asked for.
#[inline]
pub fn view<P: Producer + ?Sized>(producer: &P, request: Request) -> Result<MemoryView, Refusal> {
    // One variable, which is also the one returned: a view is a few cache lines to move.
    let mut answer = producer.export(&request);
    match &mut answer {
        Ok(view) => {
            if let Some(reason) = view.unfulfilled(&request) {
                answer = Err(Refusal::new(&request, reason).with_offer(view.offer()));
            }
        }
        Err(refusal) => refusal.fill_in_asked(request),
    }
    answer
}

impl Producer for DArray {
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        DArray::export(self, request)
    }
}

impl<T: Element, const D: usize> Producer for Array<T, D> {
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        Array::export(self, request)
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Lends the array as the request asks. O(`D`) in place: one compare-and-swap.
    ///
    /// # Errors
    ///
    /// A [`Refusal`].
    #[inline]
    pub fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        if request.copy_policy() != CopyPolicy::Always {
            let (dtype, layout) = (T::dtype(), self.layout().to_dynamic_trusted(size_of::<T>()));
            if let Ok(lease) = lease_for(self.raw(), &dtype, &layout, request) {
                // SAFETY: a lease of this array's allocation, taken through the array; its own dtype and layout.
                return Ok(unsafe { MemoryView::new(lease, self.raw(), dtype, layout, Copied::NOTHING) });
            }
        }
        // Refused, or copied, by the one that knows how.
        DArray::from(self.clone()).export(request)
    }
}

impl DArray {
    /// Lends the array as the request asks. O(rank) in place: one compare-and-swap.
    ///
    /// # Errors
    ///
    /// A [`Refusal`].
    #[inline]
    pub fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        if request.copy_policy() == CopyPolicy::Always {
            return self.export_copy(request, None);
        }
        match lease_for(self.raw(), self.dtype(), self.layout(), request) {
            Ok(lease) => Ok(self.under(lease, Copied::NOTHING)),
            Err(reason) => self.export_copy(request, Some(reason)),
        }
    }

    #[cold]
    fn export_copy(&self, request: &Request, reason: Option<Reason>) -> Result<MemoryView, Refusal> {
        let copy = |array: &Self| array.copy_for(request);
        copy_instead(self, request, reason, copy, |copy: Self, copied| {
            let lease = lease_for(copy.raw(), copy.dtype(), copy.layout(), request)?;
            Ok(copy.under(lease, copied))
        })
    }

    /// The array under a lease that [`lease_for`] took for it.
    #[inline]
    fn under(&self, lease: Lease, copied: Copied) -> MemoryView {
        // SAFETY: a lease of this array's allocation, taken through the array; its own dtype and layout.
        unsafe { MemoryView::new(lease, self.raw(), self.dtype().clone(), self.layout().clone(), copied) }
    }

    /// A copy, or a mapping, that fulfils a request but for the lease, and how many bytes were copied for it.
    fn copy_for(&self, request: &Request) -> Result<(Self, usize), Reason> {
        // Asked before anything is copied.
        let route = Route::find(self, request).map_err(Reason::Place)?;
        let order = request.wanted_order();
        let converted = match request.wanted_dtype().filter(|&dtype| dtype != self.dtype()) {
            Some(dtype) => Some(self.cast(dtype, order.unwrap_or(Order::RowMajor), Casting::Checked)),
            None if order.is_some_and(|order| !self.layout().is_contiguous(order)) || route.is_beside() => {
                Some(self.to_order(order.unwrap_or(Order::RowMajor)))
            }
            None => None,
        };
        let converted = converted.transpose().map_err(Reason::Failed)?;
        let copied = converted.as_ref().map_or(0, Self::nbytes);
        let Route::To(memory) = route else {
            return Ok((converted.unwrap_or_else(|| self.clone()), copied));
        };
        let source = converted.as_ref().unwrap_or(self);
        // Of what is mapped others have the memory, too.
        let mappable = matches!(request.lease(), LeaseKind::Share | LeaseKind::Pin);
        let placed = if mappable && request.copy_policy() == CopyPolicy::IfNeeded {
            source.map_or_copy_to(&memory)
        } else {
            source.copy_to(&memory).map(|array| PlacedArray::copied(array, None))
        }
        .map_err(Reason::Failed)?;
        let moved = if let Moved::Copied { nbytes } = placed.moved { nbytes } else { 0 };
        Ok((placed.array, copied + moved))
    }

    pub(crate) fn offer(&self) -> Offer {
        Offer::from(self)
    }
}

/// The lease that a request asks for, of an array that fulfils the rest of it.
#[inline]
fn lease_for(raw: &RawArray, dtype: &DType, layout: &Layout, request: &Request) -> Result<Lease, Reason> {
    if let Some(reason) = request.mismatch(dtype, layout, raw.place()) {
        return Err(reason);
    }
    let lease = raw.lease(request.lease()).map_err(no_lease)?;
    lease.mark_exported(request.holder());
    Ok(lease)
}

#[cold]
fn no_lease(error: Error) -> Reason {
    if error.is_place() { Reason::Unsupported(error.to_string()) } else { Reason::Lease(error) }
}
