//! Loops over the peers that Rust programs link: each runs its operation `count` times, and returns
//! the sum of the results.

use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;

use bytes::BytesMut;
use crossdock::buffer::MutableBuffer;
use crossdock::pool::Pool;

/// One loop: the number of repetitions, and of bytes.
pub(crate) type Loop = fn(usize, usize) -> usize;

/// The loops of a companion, by name.
pub(crate) const NAMED: &[(&str, Loop)] =
    &[("arrow-buffer", arrow_buffer), ("bytes", bytes), ("crossdock", crossdock), ("global", global)];

/// Whether a pointer is aligned to `alignment`, as a number; the optimiser does not know the
/// pointer.
fn aligned<T>(ptr: *const T, alignment: usize) -> usize {
    usize::from(!ptr.is_null() && black_box(ptr).addr().is_multiple_of(alignment))
}

fn repeat(count: usize, operation: impl Fn() -> usize) -> usize {
    (0..count).fold(0usize, |sum, _| sum.wrapping_add(operation()))
}

/// The C library's `malloc` and `free`, which align to 16 bytes.
pub(crate) fn malloc(count: usize, nbytes: usize) -> usize {
    repeat(count, || {
        // SAFETY: `malloc` accepts any size.
        let ptr = unsafe { libc::malloc(black_box(nbytes)) };
        let answer = aligned(ptr, 16);
        // SAFETY: allocated above, freed once.
        unsafe { libc::free(ptr) };
        answer
    })
}

/// The C library's function for memory that is aligned to 64 bytes.
pub(crate) fn memalign(count: usize, nbytes: usize) -> usize {
    repeat(count, || {
        // SAFETY: a power of two.
        let ptr = unsafe { libc::memalign(64, black_box(nbytes)) };
        let answer = aligned(ptr, 64);
        // SAFETY: allocated above, freed once.
        unsafe { libc::free(ptr) };
        answer
    })
}

/// The global allocator of the program, at its usual alignment.
fn global(count: usize, nbytes: usize) -> usize {
    let layout = Layout::from_size_align(nbytes.max(1), 16).expect("a size that a benchmark asks for");
    repeat(count, || {
        // SAFETY: not zero-sized.
        let ptr = unsafe { alloc(black_box(layout)) };
        let answer = aligned(ptr, 16);
        if !ptr.is_null() {
            // SAFETY: allocated above with this layout, freed once.
            unsafe { dealloc(ptr, layout) };
        }
        answer
    })
}

pub(crate) fn arrow_buffer(count: usize, nbytes: usize) -> usize {
    repeat(count, || aligned(arrow_buffer::MutableBuffer::new(black_box(nbytes)).as_ptr(), 64))
}

/// Promises no alignment.
pub(crate) fn bytes(count: usize, nbytes: usize) -> usize {
    repeat(count, || aligned(BytesMut::with_capacity(black_box(nbytes)).as_ptr(), 1))
}

/// The default pool.
pub(crate) fn crossdock(count: usize, nbytes: usize) -> usize {
    repeat(count, || fresh(MutableBuffer::with_capacity(black_box(nbytes))))
}

/// The default pool, and a finished buffer, with its reference-counted header.
pub(crate) fn crossdock_frozen(count: usize, nbytes: usize) -> usize {
    repeat(count, || frozen(MutableBuffer::with_capacity(black_box(nbytes))))
}

/// A pool through its handle.
pub(crate) fn crossdock_pool(count: usize, nbytes: usize, pool: &Pool) -> usize {
    repeat(count, || fresh(pool.mutable(black_box(nbytes))))
}

// Inlined like the loops of the C++ peer: a result that is passed on is copied first.
#[inline(always)]
fn fresh(buffer: crossdock::Result<MutableBuffer>) -> usize {
    match &buffer {
        Ok(buffer) => aligned(buffer.as_ptr(), 64),
        Err(_) => 0,
    }
}

#[inline(always)]
fn frozen(buffer: crossdock::Result<MutableBuffer>) -> usize {
    match buffer {
        Ok(buffer) => aligned(black_box(&buffer.freeze()).as_ptr(), 64),
        Err(_) => 0,
    }
}
