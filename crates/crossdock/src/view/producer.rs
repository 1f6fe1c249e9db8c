//! Producers, and how arrays lend themselves.

use crate::array::{Array, DArray};
use crate::element::Element;
use crate::error::Error;
use crate::layout::Order;
use crate::memory::{Lease, Place, Protocols};
use crate::view::handover::{Copied, copy_instead};
use crate::view::memory_view::MemoryView;
use crate::view::refusal::{Offer, Reason, Refusal};
use crate::view::request::{CopyPolicy, Request};

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
pub fn view<P: Producer + ?Sized>(producer: &P, request: Request) -> Result<MemoryView, Refusal> {
    match producer.export(&request) {
        Ok(view) => match view.unfulfilled(&request) {
            None => Ok(view),
            Some(reason) => Err(Refusal::new(&request, reason).with_offer(view.offer())),
        },
        Err(refusal) => Err(refusal.with_asked(request)),
    }
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
    /// Lends the array as the request asks. O(`D`) in place.
    ///
    /// # Errors
    ///
    /// A [`Refusal`].
    pub fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
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
        match self.lease_for(request) {
            // SAFETY: a lease of this array's allocation, taken through the array.
            Ok(lease) => Ok(unsafe { MemoryView::new(lease, self, Copied::NOTHING) }),
            Err(reason) => self.export_copy(request, Some(reason)),
        }
    }

    #[cold]
    fn export_copy(&self, request: &Request, reason: Option<Reason>) -> Result<MemoryView, Refusal> {
        let lend = |copy: &Self, copied| {
            let lease = copy.lease_for(request)?;
            // SAFETY: a lease of the copy's allocation, taken through the copy.
            Ok(unsafe { MemoryView::new(lease, copy, copied) })
        };
        copy_instead(self, request, reason, lend, |array| array.copy_for(request))
    }

    #[inline]
    fn lease_for(&self, request: &Request) -> Result<Lease, Reason> {
        if let Some(reason) = request.mismatch(self.dtype(), self.layout(), self.place()) {
            return Err(reason);
        }
        let lease = self.lease(request.lease()).map_err(no_lease)?;
        lease.mark_exported(Protocols::MEMORY_VIEW);
        Ok(lease)
    }

    fn copy_for(&self, request: &Request) -> Result<Self, Reason> {
        // Asked before anything is copied: by the processor, into its own memory.
        let place = request.wanted_place().unwrap_or(Place::CPU);
        if place != Place::CPU || !self.place().is_host() {
            return Err(Reason::Place(place));
        }
        let order = request.wanted_order().unwrap_or(Order::RowMajor);
        match request.wanted_dtype().filter(|&dtype| dtype != self.dtype()) {
            Some(dtype) => self.cast(dtype, order),
            None => self.to_order(order),
        }
        .map_err(Reason::Failed)
    }

    pub(crate) fn offer(&self) -> Offer {
        Offer::from(self)
    }
}

#[cold]
fn no_lease(error: Error) -> Reason {
    if error.is_place() { Reason::Unsupported(error.to_string()) } else { Reason::Lease(error) }
}
