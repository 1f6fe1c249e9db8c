//! Devices: where memory is, and copies to other places.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crossdock::array::ArrayOptions;
use crossdock::buffer::Buffer;
use crossdock::device::{self, Event, MemoryManager, Usage};
use crossdock::element::DType;
use crossdock::memory::{DeviceKind, Place};

use crate::array::convert::casting_of;
use crate::array::make::zeros;
use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::Result;
use crate::foreign::{emptied, given, string, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::stream::{XdEvent, XdStream};

macro_rules! kinds {
    ($($name:ident = $kind:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            pub const $name: i32 = DeviceKind::$kind.0;
        )*
    };
}

kinds! {
    XD_DEVICE_CPU = CPU;
    XD_DEVICE_CUDA = CUDA;
    XD_DEVICE_CUDA_HOST = CUDA_HOST;
    XD_DEVICE_OPENCL = OPENCL;
    XD_DEVICE_VULKAN = VULKAN;
    XD_DEVICE_METAL = METAL;
    XD_DEVICE_ROCM = ROCM;
    XD_DEVICE_ROCM_HOST = ROCM_HOST;
    XD_DEVICE_EXT_DEV = EXT_DEV;
    XD_DEVICE_CUDA_MANAGED = CUDA_MANAGED;
    XD_DEVICE_ONEAPI = ONEAPI;
}

pub(crate) fn place_of(kind: i32, ordinal: i32) -> Place {
    Place::new(DeviceKind(kind), ordinal)
}

fn memory_of(kind: i32, ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    Ok(device::memory(place_of(kind, ordinal))?)
}

/// `xd_usage`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct XdUsage {
    /// Bytes in use.
    pub live_nbytes: u64,
    /// Allocations in use.
    pub live_count: u64,
    /// The most bytes that were in use.
    pub peak_nbytes: u64,
}

impl From<Usage> for XdUsage {
    fn from(of: Usage) -> Self {
        Self { live_nbytes: of.live_nbytes, live_count: of.live_count, peak_nbytes: of.peak_nbytes }
    }
}

// ===== devices

/// Registers the devices of CUDA.
#[unsafe(no_mangle)]
pub extern "C" fn xd_device_register_cuda(error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        crossdock_cuda::register()?;
        Ok(true)
    })
}

/// Registers the devices of OpenCL.
#[unsafe(no_mangle)]
pub extern "C" fn xd_device_register_opencl(error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        crossdock_opencl::register()?;
        Ok(true)
    })
}

/// A place as text.
#[unsafe(no_mangle)]
pub extern "C" fn xd_device_to_text(kind: i32, ordinal: i32, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(place_of(kind, ordinal).to_string()))
}

/// A place from text.
///
/// # Safety
///
/// `text` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_device_parse(
    text: *const c_char,
    kind: Option<&mut MaybeUninit<i32>>,
    ordinal: Option<&mut MaybeUninit<i32>>,
    error: ErrorOut<'_>,
) -> bool {
    let (kind, ordinal) = (emptied(kind, 0), emptied(ordinal, 0));
    fallible(error, || {
        // SAFETY: `# Safety`: null or a C string that nothing writes during the call.
        let place: Place = unsafe { self::text(text, "text") }?.parse()?;
        if let Some(kind) = kind {
            *kind = place.kind().0;
        }
        if let Some(ordinal) = ordinal {
            *ordinal = place.ordinal();
        }
        Ok(true)
    })
}

/// The device's name for people. Opens it.
#[unsafe(no_mangle)]
pub extern "C" fn xd_device_name(kind: i32, ordinal: i32, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(device::get(place_of(kind, ordinal))?.name()))
}

/// Stores the kinds that have drivers, at most `capacity`, and returns their number.
///
/// # Safety
///
/// `kinds` is null, or points to `capacity` numbers that only this call accesses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_device_kinds(kinds: *mut i32, capacity: usize) -> usize {
    answer(|| {
        let known = device::kinds();
        let room = if kinds.is_null() { 0 } else { capacity };
        for (index, kind) in known.iter().take(room).enumerate() {
            // SAFETY: `# Safety`: `index` is below the capacity, and the list is not null, since
            // `room` is 0 otherwise.
            unsafe { kinds.wrapping_add(index).write(kind.0) };
        }
        known.len()
    })
}

/// The memory in use on a device.
#[unsafe(no_mangle)]
pub extern "C" fn xd_device_usage(
    kind: i32,
    ordinal: i32,
    usage: Option<&mut MaybeUninit<XdUsage>>,
    error: ErrorOut<'_>,
) -> bool {
    let out = emptied(usage, XdUsage::default());
    fallible(error, || {
        *given(out, "usage")? = memory_of(kind, ordinal)?.usage().into();
        Ok(true)
    })
}

/// The errors of releasing memory since the last call, a line for each.
#[unsafe(no_mangle)]
pub extern "C" fn xd_device_take_release_errors(error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || {
        let taken = device::take_release_errors();
        let lines =
            taken.errors.iter().map(|(place, error)| format!("{place}: {error}\n")).collect::<String>();
        string(if taken.lost > 0 { format!("{lines}and {} more\n", taken.lost) } else { lines })
    })
}

// ===== places of memory

/// The kind of an array's device; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_device_kind(array: Option<&XdArray>) -> i32 {
    answer(|| array.map_or(0, |array| array.array().place().kind().0))
}

/// The number of an array's device.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_device_ordinal(array: Option<&XdArray>) -> i32 {
    answer(|| array.map_or(0, |array| array.array().place().ordinal()))
}

/// The kind of a buffer's device; 0 for null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_device_kind(buffer: Option<&Buffer>) -> i32 {
    answer(|| buffer.map_or(0, |buffer| buffer.place().kind().0))
}

/// The number of a buffer's device.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_device_ordinal(buffer: Option<&Buffer>) -> i32 {
    answer(|| buffer.map_or(0, |buffer| buffer.place().ordinal()))
}

/// New memory of a device.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_on_device(
    kind: i32,
    ordinal: i32,
    nbytes: usize,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || hand_over(Buffer::on(&memory_of(kind, ordinal)?, nbytes)?))
}

/// A new array of zeros on a device.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_zeros_on_device(
    dtype: Option<&DType>,
    ndim: usize,
    shape: *const isize,
    order: i32,
    kind: i32,
    ordinal: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let options = ArrayOptions::new().place(place_of(kind, ordinal));
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers that nothing writes
        // during the call.
        unsafe { zeros(dtype, ndim, shape, order, options) }
    })
}

// ===== copies

/// A copy of the bytes on a device.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_to_device(
    buffer: Option<&Buffer>,
    kind: i32,
    ordinal: i32,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || hand_over(given(buffer, "buffer")?.copy_to(&memory_of(kind, ordinal)?)?))
}

/// A copy of the elements on a device.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_to_device(
    array: Option<&XdArray>,
    kind: i32,
    ordinal: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.copy_to(&memory_of(kind, ordinal)?)?))
}

/// The same elements as memory of a device; null without an error where that is impossible.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_map_to_device(
    array: Option<&XdArray>,
    kind: i32,
    ordinal: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let mapped = array_of(array, "array")?.map_to(&memory_of(kind, ordinal)?)?;
        mapped.map_or(Ok(None), hand_over_array)
    })
}

/// Stores an event of queued work, if there is one and the caller wants it.
fn store(event: Option<Arc<dyn Event>>, out: Option<&mut Handle<XdEvent>>) -> Result<()> {
    if let (Some(event), Some(out)) = (event, out) {
        *out = hand_over(XdEvent(event))?;
    }
    Ok(())
}

/// As [`xd_array_to_device`], in a stream; without one, the work is done when it returns.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_to_device_in(
    array: Option<&XdArray>,
    kind: i32,
    ordinal: i32,
    stream: Option<&XdStream>,
    event: Option<&mut MaybeUninit<Handle<XdEvent>>>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    let out = emptied(event, None);
    fallible(error, || {
        let array = array_of(array, "array")?;
        let memory = memory_of(kind, ordinal)?;
        let Some(stream) = stream else { return hand_over_array(array.copy_to(&memory)?) };
        let placed = array.copy_to_in(&memory, &*stream.0)?;
        store(placed.event, out)?;
        hand_over_array(placed.array)
    })
}

/// As `xd_array_assign`, in a stream; without one, the work is done when it returns.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_assign_in(
    array: Option<&XdArray>,
    source: Option<&XdArray>,
    casting: i32,
    stream: Option<&XdStream>,
    event: Option<&mut MaybeUninit<Handle<XdEvent>>>,
    error: ErrorOut<'_>,
) -> bool {
    let out = emptied(event, None);
    fallible(error, || {
        let (array, source) = (array_of(array, "array")?, array_of(source, "source")?);
        let casting = casting_of(casting)?;
        match stream {
            Some(stream) => store(array.assign_in(source, casting, &*stream.0)?, out)?,
            None => array.assign(source, casting)?,
        }
        Ok(true)
    })
}

/// Waits for the work that is noted on an array's memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_wait(array: Option<&XdArray>, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        for (event, _) in array_of(array, "array")?.buffer()?.0.events()? {
            event.wait()?;
        }
        Ok(true)
    })
}

/// Waits, and forgets failed work.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_settle(array: Option<&XdArray>, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        array_of(array, "array")?.buffer()?.0.settle()?;
        Ok(true)
    })
}
