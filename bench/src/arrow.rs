//! Arrow C++ from the pyarrow wheel, behind the functions of `bench/peers/arrow.cc`.
//!
//! Loaded at run time, so that the workspace builds without the wheel and without a C++ compiler.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::AtomicUsize;

use libloading::Library;

use crate::Result;

/// The environment variable with the path of the built peer.
pub(crate) const LIBRARY: &str = "CROSSDOCK_BENCH_ARROW";

/// The table at the end of `peers/arrow.cc`, field by field. Functions without pointer parameters
/// accept any numbers.
#[derive(Clone, Copy)]
#[repr(C)]
struct Functions {
    nbytes: usize,
    version: extern "C" fn() -> *const c_char,
    allocate: extern "C" fn(usize, usize) -> usize,
    capped: extern "C" fn(usize) -> *mut c_void,
    allocate_capped: unsafe extern "C" fn(usize, usize, *mut c_void) -> usize,
    allocate_write: extern "C" fn(usize, usize) -> usize,
    live: extern "C" fn() -> usize,
    keep: extern "C" fn(usize) -> usize,
    copy_shared_ptr: extern "C" fn(usize) -> usize,
    slice: extern "C" fn(usize, usize, usize, usize) -> usize,
    append: unsafe extern "C" fn(usize, *const u8, usize, usize) -> usize,
    hex_once: unsafe extern "C" fn(*const u8, usize, *mut u8) -> usize,
    hex: unsafe extern "C" fn(usize, *const u8, usize) -> usize,
    copy: unsafe extern "C" fn(usize, *const u8, usize) -> usize,
    equals: unsafe extern "C" fn(usize, *const u8, *const u8, usize) -> usize,
    race: unsafe extern "C" fn(usize, *mut c_void, usize, usize, *mut usize, *mut usize) -> usize,
}

/// The peer.
pub(crate) struct Arrow {
    functions: Functions,
    /// The address of the functions.
    _library: Library,
}

/// A capped pool of Arrow C++, never freed.
#[derive(Clone, Copy)]
pub(crate) struct Capped(*mut c_void);

// SAFETY: Arrow's pools may be used from any thread.
unsafe impl Send for Capped {}
// SAFETY: Arrow's pools synchronise their own counters, so threads may share one.
unsafe impl Sync for Capped {}

impl Arrow {
    /// The peer, if the environment names one.
    pub(crate) fn load() -> Result<Option<Self>> {
        let Some(path) = std::env::var_os(LIBRARY) else { return Ok(None) };
        let failed = |error: libloading::Error| format!("{}: {error}", path.display());
        // SAFETY: the initialisers of Arrow C++ and of the C++ runtime have no preconditions.
        let library = unsafe { Library::new(&path) }.map_err(failed)?;
        // SAFETY: the symbol in `peers/arrow.cc` is a constant `Functions`.
        let table = unsafe { library.get::<*const Functions>(b"crossdock_bench_arrow\0") }.map_err(failed)?;
        // SAFETY: the table begins with its size, in every version.
        let nbytes = unsafe { table.cast::<usize>().read() };
        if nbytes != size_of::<Functions>() {
            return Err(format!("{}: not of this checkout", path.display()).into());
        }
        // SAFETY: the size is the expected one, and the table is constant.
        let functions = unsafe { table.read() };
        Ok(Some(Self { functions, _library: library }))
    }

    /// Its version, and the allocator behind its default pool.
    pub(crate) fn version(&self) -> String {
        let text = (self.functions.version)();
        // SAFETY: a C string of the loaded library.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Allocates and frees; the result of each is 1 if it is aligned to 64 bytes.
    pub(crate) fn allocate(&self, count: usize, nbytes: usize) -> usize {
        (self.functions.allocate)(count, nbytes)
    }

    /// A pool that refuses allocations beyond `limit` bytes in the default pool.
    pub(crate) fn capped(&self, limit: usize) -> Capped {
        Capped((self.functions.capped)(limit))
    }

    /// Like [`Arrow::allocate`].
    pub(crate) fn allocate_capped(&self, count: usize, nbytes: usize, pool: Capped) -> usize {
        // SAFETY: a capped pool.
        unsafe { (self.functions.allocate_capped)(count, nbytes, pool.0) }
    }

    /// Allocates, fills with sevens and frees; the result of each is the last byte.
    pub(crate) fn allocate_write(&self, count: usize, nbytes: usize) -> usize {
        (self.functions.allocate_write)(count, nbytes)
    }

    /// The default pool's count of allocated bytes.
    pub(crate) fn live(&self) -> usize {
        (self.functions.live)()
    }

    /// Allocates memory that is never freed and fills it with sevens; the result is the last byte.
    pub(crate) fn keep(&self, nbytes: usize) -> usize {
        (self.functions.keep)(nbytes)
    }

    /// The result of each is 41.
    pub(crate) fn copy_shared_ptr(&self, count: usize) -> usize {
        (self.functions.copy_shared_ptr)(count)
    }

    /// The result of each is the length of the slice.
    pub(crate) fn slice(&self, count: usize, nbytes: usize, offset: usize, length: usize) -> usize {
        (self.functions.slice)(count, nbytes, offset, length)
    }

    /// Appends up to `nbytes` bytes; the result of each is their number and the last byte.
    pub(crate) fn append(&self, count: usize, chunk: &[u8], nbytes: usize) -> usize {
        // SAFETY: the chunk has that many bytes.
        unsafe { (self.functions.append)(count, chunk.as_ptr(), chunk.len(), nbytes) }
    }

    /// The digits of `bytes`.
    pub(crate) fn hex_once(&self, bytes: &[u8]) -> Vec<u8> {
        let mut digits = vec![0u8; 2 * bytes.len()];
        // SAFETY: the output has room for two digits of each byte.
        let length = unsafe { (self.functions.hex_once)(bytes.as_ptr(), bytes.len(), digits.as_mut_ptr()) };
        assert_eq!(length, digits.len(), "two digits for each byte");
        digits
    }

    /// The result of each is the number of digits and the last digit.
    pub(crate) fn hex(&self, count: usize, bytes: &[u8]) -> usize {
        // SAFETY: there are that many bytes.
        unsafe { (self.functions.hex)(count, bytes.as_ptr(), bytes.len()) }
    }

    /// The result of each is the number of bytes and the last byte.
    pub(crate) fn copy(&self, count: usize, bytes: &[u8]) -> usize {
        // SAFETY: there are that many bytes.
        unsafe { (self.functions.copy)(count, bytes.as_ptr(), bytes.len()) }
    }

    /// The result of each is 1 if they are equal.
    pub(crate) fn equals(&self, count: usize, left: &[u8], right: &[u8]) -> usize {
        assert_eq!(left.len(), right.len(), "the comparison is of the same number of bytes");
        // SAFETY: both have that many bytes.
        unsafe { (self.functions.equals)(count, left.as_ptr(), right.as_ptr(), left.len()) }
    }

    /// Allocates and frees at the pool's limit, counting in `held`: how often the limit was
    /// exceeded, and how often the pool refused.
    pub(crate) fn race(
        &self,
        count: usize,
        pool: Capped,
        nbytes: usize,
        limit: usize,
        held: &AtomicUsize,
    ) -> (usize, usize) {
        let mut refused = 0usize;
        let race = self.functions.race;
        // SAFETY: the pool is a capped pool; the first number is used atomically, and no other
        // thread uses the second.
        let exceeded = unsafe { race(count, pool.0, nbytes, limit, held.as_ptr(), &raw mut refused) };
        (exceeded, refused)
    }
}

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the peer's sizes are 64 bits wide");
