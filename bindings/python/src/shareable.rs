//! New memory that other processes can map later: the pool of `crossdock.shareable()`, and NumPy's
//! allocator on it. The context manager is in `python/crossdock/_shareable.py`.
//!
//! NumPy's functions come from the table in its capsule at run time (NEP 49), so that the wheel
//! neither compiles against NumPy nor links to it. Each NumPy array keeps the handler that made its
//! memory, so that it can outlive the `with` block.
//!
//! Reasons: `DESIGN.md`, "NumPy allocates shareable memory in a context".

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossdock::bindings::{count_copied, shareable};
use crossdock::pool::{ALIGNMENT, AllocOptions, Pool};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::capsule::{capsule, pointer};
use crate::descriptors::register;
use crate::errors::Raise;

/// NumPy arrays of fewer bytes come from the heap: a page is the least that one process can
/// share with another.
const SMALLEST: usize = 4096;

/// As the default pool.
const CACHE_LIMIT: usize = 1 << 30;
const CACHE_QUIET: Duration = Duration::from_millis(500);

static POOL: OnceLock<Pool> = OnceLock::new();

/// The pool, from the first `with` block on, and `multiprocessing` knows how to send its arrays.
fn opened(py: Python<'_>) -> PyResult<&'static Pool> {
    if let Some(pool) = POOL.get() {
        return Ok(pool);
    }
    register(py)?;
    let opened = Pool::shareable(CACHE_LIMIT, CACHE_QUIET).raise()?;
    Ok(POOL.get_or_init(|| opened))
}

// ===== this library's arrays

/// How many `with` blocks are entered, in all contexts.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// The pool for new arrays of the current context, and whether their pages are to exist at once;
/// `None` outside `with` blocks, where this is one load.
pub(crate) fn pool_here(py: Python<'_>) -> PyResult<Option<&'static Pool>> {
    if ENTERED.load(Ordering::Relaxed) == 0 {
        return Ok(None);
    }
    static ENTRIES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let entries = ENTRIES.import(py, "crossdock._shareable", "_entries")?;
    match entries.call_method0("get")?.is_truthy()? {
        true => opened(py).map(Some),
        false => Ok(None),
    }
}

/// Notes that a `with` block is entered, or left.
#[pyfunction]
pub(crate) fn _note_shareable(py: Python<'_>, is_entered: bool) -> PyResult<()> {
    opened(py)?;
    if is_entered {
        ENTERED.fetch_add(1, Ordering::Relaxed);
    } else {
        ENTERED.fetch_sub(1, Ordering::Relaxed);
    }
    Ok(())
}

// ===== NumPy's arrays

/// `PyDataMem_Handler` of NumPy's C API, from 1.22 on.
#[repr(C)]
struct Handler {
    name: [c_char; 127],
    version: u8,
    allocator: Allocator,
}

/// `PyDataMemAllocator`.
#[repr(C)]
struct Allocator {
    context: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

const _: () = assert!(size_of::<Handler>() == 128 + 5 * size_of::<usize>());

// SAFETY: constants, and a context that is never dereferenced.
unsafe impl Sync for Handler {}

/// The two handlers: their contexts say whether pages are reserved.
static HANDLERS: [Handler; 2] = [handler(false), handler(true)];

const fn handler(is_reserved: bool) -> Handler {
    let text = b"crossdock_shareable";
    let mut name = [0; 127];
    let mut at = 0;
    while at < text.len() {
        name[at] = text[at] as c_char;
        at += 1;
    }
    let context = ptr::without_provenance_mut(is_reserved as usize);
    Handler { name, version: 1, allocator: Allocator { context, malloc, calloc, realloc, free } }
}

unsafe extern "C" fn malloc(context: *mut c_void, nbytes: usize) -> *mut c_void {
    allocate(context, nbytes, false)
}

unsafe extern "C" fn calloc(context: *mut c_void, count: usize, nbytes: usize) -> *mut c_void {
    match count.checked_mul(nbytes) {
        Some(nbytes) => allocate(context, nbytes, true),
        None => ptr::null_mut(),
    }
}

unsafe extern "C" fn realloc(context: *mut c_void, old: *mut c_void, nbytes: usize) -> *mut c_void {
    let Some(from) = NonNull::new(old.cast::<u8>()) else { return allocate(context, nbytes, false) };
    let before = match block(from) {
        Some(before) => before,
        // SAFETY: clause 1 of `small::nbytes`: NumPy passes what these functions returned, and this
        // is no block of the pool.
        None => unsafe { small::nbytes(from) },
    };
    let new = allocate(context, nbytes, false);
    if new.is_null() {
        return new;
    }
    let kept = before.min(nbytes);
    // SAFETY: both have `kept` bytes, and the new memory is apart from the old.
    unsafe { ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast(), kept) };
    count_copied(kept);
    // SAFETY: NumPy uses the old memory no more if the result is not null.
    unsafe { free(context, old, before) };
    new
}

unsafe extern "C" fn free(_: *mut c_void, old: *mut c_void, _: usize) {
    let Some(ptr) = NonNull::new(old.cast::<u8>()) else { return };
    // SAFETY: clause 1 of `release`: NumPy does not use the memory any more.
    if !is_aligned(ptr) || !unsafe { shareable::release(ptr) } {
        // SAFETY: clauses 1 and 2 of `small::free`: NumPy passes what these functions returned,
        // this is no block of the pool, and NumPy does not use it any more.
        unsafe { small::free(ptr) };
    }
}

/// The size of a block of the pool; `None` for memory of the heap.
fn block(ptr: NonNull<u8>) -> Option<usize> {
    if is_aligned(ptr) { shareable::nbytes(ptr) } else { None }
}

/// Blocks of the pool begin at a page, so other memory is usually recognised without a lock.
fn is_aligned(ptr: NonNull<u8>) -> bool {
    ptr.addr().get().is_multiple_of(SMALLEST)
}

/// Memory of the pool, or of the heap: for small arrays, and if there are no descriptors left.
fn allocate(context: *mut c_void, nbytes: usize, zeroed: bool) -> *mut c_void {
    if nbytes >= SMALLEST
        && let Some(pool) = POOL.get()
    {
        let options = AllocOptions::new().reserve(!context.is_null());
        match shareable::allocate(pool, options, nbytes, zeroed) {
            Ok(block) => return block.as_ptr().cast(),
            // What the heap promises instead may not exist.
            Err(error) if !context.is_null() && error.is_out_of_memory() => return ptr::null_mut(),
            Err(_) => {}
        }
    }
    small::allocate(nbytes, zeroed).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

/// Blocks of Rust's heap. Each has its size in front of it: NumPy does not pass it to `realloc`,
/// and not every system's heap tells it.
mod small {
    use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    use super::ALIGNMENT;

    /// The block with the bytes in front of it, the first of which are the size.
    fn layout(nbytes: usize) -> Option<Layout> {
        const { assert!(ALIGNMENT >= size_of::<usize>()) };
        Layout::from_size_align(nbytes.checked_add(ALIGNMENT)?, ALIGNMENT).ok()
    }

    /// A block aligned to [`ALIGNMENT`]. `None`: out of memory.
    pub(super) fn allocate(nbytes: usize, zeroed: bool) -> Option<NonNull<u8>> {
        let layout = layout(nbytes)?;
        let make = if zeroed { alloc_zeroed } else { alloc };
        // SAFETY: the layout has at least `ALIGNMENT` bytes, hence more than none.
        let whole = NonNull::new(unsafe { make(layout) })?;
        // SAFETY: `whole` has room for a number, and the alignment of one.
        unsafe { whole.cast::<usize>().write(nbytes) };
        // SAFETY: the layout has `ALIGNMENT` bytes in front of the block.
        Some(unsafe { whole.add(ALIGNMENT) })
    }

    /// The size of a block.
    ///
    /// # Safety
    ///
    /// 1. `block` is from [`allocate`], and not freed.
    pub(super) unsafe fn nbytes(block: NonNull<u8>) -> usize {
        // SAFETY: clause 1: `allocate` returned the address `ALIGNMENT` bytes behind the number.
        let whole = unsafe { block.sub(ALIGNMENT) };
        // SAFETY: clause 1: `allocate` has written the number, and no code writes there.
        unsafe { whole.cast::<usize>().read() }
    }

    /// # Safety
    ///
    /// 1. `block` is from [`allocate`], and not freed.
    /// 2. No code uses it any more.
    pub(super) unsafe fn free(block: NonNull<u8>) {
        // SAFETY: clause 1 of `nbytes`, by clause 1.
        let Some(layout) = layout(unsafe { nbytes(block) }) else { return };
        // SAFETY: clause 1: `allocate` returned the address `ALIGNMENT` bytes behind the start.
        let whole = unsafe { block.sub(ALIGNMENT) };
        // SAFETY: `allocate` has made it with this layout, and no code uses it (clause 2).
        unsafe { dealloc(whole.as_ptr(), layout) };
    }
}

/// The name of a capsule around a handler.
const HANDLER: &CStr = c"mem_handler";

/// NumPy's `PyDataMem_SetHandler`: sets the handler of the current context, and returns the former.
type SetHandler = unsafe extern "C" fn(*mut ffi::PyObject) -> *mut ffi::PyObject;

/// Positions in NumPy's table of functions.
const FEATURE_VERSION: usize = 211;
const SET_HANDLER: usize = 304;

/// The number of NumPy 1.22's features, with which handlers came.
const WITH_HANDLERS: u32 = 0xF;

fn set_handler(py: Python<'_>) -> PyResult<SetHandler> {
    let module = match py.import("numpy._core._multiarray_umath") {
        Ok(module) => module,
        // Before NumPy 2.
        Err(_) => py.import("numpy.core._multiarray_umath")?,
    };
    let api = module.getattr("_ARRAY_API")?;
    // SAFETY: clauses 1 and 2 of `pointer`: `api` is live, and its `Bound` proves that the GIL is
    // held.
    let table = unsafe { pointer::<*const c_void>(api.as_ptr(), None) };
    let unknown = || PyNotImplementedError::new_err("NumPy's table of functions has another form");
    let table = table.ok_or_else(unknown)?;
    let entry = |index| {
        let place = table.wrapping_add(index);
        // SAFETY: NumPy's table has an entry for the version since 1.4, and one for the function in
        // the versions for which this is called.
        unsafe { place.read() }
    };
    let version = entry(FEATURE_VERSION);
    // SAFETY: NumPy documents the entry as a function without arguments that returns a number.
    let version = unsafe { std::mem::transmute::<*const c_void, unsafe extern "C" fn() -> u32>(version) };
    // SAFETY: the function returns a constant.
    if unsafe { version() } < WITH_HANDLERS {
        let text = "this NumPy has no allocators of other libraries, which came with 1.22";
        return Err(PyNotImplementedError::new_err(text));
    }
    let function = entry(SET_HANDLER);
    // SAFETY: NumPy documents the entry as `PyDataMem_SetHandler`, which has this type.
    Ok(unsafe { std::mem::transmute::<*const c_void, SetHandler>(function) })
}

/// Sets the handler for NumPy's new arrays in the current context: that of the pool, or one that
/// this function returned before. Returns the former one.
#[pyfunction]
#[pyo3(signature = (handler, is_reserved=false, /))]
pub(crate) fn _set_numpy_handler<'py>(
    py: Python<'py>,
    handler: Option<Bound<'py, PyAny>>,
    is_reserved: bool,
) -> PyResult<Bound<'py, PyAny>> {
    opened(py)?;
    let set = set_handler(py)?;
    let handler = match handler {
        Some(handler) => handler,
        None => {
            let own = &raw const HANDLERS[usize::from(is_reserved)];
            capsule(py, own.cast_mut(), Some(HANDLER), None)?
        }
    };
    // SAFETY: `handler` is a live object, and the GIL is held; NumPy checks that it is a capsule of
    // the right name.
    let former = unsafe { set(handler.as_ptr()) };
    // SAFETY: the function returns a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, former) }
}
