//! Appends elements of one type to a buffer.

use std::mem::MaybeUninit;

use crate::buffer::Buffer;
use crate::buffer::mutable::MutableBuffer;
use crate::error::{Error, Kind, Result};
use crate::memory::Pod;

/// A buffer of elements of one type that grows: [`MutableBuffer`] with a type.
///
/// ```
/// use crossdock::buffer::BufferBuilder;
///
/// let mut builder = BufferBuilder::new()?;
/// builder.append(1i16)?;
/// builder.append_n(3, -1)?;
/// builder.append_slice(&[5, 6])?;
/// assert_eq!(builder.as_slice(), [1, -1, -1, -1, 5, 6]);
/// let buffer = builder.finish();
/// assert_eq!(buffer.nbytes(), 12);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. The buffer holds a whole number of `T`, and is aligned for it.
#[derive(Debug)]
pub struct BufferBuilder<T> {
    bytes: MutableBuffer,
    element: std::marker::PhantomData<T>,
}

impl<T: Pod> BufferBuilder<T> {
    /// An empty builder over the default pool.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn new() -> Result<Self> {
        Self::over(MutableBuffer::new()?)
    }

    /// An empty builder with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn with_capacity(capacity: usize) -> Result<Self> {
        let nbytes = nbytes_of::<T>(capacity)?;
        Self::over(MutableBuffer::with_capacity(nbytes)?)
    }

    /// A builder that appends to the elements of a buffer.
    ///
    /// # Errors
    ///
    /// `is_bounds` where the bytes are not a whole number of `T`, `is_alignment` where `T` needs a
    /// larger alignment than the buffer keeps.
    pub fn over(bytes: MutableBuffer) -> Result<Self> {
        bytes.as_slice_of::<T>()?;
        if bytes.alignment() < align_of::<T>() {
            return Err(Error::new(
                Kind::Alignment,
                format!(
                    "the buffer is aligned to {} bytes, but its elements require {}",
                    bytes.alignment(),
                    align_of::<T>()
                ),
            ));
        }
        Ok(Self { bytes, element: std::marker::PhantomData })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.nbytes() / size_of::<T>()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of elements that fit without a new allocation.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity() / size_of::<T>()
    }

    /// Makes room for `additional` more elements, geometrically.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; the builder is unchanged.
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        self.bytes.reserve(nbytes_of::<T>(additional)?)
    }

    /// Appends one element. O(1) on average. Errors as [`BufferBuilder::reserve`].
    #[inline]
    pub fn append(&mut self, value: T) -> Result<()> {
        self.bytes.push(value)
    }

    /// Appends the same element `count` times. Errors as [`BufferBuilder::reserve`].
    pub fn append_n(&mut self, count: usize, value: T) -> Result<()> {
        let nbytes = nbytes_of::<T>(count)?;
        self.bytes.reserve(nbytes)?;
        let spare = &mut self.bytes.spare_capacity_mut()[..nbytes];
        // SAFETY: `spare` has `nbytes` bytes, room for `count` elements. The bytes before it are a
        // whole number of elements from an aligned address on (BufferBuilder 1), so it is aligned,
        // too. Any bytes are a valid `MaybeUninit`.
        let elements =
            unsafe { std::slice::from_raw_parts_mut(spare.as_mut_ptr().cast::<MaybeUninit<T>>(), count) };
        elements.fill(MaybeUninit::new(value));
        // SAFETY: `reserve` made room for `nbytes` more bytes, and `fill` just initialised all of
        // them (Pod 2).
        unsafe { self.bytes.set_nbytes(self.bytes.nbytes() + nbytes) };
        Ok(())
    }

    /// Appends the elements of a slice: one copy. Errors as [`BufferBuilder::reserve`].
    #[inline]
    pub fn append_slice(&mut self, slice: &[T]) -> Result<()> {
        self.bytes.extend_from_slice(slice)
    }

    /// Keeps only the first `len` elements. The capacity stays.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len.saturating_mul(size_of::<T>()));
    }

    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the bytes are a whole number of aligned elements (BufferBuilder 1), and
        // initialised (MutableBuffer 2); every pattern is a value (Pod 1).
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len()) }
    }

    /// The elements, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len();
        // SAFETY: the bytes are a whole number of aligned elements (BufferBuilder 1), and
        // initialised (MutableBuffer 2); every pattern is a value (Pod 1), and `&mut self` is the
        // only access.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), len) }
    }

    /// The bytes, to which other types may be appended.
    pub fn into_inner(self) -> MutableBuffer {
        self.bytes
    }

    /// The buffer. O(1); the capacity stays (see [`MutableBuffer::shrink_to_fit`]).
    pub fn finish(self) -> Buffer {
        self.bytes.freeze()
    }
}

fn nbytes_of<T>(len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>()).ok_or_else(|| Error::out_of_memory(usize::MAX, align_of::<T>()))
}
