//! Between typed and dynamic arrays, and copies into new memory.

use crate::array::{Array, DArray, RawArray};
use crate::element::{DType, Element};
use crate::error::{Error, Kind, Rejected, Result};
use crate::kernel;
use crate::layout::{Layout, Order};
use crate::memory::{Buffer, LeaseKind, UninitBuffer};

impl<T: Element, const D: usize> From<Array<T, D>> for DArray {
    /// O(`D`).
    fn from(array: Array<T, D>) -> Self {
        let (raw, layout) = array.into_raw();
        // SAFETY: the same layout at the same element 0, and `T`'s dtype has the size of `T` (Element 1).
        unsafe { Self::from_raw(raw, T::dtype(), layout.to_dynamic_trusted(size_of::<T>())) }
    }
}

impl<T: Element, const D: usize> TryFrom<DArray> for Array<T, D> {
    type Error = Rejected<DArray>;

    /// O(`D`). Refused where dtype or rank is another one; the array comes back with the reason.
    fn try_from(array: DArray) -> Result<Self, Rejected<DArray>> {
        let wanted = T::dtype();
        if *array.dtype() != wanted {
            let error = other_dtype(array.dtype(), &wanted);
            return Err(Rejected { value: array, error });
        }
        match array.layout().to_fixed::<D>() {
            Ok(layout) => {
                let (raw, ..) = array.into_raw();
                // SAFETY: the same layout at the same element 0; equal dtypes have equal item sizes.
                Ok(unsafe { Self::from_raw(raw, layout) })
            }
            Err(error) => Err(Rejected { value: array, error }),
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) fn other_dtype(given: &DType, wanted: &DType) -> Error {
    let (given, wanted) = (given.brief(), wanted.brief());
    Error::new(Kind::DType, format!("the elements are {given}, not {wanted}: cast them, or ask for {given}"))
}

impl DArray {
    /// The elements in new memory of the default pool, without gaps. Copies, and counts, [`DArray::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_conflict` while somebody holds Write; `is_place`.
    pub fn to_order(&self, order: Order) -> Result<Self> {
        let _lease = self.lease(LeaseKind::Pin)?;
        let mut fresh = UninitBuffer::new(self.nbytes())?;
        let dst = fresh.as_uninit_mut().as_mut_ptr().cast();
        // SAFETY: DArray 1, under a Pin lease; new memory of as many bytes.
        unsafe { self.gather(order, dst) }?;
        // SAFETY: every byte was written.
        let buffer = unsafe { fresh.assume_init() };
        Self::from_buffer(buffer, self.dtype().clone(), self.contiguous(order)?, 0)
    }

    /// The elements in shared memory, without gaps, for other processes. Copies, and counts, [`DArray::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_io`; `is_conflict` while somebody holds Write; `is_place`.
    pub fn to_shared(&self, order: Order) -> Result<Self> {
        let _lease = self.lease(LeaseKind::Pin)?;
        let buffer = Buffer::shared(self.nbytes())?;
        let shared = buffer.share()?;
        // SAFETY: DArray 1, under a Pin lease; new memory of as many bytes, under a Share lease.
        unsafe { self.gather(order, shared.as_ptr().cast_mut()) }?;
        drop(shared);
        Self::from_buffer(buffer, self.dtype().clone(), self.contiguous(order)?, 0)
    }

    /// The same array on memory that is sealed against writing, by anybody and for good: Read leases of it can be had. Copies nothing.
    /// See [`Buffer::into_sealed`](crate::memory::Buffer::into_sealed), of which it has the rules.
    ///
    /// # Errors
    ///
    /// As [`Buffer::into_sealed`](crate::memory::Buffer::into_sealed); the array comes back with the error.
    #[expect(clippy::result_large_err, reason = "what comes back is the array, in place")]
    pub fn into_sealed(self) -> Result<Self, Rejected<Self>> {
        let (buffer, offset) = match self.buffer() {
            Ok(parts) => parts,
            Err(error) => return Err(Rejected { value: self, error }),
        };
        let (raw, dtype, layout) = self.into_raw();
        drop(raw);
        let again = |buffer: Buffer| {
            let (handle, ptr, _, readonly) = buffer.into_parts();
            // SAFETY: the window is the layout's span, in which element 0 lies so deep.
            let ptr = unsafe { ptr.add(offset) };
            // SAFETY: the layout reaches the bytes of the window alone; a constant buffer is read-only (Buffer 2).
            let raw = unsafe { RawArray::from_parts(handle, ptr, readonly) };
            // SAFETY: as just said; dtype and layout came from one array.
            unsafe { Self::from_raw(raw, dtype, layout) }
        };
        match buffer.into_sealed() {
            Ok(buffer) => Ok(again(buffer)),
            Err(Rejected { value, error }) => Err(Rejected { value: again(value), error }),
        }
    }

    /// The elements converted to another dtype, one by one and with a check, in new memory without gaps. Copies, and
    /// counts, the bytes of the result.
    ///
    /// # Errors
    ///
    /// `is_value` where an element does not fit, with its index; `is_out_of_memory`; `is_conflict` while somebody holds
    /// Write; `is_place`.
    pub fn cast(&self, dtype: &DType, order: Order) -> Result<Self> {
        let _lease = self.lease(LeaseKind::Pin)?;
        let layout = Layout::contiguous(self.shape(), dtype.itemsize(), order)?;
        let mut fresh = UninitBuffer::new(layout.nbytes())?;
        let dst = fresh.as_uninit_mut().as_mut_ptr().cast();
        // SAFETY: DArray 1, under a Pin lease; new memory of as many bytes.
        unsafe { self.convert(dtype, order, dst) }?;
        // SAFETY: every byte was written.
        let buffer = unsafe { fresh.assume_init() };
        Self::from_buffer(buffer, dtype.clone(), layout, 0)
    }

    /// As [`DArray::cast`], in shared memory, for other processes.
    ///
    /// # Errors
    ///
    /// As [`DArray::cast`], and `is_io`.
    pub fn cast_shared(&self, dtype: &DType, order: Order) -> Result<Self> {
        let _lease = self.lease(LeaseKind::Pin)?;
        let layout = Layout::contiguous(self.shape(), dtype.itemsize(), order)?;
        let buffer = Buffer::shared(layout.nbytes())?;
        let shared = buffer.share()?;
        // SAFETY: DArray 1, under a Pin lease; new memory of as many bytes, under a Share lease.
        unsafe { self.convert(dtype, order, shared.as_ptr().cast_mut()) }?;
        drop(shared);
        Self::from_buffer(buffer, dtype.clone(), layout, 0)
    }

    /// # Safety
    ///
    /// Under a lease; as many elements of the dtype as the array has may be stored racily at `dst`, which is not the array's own.
    unsafe fn convert(&self, dtype: &DType, order: Order, dst: *mut u8) -> Result<()> {
        // SAFETY: DArray 1, and the caller's word.
        unsafe { kernel::cast(self.as_ptr(), self.dtype(), self.layout(), dst, dtype, order) }
    }

    fn contiguous(&self, order: Order) -> Result<Layout> {
        Layout::contiguous(self.shape(), self.dtype().itemsize(), order)
    }

    /// # Safety
    ///
    /// Under a lease; [`DArray::nbytes`] bytes at `dst` may be stored racily and are not the array's own.
    unsafe fn gather(&self, order: Order, dst: *mut u8) -> Result<()> {
        let layout = kernel::ordered(self.layout(), order)?;
        // SAFETY: DArray 1, and the caller's word.
        unsafe { kernel::gather(self.as_ptr(), &layout, dst) }
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The elements in new memory of the default pool, without gaps. Copies, and counts, [`Array::nbytes`].
    ///
    /// # Errors
    ///
    /// As [`DArray::to_order`].
    pub fn to_order(&self, order: Order) -> Result<Self> {
        Ok(Self::try_from(DArray::from(self.clone()).to_order(order)?)?)
    }
}
