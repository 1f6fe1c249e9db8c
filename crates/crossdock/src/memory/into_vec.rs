//! Back from a buffer to the vector that it was made of.

use crate::error::{Rejected, Result};
use crate::memory::owner::take_vec;
use crate::memory::{Buffer, Pod, exclusive};

impl Buffer {
    /// Gives the vector back that was adopted, with what was written to it since. O(1): nothing is copied.
    ///
    /// ```
    /// use crossdock::memory::Buffer;
    ///
    /// let mut buffer = Buffer::from_vec(vec![1u16, 2, 3])?;
    /// buffer.as_mut_slice()?[0] = 7;
    /// let other = buffer.clone();
    /// let refused = buffer.try_into_vec::<u16>().unwrap_err(); // there is another handle
    /// drop(other);
    /// let vec: Vec<u16> = refused.value.try_into_vec()?;
    /// assert_eq!(vec[1..], [2, 3]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// `T` may be another type than the vector had, of the same alignment: the bytes are what they are.
    ///
    /// # Errors
    ///
    /// The buffer comes back with the error. `is_conflict`, which says how many leases or other handles there are and by which protocols
    /// the memory went out; `is_unsupported` where the memory is no vector's (a pool's, say); `is_bounds` where the buffer does not cover all
    /// of the vector; `is_dtype` where a vector of `T` has another alignment or no such size; `is_read_only`, `is_place`; of failed
    /// work as [`Buffer::read`].
    pub fn try_into_vec<T: Pod>(self) -> Result<Vec<T>, Rejected<Self>> {
        let (mut handle, ptr, nbytes, readonly) = self.into_parts();
        // Waits for a device's work, too, which might still write.
        let found = exclusive(&mut handle, readonly);
        // SAFETY: the parts of `self` (Buffer 1 and 2).
        let mut buffer = unsafe { Self::from_parts(handle, ptr, nbytes, readonly) };
        if let Err(error) = found.and_then(|()| buffer.check_only_and_whole()) {
            return Err(Rejected { value: buffer, error });
        }
        let (handle, ..) = buffer.into_parts();
        take_vec(handle).map_err(|(handle, error)| {
            // SAFETY: as above.
            let value = unsafe { Self::from_parts(handle, ptr, nbytes, readonly) };
            Rejected { value, error }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_comes_back_with_its_capacity_and_what_was_written() {
        let mut vec = Vec::with_capacity(10);
        vec.extend([1u32, 2, 3]);
        let (address, capacity) = (vec.as_ptr(), vec.capacity());
        let mut buffer = Buffer::from_vec(vec).unwrap();
        buffer.as_mut_slice().unwrap()[..4].copy_from_slice(&9u32.to_ne_bytes());
        let mut vec: Vec<u32> = buffer.try_into_vec().unwrap();
        assert_eq!((vec.as_ptr(), vec.capacity()), (address, capacity));
        assert_eq!(vec, [9, 2, 3]);
        vec.extend(0..100); // it is a vector of the allocator, which may move and free it
        assert_eq!(vec.len(), 103);
    }

    #[test]
    fn elements_of_the_same_alignment_may_be_asked_for() {
        let buffer = Buffer::from_vec(vec![1u32, 2, 3, 4]).unwrap();
        assert_eq!(buffer.try_into_vec::<[i32; 2]>().unwrap(), [[1, 2], [3, 4]]);
    }

    #[test]
    fn empty_vectors_come_back() {
        let vec: Vec<u64> = Buffer::from_vec(Vec::<u64>::new()).unwrap().try_into_vec().unwrap();
        assert_eq!((vec.len(), vec.capacity()), (0, 0));
        let vec: Vec<u64> = Buffer::from_vec(Vec::<u64>::with_capacity(5)).unwrap().try_into_vec().unwrap();
        assert!(vec.is_empty() && vec.capacity() >= 5);
    }

    #[track_caller]
    fn refused<T: Pod + std::fmt::Debug>(buffer: Buffer, number: &str) -> crate::error::Error {
        let (address, nbytes) = (buffer.as_ptr(), buffer.nbytes());
        let Rejected { value, error } = buffer.try_into_vec::<T>().unwrap_err();
        assert_eq!((value.as_ptr(), value.nbytes()), (address, nbytes), "nothing is lost");
        assert!(error.to_string().contains(number), "{error}");
        error
    }

    #[test]
    fn what_is_not_a_whole_vector_of_ours_alone_comes_back() {
        let vec = || Buffer::from_vec(vec![1u32, 2, 3]).unwrap();
        let shared = vec();
        let other = shared.clone();
        assert!(refused::<u32>(shared, "2 handles").is_conflict());
        drop(other);
        let leased = vec();
        let guard = leased.pin().unwrap();
        assert!(refused::<u32>(leased, "1 ").is_conflict());
        drop(guard);
        let window = vec().slice(4..).unwrap();
        assert!(refused::<u32>(window, "8 of the 12 bytes").is_bounds());
        assert!(refused::<u32>(vec().into_readonly(), "").is_read_only());
        assert!(refused::<u8>(vec(), "aligned to 4").is_dtype());
        assert!(refused::<[u32; 2]>(vec(), "of 8 bytes").is_dtype());
        assert!(refused::<[u32; 0]>(vec(), "of 0 bytes").is_dtype());
        assert!(refused::<u8>(Buffer::zeroed(5).unwrap(), "5 bytes").is_unsupported());
        assert!(refused::<u8>(Buffer::from_static(&[1u8]).unwrap(), "").is_read_only());
        let part = vec().partition(&[0..4, 4..12]).unwrap().remove(1);
        assert!(refused::<u32>(part, "8 bytes").is_unsupported());
        assert_eq!(vec().try_into_vec::<u32>().unwrap(), [1, 2, 3]);
    }
}
