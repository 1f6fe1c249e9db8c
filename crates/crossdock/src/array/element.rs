//! Loads and stores of single elements, by value, in place.

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
    /// One element, by value, under a Pin lease held for the call. In device memory, the device
    /// copies one element, which is counted: for many elements, copy the array.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_conflict` while a Write lease is held; as [`Buffer::copy_to`] for memory on
    /// a device.
    #[inline]
    pub fn get(&self, index: [usize; D]) -> Result<T> {
        let offset = self.layout().offset_of(index)?;
        match self.raw().brief_lease(LeaseKind::Pin) {
            Some(_lease) => {
                let element = self.raw().ptr().as_ptr().wrapping_offset(offset);
                // SAFETY: `offset_of` returned the offset of an element, so these are initialised
                // bytes of the region (Array 1, Header 3), under the Pin lease `_lease`.
                Ok(unsafe { racy::load(element.cast()) })
            }
            None => self.raw().get(offset),
        }
    }

    /// Writes one element, under a Share lease held for the call. In device memory, the device
    /// copies one element, which is counted.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_conflict` while a Read or Write lease is held; `is_read_only`; as
    /// [`Buffer::copy_to`] for memory on a device.
    #[inline]
    pub fn set(&self, index: [usize; D], value: T) -> Result<()> {
        let offset = self.layout().offset_of(index)?;
        match self.raw().brief_lease(LeaseKind::Share) {
            Some(_lease) => {
                let element = self.raw().ptr().as_ptr().wrapping_offset(offset);
                // SAFETY: `offset_of` returned the offset of an element, so these are bytes of the
                // region (Array 1), writable under the Share lease `_lease`.
                unsafe { racy::store(element.cast(), value) };
                Ok(())
            }
            None => self.raw().set(offset, value),
        }
    }
}

impl DArray {
    /// One element, by value, under a Pin lease held for the call. In device memory, the device
    /// copies one element, which is counted: for many elements, copy the array.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_conflict` while a Write lease is held; as [`Buffer::copy_to`] for memory on
    /// a device.
    #[inline(always)]
    pub fn get(&self, index: &[usize]) -> Result<Value> {
        // The offset is computed before the lease is taken, and the value is built after the lease
        // is released, to keep the lease short.
        if let Some((kind, offset)) = quick(self.dtype(), self.layout(), index)
            && let Some(lease) = self.raw().brief_lease(LeaseKind::Pin)
        {
            // SAFETY: `quick` returned the offset of an element of `kind` (DArray 1 and 2), whose
            // bytes are initialised (Header 3), under the Pin lease `lease`.
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

    /// Writes the element to `value`: see [`NO_VALUE`].
    #[inline(never)]
    fn get_any(&self, index: &[usize], value: &mut Value) -> Result<()> {
        if !self.place().is_host() {
            *value = self.fetch(index)?;
            return Ok(());
        }
        let _lease = self.lease(LeaseKind::Pin)?;
        // SAFETY: 1. DArray 1 and 2, under the Pin lease `_lease` of host memory; 2. pointers of a
        // table are never written (RawArray 3).
        unsafe { load_any(self.raw().ptr(), self.dtype(), self.layout(), index, value) }
    }

    /// One element as a `T`: like [`DArray::get`], without an intermediate [`Value`].
    ///
    /// # Errors
    ///
    /// `is_dtype` if the elements have another dtype; as [`DArray::get`].
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
            && let Some(_lease) = self.raw().brief_lease(LeaseKind::Pin)
        {
            // SAFETY: `quick_offset` returned the offset of an element (DArray 1), which is a `T`
            // (`check_dtype`), initialised (Header 3), under the Pin lease `_lease`.
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
        // SAFETY: 1. DArray 1 and 2, under the Pin lease `_lease` of host memory; 2. pointers of a
        // table are never written (RawArray 3).
        unsafe { load_as(self.raw().ptr(), self.dtype(), self.layout(), index) }
    }

    /// Writes one element, converted with a check, under a Share lease held for the call. In device
    /// memory, the device copies one element, which is counted.
    ///
    /// # Errors
    ///
    /// `is_bounds`; `is_value` if the value does not fit; `is_conflict` while a Read or Write lease
    /// is held; `is_read_only`; as [`Buffer::copy_to`] for memory on a device.
    pub fn set(&self, index: &[usize], value: &Value) -> Result<()> {
        if !self.place().is_host() {
            return self.send(index, value);
        }
        let _lease = self.lease(LeaseKind::Share)?;
        // SAFETY: 1. DArray 1 and 2, under the Share lease `_lease` of host memory; 2. pointers of
        // a table are never written (RawArray 3).
        unsafe { store_value(self.raw().ptr(), self.dtype(), self.layout(), index, value) }?;
        self.check_fault()
    }

    /// Loads an element from device memory.
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
        // A record or sub-array is loaded first, so its padding keeps its bytes.
        let bytes = match self.dtype().as_scalar() {
            Some(_) => Buffer::zeroed(nbytes)?,
            None => self.raw().fetch_bytes(offset, nbytes)?,
        };
        value.write(self.dtype(), &mut bytes.write()?)?;
        self.raw().send_bytes(offset, &bytes)
    }
}

/// The slow paths. The device copies one element to or from the host if the CPU cannot address the
/// memory.
impl RawArray {
    /// The bytes of one element as a buffer.
    fn element(&self, offset: isize, nbytes: usize) -> Result<Buffer> {
        let at = self.ptr().as_ptr().wrapping_offset(offset);
        // SAFETY: `at` is the address of an element, inside the region (RawArray 1), which begins
        // at a non-null address and does not wrap.
        let at = unsafe { NonNull::new_unchecked(at) };
        // SAFETY: the caller passes the offset and the size of an element; its bytes lie in the
        // region (RawArray 1), because device memory has no indirect arrays. `readonly` is set for
        // constant memory (RawArray 2).
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

    /// Loads the element `offset` bytes from element 0, on any place, after waiting for pending
    /// work.
    #[cold]
    #[inline(never)]
    fn get<T: Pod>(&self, offset: isize) -> Result<T> {
        if !self.place().is_host() {
            return self.fetch_bytes(offset, size_of::<T>())?.pin()?.load(0);
        }
        let _lease = self.lease(LeaseKind::Pin)?;
        // SAFETY: the caller passes the offset of an element of `T`: initialised bytes of the
        // region (RawArray 1, Header 3), under the Pin lease `_lease`.
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
        // SAFETY: the caller passes the offset of an element of `T`: bytes of the region (RawArray
        // 1), writable under the Share lease `_lease`.
        unsafe { racy::store(self.ptr().as_ptr().wrapping_offset(offset).cast(), value) };
        Ok(())
    }
}

#[inline]
fn check_dtype<T: Element>(dtype: &DType) -> Result<()> {
    let wanted = T::dtype();
    let same = match (dtype.as_scalar(), wanted.as_scalar()) {
        // The usual case: compared inline, without a call.
        (Some(dtype), Some(wanted)) => dtype == wanted,
        _ => *dtype == wanted,
    };
    if same { Ok(()) } else { Err(other_dtype(dtype, &wanted)) }
}

/// [`load_value`](crate::array::load_value) as a `T`.
///
/// # Safety
///
/// 1. `layout`, of elements of `dtype`, reaches from `ptr` only bytes that may be loaded racily.
/// 2. Pointers that `layout` follows from `ptr` may be read, and are never written.
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
        // SAFETY: clause 2 of `# Safety`: the pointers that `layout` follows from `ptr` may be
        // read, and are never written.
        None => unsafe { kernel::element_at(ptr.as_ptr(), layout, index) }?,
    };
    // SAFETY: clause 1 of `# Safety`: `element` is the address of an element that may be loaded
    // racily; `check_dtype` found it to be a `T`.
    Ok(unsafe { racy::load(element.cast()) })
}

/// # Safety
///
/// 1. `layout`, of elements of `dtype`, reaches from `ptr` only bytes that may be loaded and stored
///    racily.
/// 2. Pointers that `layout` follows from `ptr` may be read, and are never written.
pub(crate) unsafe fn store_value(
    ptr: NonNull<u8>,
    dtype: &DType,
    layout: &Layout,
    index: &[usize],
    value: &Value,
) -> Result<()> {
    // SAFETY: clause 2 of `# Safety`: the pointers that `layout` follows from `ptr` may be read,
    // and are never written.
    let element = unsafe { kernel::element_at(ptr.as_ptr(), layout, index) }?;
    // Loaded first, so that a record's padding keeps its bytes.
    // SAFETY: clause 1 of `# Safety`: `element` is the address of an element of `itemsize` bytes,
    // which may be loaded racily.
    let mut bytes = unsafe { kernel::load_bytes(element, dtype.itemsize(), <[u8]>::to_vec) };
    value.write(dtype, &mut bytes)?;
    // SAFETY: clause 1 of `# Safety`: the element's bytes may be stored racily; `bytes` is a
    // separate vector of the same length.
    unsafe { racy::copy(bytes.as_ptr(), element, bytes.len()) };
    Ok(())
}
