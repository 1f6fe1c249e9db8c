//! From a DLPack struct to an array.

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

/// Takes over a tensor that was lent. O(rank), and copies nothing.
///
/// The deleter is called exactly once: when the last handle or lease goes, on whichever thread that is, or before this
/// returns an error.
///
/// The array is read-only where the tensor says so. Its memory is [`Birth::Aliased`]: share or pin it. A tensor that
/// says that it is a copy made for us is [`Birth::Sole`].
///
/// The device of managed memory, which DLPack numbers 0, is the one that CUDA's driver names;
/// without a driver it is 0.
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
/// The pointer is null, or to a struct that somebody lent to the caller and nobody else consumes; where its major version
/// is 1,
///
/// - `shape` and `strides`, unless they are null, point to as many numbers as there are axes;
/// - where `data` is a handle, it is one of an object of the device's driver, alive until the deleter is called;
/// - until the deleter is called, all elements that shape and strides reach are memory of the device: on the host
///   initialised, valid for reads, and unless `READ_ONLY` is set for writes. Who else writes them does so in ways that
///   this program's memory model does not see or that are atomic; with `IS_COPIED`, nobody else touches them;
/// - the deleter may be called on any thread.
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
///
/// let array = Array::from_vec(vec![1.5f32, 2.5], [2])?;
/// let tensor = dlpack::export_versioned(&array, &ExportOptions::new())?.into_raw();
/// // SAFETY: the tensor was just exported, and nobody else consumes it.
/// let imported: Array<f32, 1> = unsafe { dlpack::import_versioned(tensor) }?.try_into()?;
/// assert_eq!(imported.pin()?.to_vec(), [1.5, 2.5]);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub unsafe fn import_versioned(tensor: *mut DLManagedTensorVersioned) -> Result<DArray> {
    // SAFETY: the caller's word.
    unsafe { import(tensor) }
}

/// As [`import_versioned`], for the struct from before version 1.0. The array is read-only: there are producers that lend
/// constant memory in this struct, which cannot say so.
///
/// # Errors
///
/// As [`import_versioned`].
///
/// # Safety
///
/// As for [`import_versioned`], but the elements need not be valid for writes.
pub unsafe fn import_legacy(tensor: *mut DLManagedTensor) -> Result<DArray> {
    // SAFETY: the caller's word.
    unsafe { import_legacy_writable(tensor) }.map(DArray::into_readonly)
}

/// As [`import_legacy`], with the caller's word that the producer permits writing.
///
/// # Errors
///
/// As [`import_versioned`].
///
/// # Safety
///
/// As for [`import_versioned`].
pub unsafe fn import_legacy_writable(tensor: *mut DLManagedTensor) -> Result<DArray> {
    // SAFETY: the caller's word.
    unsafe { import(tensor) }
}

/// # Safety
///
/// As for [`import_versioned`].
unsafe fn import<M: Managed>(tensor: *mut M) -> Result<DArray> {
    let foreign =
        NonNull::new(tensor).map(Foreign).ok_or_else(|| malformed("the pointer to the struct is null"));
    foreign.and_then(Foreign::into_array).map_err(|error| error.within("importing a DLPack tensor"))
}

/// A tensor that was lent to us, about which nothing is known yet. Dropping it gives it back.
///
/// # Invariants
///
/// 1. It points to a struct that obeys the safety section of [`import_versioned`], whose deleter was not called yet and is
///    called by nobody else.
struct Foreign<M: Managed>(NonNull<M>);

// SAFETY: the deleter may be called on any thread (Foreign 1), and the rest is plain data that nobody else uses.
unsafe impl<M: Managed> Send for Foreign<M> {}

impl<M: Managed> Drop for Foreign<M> {
    fn drop(&mut self) {
        // SAFETY: Foreign 1.
        let deleter = unsafe { M::deleter(self.0.as_ptr()) };
        if let Some(deleter) = deleter {
            // SAFETY: Foreign 1: this is the one call.
            unsafe { deleter(self.0.as_ptr()) }
        }
    }
}

impl<M: Managed> Foreign<M> {
    fn into_array(self) -> Result<DArray> {
        // SAFETY: Foreign 1.
        let version = unsafe { M::version(self.0.as_ptr()) };
        if version.major != VERSION.major {
            return Err(unsupported(format!(
                "its version is {}.{}, and {}.x is what is understood",
                version.major, version.minor, VERSION.major
            )));
        }
        let (tensor, flags) = {
            // SAFETY: Foreign 1, and the version says that it is this struct.
            let managed = unsafe { self.0.as_ref() };
            (*managed.tensor(), managed.flags())
        };
        let unknown = flags & !abi::KNOWN_FLAGS;
        if version.minor > VERSION.minor && unknown != 0 {
            return Err(unsupported(format!(
                "its flags {flags:#x} have bits {unknown:#x} of version {}.{}, and up to {}.{} is understood",
                version.major, version.minor, VERSION.major, VERSION.minor
            )));
        }
        let place = place_of(&tensor);
        let abi::DLDataType { code, bits, lanes } = tensor.dtype;
        let dtype = from_dlpack(code, bits, lanes, flags & abi::IS_SUBBYTE_TYPE_PADDED != 0)?;
        // SAFETY: Foreign 1: shape and strides are null or point to `ndim` numbers.
        let layout = unsafe { layout(&tensor, dtype.itemsize()) }?;
        let birth = if flags & abi::IS_COPIED != 0 { Birth::Sole } else { Birth::Aliased };
        let readonly =
            |array: DArray| if flags & abi::READ_ONLY != 0 { array.into_readonly() } else { array };
        if !place.is_addressed() {
            return self.into_array_in_object(&tensor, place, dtype, layout, birth).map(readonly);
        }
        let begin = begin(&tensor, &layout)?;
        let span = layout.span();
        // SAFETY: from `begin`, as many bytes as the layout spans are memory of the place, to be used so until the deleter
        // is called (Foreign 1); `begin` refused what wraps around.
        let buffer = unsafe { Buffer::from_foreign(begin, span.nbytes(), place, birth, move || drop(self)) }?;
        DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs()).map(readonly)
    }

    /// An array in a driver's memory object, of which the driver knows the size.
    fn into_array_in_object(
        self,
        tensor: &DLTensor,
        place: Place,
        dtype: DType,
        layout: Layout,
        birth: Birth,
    ) -> Result<DArray> {
        let is_handle = || format!("on {place}, data is a handle and not an address");
        let device = device::get(place).map_err(|error| error.within(is_handle()))?;
        if layout.is_empty() {
            // Without elements there need not be an object either.
            let nothing = Buffer::on(&device.memory(), 0)?;
            return DArray::from_buffer(
                nothing,
                dtype,
                Layout::contiguous(layout.shape(), layout.itemsize(), Order::RowMajor)?,
                0,
            );
        }
        let offset = usize::try_from(tensor.byte_offset).map_err(|_| {
            overflow(format!("a byte_offset of {} leaves the address space", tensor.byte_offset))
        })?;
        // SAFETY: an object that is alive until the deleter is called (Foreign 1), which the buffer keeps; who else touches it is as said.
        let whole = unsafe { device.wrap_object(tensor.data, birth) }?;
        let whole = whole.ok_or_else(|| unsupported(is_handle()))?;
        DArray::from_buffer(device::keeping(whole, self)?, dtype, layout, offset)
    }
}

/// Where a tensor is. DLPack numbers the device of CUDA's managed memory 0, whichever it is; the
/// driver knows it, as for CUDA's array interface. The number stays 0 if
/// the driver does not answer.
fn place_of(tensor: &DLTensor) -> Place {
    let place = Place::from(tensor.device);
    if place.kind() != DeviceKind::CUDA_MANAGED || tensor.data.is_null() {
        return place;
    }
    let found = device::place_of(place.kind(), tensor.data.cast_const().cast());
    found.ok().flatten().filter(|found| found.kind() == place.kind()).unwrap_or(place)
}

/// Shape and strides, checked.
///
/// # Safety
///
/// Where they are not null, `shape` and `strides` point to `ndim` numbers.
unsafe fn layout(tensor: &DLTensor, itemsize: usize) -> Result<Layout> {
    let DLTensor { ndim, shape: shape_ptr, strides: strides_ptr, .. } = *tensor;
    let rank = usize::try_from(ndim).map_err(|_| malformed(format!("it has {ndim} axes")))?;
    if rank > MAX_RANK {
        return Err(unsupported(format!("it has {rank} axes, and {MAX_RANK} is the most")));
    }
    if rank > 0 && shape_ptr.is_null() {
        return Err(malformed(format!("its shape is null, for {rank} axes")));
    }
    let (mut shape, mut strides) = ([0usize; MAX_RANK], [0isize; MAX_RANK]);
    let (shape, strides) = (&mut shape[..rank], &mut strides[..rank]);
    for (axis, len) in shape.iter_mut().enumerate() {
        // SAFETY: one of `ndim` numbers (the caller's word).
        let given = unsafe { shape_ptr.wrapping_add(axis).read_unaligned() };
        *len =
            usize::try_from(given).map_err(|_| malformed(format!("axis {axis} has the length {given}")))?;
    }
    // Without elements the strides are never used, whatever they are.
    if strides_ptr.is_null() || shape.contains(&0) {
        return Layout::contiguous(shape, itemsize, Order::RowMajor);
    }
    for (axis, stride) in strides.iter_mut().enumerate() {
        // SAFETY: one of `ndim` numbers (the caller's word).
        let given = unsafe { strides_ptr.wrapping_add(axis).read_unaligned() };
        *stride = match (given as isize).checked_mul(itemsize as isize) {
            Some(stride) => stride,
            // Nor is that of an axis of length 1; people leave there what they like.
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

/// The address of the lowest byte that the array touches, which together with the highest lies in the address space.
fn begin(tensor: &DLTensor, layout: &Layout) -> Result<*mut u8> {
    let (data, byte_offset, span) = (tensor.data.cast::<u8>(), tensor.byte_offset, layout.span());
    if data.is_null() && !layout.is_empty() {
        return Err(malformed(format!("its data is null, for {} elements", layout.len())));
    }
    let outside = || {
        overflow(format!(
            "address {data:p} plus a byte_offset of {byte_offset}, bytes {}..{} from there, leaves the address space",
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
