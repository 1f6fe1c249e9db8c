//! Producers, and the export of arrays.

use crate::array::{Array, CopyPolicy, DArray};
use crate::element::Element;
use crate::memory::Lease;
use crate::view::memory_view::MemoryView;
use crate::view::negotiation::{copy_instead, lease};
use crate::view::reason::Reason;
use crate::view::refusal::Refusal;
use crate::view::request::Request;

/// A type that exports its memory as an array.
///
/// An implementation describes its memory as an [`Array`] or a [`DArray`] and calls its `export`,
/// which enforces the request:
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
    /// Exports the memory as requested, or returns the reason why not.
    ///
    /// # Errors
    ///
    /// A [`Refusal`].
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal>;

    #[doc(hidden)]
    #[inline]
    fn view_as(&self, request: Request, _: ViewToken) -> Result<MemoryView, Refusal> {
        view_any(self, request)
    }
}

/// Requests memory from a producer. The result is checked against the request, for every producer.
///
/// ```
/// use crossdock::Array;
/// use crossdock::view::Request;
///
/// let array = Array::from_vec(vec![1i32, 2, 3, 4], [2, 2])?;
/// let view = crossdock::view(&array, Request::read())?;
/// assert_eq!(view.as_view::<i32, 2>()?[[1, 0]], 3);
///
/// let refusal = crossdock::view(&array, Request::write()).unwrap_err(); // `view` reads
/// println!("{refusal}");
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// The producer's refusal, or a new one if the result does not fulfil the request.
#[inline]
pub fn view<P: Producer + ?Sized>(producer: &P, request: Request) -> Result<MemoryView, Refusal> {
    producer.view_as(request, ViewToken(()))
}

/// An argument that only this module can pass, and no other can name: [`Producer::view_as`] is
/// neither called nor implemented elsewhere.
#[derive(Debug)]
pub struct ViewToken(());

/// [`view_any`] out of line, for arrays that are not exported at once.
#[inline(never)]
fn view_slowly<P: Producer>(producer: &P, request: Request, answer: &mut ViewAnswer) {
    *answer = Some(view_any(producer, request));
}

/// The answer of what is decided out of line.
type ViewAnswer = Option<Result<MemoryView, Refusal>>;

/// Runs a function that always answers, which writes to a place of its own. If it returned the
/// answer, a view at once would lie in the same place, written in parts and moved as a whole, for
/// which the CPU waits.
#[inline(always)]
fn apart(answered: impl FnOnce(&mut ViewAnswer)) -> Result<MemoryView, Refusal> {
    let mut answer = None;
    answered(&mut answer);
    answer.expect("every request is answered")
}

/// [`view`] of any producer.
#[inline]
fn view_any<P: Producer + ?Sized>(producer: &P, request: Request) -> Result<MemoryView, Refusal> {
    // One variable, also the one returned: moving a view costs a few cache lines.
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
    #[inline]
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        DArray::export(self, request)
    }

    #[inline]
    fn view_as(&self, request: Request, _: ViewToken) -> Result<MemoryView, Refusal> {
        // An array at once fulfils the request by construction.
        match self.export_at_once(&request) {
            Some(view) => Ok(view),
            None => apart(|answer| view_slowly(self, request, answer)),
        }
    }
}

impl<T: Element, const D: usize> Producer for Array<T, D> {
    #[inline]
    fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        Array::export(self, request)
    }

    #[inline]
    fn view_as(&self, request: Request, _: ViewToken) -> Result<MemoryView, Refusal> {
        match self.export_at_once(&request) {
            Some(view) => Ok(view),
            None => apart(|answer| view_slowly(self, request, answer)),
        }
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Exports the array as requested. O(`D`) if zero-copy: one compare-and-swap.
    ///
    /// # Errors
    ///
    /// A [`Refusal`].
    #[inline(always)]
    pub fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        match self.export_at_once(request) {
            Some(view) => Ok(view),
            None => apart(|answer| self.export_any(request, answer)),
        }
    }

    /// [`Array::export`] if nothing is to be negotiated: see [`DArray::export_at_once`].
    #[inline(always)]
    fn export_at_once(&self, request: &Request) -> Option<MemoryView> {
        let lease = request.quick_lease(self.raw())?;
        let (dtype, layout) = (T::dtype(), self.layout().to_dynamic_trusted(size_of::<T>()));
        // SAFETY: 1. `quick_lease` took the lease through `self.raw()`, on the host; 2. `dtype` and
        // `layout` are those of this array (Array 1).
        Some(unsafe { MemoryView::new(lease, self.raw(), dtype, layout) })
    }

    /// [`Array::export`] for any request.
    #[inline(never)]
    fn export_any(&self, request: &Request, answer: &mut ViewAnswer) {
        *answer = Some(self.negotiated(request));
    }

    fn negotiated(&self, request: &Request) -> Result<MemoryView, Refusal> {
        if request.copy_policy() != CopyPolicy::Always {
            let (dtype, layout) = (T::dtype(), self.layout().to_dynamic_trusted(size_of::<T>()));
            if let Ok(lease) = lease(self.raw(), &dtype, &layout, request, &request.terms()) {
                // SAFETY: 1. `lease` took the lease through `self.raw()`, and refuses devices; 2.
                // `dtype` and `layout` are those of this array (Array 1).
                return Ok(unsafe { MemoryView::new(lease, self.raw(), dtype, layout) });
            }
        }
        // The dynamic array refuses, or copies.
        DArray::from(self.clone()).export(request)
    }
}

impl DArray {
    /// Exports the array as requested. O(rank) if zero-copy: one compare-and-swap.
    ///
    /// # Errors
    ///
    /// A [`Refusal`].
    #[inline(always)]
    pub fn export(&self, request: &Request) -> Result<MemoryView, Refusal> {
        match self.export_at_once(request) {
            Some(view) => Ok(view),
            None => apart(|answer| self.export_any(request, answer)),
        }
    }

    /// [`DArray::export`] if nothing is to be negotiated: few axes, no requirement but the lease,
    /// and a lease that takes one atomic step.
    #[inline(always)]
    fn export_at_once(&self, request: &Request) -> Option<MemoryView> {
        if !self.layout().is_plain_data() {
            return None;
        }
        let lease = request.quick_lease(self.raw())?;
        // SAFETY: `is_plain_data` found the axes in place (Layout 4), so the bits of the layout are
        // a clone. (Copied as a whole: after narrow stores, the next move would wait for each.)
        let layout = unsafe { std::ptr::read(self.layout()) };
        // SAFETY: 1. `quick_lease` took the lease through `self.raw()`, on the host; 2. dtype and
        // layout are those of this array (DArray 1 and 2).
        Some(unsafe { MemoryView::new(lease, self.raw(), self.dtype().clone(), layout) })
    }

    /// [`DArray::export`] of any array for any request.
    #[inline(never)]
    fn export_any(&self, request: &Request, answer: &mut ViewAnswer) {
        *answer = Some(self.negotiated(request));
    }

    fn negotiated(&self, request: &Request) -> Result<MemoryView, Refusal> {
        if request.copy_policy() == CopyPolicy::Always {
            return self.export_copy(request, None);
        }
        match lease(self.raw(), self.dtype(), self.layout(), request, &request.terms()) {
            // SAFETY: clause 1 of `under`: `lease` took it through this array.
            Ok(lease) => Ok(unsafe { self.under(lease) }),
            Err(reason) => self.export_copy(request, Some(reason)),
        }
    }

    #[cold]
    fn export_copy(&self, request: &Request, reason: Option<Reason>) -> Result<MemoryView, Refusal> {
        let terms = request.terms();
        let copy = |array: &Self| request.make_copy(array, &terms);
        let (view, copied) = copy_instead(self, request, &terms, reason, copy, |copy: Self| {
            let lease = lease(copy.raw(), copy.dtype(), copy.layout(), request, &terms)?;
            // SAFETY: clause 1 of `under`: `lease` took it through the copy.
            Ok(unsafe { copy.under(lease) })
        })?;
        Ok(view.with_copied(copied))
    }

    /// The array under a lease.
    ///
    /// # Safety
    ///
    /// 1. [`lease`] took the lease through this array.
    #[inline]
    unsafe fn under(&self, lease: Lease) -> MemoryView {
        // SAFETY: 1. clause 1 of `# Safety`: `lease` took it through this array, and it refuses
        // devices; 2. dtype and layout are those of this array (DArray 1 and 2).
        unsafe { MemoryView::new(lease, self.raw(), self.dtype().clone(), self.layout().clone()) }
    }
}
