//! Buffers that were vectors, as vectors again.

use crate::buffer::Buffer;
use crate::buffer::window::count_of;
use crate::error::{Advice, Error, Kind, Rejected, Result};
use crate::memory::{Pod, exclusive, owner};

impl Buffer {
    /// The adopted vector ([`Buffer::from_vec`]), if this is the only handle on it, with the
    /// elements of this buffer and its original capacity. O(1).
    ///
    /// `T` may differ from the vector's type if it has the same alignment and a whole number of `T`
    /// fills the vector's capacity: `f32` for `u32`.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    ///
    /// let samples = vec![1u16, 2, 3];
    /// let address = samples.as_ptr();
    /// let buffer = Buffer::from_vec(samples)?;
    /// let samples: Vec<i16> = buffer.try_into_vec()?;
    /// assert_eq!((samples.as_ptr(), &samples[..]), (address.cast(), &[1, 2, 3][..]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error returns the buffer. `is_conflict`, with the number of leases and other handles;
    /// `is_read_only`; `is_place`; `is_unsupported` where the memory was not a vector; `is_bounds`
    /// where the buffer does not begin with it or does not hold a whole number of `T`;
    /// `is_alignment` and `is_bounds` where the vector's block does not fit a vector of `T`; the
    /// error of failed work, as for [`Buffer::read`].
    pub fn try_into_vec<T: Pod>(self) -> Result<Vec<T>, Rejected<Self>> {
        let (mut handle, ptr, nbytes, readonly) = self.into_parts();
        let back = |handle, error| {
            // SAFETY: `into_parts` returned this pointer, size and flag with this handle, so Buffer
            // 1 and 2 hold for them again.
            let value = unsafe { Self::from_parts(handle, ptr, nbytes, readonly) };
            Err(Rejected { value, error })
        };
        if let Err(error) = exclusive(&mut handle, readonly) {
            return back(handle, error);
        }
        let within = ptr.addr().get() - handle.header().ptr().addr().get();
        if within != 0 {
            let text = format!(
                "the {nbytes} bytes begin at byte {within} of their memory, but a vector must begin at byte 0"
            );
            return back(handle, Error::new(Kind::Bounds, text).advising(Advice::CopyElements));
        }
        let len = match count_of::<T>(ptr, nbytes) {
            Ok(len) => len,
            Err(error) => return back(handle, error),
        };
        // SAFETY: `exclusive` found no other handle and no lease, and waited for work. The buffer
        // begins at byte 0 of the region (checked) and lies within it (Buffer 1), hence `len`
        // elements do.
        match unsafe { owner::take_vec(handle, len) } {
            Ok(vec) => Ok(vec),
            Err((handle, error)) => back(handle, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Effect, Signal};
    use crate::memory::{Allocation, copied_bytes_here};

    #[test]
    fn a_vector_comes_back_with_its_address_and_capacity() {
        let mut vec = Vec::with_capacity(10);
        vec.extend([1u32, 2, 3]);
        let (address, copied) = (vec.as_ptr(), copied_bytes_here());
        let buffer = Buffer::from_vec(vec).unwrap();
        assert_eq!(buffer.retained_nbytes(), 40);
        let mut vec: Vec<u32> = buffer.try_into_vec().unwrap();
        assert_eq!((vec.as_ptr(), vec.capacity(), &vec[..]), (address, 10, &[1, 2, 3][..]));
        vec.push(4);
        assert_eq!((vec.as_ptr(), copied_bytes_here()), (address, copied), "there was room");
    }

    #[test]
    fn the_front_of_a_vector_is_a_shorter_vector() {
        let buffer = Buffer::from_vec(vec![1u8, 2, 3, 4]).unwrap().slice(..3).unwrap();
        let vec: Vec<u8> = buffer.try_into_vec().unwrap();
        assert_eq!((&vec[..], vec.capacity()), (&[1, 2, 3][..], 4));
    }

    #[test]
    fn a_vector_without_elements_or_room_comes_back() {
        let vec: Vec<f64> = Buffer::from_vec(Vec::<f64>::new()).unwrap().try_into_vec().unwrap();
        assert_eq!((vec.len(), vec.capacity()), (0, 0));
        let vec: Vec<u8> = Buffer::from_vec(Vec::<u8>::with_capacity(7)).unwrap().try_into_vec().unwrap();
        assert_eq!((vec.len(), vec.capacity()), (0, 7));
    }

    #[test]
    fn elements_of_the_same_alignment_may_become_others() {
        let floats: Vec<f32> = Buffer::from_vec(vec![0x3f80_0000u32]).unwrap().try_into_vec().unwrap();
        assert_eq!(floats, [1.0]);
        let rows: Vec<[u16; 2]> = Buffer::from_vec(vec![1u16, 2, 3, 4]).unwrap().try_into_vec().unwrap();
        assert_eq!(rows, [[1, 2], [3, 4]]);
    }

    /// Asserts that the error returns the buffer unchanged.
    #[track_caller]
    fn refused<T: Pod>(buffer: Buffer, says: &str) -> (Buffer, Error) {
        let (address, nbytes) = (buffer.as_ptr(), buffer.nbytes());
        let Err(Rejected { value, error }) = buffer.try_into_vec::<T>() else { panic!("it was given") };
        assert_eq!((value.as_ptr(), value.nbytes()), (address, nbytes));
        assert!(error.to_string().contains(says), "{error}");
        (value, error)
    }

    #[test]
    fn what_is_no_vector_of_such_elements_comes_back() {
        let of = |vec: Vec<u16>| Buffer::from_vec(vec).unwrap();
        assert!(refused::<u32>(of(vec![1, 2]), "aligned to 2").1.is_alignment());
        assert!(refused::<u8>(of(vec![1, 2]), "aligned to 1").1.is_alignment());
        let mut vec = Vec::with_capacity(3);
        vec.extend([1, 2]);
        assert!(refused::<[u16; 2]>(of(vec), "6 bytes").1.is_bounds());
        assert!(refused::<[u16; 2]>(of(vec![1, 2, 3]), "6 bytes").1.is_bounds());
        assert!(refused::<[u16; 0]>(of(vec![1]), "2 bytes").1.is_bounds());
        let behind = of(vec![1, 2]).slice(2..).unwrap();
        assert!(refused::<u16>(behind, "byte 2").1.is_bounds());
        let pool = Buffer::from(Allocation::new(4, crate::memory::Place::CPU).unwrap());
        assert!(refused::<u16>(pool, "adopted from a vector").1.is_unsupported());
        let owned = Buffer::from_owner(std::sync::Arc::new(vec![1u16])).unwrap();
        assert!(refused::<u16>(owned, "read-only").1.is_read_only());
    }

    #[test]
    fn a_vector_that_others_have_comes_back() {
        let buffer = Buffer::from_vec(vec![1u16, 2]).unwrap();
        let other = buffer.clone();
        let (buffer, error) = refused::<u16>(buffer, "2 handles");
        assert!(error.is_conflict());
        drop(other);
        let pin = buffer.pin().unwrap();
        let (buffer, error) = refused::<u16>(buffer, "1 pin lease");
        assert!(error.is_conflict());
        drop(pin);
        assert_eq!(buffer.try_into_vec::<u16>().unwrap(), [1, 2]);
    }

    #[test]
    fn work_on_a_vector_is_waited_for_and_failed_work_keeps_it() {
        let buffer = Buffer::from_vec(vec![1u16, 2]).unwrap();
        let (signal, completion) = Signal::new();
        buffer.note_event(signal, Effect::Writes).unwrap();
        completion.finish(Err(Error::device("error 77 of the driver")));
        let (buffer, _) = refused::<u16>(buffer, "error 77");
        buffer.settle().unwrap_err();
        let (signal, completion) = Signal::new();
        buffer.note_event(signal, Effect::Writes).unwrap();
        let worker = std::thread::spawn(move || completion.finish(Ok(())));
        assert_eq!(buffer.try_into_vec::<u16>().unwrap(), [1, 2]);
        worker.join().unwrap();
    }
}
