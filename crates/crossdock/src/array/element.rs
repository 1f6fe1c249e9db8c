//! One element at a time, by value, where it lies.

use std::ptr::NonNull;

use crate::array::load::{NO_VALUE, load_any, quick};
use crate::array::{Array, DArray, RawArray, other_dtype};
use crate::buffer::Buffer;
use crate::element::{DType, Element, Value};
use crate::error::Result;
use crate::kernel;
use crate::layout::Layout;
use crate::memory::{LeaseKind, Pod, racy};

impl<T: Element, const D: usize> Array<T, D> {
    /// One element, by value, under a Pin lease held for the call. Of memory on a device one
    /// element is copied (and counted), by the device: for many of them, copy the array.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_conflict` while a Write lease is held; as [`Buffer::copy_to`] for memory on
    /// a device.
    #[inline]
    pub fn get(&self, index: [usize; D]) -> Result<T> {
        let offset = self.layout().offset_of(index)?;
        match self.raw().glance(LeaseKind::Pin) {
            Some(_lease) => {
                let element = self.raw().ptr().as_ptr().wrapping_offset(offset);
                // SAFETY: an element (Array 1), under a lease.
                Ok(unsafe { racy::load(element.cast()) })
            }
            None => self.raw().get(offset),
        }
    }

    /// Writes one element, under a Share lease held for the call. To memory on a device one element
    /// is copied (and counted), by the device.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_conflict` while a Read or Write lease is held; `is_read_only`; as
    /// [`Buffer::copy_to`] for memory on a device.
    #[inline]
    pub fn set(&self, index: [usize; D], value: T) -> Result<()> {
        let offset = self.layout().offset_of(index)?;
        match self.raw().glance(LeaseKind::Share) {
            Some(_lease) => {
                let element = self.raw().ptr().as_ptr().wrapping_offset(offset);
                // SAFETY: an element (Array 1), under a Share lease.
                unsafe { racy::store(element.cast(), value) };
                Ok(())
            }
            None => self.raw().set(offset, value),
        }
    }
}

impl DArray {
    /// One element, by value, under a Pin lease held for the call. Of memory on a device one
    /// element is copied (and counted), by the device: for many of them, copy the array.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_conflict` while a Write lease is held; as [`Buffer::copy_to`] for memory on
    /// a device.
    #[inline(always)]
    pub fn get(&self, index: &[usize]) -> Result<Value> {
        // What can be found out before the lease is taken does not wait for it, and the value is
        // put together when it was given back.
        if let Some((kind, offset)) = quick(self.dtype(), self.layout(), index)
            && let Some(lease) = self.raw().glance(LeaseKind::Pin)
        {
            // SAFETY: an element (DArray 1 and 2), under a lease.
            let value = unsafe { Value::load_word(kind, self.raw().ptr().as_ptr().wrapping_offset(offset)) };
            drop(lease);
            if let Some(value) = value {
                return Ok(value);
            }
        }
        let mut value = NO_VALUE;
        self.get_any(index, &mut value)?;
        Ok(value)
    }

    /// Into a place of the caller's: see [`NO_VALUE`].
    #[inline(never)]
    fn get_any(&self, index: &[usize], value: &mut Value) -> Result<()> {
        if !self.place().is_host() {
            *value = self.fetch(index)?;
            return Ok(());
        }
        let _lease = self.lease(LeaseKind::Pin)?;
        // SAFETY: DArray 1 and 2, under a lease.
        unsafe { load_any(self.raw().ptr(), self.dtype(), self.layout(), index, value) }
    }

    /// One element, by value and typed: as [`DArray::get`], without a [`Value`] between.
    ///
    /// # Errors
    ///
    /// `is_dtype` where the elements are others; as [`DArray::get`].
    ///
    /// ```
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1.5f32, 2.5], [2])?);
    /// assert_eq!(array.get_as::<f32>(&[1])?, 2.5);
    /// assert!(array.get_as::<f64>(&[1]).unwrap_err().is_dtype());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    #[inline]
    pub fn get_as<T: Element>(&self, index: &[usize]) -> Result<T> {
        check_dtype::<T>(self.dtype())?;
        if let Some(offset) = self.layout().quick_offset(index)
            && let Some(_lease) = self.raw().glance(LeaseKind::Pin)
        {
            // SAFETY: an element of `T` (checked, DArray 1), under a lease.
            return Ok(unsafe { racy::load(self.raw().ptr().as_ptr().wrapping_offset(offset).cast()) });
        }
        self.get_any_as(index)
    }

    #[inline(never)]
    fn get_any_as<T: Element>(&self, index: &[usize]) -> Result<T> {
        if !self.place().is_host() {
            return self.raw().get(self.layout().offset_of(index)?);
        }
        let _lease = self.lease(LeaseKind::Pin)?;
        // SAFETY: DArray 1 and 2, under a lease.
        unsafe { load_as(self.raw().ptr(), self.dtype(), self.layout(), index) }
    }

    /// Writes one element, converted with a check, under a Share lease held for the call. To memory
    /// on a device one element is copied (and counted), by the device.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_value` where the value does not fit; `is_conflict` while a Read or Write
    /// lease is held; `is_read_only`; as [`Buffer::copy_to`] for memory on a device.
    pub fn set(&self, index: &[usize], value: &Value) -> Result<()> {
        if !self.place().is_host() {
            return self.send(index, value);
        }
        let _lease = self.lease(LeaseKind::Share)?;
        // SAFETY: DArray 1 and 2, under a Share lease.
        unsafe { store_value(self.raw().ptr(), self.dtype(), self.layout(), index, value) }
    }

    /// An element of memory on a device.
    #[cold]
    #[inline(never)]
    fn fetch(&self, index: &[usize]) -> Result<Value> {
        let offset = self.layout().offset_of(index)?;
        let bytes = self.raw().fetch_bytes(offset, self.dtype().itemsize())?;
        Value::read(self.dtype(), &bytes.read()?)
    }

    #[cold]
    fn send(&self, index: &[usize], value: &Value) -> Result<()> {
        let offset = self.layout().offset_of(index)?;
        let nbytes = self.dtype().itemsize();
        // Loaded first where it has parts: a record's padding stays as it is.
        let bytes = match self.dtype().as_scalar() {
            Some(_) => Buffer::zeroed(nbytes)?,
            None => self.raw().fetch_bytes(offset, nbytes)?,
        };
        value.write(self.dtype(), &mut bytes.write()?)?;
        self.raw().send_bytes(offset, &bytes)
    }
}

/// The slower ways. Of memory that the processor does not address, the device copies one element to
/// or from the host.
impl RawArray {
    /// The bytes of one element as a buffer.
    fn element(&self, offset: isize, nbytes: usize) -> Result<Buffer> {
        let at = self.ptr().as_ptr().wrapping_offset(offset);
        // SAFETY: an address within an allocation, hence not null.
        let at = unsafe { NonNull::new_unchecked(at) };
        // SAFETY: the offset of an element, of which there are so many bytes: inside the region
        // (RawArray 1), as on a device there are no indirect arrays.
        Ok(unsafe { Buffer::from_parts(self.handle().try_clone()?, at, nbytes, self.is_readonly()) })
    }

    fn fetch_bytes(&self, offset: isize, nbytes: usize) -> Result<Buffer> {
        let bytes = Buffer::zeroed(nbytes)?;
        self.element(offset, nbytes)?.copy_into(&bytes)?;
        Ok(bytes)
    }

    fn send_bytes(&self, offset: isize, bytes: &Buffer) -> Result<()> {
        bytes.copy_into(&self.element(offset, bytes.nbytes())?)
    }

    /// One element of `T`, which lies so many bytes from element 0, wherever that is, and waiting
    /// for what has to be waited for.
    #[cold]
    #[inline(never)]
    fn get<T: Pod>(&self, offset: isize) -> Result<T> {
        if !self.place().is_host() {
            return self.fetch_bytes(offset, size_of::<T>())?.pin()?.load(0);
        }
        let _lease = self.lease(LeaseKind::Pin)?;
        // SAFETY: an element (RawArray 1), under a lease.
        Ok(unsafe { racy::load(self.ptr().as_ptr().wrapping_offset(offset).cast()) })
    }

    #[cold]
    #[inline(never)]
    fn set<T: Pod>(&self, offset: isize, value: T) -> Result<()> {
        if !self.place().is_host() {
            let bytes = Buffer::zeroed(size_of::<T>())?;
            bytes.share()?.store(0, value)?;
            return self.send_bytes(offset, &bytes);
        }
        let _lease = self.lease(LeaseKind::Share)?;
        // SAFETY: an element (RawArray 1), under a Share lease.
        unsafe { racy::store(self.ptr().as_ptr().wrapping_offset(offset).cast(), value) };
        Ok(())
    }
}

#[inline]
fn check_dtype<T: Element>(dtype: &DType) -> Result<()> {
    let wanted = T::dtype();
    let same = match (dtype.as_scalar(), wanted.as_scalar()) {
        // As a rule: compared here, without a call.
        (Some(dtype), Some(wanted)) => dtype == wanted,
        _ => *dtype == wanted,
    };
    if same { Ok(()) } else { Err(other_dtype(dtype, &wanted)) }
}

/// As [`load_value`](crate::array::load_value), typed.
///
/// # Safety
///
/// As for [`load_value`](crate::array::load_value).
#[inline]
pub(crate) unsafe fn load_as<T: Element>(
    ptr: NonNull<u8>,
    dtype: &DType,
    layout: &Layout,
    index: &[usize],
) -> Result<T> {
    check_dtype::<T>(dtype)?;
    let element = match layout.quick_offset(index) {
        Some(offset) => ptr.as_ptr().wrapping_offset(offset),
        // SAFETY: the caller's word; pointers of a table are not written (RawArray 3).
        None => unsafe { kernel::element_at(ptr.as_ptr(), layout, index) }?,
    };
    // SAFETY: one element (the caller's word), of `T` as just checked.
    Ok(unsafe { racy::load(element.cast()) })
}

/// # Safety
///
/// The layout, of elements of the dtype, reaches from `ptr` only bytes that may be loaded and
/// stored racily.
pub(crate) unsafe fn store_value(
    ptr: NonNull<u8>,
    dtype: &DType,
    layout: &Layout,
    index: &[usize],
    value: &Value,
) -> Result<()> {
    // SAFETY: the caller's word; pointers of a table are not written (RawArray 3).
    let element = unsafe { kernel::element_at(ptr.as_ptr(), layout, index) }?;
    // Loaded first: a record's padding stays as it is.
    // SAFETY: one element (the caller's word).
    let mut bytes = unsafe { kernel::load_bytes(element, dtype.itemsize(), <[u8]>::to_vec) };
    value.write(dtype, &mut bytes)?;
    // SAFETY: one element (the caller's word).
    unsafe { racy::copy(bytes.as_ptr(), element, bytes.len()) };
    Ok(())
}
