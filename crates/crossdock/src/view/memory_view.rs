//! An array held under a lease.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::array::CopyPolicy;
use crate::array::display::{Elements, Head, Show, printed};
use crate::array::{
    Array, ArrayView, ArrayViewMut, DArray, RawArray, check_aligned, dynamic_queries, load_as, load_value,
    other_dtype, store_value,
};
use crate::element::{DType, Element, Value};
use crate::error::{Error, Kind, Rejected, Result, try_with_capacity};
use crate::kernel;
use crate::layout::{FixedLayout, Layout, Order};
use crate::memory::{Lease, LeaseKind, Place};
use crate::view::copied::Copied;
use crate::view::grant::Grant;
use crate::view::reason::Reason;
use crate::view::refusal::Offer;
use crate::view::request::Request;
use crate::view::terms::Reach;

/// An array that was lent: memory, dtype, shape and strides, held under a lease that is given back
/// when this is dropped.
///
/// It keeps the memory alive by itself; the producer may be gone. What it permits is up to its
/// lease:
///
/// | | Read | Write | Share | Pin |
/// |---|---|---|---|---|
/// | [`as_view`](Self::as_view), [`as_slice`](Self::as_slice), [`as_bytes`](Self::as_bytes): elements by reference | yes | yes | – | – |
/// | [`as_view_mut`](Self::as_view_mut) | – | yes | – | – |
/// | [`get`](Self::get), [`to_bytes`](Self::to_bytes): elements by value | yes | yes | yes | yes |
/// | [`set`](Self::set) | – | yes | yes | – |
///
/// ```
/// use crossdock::view::Request;
/// use crossdock::{Array, s};
///
/// let array = Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?;
/// let view = array.slice(s![.., ..;-1])?.export(&Request::read())?;
/// drop(array);
/// assert_eq!(view.as_view::<i32, 2>()?[[1, 0]], 6);
/// assert_eq!(view.get(&[0, 2])?.to_string(), "1");
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. The layout, of elements of the dtype, reaches from `ptr` only bytes of the lease's region,
///    which is on the host.
/// 2. Under a Write or a Share lease, the producer's handle permitted writing.
pub struct MemoryView {
    lease: Lease,
    ptr: NonNull<u8>,
    dtype: DType,
    layout: Layout,
    grant: Grant,
}

// SAFETY: the memory is plain data that the lease keeps alive on any thread; shared methods load
// racily or rely on a Read or Write lease.
unsafe impl Send for MemoryView {}
// SAFETY: as for Send; what writes takes `&mut self` or stores racily under Share.
unsafe impl Sync for MemoryView {}

impl MemoryView {
    /// # Safety
    ///
    /// The lease is one of the array's allocation, taken through the array; dtype and layout are
    /// those that go with it.
    #[inline]
    pub(super) unsafe fn new(lease: Lease, array: &RawArray, dtype: DType, layout: Layout) -> Self {
        let grant = Grant { lease: lease.kind(), copied: Copied::NOTHING };
        Self { grant, lease, ptr: array.ptr(), dtype, layout }
    }

    /// The view, of a copy.
    pub(super) fn with_copied(mut self, copied: Copied) -> Self {
        self.grant.copied = copied;
        self
    }

    // ===== queries

    dynamic_queries! { self: self.layout, self.ptr }

    /// The device.
    #[inline]
    pub fn place(&self) -> Place {
        self.lease.header().place()
    }

    /// Whether the memory may not be written through this view.
    #[inline]
    pub fn is_readonly(&self) -> bool {
        !matches!(self.lease.kind(), LeaseKind::Write | LeaseKind::Share)
    }

    /// What was granted: the lease, and whether a copy was made.
    #[inline]
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    // ===== access

    /// The elements by reference, typed. O(`D`).
    ///
    /// # Errors
    ///
    /// `is_dtype`, `is_shape` for another rank, `is_alignment`; `is_conflict` under a Share or Pin
    /// lease, where others may write meanwhile.
    pub fn as_view<T: Element, const D: usize>(&self) -> Result<ArrayView<'_, T, D>> {
        self.check_constant("by reference")?;
        self.check_dtype::<T>()?;
        let layout = self.layout.to_fixed()?;
        check_aligned::<T, D>(self.ptr.addr().get(), &layout)?;
        // SAFETY: MemoryView 1, typed and aligned as just checked, constant under the lease while
        // `self` is borrowed.
        Ok(unsafe { ArrayView::new(self.ptr, layout) })
    }

    /// The elements by mutable reference, typed. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// As [`MemoryView::as_view`], with `is_conflict` under any lease but Write.
    pub fn as_view_mut<T: Element, const D: usize>(&mut self) -> Result<ArrayViewMut<'_, T, D>> {
        self.check_lease(self.lease.kind() == LeaseKind::Write, "by mutable reference")?;
        self.check_dtype::<T>()?;
        let layout = self.layout.to_fixed()?;
        check_aligned::<T, D>(self.ptr.addr().get(), &layout)?;
        // SAFETY: MemoryView 1 and 2, typed and aligned as just checked; the Write lease excludes
        // others, `&mut self` all through this view.
        unsafe { ArrayViewMut::new(self.ptr, layout) }
    }

    /// The elements as a slice, in row-major order without gaps. O(rank).
    ///
    /// # Errors
    ///
    /// As [`MemoryView::as_view`], and `is_layout` where the elements lie otherwise.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.check_constant("as a slice")?;
        self.check_dtype::<T>()?;
        self.check_row_major()?;
        let flat = FixedLayout::contiguous([self.len()], size_of::<T>(), Order::RowMajor)?;
        check_aligned::<T, 1>(self.ptr.addr().get(), &flat)?;
        let ptr = if self.is_empty() { NonNull::dangling() } else { self.ptr.cast() };
        // SAFETY: MemoryView 1, typed, aligned and without gaps as just checked, constant under the
        // lease while `self` is borrowed; an empty slice needs only alignment.
        Ok(unsafe { std::slice::from_raw_parts(ptr.as_ptr(), self.len()) })
    }

    /// The bytes of all elements, in row-major order without gaps, whatever the dtype. O(rank).
    ///
    /// ```
    /// use crossdock::view::Request;
    /// use crossdock::Array;
    ///
    /// let view = Array::from_vec(vec![0x0102u16, 0x0304], [2])?.export(&Request::read())?;
    /// assert_eq!(view.as_bytes()?[..2], 0x0102u16.to_ne_bytes());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_layout` where the elements lie otherwise; `is_conflict` under a Share or Pin lease,
    /// where others may write meanwhile.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        self.check_constant("as bytes")?;
        self.check_row_major()?;
        // SAFETY: MemoryView 1, without gaps as just checked, hence so many initialised bytes;
        // constant under the lease while `self` is borrowed. Without elements, `ptr` is still not
        // null.
        Ok(unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.nbytes()) })
    }

    fn check_row_major(&self) -> Result<()> {
        if self.layout.is_contiguous(Order::RowMajor) {
            return Ok(());
        }
        Err(Error::new(
            Kind::Layout,
            format!(
                "shape {:?} with strides {:?} is not row-major without gaps: ask for that order, or take a view",
                self.shape(),
                self.strides()
            ),
        ))
    }

    fn check_constant(&self, how: &str) -> Result<()> {
        self.check_lease(matches!(self.lease.kind(), LeaseKind::Read | LeaseKind::Write), how)
    }

    fn check_lease(&self, permitted: bool, how: &str) -> Result<()> {
        if permitted {
            return Ok(());
        }
        let kind = self.lease.kind();
        Err(Error::new(
            Kind::Conflict,
            format!("elements {how} were asked of a view under a {kind:?} lease, which does not give them"),
        ))
    }

    fn check_dtype<T: Element>(&self) -> Result<()> {
        let wanted = T::dtype();
        if self.dtype == wanted { Ok(()) } else { Err(other_dtype(&self.dtype, &wanted)) }
    }

    /// One element, by value.
    ///
    /// # Errors
    ///
    /// `is_bounds`.
    #[inline(always)]
    pub fn get(&self, index: &[usize]) -> Result<Value> {
        // SAFETY: MemoryView 1; every lease permits racy loads.
        unsafe { load_value(self.ptr, &self.dtype, &self.layout, index) }
    }

    /// One element, by value and typed: as [`MemoryView::get`], without a [`Value`] between.
    ///
    /// # Errors
    ///
    /// `is_dtype` where the elements are others; `is_bounds`.
    #[inline]
    pub fn get_as<T: Element>(&self, index: &[usize]) -> Result<T> {
        // SAFETY: MemoryView 1; every lease permits racy loads.
        unsafe { load_as(self.ptr, &self.dtype, &self.layout, index) }
    }

    /// Writes one element, converted with a check.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_value` where the value does not fit; `is_read_only` under a Read or Pin
    /// lease.
    pub fn set(&mut self, index: &[usize], value: &Value) -> Result<()> {
        if self.is_readonly() {
            return Err(Error::new(
                Kind::ReadOnly,
                format!("a view under a {:?} lease is not written", self.lease.kind()),
            ));
        }
        // SAFETY: MemoryView 1 and 2, under a Write or a Share lease.
        unsafe { store_value(self.ptr, &self.dtype, &self.layout, index, value) }
    }

    /// The bytes of all elements in row-major order, copied (and counted).
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`, as for a broadcast array, whose elements may be many more than its
    /// bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let nbytes = self.nbytes();
        let mut bytes = try_with_capacity(nbytes)?;
        self.copy_to_uninit(&mut bytes.spare_capacity_mut()[..nbytes])?;
        // SAFETY: all of them were written.
        unsafe { bytes.set_len(nbytes) };
        Ok(bytes)
    }

    /// As [`to_bytes`](Self::to_bytes), to where the caller has room for [`nbytes`](Self::nbytes):
    /// all of it is written.
    ///
    /// ```
    /// use crossdock::view::{Request, view};
    /// use crossdock::{Array, s};
    ///
    /// let numbers = Array::from_vec(vec![1u8, 2, 3, 4], [4])?;
    /// let view = view(&numbers.slice(s![..;2])?, Request::read())?;
    /// let mut bytes = [0; 2];
    /// view.copy_to_slice(&mut bytes)?;
    /// assert_eq!(bytes, [1, 3]);
    /// assert!(view.copy_to_slice(&mut [0; 3]).unwrap_err().is_shape());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` where the room is another.
    pub fn copy_to_slice(&self, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the same bytes, which stay initialised, since nothing but bytes of elements is
        // written.
        let bytes = unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) };
        self.copy_to_uninit(bytes)
    }

    /// As [`copy_to_slice`](Self::copy_to_slice), where nothing was written yet.
    ///
    /// # Errors
    ///
    /// As [`copy_to_slice`](Self::copy_to_slice); nothing was written then.
    #[doc(hidden)]
    pub fn copy_to_uninit(&self, bytes: &mut [MaybeUninit<u8>]) -> Result<()> {
        if bytes.len() != self.nbytes() {
            let text =
                format!("there is room for {} bytes, and the elements have {}", bytes.len(), self.nbytes());
            return Err(Error::new(Kind::Shape, text));
        }
        // SAFETY: MemoryView 1; every lease permits racy loads; as many bytes, which are ours to
        // write.
        unsafe { kernel::gather(self.ptr.as_ptr(), &self.layout, bytes.as_mut_ptr().cast()) };
        Ok(())
    }

    // ===== back to handles

    /// Gives the lease back and keeps the array, read-only where the view is: what was lent to be
    /// read does not become writable.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the memory already has the maximum number of handles.
    pub fn into_array(self) -> Result<DArray> {
        let (raw, dtype, layout) = self.into_raw()?;
        // SAFETY: dtype and layout are the array's own.
        Ok(unsafe { DArray::from_raw(raw, dtype, layout) })
    }

    /// [`into_array`](Self::into_array), in parts. What cannot be had comes back.
    #[expect(clippy::result_large_err, reason = "what comes back is the view, in place")]
    fn into_raw(self) -> Result<(RawArray, DType, Layout), Rejected<Self>> {
        let readonly = self.is_readonly();
        let Self { lease, ptr, dtype, layout, grant } = self;
        match lease.into_handle() {
            // SAFETY: MemoryView 1 and 2: constant memory is read-only under every lease that it
            // gives.
            Ok(handle) => Ok((unsafe { RawArray::from_parts(handle, ptr, readonly) }, dtype, layout)),
            Err(Rejected { value: lease, error }) => {
                Err(Rejected { value: Self { lease, ptr, dtype, layout, grant }, error })
            }
        }
    }

    /// Another handle on the array, beside the lease; read-only where the view is.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the memory already has the maximum number of handles.
    pub fn to_array(&self) -> Result<DArray> {
        let handle = self.lease.to_handle()?;
        // SAFETY: MemoryView 1 and 2: constant memory is read-only under every lease that it gives.
        let raw = unsafe { RawArray::from_parts(handle, self.ptr, self.is_readonly()) };
        // SAFETY: dtype and layout are the array's own.
        Ok(unsafe { DArray::from_raw(raw, self.dtype.clone(), self.layout.clone()) })
    }

    pub(super) fn offer(&self) -> Offer {
        Offer::new(&self.dtype, &self.layout, self.place(), self.is_readonly())
    }

    /// What of the request this view does not fulfil.
    #[inline]
    pub(super) fn unfulfilled(&self, request: &Request) -> Option<Reason> {
        if self.lease.kind() != request.lease() {
            return Some(Reason::Unsupported(format!(
                "a {:?} lease was asked for, and the producer gave a {:?} lease",
                request.lease(),
                self.lease.kind()
            )));
        }
        let copied = self.grant.copied_nbytes();
        if self.grant.copied.is_made() && request.copy_policy() == CopyPolicy::Never {
            return Some(Reason::Unsupported(format!(
                "no copy was permitted, and the producer gave one of {copied} bytes"
            )));
        }
        if request.copy_policy() == CopyPolicy::Always && !self.grant.copied.is_made() {
            return Some(Reason::Unsupported(
                "a copy was asked for, and the producer lent its own memory: have the array export itself by the \
                 request"
                    .to_owned(),
            ));
        }
        request.mismatch(&self.dtype, &self.layout, self.place(), Reach::Host)
    }
}

impl<T: Element, const D: usize> TryFrom<MemoryView> for Array<T, D> {
    type Error = Rejected<MemoryView>;

    /// Gives the lease back and keeps the array, typed, read-only where the view is. O(`D`).
    /// Refused where dtype or rank is another one, the array is indirect, or there are as many
    /// handles as can be counted; the view is returned with the reason.
    fn try_from(view: MemoryView) -> Result<Self, Rejected<MemoryView>> {
        let layout = match view.check_dtype::<T>().and_then(|()| view.layout.to_fixed()) {
            Ok(layout) => layout,
            Err(error) => return Err(Rejected { value: view, error }),
        };
        let (raw, ..) = view.into_raw()?;
        // SAFETY: the layout is the view's own, for elements of its dtype, which is that of `T`.
        Ok(unsafe { Self::from_raw(raw, layout) })
    }
}

impl Show for MemoryView {
    fn head(&self) -> Head<'_> {
        Head {
            name: "MemoryView",
            dtype: self.dtype.clone(),
            shape: self.shape(),
            strides: self.strides(),
            address: self.as_ptr(),
            place: self.place(),
            more: format!(" under a {:?} lease", self.lease.kind()),
        }
    }

    fn look(&self, f: &mut dyn FnMut(&Elements)) -> Result<()> {
        // SAFETY: MemoryView 1; every lease permits racy loads.
        f(&unsafe { Elements::new(self.ptr, self.dtype.clone(), self.layout.clone()) });
        Ok(())
    }
}

printed!([] MemoryView);
