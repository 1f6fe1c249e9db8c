//! DLPack, imports and exports: capsules around the library's structs.

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossdock::DArray;
use crossdock::array::CopyPolicy;
use crossdock::device;
use crossdock::exchange::protocol::dlpack::abi::{
    DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, VERSION,
};
use crossdock::exchange::protocol::dlpack::{self, ExportOptions, Exported};
use crossdock::memory::{DeviceKind, LeaseKind, Place};
use crossdock::view::{Reason, Refusal, Synchronization};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyInt, PyTuple};
use pyo3::{intern, sync::PyOnceLock};

use crate::arguments::Arguments;
use crate::capsule::{capsule, pointer, rename};
use crate::errors;
use crate::numbers::of_place;
use crate::object::Own;
use crate::{masked, overlap, parameters, pytorch, tensorflow};

const LEGACY: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_LEGACY: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

// ===== exports

/// `__dlpack_device__()`. Nearly every array is on the CPU, whose pair is made once.
pub(crate) fn device_of<'py>(py: Python<'py>, array: &DArray) -> PyResult<Bound<'py, PyAny>> {
    static CPU: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
    let place = array.place();
    let pair = || of_place(place).into_pyobject(py);
    Ok(match place {
        Place::CPU => CPU.get_or_try_init(py, || pair().map(Bound::unbind))?.bind(py).clone(),
        _ => pair()?,
    }
    .into_any())
}

/// `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)`.
pub(crate) fn export<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = &this.array;
    let names =
        [intern!(py, "stream"), intern!(py, "max_version"), intern!(py, "dl_device"), intern!(py, "copy")];
    let [stream, max_version, wanted, copy] = arguments.all_named(names);
    arguments.finish()?;
    let stream: Option<i64> = stream.map(|value| value.extract()).transpose()?;
    let max_version: Option<(u32, u32)> = max_version.map(|value| value.extract()).transpose()?;
    let wanted: Option<(i32, i32)> = wanted.map(|value| value.extract()).transpose()?;
    let copy = copy.map_or(Ok(None), |value| parameters::copy(&value))?;
    let here = array.place();
    // DLPack has one device type for pinned memory, whichever device pinned it.
    let wanted = wanted.filter(|&wanted| wanted != of_place(here));
    let place = wanted.map_or(here, |(device_type, device_id)| DLDevice { device_type, device_id }.into());
    let policy = match copy {
        Some(true) => CopyPolicy::Always,
        // A request for another device permits the copy that it needs.
        None if place != here => CopyPolicy::IfNeeded,
        _ => CopyPolicy::Never,
    };
    let asked = Synchronization::asked(place.kind(), stream).map_err(|error| errors::refusal(&error))?;
    let mut options = ExportOptions::new();
    if place == here {
        options = options.ordered();
        let access = if array.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share };
        // SAFETY: the DLPack protocol makes `stream` a live stream of the consumer on the array's
        // device; numbers that no protocol defines failed above.
        unsafe { asked.order(array, access) }.map_err(|error| errors::refusal(&error))?;
    } else {
        // The export waits for the copy.
        options = options.place(place);
    }
    // SAFETY: DLPack 1.0 binds consumers to the read-only flag. `trust_readonly` documents which
    // consumers write nevertheless.
    let options = unsafe { options.trust_readonly() };
    let version = max_version.filter(|&(major, _)| major >= VERSION.major);
    let version = version.map(|(major, minor)| DLPackVersion { major, minor });
    let in_place = policy == CopyPolicy::Never && place == here;
    hand_over(py, this, &options, (!in_place).then_some(policy), version).unwrap_or_else(|refusal| {
        // The array API standard: without `copy=False`, what cannot be described in place is
        // copied. Memory of which a consumer cannot be told that it is read-only is not such a
        // case: the consumer's writes would be lost without a word.
        let is_copied = copy.is_none() && matches!(refusal.reason(), Reason::Layout(_));
        if is_copied { copied(py, this, &options, version) } else { Err(errors::refused(&refusal)) }
    })
}

/// As [`hand_over`], of a copy.
#[cold]
fn copied<'py>(
    py: Python<'py>,
    this: &Own,
    options: &ExportOptions,
    version: Option<DLPackVersion>,
) -> PyResult<Bound<'py, PyAny>> {
    hand_over(py, this, options, Some(CopyPolicy::IfNeeded), version)
        .unwrap_or_else(|refusal| Err(errors::refused(&refusal)))
}

/// A capsule with the struct that a consumer of this version takes; of the legacy struct for
/// `None`. Without a policy, of the array where it is.
#[inline(always)]
fn hand_over<'py>(
    py: Python<'py>,
    this: &Own,
    options: &ExportOptions,
    policy: Option<CopyPolicy>,
    version: Option<DLPackVersion>,
) -> Result<PyResult<Bound<'py, PyAny>>, Refusal> {
    let Some(version) = version else {
        let made = dlpack::export_legacy(&this.array, &options.copy(policy.unwrap_or(CopyPolicy::Never)))?;
        return Ok(capsule(py, made.into_raw(), Some(LEGACY), Some(drop_legacy)));
    };
    let options = options.max_version(version);
    let made = match policy {
        None => this.kept.lend(&this.array, &options)?,
        Some(policy) => dlpack::export_versioned(&this.array, &options.copy(policy))?,
    };
    Ok(capsule(py, made.into_raw(), Some(VERSIONED), Some(drop_versioned)))
}

/// A capsule of the name that consumers of version 1 take, as a new reference. `None` if out of
/// memory, and then nothing is lent.
#[inline(always)]
pub(crate) fn versioned_capsule(
    _: Python<'_>,
    made: Exported<DLManagedTensorVersioned>,
) -> Option<*mut ffi::PyObject> {
    let tensor = made.into_raw();
    // SAFETY: the token proves that the GIL is held; the name is static, and the destructor is for
    // such a capsule.
    let made = unsafe { ffi::PyCapsule_New(tensor.cast(), VERSIONED.as_ptr(), Some(drop_versioned)) };
    if !made.is_null() {
        return Some(made);
    }
    // SAFETY: `PyCapsule_New` failed with an exception, which this call takes back.
    unsafe { ffi::PyErr_Clear() };
    // SAFETY: no capsule has the tensor, which was exported just now.
    unsafe { release(tensor) };
    None
}

/// Calls the deleter of a tensor.
///
/// # Safety
///
/// 1. The tensor is alive, and this is the last use of it.
unsafe fn release(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: clause 1 of `# Safety`: the tensor is alive.
    if let Some(deleter) = unsafe { (*tensor).deleter } {
        // SAFETY: clause 1 of `# Safety`: this is the only call of the deleter.
        unsafe { deleter(tensor) }
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter passes the capsule that it destroys, which is live during this call,
    // and holds the GIL.
    let name = unsafe { ffi::PyCapsule_GetName(capsule) };
    // A consumer that takes the tensor renames the capsule; one that puts it back may write the
    // first name elsewhere.
    let is_left = ptr::eq(name, VERSIONED.as_ptr()) || {
        // SAFETY: the name of a capsule is null or a C string that outlives the capsule.
        !name.is_null() && unsafe { CStr::from_ptr(name) } == VERSIONED
    };
    if is_left {
        // SAFETY: the interpreter passes the capsule that it destroys, of which `name` is the name.
        let tensor = unsafe { ffi::PyCapsule_GetPointer(capsule, name) };
        // SAFETY: clause 1 of `release`: no consumer took the tensor (checked by name), and a
        // capsule's destructor runs once.
        unsafe { release(tensor.cast()) };
    }
}

unsafe extern "C" fn drop_legacy(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter passes the capsule that it destroys, which is live during this call,
    // and holds the GIL.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensor>(capsule, Some(LEGACY)) } {
        // SAFETY: the capsule still has its first name, so no consumer took the tensor, which this
        // module exported and which is alive.
        if let Some(deleter) = unsafe { (*tensor).deleter } {
            // SAFETY: no consumer took the tensor (checked by name), and a capsule's destructor
            // runs once: this is the only call of the deleter.
            unsafe { deleter(tensor) }
        }
    }
}

// ===== imports

/// Whether an object has `__dlpack__`.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr(intern!(object.py(), "__dlpack__"))
}

/// An array on the tensor that an object exports by DLPack.
pub(crate) fn import(
    object: &Bound<'_, PyAny>,
    device: Option<Place>,
    copy: Option<bool>,
) -> PyResult<DArray> {
    let py = object.py();
    if let Ok(address) = object.cast::<PyInt>() {
        return tensor_at(address, device, copy);
    }
    masked::check(object)?;
    tensorflow::check(object)?;
    if is_negated(object)? {
        return Err(PyBufferError::new_err(
            "the tensor's elements are the negatives of what lies in its memory (is_neg()), which DLPack does not say: \
             resolve_neg() makes a tensor of them",
        ));
    }
    let own = pytorch::own_tensor(object)?;
    let object = own.as_ref().unwrap_or(object);
    let wish = Wish { device, copy };
    let mut kind = device.map(Place::kind);
    let of = object.get_type_ptr();
    if kind.is_none() && (copy.is_some() || ON_DEVICES.load(Ordering::Relaxed) == of) {
        // Queries the device first, so that the producer neither copies twice nor waits twice.
        kind = kind_of(object)?.map(DeviceKind);
    }
    let mut stream = kind.and_then(Synchronization::to_ask);
    let mut capsule = wish.ask(object, stream)?;
    if stream.is_none()
        && let Some(kind) = kind_in(&capsule)
        && let Some(needed) = Synchronization::to_ask(DeviceKind(kind))
    {
        // Producers disagree about the meaning of None. Most have CPU memory and get a single call.
        ON_DEVICES.store(of, Ordering::Relaxed);
        stream = Some(needed);
        capsule = wish.ask(object, stream)?;
    }
    let array = take(py, &capsule)?;
    if let Some(wanted) = device {
        came_to(&array, wanted)?;
    }
    came_in_order(&array, stream)?;
    Ok(overlap::protected(array))
}

/// The array of the tensor at an address, which a function of C returned: of the struct with a
/// version.
fn tensor_at(address: &Bound<'_, PyInt>, device: Option<Place>, copy: Option<bool>) -> PyResult<DArray> {
    if device.is_some() || copy.is_some() {
        return Err(PyTypeError::new_err(
            "device= and copy= ask a producer, and the address of a tensor has none; call to_device() or copy() on \
             the array",
        ));
    }
    let given = parameters::count(address)?;
    let wrong = |what: String| {
        PyValueError::new_err(format!(
            "{what}; give the address of a DLManagedTensorVersioned, which is taken once"
        ))
    };
    let tensor = ptr::with_exposed_provenance_mut::<DLManagedTensorVersioned>(given);
    if tensor.is_null() {
        return Err(wrong("the address of the tensor is 0".to_owned()));
    }
    if !tensor.is_aligned() {
        return Err(wrong(format!(
            "no tensor begins at {given:#x}, which is no multiple of {}",
            align_of::<DLManagedTensorVersioned>()
        )));
    }
    // SAFETY: the Python caller vouches that a tensor of this struct begins at `address`, and that
    // this is its only consumer; the address itself cannot be checked beyond its alignment.
    let array = unsafe { dlpack::import_versioned(tensor) }.map_err(|error| errors::refusal(&error))?;
    Ok(overlap::protected(array))
}

/// Whether a PyTorch tensor is lazily negated, such as the imaginary part of a conjugate. PyTorch
/// itself refuses to export a conjugate.
fn is_negated(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match object.getattr_opt(intern!(object.py(), "is_neg"))? {
        Some(method) => Ok(method.call0().and_then(|answer| answer.extract()).unwrap_or(false)),
        None => Ok(false),
    }
}

/// The last type that had an object on a device with streams. Its objects are queried for their
/// device first. The pointer is never dereferenced.
static ON_DEVICES: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// The arguments for a producer, besides the version.
struct Wish {
    device: Option<Place>,
    copy: Option<bool>,
}

impl Wish {
    fn ask<'py>(&self, object: &Bound<'py, PyAny>, stream: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        let method = object.getattr(intern!(py, "__dlpack__"))?;
        let plain = self.device.is_none() && self.copy.is_none();
        let named = match plain && stream.is_none() {
            true => usual(py)?.clone(),
            false => {
                let named = PyDict::new(py);
                named.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
                named
            }
        };
        if stream.is_some() {
            named.set_item(intern!(py, "stream"), stream)?;
        }
        if !plain {
            named.set_item(intern!(py, "dl_device"), self.device.map(of_place))?;
            named.set_item(intern!(py, "copy"), self.copy)?;
        }
        match method.call((), Some(&named)) {
            // Producers of versions before 1.0 do not know these arguments, and cannot be asked for
            // a copy or another device. PyArrow raises subclasses of TypeError for arrays that it
            // does not export.
            Err(error) if error.get_type(py).is(py.get_type::<PyTypeError>()) && plain => {
                let known = stream.map(|stream| [("stream", stream)].into_py_dict(py)).transpose()?;
                method.call((), known.as_ref()).map_err(|_| error)
            }
            answer => answer,
        }
        .map_err(|error| errors::producer(py, "__dlpack__()", error))
    }
}

/// The kind of device that a producer says it is on, if it says one.
fn kind_of(object: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    let py = object.py();
    let Some(method) = object.getattr_opt(intern!(py, "__dlpack_device__"))? else { return Ok(None) };
    let (kind, _): (i32, Bound<'_, PyAny>) = method.call0()?.extract()?;
    Ok(Some(kind))
}

/// The kind of device of a capsule that is not consumed yet, if its version is known.
fn kind_in(capsule: &Bound<'_, PyAny>) -> Option<i32> {
    let raw = capsule.as_ptr();
    // SAFETY: `capsule` is a live object, and its `Bound` proves that this thread holds the GIL.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensorVersioned>(raw, Some(VERSIONED)) } {
        // SAFETY: by the protocol, a capsule of this name points to a live tensor; `version` is its
        // first field in every version.
        let version = unsafe { (*tensor).version };
        // SAFETY: by the protocol the tensor is alive while the capsule has this name, and the
        // version just compared says that it has this layout.
        return (version.major == VERSION.major).then(|| unsafe { (*tensor).dl_tensor.device.device_type });
    }
    // SAFETY: `capsule` is a live object, and its `Bound` proves that this thread holds the GIL.
    let tensor = unsafe { pointer::<DLManagedTensor>(raw, Some(LEGACY)) }?;
    // SAFETY: by the protocol, a capsule named `dltensor` points to a live `DLManagedTensor` until
    // it is consumed.
    Some(unsafe { (*tensor).dl_tensor.device.device_type })
}

/// Fails if a producer gave memory of another device than the one that it was asked for.
fn came_to(array: &DArray, wanted: Place) -> PyResult<()> {
    let place = array.place();
    // DLPack has one device type for pinned memory, whichever device pinned it.
    if of_place(place) == of_place(wanted) {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!(
        "__dlpack__() was asked for a tensor on {wanted}, and gave one on {place}: to_device() moves an array"
    )))
}

/// Notes on an array that its producer ordered its work before later work of this stream. Does
/// nothing for a device that cannot be opened here: such an array is exported in the order in which
/// it was imported.
pub(crate) fn came_in_order(array: &DArray, stream: Option<i64>) -> PyResult<()> {
    let place = array.place();
    if stream.is_none() || device::get(place).is_err() {
        return Ok(());
    }
    let noted = Synchronization::asked(place.kind(), stream).and_then(|asked| {
        // SAFETY: `stream` came from `Synchronization::to_ask`, which names a default stream of the
        // device; those exist while the device does.
        unsafe { asked.note(array) }
    });
    noted.map_err(|error| errors::refusal(&error))
}

fn take(py: Python<'_>, capsule: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let raw = capsule.as_ptr();
    // SAFETY: `capsule` is a live object, and its `Bound` proves that this thread holds the GIL.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensorVersioned>(raw, Some(VERSIONED)) } {
        rename(py, capsule, USED_VERSIONED)?;
        // SAFETY: the first name proves that no consumer took the tensor, and the new name that
        // this one did. Its content is as the protocol requires.
        return unsafe { dlpack::import_versioned(tensor) }.map_err(|error| errors::refusal(&error));
    }
    // SAFETY: `capsule` is a live object, and its `Bound` proves that this thread holds the GIL.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensor>(raw, Some(LEGACY)) } {
        rename(py, capsule, USED_LEGACY)?;
        // SAFETY: the first name proves that no consumer took the tensor, and the new name that
        // this one did. Its content is as the protocol requires.
        return unsafe { dlpack::import_legacy(tensor) }.map_err(|error| errors::refusal(&error));
    }
    Err(PyValueError::new_err(
        "__dlpack__() gave neither a capsule \"dltensor_versioned\" nor \"dltensor\"; a capsule is taken once",
    ))
}

/// The arguments of an import without a device, a copy or a stream.
fn usual<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyDict>> {
    static USUAL: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let made = USUAL.get_or_try_init(py, || {
        let named = PyDict::new(py);
        named.set_item("max_version", (VERSION.major, VERSION.minor))?;
        Ok::<_, PyErr>(named.unbind())
    })?;
    Ok(made.bind(py))
}
