//! Memory of objects that export no MemoryView: the parts of the adapters that Ruby code cannot do.
//!
//! `adopt` creates an array on memory at an address, which an object keeps alive. `io_buffer` locks
//! an `IO::Buffer` while its bytes are lent. `narray` reads the struct of an NArray object, in the
//! layout of that library's header, `gsl` those of GSL's vectors and matrices.
//!
//! Reasons: `DESIGN.md`, "Ruby adapters are found by class, after MemoryView".

use core::ffi::{c_char, c_int, c_void};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, MutexGuard};

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{self, Birth, Place};
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RArray, RClass, RModule, Ruby, TryConvert, Value, function, prelude::*};
use rb_sys::VALUE;

use crate::dtype::parse_dtype;
use crate::error::{Failure, Result};
use crate::handle::{self, Wrapped};
use crate::import;
use crate::keep::{self, Held, ObjectLease};
use crate::lengths::lengths;

/// A block that is called after the memory was last used.
struct Callback;

impl ObjectLease for Callback {
    fn give_back(&mut self, pair: VALUE) {
        let called = protect(|| {
            // SAFETY: `pair` is the Array of owner and Proc from `adopt`, which the keeper marks
            // until this function returns.
            let block = unsafe { rb_sys::rb_ary_entry(pair, 1) };
            // SAFETY: an `ObjectLease` runs on a thread that holds Ruby's lock, outside of a sweep,
            // so it may allocate; `protect` catches exceptions.
            let nothing = unsafe { rb_sys::rb_ary_new() };
            // SAFETY: entry 1 of the pair is a Proc, and `nothing` is an Array; `protect` catches
            // what the block raises.
            unsafe { rb_sys::rb_proc_call(block, nothing) }
        });
        // No caller could handle an exception of the block.
        drop(called);
    }
}

/// An array on memory at an address. An object keeps the memory alive, or a block releases it.
#[expect(clippy::too_many_arguments, reason = "what Ruby unpacked from keyword arguments")]
fn adopt(
    ruby: &Ruby,
    address: usize,
    dtype: Value,
    shape: RArray,
    strides: Value,
    access: (bool, bool),
    owner: Value,
    block: Value,
) -> Result<Wrapped> {
    let (writable, constant) = access;
    let (dtype, shape) = (parse_dtype(ruby, dtype)?, lengths(ruby, "shape", shape)?);
    let layout = match Option::<Vec<isize>>::try_convert(strides)? {
        None => Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor)?,
        Some(strides) => Layout::new(&shape, &strides, dtype.itemsize())?,
    };
    keep::give_back();
    let is_given_back = !block.is_nil();
    let held = if block.is_nil() {
        keep::hold(owner.as_raw(), None)
    } else {
        keep::hold(ruby.ary_new_from_values(&[owner, block]).as_raw(), Some(Box::new(Callback)))
    };
    // SAFETY: clauses 1 and 2 of `lent`: the Ruby caller vouches for the address, the layout and
    // `constant` until the owner goes or the block is called; `held` keeps both.
    let array = unsafe { lent(ruby, address, dtype, layout, birth(constant), held) }?;
    let array = if writable { array } else { array.into_readonly() };
    // The array reports the memory that a block releases; an owner reports its own memory.
    if is_given_back { Wrapped::new(ruby, array) } else { Wrapped::sharing(ruby, array, None) }
}

/// Memory that no code writes, or that another owner may write.
fn birth(constant: bool) -> Birth {
    if constant { Birth::Constant } else { Birth::Aliased }
}

/// An array on memory at an address, which an owner keeps.
///
/// # Safety
///
/// 1. The bytes that `layout` reaches from `address` are valid until `held` is dropped.
/// 2. Until then, other owners access them only as `birth` says.
pub(crate) unsafe fn lent(
    ruby: &Ruby,
    address: usize,
    dtype: DType,
    layout: Layout,
    birth: Birth,
    held: impl Send + 'static,
) -> Result<DArray> {
    let span = layout.span();
    let (begin, end) = (address.checked_add_signed(span.low()), address.checked_add_signed(span.high()));
    let (Some(begin), Some(_)) = (begin, end) else {
        let text = format!(
            "bytes {}..{} from address {address:#x} leave the address space",
            span.low(),
            span.high()
        );
        return Err(Failure::argument(ruby, text));
    };
    let bytes = ptr::with_exposed_provenance_mut(begin);
    // SAFETY: clause 1 of `# Safety`: `span` is the range of the layout, which is valid until
    // `held` goes; clause 2 justifies `Birth::Constant`.
    let buffer =
        unsafe { Buffer::from_foreign(bytes, span.nbytes(), Place::CPU, birth, move || drop(held)) }?;
    Ok(DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs())?)
}

// ===== IO::Buffer

unsafe extern "C" {
    fn rb_io_buffer_lock(buffer: VALUE) -> VALUE;
    fn rb_io_buffer_unlock(buffer: VALUE) -> VALUE;
    /// Ruby's `ObjectSpace.reachable_objects_from`, which other Ractors cannot call.
    fn rb_objspace_reachable_objects_from(
        object: VALUE,
        each: unsafe extern "C" fn(VALUE, *mut c_void),
        data: *mut c_void,
    );
    fn rb_io_buffer_get_bytes_for_reading(buffer: VALUE, base: *mut *const c_void, size: *mut usize);
    fn rb_io_buffer_get_bytes_for_writing(buffer: VALUE, base: *mut *mut c_void, size: *mut usize);
}

/// The number of arrays on each buffer that this module locked. Ruby's own lock is one bit.
static LOCKED: Mutex<BTreeMap<VALUE, usize>> = Mutex::new(BTreeMap::new());

/// Never locked during a call to Ruby.
fn locked() -> MutexGuard<'static, BTreeMap<VALUE, usize>> {
    LOCKED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The lock on a buffer, or a share of it.
struct Lock;

impl Lock {
    /// # Errors
    ///
    /// `IO::Buffer::LockedError`, if other code locked it.
    fn take(buffer: VALUE) -> Result<Held> {
        let shared = locked().get_mut(&buffer).map(|count| *count += 1);
        if shared.is_none() {
            // SAFETY: `buffer` is a live `IO::Buffer` of the caller, who holds Ruby's lock;
            // `protect` catches the `LockedError`.
            protect(|| unsafe { rb_io_buffer_lock(buffer) })?;
            locked().insert(buffer, 1);
        }
        Ok(keep::hold(buffer, Some(Box::new(Self))))
    }
}

impl ObjectLease for Lock {
    fn give_back(&mut self, buffer: VALUE) {
        let is_last = {
            let mut locked = locked();
            let count = locked.get_mut(&buffer).map(|count| {
                *count -= 1;
                *count
            });
            count == Some(0) && locked.remove(&buffer).is_some()
        };
        if is_last {
            // SAFETY: `buffer` is an `IO::Buffer` that the keeper marks until this returns.
            // `protect` catches the exception if other code unlocked it first.
            let unlocked = protect(|| unsafe { rb_io_buffer_unlock(buffer) });
            drop(unlocked);
        }
    }
}

/// The objects that a buffer refers to: the buffers that it may be a slice of, and whether its
/// bytes belong to a frozen String.
fn io_buffer_sources(ruby: &Ruby, buffer: Value) -> Result<(RArray, bool)> {
    /// Called for each object; must not allocate Ruby objects.
    unsafe extern "C" fn note(object: VALUE, found: *mut c_void) {
        // SAFETY: `found` is the local list of the function below, which does not use it during
        // this call.
        let found = unsafe { &mut *found.cast::<Vec<VALUE>>() };
        found.push(object);
    }
    let class: RClass = ruby.class_io().const_get("Buffer")?;
    let within = bytes(buffer.as_raw(), false)?;
    let mut found: Vec<VALUE> = Vec::new();
    // SAFETY: `buffer` is a live object, and `note` allocates no Ruby object and gets the list that
    // it expects.
    unsafe { rb_objspace_reachable_objects_from(buffer.as_raw(), note, (&raw mut found).cast()) };
    let sources = ruby.ary_new();
    let mut is_of_frozen_string = false;
    for object in found {
        // SAFETY: `buffer`, which is on the stack, refers to the object, so it is alive; Ruby
        // reports only objects on the heap.
        let kind = unsafe { rb_sys::RB_BUILTIN_TYPE(object) };
        if kind == rb_sys::ruby_value_type::RUBY_T_STRING {
            // Ruby hides internal objects from programs, so only this property is read.
            // SAFETY: `object` is a String (checked just before), to which the live buffer refers.
            let bytes = unsafe { string_bytes(object) };
            is_of_frozen_string |= handle::is_frozen(object) && contains(bytes, within);
        }
        // SAFETY: `buffer`, which is on the stack, refers to the object, so it is alive.
        let object = unsafe { Value::from_raw(object) };
        if kind == rb_sys::ruby_value_type::RUBY_T_DATA && object.is_kind_of(class) {
            sources.push(object)?;
        }
    }
    Ok((sources, is_of_frozen_string))
}

/// Whether bytes at an address lie within others.
pub(crate) fn contains((base, size): (usize, usize), (inner, len): (usize, usize)) -> bool {
    inner.checked_sub(base).is_some_and(|before| before <= size && len <= size - before)
}

/// The address and length of a String's bytes.
///
/// # Safety
///
/// `string` is a live String.
pub(crate) unsafe fn string_bytes(string: VALUE) -> (usize, usize) {
    // SAFETY: `# Safety`: a live String.
    let bytes = unsafe { rb_sys::RSTRING_PTR(string) };
    // SAFETY: `# Safety`: a live String.
    (bytes.expose_provenance(), unsafe { rb_sys::RSTRING_LEN(string) } as usize)
}

/// The address and size of a buffer's bytes.
fn bytes(buffer: VALUE, writable: bool) -> Result<(usize, usize)> {
    let (mut base, mut size) = (ptr::null_mut(), 0);
    protect(|| {
        if writable {
            // SAFETY: `buffer` is an `IO::Buffer`, both pointers are those of local variables, and
            // `protect` catches exceptions.
            unsafe { rb_io_buffer_get_bytes_for_writing(buffer, &mut base, &mut size) };
        } else {
            // SAFETY: `buffer` is an `IO::Buffer`, both pointers are those of local variables, and
            // `protect` catches exceptions.
            unsafe { rb_io_buffer_get_bytes_for_reading(buffer, (&raw mut base).cast(), &mut size) };
        }
        buffer
    })?;
    Ok((base.expose_provenance(), size))
}

/// The bytes of a buffer, while the buffer that owns the memory is locked: the same one, or the one
/// that it is a slice of.
fn io_buffer(ruby: &Ruby, buffer: Value, root: Value, access: (bool, bool)) -> Result<Wrapped> {
    let (writable, constant) = access;
    keep::give_back();
    let (base, size) = bytes(buffer.as_raw(), writable)?;
    let (root_base, root_size) = bytes(root.as_raw(), false)?;
    let is_within =
        base >= root_base && base - root_base <= root_size && size <= root_size - (base - root_base);
    if !is_within {
        return Err(Failure::ours(
            ruby,
            "the slice does not lie in the buffer that it is said to be a slice of",
        ));
    }
    let held = Lock::take(root.as_raw())?;
    let layout = Layout::contiguous(&[size], 1, Order::RowMajor)?;
    // SAFETY: clause 1 of `lent`: `base` and `size` are the bytes of a buffer that is locked, so
    // not freed or resized, and `held` keeps it in place. Clause 2: `constant` is only set for the
    // bytes of a frozen String.
    let array = unsafe { lent(ruby, base, DType::U8, layout, birth(constant), held) }?;
    Wrapped::sharing(ruby, if writable { array } else { array.into_readonly() }, None)
}

// ===== NArray

/// `struct NARRAY` of `narray.h`.
#[repr(C)]
struct NArray {
    rank: c_int,
    total: c_int,
    kind: c_int,
    shape: *const c_int,
    bytes: *mut c_char,
    owner: VALUE,
}

/// Ruby's `struct RData`, up to 4.0: an object around an untyped pointer.
#[repr(C)]
struct Data {
    basic: rb_sys::RBasic,
    mark: *const c_void,
    free: *const c_void,
    data: *mut c_void,
}

/// The pointer of an object around untyped data; `None` for any other object.
fn untyped_data(object: Value) -> Option<*mut c_void> {
    let raw = object.as_raw();
    // SAFETY: `object` is live, and `RB_BUILTIN_TYPE` only runs if it is on the heap (checked
    // first).
    let is_data = !rb_sys::SPECIAL_CONST_P(raw)
        // SAFETY: `raw` is no special constant (checked first), so it points to a live object on
        // the heap.
        && unsafe { rb_sys::RB_BUILTIN_TYPE(raw) } == rb_sys::ruby_value_type::RUBY_T_DATA
        // SAFETY: the object has the type T_DATA (checked just before), which this function
        // requires.
        && !unsafe { rb_sys::RTYPEDDATA_P(raw) };
    let data = raw as *const Data;
    // SAFETY: `is_data` says that it is an untyped T_DATA object, whose layout is `Data`.
    is_data.then(|| unsafe { (*data).data })
}

/// More axes than any program uses.
const MOST_AXES: c_int = 64;

/// The address, type number and shape of an NArray object. Ruby code has queried its rank and
/// number of elements, so that a library of the same name with another struct is detected.
fn narray(ruby: &Ruby, object: Value, rank: c_int, total: c_int) -> Result<(usize, c_int, Vec<c_int>)> {
    let other = || Failure::ours(ruby, format!("a {} that is not laid out as narray.h says", object.class()));
    let Some(data) = untyped_data(object) else { return Err(other()) };
    let data = data.cast::<NArray>();
    // SAFETY: the Ruby caller passes objects of the class NArray only, whose data is null or a
    // `struct NARRAY`. The comparison below detects another layout.
    let Some(array) = (unsafe { data.as_ref() }) else { return Err(other()) };
    let is_same = array.rank == rank && array.total == total && (0..=MOST_AXES).contains(&rank) && total >= 0;
    if !is_same || (total > 0 && (array.shape.is_null() || array.bytes.is_null())) {
        return Err(other());
    }
    let shape = match total {
        0 => vec![0],
        // SAFETY: the shape of an NArray has `rank` lengths; `rank` is at least 0 and `shape` is
        // not null (both checked above).
        _ => unsafe { std::slice::from_raw_parts(array.shape, rank as usize) }.to_vec(),
    };
    Ok((array.bytes.expose_provenance(), array.kind, shape))
}

// ===== GSL

/// `gsl_vector`, `gsl_vector_int` and `gsl_vector_complex` of `gsl_vector.h`.
#[repr(C)]
struct GslVector {
    size: usize,
    stride: usize,
    data: *mut c_void,
    block: *mut c_void,
    owner: c_int,
}

/// `gsl_matrix`, `gsl_matrix_int` and `gsl_matrix_complex` of `gsl_matrix.h`.
#[repr(C)]
struct GslMatrix {
    size1: usize,
    size2: usize,
    tda: usize,
    data: *mut c_void,
    block: *mut c_void,
    owner: c_int,
}

/// The address and the strides, in elements, of a vector or matrix of GSL; nil instead of the
/// address if the object does not own the elements. Ruby code has queried its shape, so that a
/// library of the same name with another struct is detected.
fn gsl(ruby: &Ruby, object: Value, shape: Vec<usize>) -> Result<(Option<usize>, Vec<usize>)> {
    let other =
        || Failure::ours(ruby, format!("a {} that is not laid out as GSL's headers say", object.class()));
    let data = untyped_data(object).filter(|data| !data.is_null()).ok_or_else(other)?;
    let (found, strides, data, owner) = match shape[..] {
        [_] => {
            // SAFETY: the Ruby caller passes objects of the class GSL::Vector only with one length;
            // their data is a `gsl_vector`. The comparison below detects another layout.
            let vector = unsafe { &*data.cast::<GslVector>() };
            (vec![vector.size], vec![vector.stride], vector.data, vector.owner)
        }
        _ => {
            // SAFETY: the Ruby caller passes objects of the class GSL::Matrix only with two
            // lengths; their data is a `gsl_matrix`. The comparison below detects another layout.
            let matrix = unsafe { &*data.cast::<GslMatrix>() };
            (vec![matrix.size1, matrix.size2], vec![matrix.tda, 1], matrix.data, matrix.owner)
        }
    };
    if found != shape || data.is_null() {
        return Err(other());
    }
    Ok(((owner == 1).then(|| data.expose_provenance()), strides))
}

/// Whether an object can be borrowed from without an adapter.
fn is_exporter(object: Value) -> bool {
    Wrapped::of(object).is_some() || import::is_exporter(object)
}

/// Counts bytes that another library copied for an array.
fn count_copied(nbytes: usize) {
    crossdock::bindings::count_copied(nbytes);
}

/// The number of bytes of array data copied since the process began.
fn copied_bytes() -> u64 {
    memory::copied_bytes()
}

/// The class of any object, including one without methods.
fn class_of(object: Value) -> Value {
    // SAFETY: `object` is a live `Value`, and `rb_obj_class` accepts every object.
    let class = unsafe { rb_sys::rb_obj_class(object.as_raw()) };
    // SAFETY: `rb_obj_class` returned a class, which the live object keeps alive.
    unsafe { Value::from_raw(class) }
}

pub(crate) fn init(_: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("copied_bytes", function!(copied_bytes, 0))?;
    let adapters = module.define_module("Adapters")?;
    adapters.define_singleton_method("adopt", function!(adopt, 7))?;
    adapters.define_singleton_method("lock_io_buffer", function!(io_buffer, 3))?;
    adapters.define_singleton_method("io_buffer_sources", function!(io_buffer_sources, 1))?;
    adapters.define_singleton_method("read_narray", function!(narray, 3))?;
    adapters.define_singleton_method("read_gsl", function!(gsl, 2))?;
    adapters.define_singleton_method("exporter?", function!(is_exporter, 1))?;
    adapters.define_singleton_method("count_copied", function!(count_copied, 1))?;
    adapters.define_singleton_method("give_back", function!(keep::give_back, 0))?;
    adapters.define_singleton_method("class_of", function!(class_of, 1))
}
