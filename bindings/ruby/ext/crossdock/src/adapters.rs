//! Memory of objects that export no MemoryView: what adapters, which are written in Ruby, cannot do there.
//!
//! `adopt` makes an array of memory at an address, which an object keeps. `io_buffer` locks a buffer of Ruby's while its bytes are lent.
//! `narray` reads the struct of an object of the library NArray, as that library's header lays it out.

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

use crate::error::{Failure, Result, parse_dtype};
use crate::handle::{self, Wrapped};
use crate::import;
use crate::keep::{self, Held, Loan};

/// A block that is called when the memory is not used any more.
struct Callback;

impl Loan for Callback {
    fn give_back(&mut self, pair: VALUE) {
        let called = protect(|| {
            // SAFETY: the Array of an object and a Proc, which is marked until this returns.
            let block = unsafe { rb_sys::rb_ary_entry(pair, 1) };
            // SAFETY: in Ruby.
            let nothing = unsafe { rb_sys::rb_ary_new() };
            // SAFETY: a Proc, and no arguments.
            unsafe { rb_sys::rb_proc_call(block, nothing) }
        });
        // What the block raises has nobody to go to.
        drop(called);
    }
}

/// An array of the memory at an address, which an object keeps, or which a block gives back.
#[expect(clippy::too_many_arguments, reason = "what Ruby unpacked from keyword arguments")]
fn adopt(
    ruby: &Ruby,
    address: usize,
    dtype: Value,
    shape: Vec<usize>,
    strides: Value,
    access: (bool, bool),
    owner: Value,
    block: Value,
) -> Result<Wrapped> {
    let (writable, constant) = access;
    let dtype = parse_dtype(ruby, dtype)?;
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
    // SAFETY: the word of whoever gave the address: memory of this layout, until the object goes, or the block is called.
    let array = unsafe { lent(ruby, address, dtype, layout, constant, held) }?;
    let array = if writable { array } else { array.into_readonly() };
    // The array keeps what a block releases; an owner's memory belongs to the owner.
    if is_given_back { Wrapped::new(ruby, array) } else { Wrapped::sharing(ruby, array, None) }
}

/// # Safety
///
/// What the layout reaches from the address is memory until the hold is dropped; if it is constant, nobody writes it.
unsafe fn lent(
    ruby: &Ruby,
    address: usize,
    dtype: DType,
    layout: Layout,
    constant: bool,
    held: Held,
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
    let birth = if constant { Birth::Constant } else { Birth::Aliased };
    let bytes = ptr::with_exposed_provenance_mut(begin);
    // SAFETY: the caller's word.
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

/// How many arrays are on each buffer that is locked for them. Ruby's own lock is one bit.
static LOCKED: Mutex<BTreeMap<VALUE, usize>> = Mutex::new(BTreeMap::new());

/// Never held while Ruby is called.
fn locked() -> MutexGuard<'static, BTreeMap<VALUE, usize>> {
    LOCKED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The lock on a buffer, or a share of it.
struct Lock;

impl Lock {
    /// # Errors
    ///
    /// `IO::Buffer::LockedError`, where somebody else has it.
    fn take(buffer: VALUE) -> Result<Held> {
        let shared = locked().get_mut(&buffer).map(|count| *count += 1);
        if shared.is_none() {
            // SAFETY: a buffer.
            protect(|| unsafe { rb_io_buffer_lock(buffer) })?;
            locked().insert(buffer, 1);
        }
        Ok(keep::hold(buffer, Some(Box::new(Self))))
    }
}

impl Loan for Lock {
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
            // SAFETY: a buffer, which is marked until this returns. Who unlocked it before has what it wanted.
            let unlocked = protect(|| unsafe { rb_io_buffer_unlock(buffer) });
            drop(unlocked);
        }
    }
}

/// What a buffer refers to: buffers that it may be a slice of, and whether a frozen String has its bytes.
fn io_buffer_sources(ruby: &Ruby, buffer: Value) -> Result<(RArray, bool)> {
    /// Called for each object while nothing may be allocated by Ruby.
    unsafe extern "C" fn note(object: VALUE, found: *mut c_void) {
        // SAFETY: the list below.
        let found = unsafe { &mut *found.cast::<Vec<VALUE>>() };
        found.push(object);
    }
    let class: RClass = ruby.class_io().const_get("Buffer")?;
    let within = bytes(buffer.as_raw(), false)?;
    let mut found: Vec<VALUE> = Vec::new();
    // SAFETY: an object, and a function that allocates nothing of Ruby's.
    unsafe { rb_objspace_reachable_objects_from(buffer.as_raw(), note, (&raw mut found).cast()) };
    let sources = ruby.ary_new();
    let mut is_of_frozen_string = false;
    for object in found {
        // SAFETY: the buffer, which is on the stack, refers to it, so that it is alive.
        let kind = unsafe { rb_sys::RB_BUILTIN_TYPE(object) };
        if kind == rb_sys::ruby_value_type::RUBY_T_STRING {
            // Ruby hides its own from programs, which is why only this is asked.
            is_of_frozen_string |= handle::is_frozen(object) && contains(string_bytes(object), within);
        }
        // SAFETY: as above.
        let object = unsafe { Value::from_raw(object) };
        if kind == rb_sys::ruby_value_type::RUBY_T_DATA && object.is_kind_of(class) {
            sources.push(object)?;
        }
    }
    Ok((sources, is_of_frozen_string))
}

/// Whether bytes at an address lie within others.
fn contains((base, size): (usize, usize), (inner, len): (usize, usize)) -> bool {
    inner.checked_sub(base).is_some_and(|before| before <= size && len <= size - before)
}

/// Where the bytes of a String lie.
fn string_bytes(string: VALUE) -> (usize, usize) {
    // SAFETY: a String.
    let bytes = unsafe { rb_sys::RSTRING_PTR(string) };
    // SAFETY: as above.
    (bytes.expose_provenance(), unsafe { rb_sys::RSTRING_LEN(string) } as usize)
}

/// Where the bytes of a buffer lie.
fn bytes(buffer: VALUE, writable: bool) -> Result<(usize, usize)> {
    let (mut base, mut size) = (ptr::null_mut(), 0);
    protect(|| {
        if writable {
            // SAFETY: a buffer, and places for its numbers.
            unsafe { rb_io_buffer_get_bytes_for_writing(buffer, &mut base, &mut size) };
        } else {
            // SAFETY: as above.
            unsafe { rb_io_buffer_get_bytes_for_reading(buffer, (&raw mut base).cast(), &mut size) };
        }
        buffer
    })?;
    Ok((base.expose_provenance(), size))
}

/// The bytes of a buffer, while the buffer that has the memory is locked: that one itself, or one that it is a slice of.
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
    // SAFETY: the bytes that Ruby named, of a buffer that is neither freed nor resized while it is locked, nor moved while it is held.
    let array = unsafe { lent(ruby, base, DType::U8, layout, constant, held) }?;
    Wrapped::sharing(ruby, if writable { array } else { array.into_readonly() }, None)
}

// ===== NArray

/// What `narray.h` calls `struct NARRAY`.
#[repr(C)]
struct NArray {
    rank: c_int,
    total: c_int,
    kind: c_int,
    shape: *const c_int,
    bytes: *mut c_char,
    owner: VALUE,
}

/// What Ruby calls `struct RData`, up to 3.4: an object around a pointer, without a type.
#[repr(C)]
struct Data {
    basic: rb_sys::RBasic,
    mark: *const c_void,
    free: *const c_void,
    data: *mut c_void,
}

/// More axes than a program has.
const MOST_AXES: c_int = 64;

/// The address, the number of the type, and the shape of an object of NArray's. Ruby code has asked the object for its rank and for the number
/// of its elements, so that a library of that name with another struct is found out.
fn narray(ruby: &Ruby, object: Value, rank: c_int, total: c_int) -> Result<(usize, c_int, Vec<c_int>)> {
    let raw = object.as_raw();
    let other = || Failure::ours(ruby, format!("a {} that is not laid out as narray.h says", object.class()));
    // SAFETY: an object on the heap, where the first question is answered by no.
    let is_data = !rb_sys::SPECIAL_CONST_P(raw)
        // SAFETY: as said.
        && unsafe { rb_sys::RB_BUILTIN_TYPE(raw) } == rb_sys::ruby_value_type::RUBY_T_DATA
        // SAFETY: of this type.
        && !unsafe { rb_sys::RTYPEDDATA_P(raw) };
    if !is_data {
        return Err(other());
    }
    let data = raw as *const Data;
    // SAFETY: as checked.
    let data = unsafe { (*data).data }.cast::<NArray>();
    // SAFETY: an object of the class NArray, whose struct it is, as the caller has found.
    let Some(array) = (unsafe { data.as_ref() }) else { return Err(other()) };
    let is_same = array.rank == rank && array.total == total && (0..=MOST_AXES).contains(&rank) && total >= 0;
    if !is_same || (total > 0 && (array.shape.is_null() || array.bytes.is_null())) {
        return Err(other());
    }
    let shape = match total {
        0 => vec![0],
        // SAFETY: as many numbers as there are axes.
        _ => unsafe { std::slice::from_raw_parts(array.shape, rank as usize) }.to_vec(),
    };
    Ok((array.bytes.expose_provenance(), array.kind, shape))
}

/// Whether an object can be borrowed from without an adapter.
fn is_exporter(object: Value) -> bool {
    Wrapped::of(object).is_some() || import::is_exporter(object)
}

/// Counts bytes that somebody else has copied for an array of ours.
fn count_copied(nbytes: usize) {
    crossdock::bindings::count_copied(nbytes);
}

/// How many bytes of array data were copied since the process began.
fn copied_bytes() -> u64 {
    memory::copied_bytes()
}

/// The class of any object, also of one that has no methods.
fn class_of(object: Value) -> Value {
    // SAFETY: any object has a class.
    let class = unsafe { rb_sys::rb_obj_class(object.as_raw()) };
    // SAFETY: a class.
    unsafe { Value::from_raw(class) }
}

pub(crate) fn init(_: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("copied_bytes", function!(copied_bytes, 0))?;
    let adapters = module.define_module("Adapters")?;
    adapters.define_singleton_method("adopt", function!(adopt, 7))?;
    adapters.define_singleton_method("lock_io_buffer", function!(io_buffer, 3))?;
    adapters.define_singleton_method("io_buffer_sources", function!(io_buffer_sources, 1))?;
    adapters.define_singleton_method("read_narray", function!(narray, 3))?;
    adapters.define_singleton_method("exporter?", function!(is_exporter, 1))?;
    adapters.define_singleton_method("count_copied", function!(count_copied, 1))?;
    adapters.define_singleton_method("class_of", function!(class_of, 1))
}
