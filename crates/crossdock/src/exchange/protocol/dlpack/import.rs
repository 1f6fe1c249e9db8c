//! Imports an array from a DLPack struct.

use std::ptr::NonNull;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::device;
use crate::element::DType;
use crate::element::dialect::dlpack::from_dlpack;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::dlpack::abi::{
    self, DLManagedTensor, DLManagedTensorVersioned, DLTensor, VERSION,
};
use crate::exchange::protocol::dlpack::managed::Managed;
use crate::layout::{Layout, MAX_RANK, Order};
use crate::memory::{Birth, DeviceKind, Place};

/// Imports an exported tensor without a copy. O(rank).
///
/// The deleter is called exactly once: when the last handle or lease is dropped, on any thread, or
/// before this returns an error.
///
/// The array is read-only if the tensor has the read-only flag. Its memory is [`Birth::Aliased`]:
/// share or pin it. A tensor flagged as a copy for this consumer is [`Birth::Sole`].
///
/// DLPack numbers the device of managed memory 0. The array gets the device that CUDA's driver
/// names, or 0 without a driver.
///
/// # Errors
///
/// `is_malformed` for a null struct, null data with elements, a null shape with axes, a negative
/// rank or length; `is_overflow` if lengths, strides, `byte_offset` or their sum leave the address
/// space; `is_unsupported` for another major version, for flags that only a later minor version
/// defines, for more than 64 axes, for a type that has no dtype here (lanes, unknown codes and
/// widths, elements packed into parts of bytes), and for a device other than OpenCL whose `data` is
/// a handle; `is_out_of_memory`. For handles also the errors of opening the device, `is_bounds` if
/// elements lie outside of the object, and those of
/// [`Device::wrap_object`](crate::device::Device::wrap_object).
///
/// # Safety
///
/// The pointer is null, or:
///
/// 1. It points to a struct that a producer exported to the caller, and no other party consumes it.
///
/// If its major version is 1, also:
///
/// 2. `shape` and `strides` are each null or point to `ndim` numbers.
/// 3. Where `data` is a handle, it is one of an object of the device's driver, alive until the
///    deleter is called.
/// 4. Until the deleter is called, all elements that shape and strides reach are memory of the
///    device. On the host they are initialised, valid for reads and, unless `READ_ONLY` is set, for
///    writes.
/// 5. Until then, other code writes the elements only atomically or in ways that this program's
///    memory model does not see. With `IS_COPIED`, no other code accesses them.
/// 6. The deleter may be called on any thread.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
///
/// let array = Array::from_vec(vec![1.5f32, 2.5], [2])?;
/// let tensor = dlpack::export_versioned(&array, &ExportOptions::new())?.into_raw();
/// // SAFETY: the tensor was just exported, and this is its only consumer.
/// let imported: Array<f32, 1> = unsafe { dlpack::import_versioned(tensor) }?.try_into()?;
/// assert_eq!(imported.pin()?.to_vec(), [1.5, 2.5]);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub unsafe fn import_versioned(tensor: *mut DLManagedTensorVersioned) -> Result<DArray> {
    // SAFETY: `# Safety`: the pointer is null or meets clauses 1 to 6, which are those of `import`.
    unsafe { import(tensor) }
}

/// As [`import_versioned`], for the struct from before version 1.0. The array is read-only: that
/// struct has no read-only flag, and some producers export constant memory in it.
///
/// # Errors
///
/// As [`import_versioned`].
///
/// # Safety
///
/// As for [`import_versioned`], but in clause 4 the elements need not be valid for writes.
pub unsafe fn import_legacy(tensor: *mut DLManagedTensor) -> Result<DArray> {
    // SAFETY: `# Safety`: the pointer is null or meets the clauses of `import`; the array becomes
    // read-only here, before any code can write it.
    unsafe { import(tensor) }.map(DArray::into_readonly)
}

/// As [`import_legacy`], for a producer that, as the caller knows, permits writes: the array is
/// writable.
///
/// # Errors
///
/// As [`import_versioned`].
///
/// # Safety
///
/// As for [`import_versioned`].
pub unsafe fn import_legacy_writable(tensor: *mut DLManagedTensor) -> Result<DArray> {
    // SAFETY: `# Safety`: the pointer is null or meets clauses 1 to 6 of `import_versioned`, which
    // are those of `import`.
    unsafe { import(tensor) }
}

/// # Safety
///
/// As for [`import_versioned`]. In clause 4 the elements need not be valid for writes if the caller
/// makes the array read-only before it passes it on.
unsafe fn import<M: Managed>(tensor: *mut M) -> Result<DArray> {
    let foreign =
        NonNull::new(tensor).map(ForeignTensor).ok_or_else(|| malformed("the pointer to the struct is null"));
    foreign.and_then(ForeignTensor::into_array).map_err(|error| error.within("importing a DLPack tensor"))
}

/// An exported tensor, not checked yet. Dropping it calls the deleter.
///
/// # Invariants
///
/// 1. It points to a struct that meets the clauses of `# Safety` of [`import_versioned`]. Its
///    deleter was not called yet, and no other party calls it.
struct ForeignTensor<M: Managed>(NonNull<M>);

// SAFETY: ForeignTensor 1: clause 6 permits the deleter on any thread; by clause 1 no other party
// uses the struct, which is plain data otherwise.
unsafe impl<M: Managed> Send for ForeignTensor<M> {}

impl<M: Managed> Drop for ForeignTensor<M> {
    fn drop(&mut self) {
        // SAFETY: ForeignTensor 1: the pointer leads to a struct of this kind, of whichever
        // version, that is not released yet.
        let deleter = unsafe { M::deleter(self.0.as_ptr()) };
        if let Some(deleter) = deleter {
            // SAFETY: ForeignTensor 1: the deleter was not called yet, and this drop makes the only
            // call.
            unsafe { deleter(self.0.as_ptr()) }
        }
    }
}

impl<M: Managed> ForeignTensor<M> {
    fn into_array(self) -> Result<DArray> {
        // SAFETY: ForeignTensor 1: the pointer leads to a struct of this kind, of whichever
        // version, that is not released yet.
        let version = unsafe { M::version(self.0.as_ptr()) };
        if version.major != VERSION.major {
            return Err(unsupported(format!(
                "its version is {}.{}; only {}.x is supported",
                version.major, version.minor, VERSION.major
            )));
        }
        let (tensor, flags) = {
            // SAFETY: ForeignTensor 1: the struct is live and no other party writes it; the check
            // above made sure of its major version, so all fields are there.
            let managed = unsafe { self.0.as_ref() };
            (*managed.tensor(), managed.flags())
        };
        let unknown = flags & !abi::KNOWN_FLAGS;
        if version.minor > VERSION.minor && unknown != 0 {
            return Err(unsupported(format!(
                "its flags {flags:#x} have unknown bits {unknown:#x} of version {}.{}; versions up to {}.{} \
                are supported",
                version.major, version.minor, VERSION.major, VERSION.minor
            )));
        }
        let place = place_of(&tensor);
        let abi::DLDataType { code, bits, lanes } = tensor.dtype;
        let dtype = from_dlpack(code, bits, lanes, flags & abi::IS_SUBBYTE_TYPE_PADDED != 0)?;
        // SAFETY: ForeignTensor 1, clause 2 of `import_versioned`: `shape` and `strides` are null
        // or point to `ndim` numbers.
        let layout = unsafe { layout(&tensor, dtype.itemsize()) }?;
        let birth = if flags & abi::IS_COPIED != 0 { Birth::Sole } else { Birth::Aliased };
        let readonly =
            |array: DArray| if flags & abi::READ_ONLY != 0 { array.into_readonly() } else { array };
        if !place.is_addressed() {
            return self.into_array_in_object(&tensor, place, dtype, layout, birth).map(readonly);
        }
        let begin = begin(&tensor, &layout)?;
        let span = layout.span();
        // SAFETY: ForeignTensor 1, clauses 4 and 5 of `import_versioned`: the elements, so the
        // bytes that the layout spans from `begin`, are memory of `place` until the deleter is
        // called, accessed by other code as `birth` says. `begin` refused what wraps around; what
        // `READ_ONLY` forbids to write becomes read-only below.
        let buffer = unsafe { Buffer::from_foreign(begin, span.nbytes(), place, birth, move || drop(self)) }?;
        DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs()).map(readonly)
    }

    /// An array in a driver's memory object, whose size the driver knows.
    fn into_array_in_object(
        self,
        tensor: &DLTensor,
        place: Place,
        dtype: DType,
        layout: Layout,
        birth: Birth,
    ) -> Result<DArray> {
        let is_handle = || format!("its data on {place} is a handle, not an address");
        let device = device::get(place).map_err(|error| error.within(is_handle()))?;
        if layout.is_empty() {
            // Without elements, the producer need not have an object.
            let nothing = Buffer::on(&device.memory(), 0)?;
            return DArray::from_buffer(
                nothing,
                dtype,
                Layout::contiguous(layout.shape(), layout.itemsize(), Order::RowMajor)?,
                0,
            );
        }
        let offset = usize::try_from(tensor.byte_offset).map_err(|_| {
            overflow(format!("its byte_offset of {} exceeds the address space", tensor.byte_offset))
        })?;
        // SAFETY: ForeignTensor 1, clauses 3 and 5 of `import_versioned`: `data` is an object of
        // the device's driver, alive until the deleter is called, and other code accesses it as
        // `birth` says. `keeping` below ties the deleter to the buffer.
        let whole = unsafe { device.wrap_object(tensor.data, birth) }?;
        let whole = whole.ok_or_else(|| unsupported(is_handle()))?;
        DArray::from_buffer(device::keeping(whole, self)?, dtype, layout, offset)
    }
}

/// The place of a tensor. DLPack numbers the device of CUDA's managed memory 0; CUDA's driver knows
/// the real one, as for CUDA's array interface. The number stays 0 if the driver does not answer.
fn place_of(tensor: &DLTensor) -> Place {
    let place = Place::from(tensor.device);
    if place.kind() != DeviceKind::CUDA_MANAGED || tensor.data.is_null() {
        return place;
    }
    let found = device::place_of(place.kind(), tensor.data.cast_const().cast());
    found.ok().flatten().filter(|found| found.kind() == place.kind()).unwrap_or(place)
}

/// Checks shape and strides.
///
/// # Safety
///
/// `shape` and `strides` are each null or point to `ndim` numbers.
unsafe fn layout(tensor: &DLTensor, itemsize: usize) -> Result<Layout> {
    let DLTensor { ndim, shape: shape_ptr, strides: strides_ptr, .. } = *tensor;
    let rank = usize::try_from(ndim).map_err(|_| malformed(format!("it has {ndim} axes")))?;
    if rank > MAX_RANK {
        return Err(unsupported(format!("it has {rank} axes; at most {MAX_RANK} are supported")));
    }
    if rank > 0 && shape_ptr.is_null() {
        return Err(malformed(format!("its shape is null, but it has {rank} axes")));
    }
    let (mut shape, mut strides) = ([0usize; MAX_RANK], [0isize; MAX_RANK]);
    let (shape, strides) = (&mut shape[..rank], &mut strides[..rank]);
    for (axis, len) in shape.iter_mut().enumerate() {
        // SAFETY: `# Safety`: `shape` is not null (checked above if there are axes), so it points
        // to `ndim` numbers, and `axis < rank`, which is `ndim`.
        let given = unsafe { shape_ptr.wrapping_add(axis).read_unaligned() };
        *len = usize::try_from(given).map_err(|_| malformed(format!("axis {axis} has length {given}")))?;
    }
    // Strides of an array without elements are never used.
    if strides_ptr.is_null() || shape.contains(&0) {
        return Layout::contiguous(shape, itemsize, Order::RowMajor);
    }
    for (axis, stride) in strides.iter_mut().enumerate() {
        // SAFETY: `# Safety`: `strides` is not null (checked above), so it points to `ndim`
        // numbers, and `axis < rank`, which is `ndim`.
        let given = unsafe { strides_ptr.wrapping_add(axis).read_unaligned() };
        *stride = match isize::try_from(given).ok().and_then(|given| given.checked_mul(itemsize as isize)) {
            Some(stride) => stride,
            // The stride of an axis of length 1 is never used either; some producers write
            // arbitrary values.
            None if shape[axis] == 1 => itemsize as isize,
            None => {
                return Err(overflow(format!(
                    "the stride of axis {axis}, {given} elements of {itemsize} bytes, is more than {} bytes",
                    isize::MAX
                )));
            }
        };
    }
    Layout::new(shape, strides, itemsize)
}

/// The address of the lowest byte of the array. It and the highest are in the address space.
fn begin(tensor: &DLTensor, layout: &Layout) -> Result<*mut u8> {
    let (data, byte_offset, span) = (tensor.data.cast::<u8>(), tensor.byte_offset, layout.span());
    if data.is_null() && !layout.is_empty() {
        return Err(malformed(format!("its data is null, but it has {} elements", layout.len())));
    }
    let outside = || {
        overflow(format!(
            "bytes {}..{} from address {data:p} plus a byte_offset of {byte_offset} exceed the address \
            space",
            span.low(),
            span.high()
        ))
    };
    let offset = usize::try_from(byte_offset).map_err(|_| outside())?;
    let first = data.addr().checked_add(offset).ok_or_else(outside)?;
    span.check_address(first).map(|begin| data.with_addr(begin)).map_err(|_| outside())
}

fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}

fn unsupported(text: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, text)
}

fn overflow(text: impl Into<String>) -> Error {
    Error::new(Kind::Overflow, text)
}
