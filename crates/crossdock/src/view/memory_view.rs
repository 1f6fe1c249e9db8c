//! An array held under a lease.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::array::CopyPolicy;
use crate::array::display::{DisplayHead, RacyElements, Show, printed};
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

/// An exported array: memory, dtype, shape and strides, held under a lease that is released when
/// this is dropped.
///
/// It keeps the memory alive by itself; the producer may be dropped. Its lease determines what it
/// permits:
///
/// | | Read | Write | Share | Pin |
/// |---|---|---|---|---|
/// | [`Self::as_view`], [`Self::as_slice`], [`Self::as_bytes`]: by reference | yes | yes | – | – |
/// | [`Self::as_view_mut`]: by mutable reference | – | yes | – | – |
/// | [`Self::get`], [`Self::to_bytes`]: by value | yes | yes | yes | yes |
/// | [`Self::set`]: by value | – | yes | yes | – |
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
/// 1. The layout, of elements of the dtype, goes with `ptr` in the lease's region, which is on the
///    host (RawArray 1).
/// 2. Under a Write or a Share lease, the producer's handle was writable.
pub struct MemoryView {
    grant: Grant,
    ptr: NonNull<u8>,
    dtype: DType,
    layout: Layout,
}

// Compilers copy up to 128 bytes inline, and more by a call.
const _: () = assert!(size_of::<MemoryView>() <= 128);

// SAFETY: the lease is Send and keeps the region, which is plain data, alive on any thread (Header
// 1); every access through `ptr` is covered by it (Header 5).
unsafe impl Send for MemoryView {}
// SAFETY: methods with `&self` only load racily, or give references under a Read or Write lease;
// methods that write take `&mut self`.
unsafe impl Sync for MemoryView {}

impl MemoryView {
    /// # Safety
    ///
    /// 1. `lease` is one of the array's allocation, on the host, taken through the array.
    /// 2. `dtype` and `layout` are those that go with `array`.
    #[inline]
    pub(super) unsafe fn new(lease: Lease, array: &RawArray, dtype: DType, layout: Layout) -> Self {
        let grant = Grant { lease, copied: Copied::NOTHING };
        Self { grant, ptr: array.ptr(), dtype, layout }
    }

    /// Marks the view as one of a copy.
    pub(super) fn with_copied(mut self, copied: Copied) -> Self {
        self.grant.copied = copied;
        self
    }

    // ===== queries

    dynamic_queries! { self: self.layout, self.ptr }

    /// The device.
    #[inline]
    pub fn place(&self) -> Place {
        self.grant.lease.header().place()
    }

    /// Whether this view is read-only.
    #[inline]
    pub fn is_readonly(&self) -> bool {
        !matches!(self.grant.lease.kind(), LeaseKind::Write | LeaseKind::Share)
    }

    /// The grant: the lease, and whether a copy was made.
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
    /// lease, during which other holders may write.
    pub fn as_view<T: Element, const D: usize>(&self) -> Result<ArrayView<'_, T, D>> {
        self.check_constant("by reference")?;
        self.check_dtype::<T>()?;
        let layout = self.layout.to_fixed()?;
        check_aligned::<T, D>(self.ptr.addr().get(), &layout)?;
        // SAFETY: the direct layout (`to_fixed`) reaches only bytes of the region (MemoryView 1),
        // initialised (Header 3). The dtype and the alignment were checked above, and the Read or
        // Write lease keeps the elements constant while `self` is borrowed.
        Ok(unsafe { ArrayView::new(self.ptr, layout) })
    }

    /// The elements by mutable reference, typed. O(`D` log `D`).
    ///
    /// # Errors
    ///
    /// As [`MemoryView::as_view`], with `is_conflict` under any lease but Write.
    pub fn as_view_mut<T: Element, const D: usize>(&mut self) -> Result<ArrayViewMut<'_, T, D>> {
        self.check_lease(self.grant.lease.kind() == LeaseKind::Write, "by mutable reference")?;
        self.check_dtype::<T>()?;
        let layout = self.layout.to_fixed()?;
        check_aligned::<T, D>(self.ptr.addr().get(), &layout)?;
        // SAFETY: the direct layout (`to_fixed`) reaches only initialised bytes of the region
        // (MemoryView 1, Header 3), which are writable (MemoryView 2). Dtype and alignment were
        // checked above; the Write lease excludes other holders, and `&mut self` other access
        // through this view.
        unsafe { ArrayViewMut::new(self.ptr, layout) }
    }

    /// The elements as a slice, if they are C-contiguous (row-major). O(rank).
    ///
    /// # Errors
    ///
    /// As [`MemoryView::as_view`], and `is_layout` if the elements are not C-contiguous.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.check_constant("as a slice")?;
        self.check_dtype::<T>()?;
        self.check_row_major()?;
        let flat = FixedLayout::contiguous([self.len()], size_of::<T>(), Order::RowMajor)?;
        check_aligned::<T, 1>(self.ptr.addr().get(), &flat)?;
        let ptr = if self.is_empty() { NonNull::dangling() } else { self.ptr.cast() };
        // SAFETY: dtype, alignment and contiguity were checked above, so `self.len()` initialised
        // elements lie at `ptr` in the region (MemoryView 1, Header 3), constant under the Read or
        // Write lease; an empty slice needs only alignment.
        Ok(unsafe { std::slice::from_raw_parts(ptr.as_ptr(), self.len()) })
    }

    /// The bytes of all elements of any dtype, if they are C-contiguous (row-major). O(rank).
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
    /// `is_layout` if the elements are not C-contiguous; `is_conflict` under a Share or Pin lease,
    /// during which other holders may write.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        self.check_constant("as bytes")?;
        self.check_row_major()?;
        // SAFETY: contiguity was checked above, so `nbytes` initialised bytes lie at `ptr` in the
        // region (MemoryView 1, Header 3), constant under the Read or Write lease while `self` is
        // borrowed. Without elements, `ptr` is still not null.
        Ok(unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.nbytes()) })
    }

    fn check_row_major(&self) -> Result<()> {
        if self.layout.is_contiguous(Order::RowMajor) {
            return Ok(());
        }
        Err(Error::new(
            Kind::Layout,
            format!(
                "shape {:?} with strides {:?} is not C-contiguous (row-major): request that order, or take a view",
                self.shape(),
                self.strides()
            ),
        ))
    }

    fn check_constant(&self, how: &str) -> Result<()> {
        self.check_lease(matches!(self.grant.lease.kind(), LeaseKind::Read | LeaseKind::Write), how)
    }

    fn check_lease(&self, permitted: bool, how: &str) -> Result<()> {
        if permitted {
            return Ok(());
        }
        let kind = self.grant.lease.kind();
        Err(Error::new(Kind::Conflict, format!("a view under a {kind} lease does not give elements {how}")))
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
        // SAFETY: 1. MemoryView 1: the layout reaches only bytes that the lease, of any kind,
        // permits to load racily; 2. pointers of a table are never written (RawArray 3).
        unsafe { load_value(self.ptr, &self.dtype, &self.layout, index) }
    }

    /// One element as a `T`: like [`MemoryView::get`], without an intermediate [`Value`].
    ///
    /// # Errors
    ///
    /// `is_dtype` if the elements have another dtype; `is_bounds`.
    #[inline]
    pub fn get_as<T: Element>(&self, index: &[usize]) -> Result<T> {
        // SAFETY: 1. MemoryView 1: the layout reaches only bytes that the lease, of any kind,
        // permits to load racily; 2. pointers of a table are never written (RawArray 3).
        unsafe { load_as(self.ptr, &self.dtype, &self.layout, index) }
    }

    /// Writes one element, converted with a check.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_value` if the value does not fit; `is_read_only` under a Read or Pin lease.
    pub fn set(&mut self, index: &[usize], value: &Value) -> Result<()> {
        if self.is_readonly() {
            return Err(Error::new(
                Kind::ReadOnly,
                format!("a view under a {} lease cannot be written", self.grant.lease.kind()),
            ));
        }
        // SAFETY: 1. `is_readonly` found a Write or Share lease, under which the bytes that the
        // layout reaches may be loaded and stored racily (MemoryView 1 and 2); 2. pointers of a
        // table are never written (RawArray 3).
        unsafe { store_value(self.ptr, &self.dtype, &self.layout, index, value) }
    }

    /// The bytes of all elements in row-major order, copied (and counted).
    ///
    /// # Errors
    ///
    /// `is_fault` for a guarded map whose file shrank; `is_out_of_memory`, for example for a
    /// broadcast array, whose elements may take far more bytes than its memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let nbytes = self.nbytes();
        let mut bytes = try_with_capacity(nbytes)?;
        self.copy_to_uninit(&mut bytes.spare_capacity_mut()[..nbytes])?;
        // SAFETY: the capacity is at least `nbytes` (`try_with_capacity`), and `copy_to_uninit`
        // wrote all `nbytes` bytes.
        unsafe { bytes.set_len(nbytes) };
        Ok(bytes)
    }

    /// Like [`to_bytes`](Self::to_bytes), to a slice of exactly [`nbytes`](Self::nbytes) bytes, all
    /// of which are written.
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
    /// `is_shape` if the slice has another length; `is_fault` for a guarded map whose file shrank.
    pub fn copy_to_slice(&self, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the same exclusively borrowed bytes; `copy_to_uninit` writes only initialised
        // bytes of elements, so they stay initialised.
        let bytes = unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) };
        self.copy_to_uninit(bytes)
    }

    /// Like [`copy_to_slice`](Self::copy_to_slice), to uninitialised memory.
    ///
    /// # Errors
    ///
    /// As [`copy_to_slice`](Self::copy_to_slice).
    #[doc(hidden)]
    pub fn copy_to_uninit(&self, bytes: &mut [MaybeUninit<u8>]) -> Result<()> {
        if bytes.len() != self.nbytes() {
            let text =
                format!("the destination has {} bytes, but the elements have {}", bytes.len(), self.nbytes());
            return Err(Error::new(Kind::Shape, text));
        }
        // SAFETY: the layout reaches only bytes that the lease permits to load racily (MemoryView
        // 1); `bytes` has `nbytes` bytes, checked above, exclusively borrowed and hence separate.
        unsafe { kernel::gather(self.ptr.as_ptr(), &self.layout, bytes.as_mut_ptr().cast()) };
        self.grant.lease.header().check_fault()
    }

    // ===== back to handles

    /// Releases the lease and keeps the array. A read-only view becomes a read-only array, so
    /// memory that was exported for reading does not become writable.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the memory already has the maximum number of handles.
    pub fn into_array(self) -> Result<DArray> {
        let (raw, dtype, layout) = self.into_raw()?;
        // SAFETY: 1. `raw`, `layout` and `dtype` are the parts of this view, which go together
        // (MemoryView 1); 2. `layout` is of elements of `dtype`.
        Ok(unsafe { DArray::from_raw(raw, dtype, layout) })
    }

    /// [`into_array`](Self::into_array), as parts. On failure the view is returned.
    #[expect(clippy::result_large_err, reason = "what comes back is the view, in place")]
    fn into_raw(self) -> Result<(RawArray, DType, Layout), Rejected<Self>> {
        let readonly = self.is_readonly();
        let Self { grant: Grant { lease, copied }, ptr, dtype, layout } = self;
        match lease.into_handle() {
            // SAFETY: 1. the layout goes with `ptr` in the lease's region (MemoryView 1), which
            // `handle` keeps; 2. constant memory has only Read and Pin leases (MemoryView 2), for
            // which the view is read-only.
            Ok(handle) => Ok((unsafe { RawArray::from_parts(handle, ptr, readonly) }, dtype, layout)),
            Err(Rejected { value: lease, error }) => {
                let grant = Grant { lease, copied };
                Err(Rejected { value: Self { grant, ptr, dtype, layout }, error })
            }
        }
    }

    /// Returns another handle on the array and keeps the lease. The handle of a read-only view is
    /// read-only.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the memory already has the maximum number of handles.
    pub fn to_array(&self) -> Result<DArray> {
        let handle = self.grant.lease.to_handle()?;
        // SAFETY: 1. the layout goes with `ptr` in the lease's region (MemoryView 1), which
        // `handle` keeps; 2. constant memory has only Read and Pin leases (MemoryView 2), for which
        // the view is read-only.
        let raw = unsafe { RawArray::from_parts(handle, self.ptr, self.is_readonly()) };
        // SAFETY: 1. `raw` and the layout are those of this view, which go together (MemoryView
        // 1); 2. the layout is of elements of the dtype.
        Ok(unsafe { DArray::from_raw(raw, self.dtype.clone(), self.layout.clone()) })
    }

    pub(super) fn offer(&self) -> Offer {
        Offer::new(&self.dtype, &self.layout, self.place(), self.is_readonly())
    }

    /// The reason why this view does not fulfil the request, if any.
    #[inline]
    pub(super) fn unfulfilled(&self, request: &Request) -> Option<Reason> {
        if self.grant.lease.kind() != request.lease() {
            let text = format!(
                "a {} lease was requested, but the producer granted a {} lease",
                request.lease(),
                self.grant.lease.kind()
            );
            return Some(Reason::Unsupported(text.into()));
        }
        let copied = self.grant.copied_nbytes();
        if self.grant.copied.is_made() && request.copy_policy() == CopyPolicy::Never {
            let text = format!("no copy was permitted, but the producer copied {copied} bytes");
            return Some(Reason::Unsupported(text.into()));
        }
        if request.copy_policy() == CopyPolicy::Always && !self.grant.copied.is_made() {
            return Some(Reason::Unsupported(
                "a copy was requested, but the producer exported its own memory; it should pass the request to the \
                 array's own export"
                    .into(),
            ));
        }
        request.mismatch(&self.dtype, &self.layout, self.place(), Reach::Host)
    }
}

impl<T: Element, const D: usize> TryFrom<MemoryView> for Array<T, D> {
    type Error = Rejected<MemoryView>;

    /// Releases the lease and keeps the array, typed; a read-only view becomes a read-only array.
    /// O(`D`). Fails if the dtype or rank differs, the array is indirect, or the memory has the
    /// maximum number of handles; the view is returned with the reason.
    fn try_from(view: MemoryView) -> Result<Self, Rejected<MemoryView>> {
        let layout = match view.check_dtype::<T>().and_then(|()| view.layout.to_fixed()) {
            Ok(layout) => layout,
            Err(error) => return Err(Rejected { value: view, error }),
        };
        let (raw, ..) = view.into_raw()?;
        // SAFETY: Array 1: `layout` is that of the view, which goes with `raw` (MemoryView 1), and
        // `check_dtype` found its elements to be `T`s.
        Ok(unsafe { Self::from_raw(raw, layout) })
    }
}

impl Show for MemoryView {
    fn head(&self) -> DisplayHead<'_> {
        DisplayHead {
            name: "MemoryView",
            dtype: self.dtype.clone(),
            shape: self.shape(),
            strides: self.strides(),
            address: self.as_ptr(),
            place: self.place(),
            more: format!(" under a {:?} lease", self.grant.lease.kind()),
        }
    }

    fn with_elements(&self, f: &mut dyn FnMut(&RacyElements)) -> Result<()> {
        // SAFETY: RacyElements 1: the layout reaches only bytes that the lease, of any kind,
        // permits to load racily (MemoryView 1). RacyElements 2: pointers of a table are never
        // written (RawArray 3).
        f(&unsafe { RacyElements::new(self.ptr, self.dtype.clone(), self.layout.clone()) });
        Ok(())
    }
}

printed!([] MemoryView);
