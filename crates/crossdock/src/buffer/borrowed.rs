//! Borrowed bytes: the lifetime is in the type, so there is no count.

use std::fmt;
use std::ops::RangeBounds;
use std::ptr::NonNull;

use crate::buffer::Buffer;
use crate::buffer::text::{hex_of, not_utf8};
use crate::buffer::window::{count_of, resolve, start_of};
use crate::error::{Error, Kind, Rejected, Result};
use crate::memory::{Birth, Place, Pod};
use crate::pool::Pool;

/// Borrowed bytes for reading: a slice of numbers, or text, where no [`Buffer`] is needed. O(1) to
/// make, copy and slice. The compiler checks that the bytes outlive the view and are not written
/// meanwhile.
///
/// ```
/// use crossdock::buffer::BufferView;
/// use crossdock::pool::Pool;
///
/// let samples = [1u16, 2, 3];
/// let view = BufferView::from(&samples[..]);
/// assert_eq!(view.nbytes(), 6);
/// assert_eq!(view.slice(2..)?.as_slice_of::<u16>()?, [2, 3]);
/// let kept = view.to_buffer(&Pool::default())?; // what outlives the borrow is a copy
/// assert_eq!(kept.to_hex_string()?, view.to_hex_string()?);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// Two views are equal if their bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BufferView<'a> {
    bytes: &'a [u8],
}

/// Borrowed bytes for writing, exclusive to the view. Disjoint windows of it
/// ([`BufferViewMut::split_at_mut`]) coexist.
///
/// ```
/// use crossdock::buffer::BufferViewMut;
///
/// let mut samples = [0u32; 4];
/// let view = BufferViewMut::from(&mut samples[..]);
/// let (mut left, mut right) = view.split_at_mut(8)?;
/// left.as_mut_slice_of::<u32>()?.fill(1);
/// right.as_mut_slice_of::<u32>()?[1] = 2;
/// assert_eq!(samples, [1, 1, 0, 2]);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(PartialEq, Eq)]
pub struct BufferViewMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a, T: Pod> From<&'a [T]> for BufferView<'a> {
    fn from(slice: &'a [T]) -> Self {
        // SAFETY: the slice has `size_of_val` bytes, all initialised (Pod 2) and without interior
        // mutability (Pod 3). The view borrows them for the slice's lifetime.
        Self { bytes: unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) } }
    }
}

impl<'a> From<&'a str> for BufferView<'a> {
    fn from(text: &'a str) -> Self {
        Self { bytes: text.as_bytes() }
    }
}

impl<'a, T: Pod> From<&'a mut [T]> for BufferViewMut<'a> {
    fn from(slice: &'a mut [T]) -> Self {
        let nbytes = size_of_val(slice);
        // SAFETY: the slice has `nbytes` bytes, all initialised (Pod 2) and mutably borrowed for
        // `'a`. Any bytes that are written are a value (Pod 1).
        Self { bytes: unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), nbytes) } }
    }
}

impl<'a> From<BufferViewMut<'a>> for BufferView<'a> {
    fn from(view: BufferViewMut<'a>) -> Self {
        Self { bytes: view.bytes }
    }
}

impl<'a> BufferView<'a> {
    /// The number of bytes.
    pub fn nbytes(self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// A part of the bytes. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` where the range goes past the end or ends before it begins.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self> {
        Ok(Self { bytes: &self.bytes[resolve(&range, self.bytes.len())?] })
    }

    /// The bytes as elements. O(1).
    ///
    /// # Errors
    ///
    /// `is_alignment` where the address is not aligned for `T`, `is_bounds` where the bytes are not
    /// a whole number of `T`.
    pub fn as_slice_of<T: Pod>(self) -> Result<&'a [T]> {
        let bytes = NonNull::from(self.bytes).cast();
        let len = count_of::<T>(bytes, self.bytes.len())?;
        // SAFETY: `count_of` checked the alignment and the length. The bytes are initialised, every
        // pattern is a value (Pod 1), and they are borrowed for `'a`.
        Ok(unsafe { std::slice::from_raw_parts(start_of(bytes, len).as_ptr(), len) })
    }

    /// The bytes as text. O(n): it checks them.
    ///
    /// # Errors
    ///
    /// `is_malformed` where they are not UTF-8, with the index of the first invalid byte.
    pub fn as_str(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes).map_err(not_utf8)
    }

    /// The bytes as hexadecimal digits, upper case, two for each byte, without separators. O(n).
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn to_hex_string(self) -> Result<String> {
        hex_of(self.bytes.len(), |push| push(self.bytes).map(drop))
    }

    /// A new buffer of a pool with these bytes. Copies, and counts, them.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`.
    pub fn to_buffer(self, pool: &Pool) -> Result<Buffer> {
        pool.copy_from_slice(self.bytes)
    }
}

impl<'a> BufferViewMut<'a> {
    /// The number of bytes.
    pub fn nbytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The same bytes, for reading.
    pub fn as_view(&self) -> BufferView<'_> {
        BufferView { bytes: self.bytes }
    }

    /// The bytes.
    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// The bytes before `at`, and those from it on, as two views for writing. O(1).
    ///
    /// # Errors
    ///
    /// `is_bounds` where `at` lies behind the end. The error returns the view.
    pub fn split_at_mut(self, at: usize) -> Result<(Self, Self), Rejected<Self>> {
        if at > self.bytes.len() {
            let text = format!("byte {at} is out of bounds for a view of {} bytes", self.bytes.len());
            return Err(Rejected { value: self, error: Error::new(Kind::Bounds, text) });
        }
        let (front, back) = self.bytes.split_at_mut(at);
        Ok((Self { bytes: front }, Self { bytes: back }))
    }

    /// The bytes as elements, for writing. O(1). Errors as [`BufferView::as_slice_of`].
    pub fn as_mut_slice_of<T: Pod>(&mut self) -> Result<&mut [T]> {
        let nbytes = self.bytes.len();
        let bytes = NonNull::from(&mut *self.bytes).cast();
        let len = count_of::<T>(bytes, nbytes)?;
        // SAFETY: `count_of` checked the alignment and the length, and `&mut self` is the only
        // access. The bytes were a slice of a `Pod` type, of which any pattern is a value (Pod 1).
        Ok(unsafe { std::slice::from_raw_parts_mut(start_of(bytes, len).as_ptr(), len) })
    }
}

impl fmt::Debug for BufferView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferView({} bytes at {:p})", self.bytes.len(), self.bytes)
    }
}

impl fmt::Debug for BufferViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferViewMut({} bytes at {:p})", self.bytes.len(), self.bytes)
    }
}

impl Buffer {
    /// Wraps a slice without its lifetime. Constant: Read leases can be taken, Write and Share
    /// leases cannot. O(1), no copy. (See [`BufferView`] for the same with a lifetime,
    /// [`Buffer::non_owned`] for memory that other parties write.)
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    ///
    /// let samples = vec![1u16, 2, 3];
    /// // SAFETY: the vector outlives the buffer, which is dropped here, and is not written meanwhile.
    /// let buffer = unsafe { Buffer::from_borrowed_unchecked(&samples) }?;
    /// assert_eq!(buffer.as_ptr(), samples.as_ptr().cast());
    /// assert_eq!(buffer.read()?.as_slice_of::<u16>()?, samples);
    /// drop(buffer);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is no memory for the header.
    ///
    /// # Safety
    ///
    /// Until the last handle, lease and export of the memory is gone, the slice is alive and no
    /// party writes it.
    #[doc(hidden)]
    pub unsafe fn from_borrowed_unchecked<T: Pod>(slice: &[T]) -> Result<Self> {
        let start = slice.as_ptr().cast_mut().cast();
        // SAFETY: `from_foreign` needs readable, initialised and constant bytes on the host: a
        // slice of `Pod` is initialised (Pod 2), and `# Safety` keeps it alive and unwritten.
        unsafe { Self::from_foreign(start, size_of_val(slice), Place::CPU, Birth::Constant, || {}) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::copied_bytes_here;

    #[test]
    fn a_view_is_the_bytes_of_what_it_was_made_of() {
        let numbers = [0x0102_0304_u32.to_le(), 5_u32.to_le()];
        let view = BufferView::from(&numbers[..]);
        assert_eq!((view.nbytes(), view.is_empty()), (8, false));
        assert_eq!(view.as_bytes().as_ptr(), numbers.as_ptr().cast());
        assert_eq!(view.as_slice_of::<u32>().unwrap(), numbers);
        assert_eq!(view.to_hex_string().unwrap(), "0403020105000000");
        let text = BufferView::from("grün");
        assert_eq!((text.nbytes(), text.as_str().unwrap()), (5, "grün"));
        let broken = text.slice(..3).unwrap().as_str().unwrap_err();
        assert!(broken.is_malformed() && broken.to_string().contains('2'), "{broken}");
        assert_eq!(BufferView::from("").to_hex_string().unwrap(), "");
    }

    #[test]
    fn slices_stay_within_and_elements_within_slices() {
        let numbers = [1u16, 2, 3, 4];
        let view = BufferView::from(&numbers[..]);
        assert_eq!(view.slice(2..6).unwrap().as_slice_of::<u16>().unwrap(), [2, 3]);
        assert_eq!(view.slice(..).unwrap(), view);
        assert!(view.slice(8..).unwrap().is_empty());
        for range in [(0, 9), (9, 9), (5, 4), (0, usize::MAX)] {
            assert!(view.slice(range.0..range.1).unwrap_err().is_bounds(), "{range:?}");
        }
        assert!(view.slice(..=usize::MAX).unwrap_err().is_bounds());
        assert!(view.slice(1..3).unwrap().as_slice_of::<u16>().unwrap_err().is_alignment());
        assert!(view.slice(..3).unwrap().as_slice_of::<u16>().unwrap_err().is_bounds());
    }

    #[test]
    fn views_are_equal_if_their_bytes_are() {
        let (left, mut right) = ([1u8, 2, 3], [1u8, 2, 3]);
        assert_eq!(BufferView::from(&left[..]), BufferView::from(&right[..]));
        assert_eq!(BufferViewMut::from(&mut right[..]).as_view(), BufferView::from(&left[..]));
        assert_ne!(BufferView::from(&left[..]), BufferView::from(&right[..2]));
        right[2] = 4;
        assert_ne!(BufferView::from(&left[..]), BufferView::from(&right[..]));
    }

    #[test]
    fn disjoint_windows_are_written_at_once_and_a_bad_place_returns_the_view() {
        let mut bytes = [0u8; 6];
        let view = BufferViewMut::from(&mut bytes[..]);
        let back = view.split_at_mut(7).unwrap_err();
        assert!(back.error.is_bounds() && back.error.to_string().contains('7'), "{}", back.error);
        let (mut front, mut back) = back.value.split_at_mut(2).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| front.as_mut_bytes().fill(1));
            back.as_mut_bytes()[1..3].fill(2);
        });
        assert_eq!((front.nbytes(), back.nbytes(), back.is_empty()), (2, 4, false));
        assert_eq!(bytes, [1, 1, 0, 2, 2, 0]);
    }

    #[test]
    fn what_outlives_the_borrow_is_a_counted_copy_in_its_pool() {
        let pool = Pool::default().proxy("copies").unwrap();
        let before = copied_bytes_here();
        let buffer = {
            let numbers = [7u64; 3];
            BufferView::from(&numbers[..]).to_buffer(&pool).unwrap()
        };
        assert!(copied_bytes_here() - before >= 24);
        assert_eq!(buffer.read().unwrap().as_slice_of::<u64>().unwrap(), [7; 3]);
        assert_eq!(pool.statistics().live_nbytes, 64);
    }

    #[test]
    fn an_unchecked_wrap_is_constant_and_in_place() {
        let numbers = vec![1u32, 2];
        // SAFETY: `numbers` outlives the buffer and its lease, both of which end with this test,
        // and is not written.
        let buffer = unsafe { Buffer::from_borrowed_unchecked(&numbers) }.unwrap();
        assert_eq!(buffer.as_ptr(), numbers.as_ptr().cast());
        assert!(buffer.write().unwrap_err().is_read_only());
        assert_eq!(buffer.read().unwrap().as_slice_of::<u32>().unwrap(), numbers);
        // SAFETY: the slice is empty and `'static`, so there is no byte that must stay alive or
        // unwritten.
        assert_eq!(unsafe { Buffer::from_borrowed_unchecked::<u8>(&[]) }.unwrap().nbytes(), 0);
    }
}
