//! The arrays that arguments hold at the moment, so that none is written through one argument while
//! another one has it.
//!
//! The leases of imported memory do not tell: each import makes an allocation of its own. All
//! extensions of a process share one list, that of the extension that needed it first:
//! [`interpreter`](crate::interpreter).

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::Layout;
use crossdock::memory::{Birth, Place};
use pyo3::exceptions::{PyBufferError, PyRuntimeError};
use pyo3::prelude::*;

use crate::entry::guarded;
use crate::interpreter;

/// The list, as a table for other extensions.
///
/// # Invariants
///
/// 1. The functions are those of an extension that is never unloaded, and this layout is the one
///    that `NAME` names.
#[repr(C)]
pub(crate) struct Table {
    /// Claims an array: the number of the claim, or a negative number of [`refusal`].
    claim: unsafe extern "C" fn(*const Extent) -> i64,
    /// Ends a claim.
    end: extern "C" fn(i64),
}

/// The name of this layout of the table. It changes with the layout.
pub(crate) const NAME: &std::ffi::CStr = c"crossdock_pyo3.claims.1";

/// The table of this extension, which others use if it was first.
pub(crate) static TABLE: Table = Table { claim, end };

/// Where the elements of an array are.
#[repr(C)]
struct Extent {
    /// The address of element 0.
    address: *const u8,
    rank: usize,
    shape: *const usize,
    strides: *const isize,
    itemsize: usize,
    /// Whether the elements are to be written: not 0.
    writes: i32,
}

/// Why a claim is refused.
mod refusal {
    pub(super) const IS_WRITTEN: i64 = -1;
    pub(super) const IS_READ: i64 = -2;
}

// ===== the list

/// Only threads that hold the GIL lock it, so a fork by Python finds it unlocked. No code of other
/// parties runs under the lock.
static CLAIMS: Mutex<Claims> = Mutex::new(Claims { next: 0, all: Vec::new() });

struct Claims {
    next: i64,
    all: Vec<Entry>,
}

struct Entry {
    number: i64,
    /// The thread that has the argument.
    thread: ThreadId,
    array: DArray,
    writes: bool,
}

fn claims() -> MutexGuard<'static, Claims> {
    CLAIMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
///
/// 1. The extent leads to `rank` lengths and strides.
/// 2. Its elements are in memory that is alive until the claim ends.
unsafe extern "C" fn claim(extent: *const Extent) -> i64 {
    // SAFETY: clause 1 of `# Safety`: a caller passes the address of an extent.
    let extent = unsafe { &*extent };
    // SAFETY: clauses 1 and 2 of `# Safety`.
    let made = guarded(|| unsafe { described(extent) }.map_err(|error| error.to_string()));
    let Ok(array) = made else { return i64::MIN };
    let claimed = guarded(|| add(array, extent.writes != 0).map_err(|error| error.to_string()));
    claimed.unwrap_or(i64::MIN)
}

/// The elements as an array that nothing accesses.
///
/// # Safety
///
/// As for [`claim`].
unsafe fn described(extent: &Extent) -> crossdock::Result<DArray> {
    let numbers = extent.rank;
    // SAFETY: clause 1 of `# Safety`: `rank` lengths.
    let shape = unsafe { list(extent.shape, numbers) };
    // SAFETY: clause 1 of `# Safety`: `rank` strides.
    let strides = unsafe { list(extent.strides, numbers) };
    let layout = Layout::new(shape, strides, extent.itemsize)?;
    let (low, nbytes) = (layout.span().low(), layout.span().nbytes());
    let start = extent.address.cast_mut().wrapping_byte_offset(low);
    // SAFETY: clauses 1 and 2 of `from_foreign`: by clause 2 of `# Safety` the memory of the
    // elements is alive, and it is on the host. Clause 4: other parties may write it.
    let buffer = unsafe { Buffer::from_foreign(start, nbytes, Place::CPU, Birth::Aliased, || ()) }?;
    DArray::from_buffer(buffer, DType::bytes(extent.itemsize)?, layout, low.unsigned_abs())
}

/// # Safety
///
/// The pointer leads to `len` numbers that outlive the result.
unsafe fn list<'a, T>(pointer: *const T, len: usize) -> &'a [T] {
    // SAFETY: without numbers the pointer is not used; otherwise it leads to `len` numbers
    // (`# Safety`).
    if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, len) } }
}

fn add(array: DArray, writes: bool) -> crossdock::Result<i64> {
    let mut claims = claims();
    for entry in &claims.all {
        if (writes || entry.writes) && entry.array.may_overlap(&array)? {
            return Ok(if entry.writes { refusal::IS_WRITTEN } else { refusal::IS_READ });
        }
    }
    let number = claims.next;
    claims.next += 1;
    claims.all.push(Entry { number, thread: thread::current().id(), array, writes });
    Ok(number)
}

extern "C" fn end(number: i64) {
    let ended = guarded(|| {
        let mut claims = claims();
        let at = claims.all.iter().position(|entry| entry.number == number);
        let ended = at.map(|at| claims.all.swap_remove(at));
        // The memory of the list goes with the last claim.
        let spare = if claims.all.is_empty() { mem::take(&mut claims.all) } else { Vec::new() };
        Ok((ended, spare))
    });
    drop(ended);
}

/// Ends, in a forked child, the claims of the threads that the child does not have. The thread that
/// forked calls it.
pub(crate) fn end_those_of_other_threads() {
    let current = thread::current().id();
    let ended: Vec<Entry> = claims().all.extract_if(.., |entry| entry.thread != current).collect();
    drop(ended);
}

// ===== the claim of an argument

/// An array is held by an argument while the value lives.
///
/// # Invariants
///
/// 1. The number is that of a claim in the table of the interpreter, or none is needed.
pub(crate) struct Claim {
    number: Option<i64>,
    table: &'static Table,
}

impl Claim {
    /// Claims an array on the CPU, whose memory outlives the claim.
    ///
    /// # Errors
    ///
    /// `BufferError` if the array overlaps a claimed one, and either is written.
    pub(crate) fn of(py: Python<'_>, array: &DArray, writes: bool) -> PyResult<Self> {
        let table = interpreter::claims(py)?;
        if array.nbytes() == 0 {
            return Ok(Self { number: None, table });
        }
        let extent = Extent {
            address: array.as_ptr(),
            rank: array.rank(),
            shape: array.shape().as_ptr(),
            strides: array.strides().as_ptr(),
            itemsize: array.layout().itemsize(),
            writes: i32::from(writes),
        };
        // SAFETY: clause 1 of `claim`: the numbers are those of the array's layout. Clause 2: the
        // caller keeps the array until the claim ends. Table 1: the function takes such an extent.
        match unsafe { (table.claim)(&raw const extent) } {
            number @ 0.. => Ok(Self { number: Some(number), table }),
            why => Err(refused(array, why, writes)),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            (self.table.end)(number);
        }
    }
}

#[cold]
fn refused(array: &DArray, why: i64, writes: bool) -> PyErr {
    let what = match (why, writes) {
        (refusal::IS_WRITTEN, true) => {
            "the array is to be written, and overlaps one that another argument writes"
        }
        (refusal::IS_READ, _) => "the array is to be written, and overlaps one that another argument reads",
        (refusal::IS_WRITTEN, false) => "the array overlaps one that another argument writes",
        _ => return PyRuntimeError::new_err("the list of arguments cannot take one more"),
    };
    PyBufferError::new_err(format!(
        "{what}; it has {} bytes at {:p}; copy one of them with `copy()`",
        array.nbytes(),
        array.as_ptr()
    ))
}
