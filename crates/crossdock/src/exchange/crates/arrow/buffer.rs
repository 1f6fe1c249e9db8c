//! Buffers of bytes, and of elements.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, MutableBuffer, ScalarBuffer};

use crate::array::{Array, RawArray};
use crate::buffer::Buffer;
use crate::element::Element;
use crate::error::{Advice, Error, Kind, Result};
use crate::layout::Order;
use crate::memory::{Birth, Lease, LeaseKind, Place, Protocols, lease};

impl TryFrom<MutableBuffer> for Buffer {
    type Error = Error;

    /// Adopts the buffer: sole, with its length as the whole capacity. O(1). Fails only if the
    /// header cannot be allocated.
    fn try_from(mut theirs: MutableBuffer) -> Result<Self> {
        let (ptr, nbytes) = (theirs.as_mut_ptr(), theirs.len());
        // SAFETY: `MutableBuffer` initialises its first `len` bytes and owns them alone; the
        // closure keeps it alive and only drops it.
        unsafe { Self::from_foreign(ptr, nbytes, Place::CPU, Birth::Sole, move || drop(theirs)) }
    }
}

impl TryFrom<arrow_buffer::Buffer> for Buffer {
    type Error = Error;

    /// Adopts the buffer, which is then sole, if Arrow allocated it or adopted it from a vector, no
    /// other handle exists, and it begins at the start of its allocation. Otherwise keeps it,
    /// read-only. O(1). Fails only if the header cannot be allocated.
    ///
    /// [`Buffer::into_readonly`] makes the result read-only in either case.
    fn try_from(theirs: arrow_buffer::Buffer) -> Result<Self> {
        let theirs = match theirs.into_mutable() {
            Ok(mutable) => return mutable.try_into(),
            Err(theirs) => theirs,
        };
        let (ptr, nbytes) = (theirs.as_ptr().cast_mut(), theirs.len());
        // SAFETY: a `Buffer` of Arrow is initialised and constant by its contract, and the closure
        // keeps this one alive until the release.
        unsafe { Self::from_foreign(ptr, nbytes, Place::CPU, Birth::Constant, move || drop(theirs)) }
    }
}

impl TryFrom<&Buffer> for arrow_buffer::Buffer {
    type Error = Error;

    /// The same bytes, under a Read lease that ends when the last clone is dropped. O(1), with two
    /// small heap blocks.
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`]: `is_conflict` while another party holds Share or Write, and if another
    /// process or library may write the memory; `is_place` on a device.
    fn try_from(ours: &Buffer) -> Result<Self> {
        let lease = lease(ours.handle(), ours.is_readonly(), LeaseKind::Read)?;
        // SAFETY: clause 1 of `lend`: `lease` returned a Read lease for CPU access. Clause 2:
        // `start` and `nbytes` are a window of the leased region (Buffer 1), which is initialised
        // on the host (Header 3).
        Ok(unsafe { lend(lease, ours.start(), ours.nbytes()) })
    }
}

impl<T: Element + ArrowNativeType> TryFrom<ScalarBuffer<T>> for Array<T, 1> {
    type Error = Error;

    /// Adopts or keeps the elements, like the conversion of the buffer of bytes. O(1). Fails only
    /// if the header cannot be allocated.
    fn try_from(theirs: ScalarBuffer<T>) -> Result<Self> {
        let len = theirs.len();
        Self::from_buffer(Buffer::try_from(theirs.into_inner())?, [len])
    }
}

impl<T: Element + ArrowNativeType> TryFrom<&Array<T, 1>> for ScalarBuffer<T> {
    type Error = Error;

    /// The same elements, under a Read lease that ends when the last clone is dropped. O(1), with
    /// two small heap blocks.
    ///
    /// # Errors
    ///
    /// `is_layout` if the elements are reversed or have gaps between them; `is_alignment`;
    /// otherwise as [`Array::read`].
    fn try_from(ours: &Array<T, 1>) -> Result<Self> {
        let [stride] = *ours.strides();
        if !ours.is_contiguous(Order::RowMajor) {
            return Err(Error::new(
                Kind::Layout,
                format!(
                    "elements of {} bytes are {stride} bytes apart, but Arrow's are contiguous",
                    size_of::<T>()
                ),
            )
            .advising(Advice::Copy));
        }
        // SAFETY: the array is C-contiguous, as checked above, so its elements take the `nbytes`
        // bytes from element 0 on.
        Ok(unsafe { lend_elements(ours.raw(), ours.nbytes(), align_of::<T>()) }?.into())
    }
}

/// Exports a contiguous array as an Arrow buffer at a multiple of `align`: Arrow asserts the
/// alignment, even of empty buffers.
///
/// # Errors
///
/// `is_alignment`; otherwise as [`Array::read`].
///
/// # Safety
///
/// The `nbytes` bytes from element 0 on belong to elements of the array.
pub(super) unsafe fn lend_elements(
    ours: &RawArray,
    nbytes: usize,
    align: usize,
) -> Result<arrow_buffer::Buffer> {
    let lease = ours.lease(LeaseKind::Read)?;
    if nbytes == 0 {
        return Ok(arrow_buffer::Buffer::default());
    }
    let address = ours.ptr().addr().get();
    if !address.is_multiple_of(align) {
        return Err(Error::new(
            Kind::Alignment,
            format!("address {address:#x} is not a multiple of {align}, as Arrow requires"),
        )
        .advising(Advice::Copy));
    }
    // SAFETY: clause 1 of `lend`: `RawArray::lease` returned a Read lease for CPU access. Clause 2:
    // `# Safety` says that the bytes are elements of the array, which the lease covers (RawArray 1)
    // and which are initialised (Header 3).
    Ok(unsafe { lend(lease, ours.ptr(), nbytes) })
}

/// # Safety
///
/// 1. `lease` is a Read lease for CPU access.
/// 2. The lease covers the `nbytes` bytes at `ptr`, and they are initialised.
unsafe fn lend(lease: Lease, ptr: NonNull<u8>, nbytes: usize) -> arrow_buffer::Buffer {
    lease.mark_exported(Protocols::CRATE);
    // SAFETY: clause 2 of `# Safety`: the bytes are initialised. The owner holds the lease, under
    // which they stay alive (Header 1) and constant (clause 1, Header 5).
    unsafe { arrow_buffer::Buffer::from_custom_allocation(ptr, nbytes, Arc::new(lease)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::DArray;
    use crate::device::Device as _;
    use crate::device::fenced::FencedDevice;
    use crate::memory::copied_bytes_here;
    use crate::s;

    // ===== import

    #[test]
    fn what_nobody_else_has_is_adopted() {
        let mut theirs = MutableBuffer::with_capacity(100);
        theirs.extend_from_slice(&[1u8, 2, 3]);
        let (address, copied) = (theirs.as_ptr(), copied_bytes_here());
        let ours = Buffer::try_from(theirs).unwrap();
        assert_eq!((ours.as_ptr(), ours.nbytes(), ours.birth()), (address, 3, Birth::Sole));
        ours.write().unwrap()[2] = 30;
        assert_eq!(&ours.read().unwrap()[..], [1, 2, 30]);

        let vec = vec![1u32, 2, 3];
        let address = vec.as_ptr();
        let ours = Buffer::try_from(arrow_buffer::Buffer::from(vec)).unwrap();
        assert_eq!((ours.as_ptr(), ours.nbytes(), ours.birth()), (address.cast(), 12, Birth::Sole));
        assert!(ours.write().is_ok());
        assert_eq!(copied_bytes_here(), copied);
    }

    #[test]
    fn what_others_have_is_kept_read_only_until_the_last_handle_goes() {
        let theirs = arrow_buffer::Buffer::from(vec![1u8, 2, 3, 4]);
        let ours = Buffer::try_from(theirs.clone()).unwrap();
        assert_eq!(
            (ours.as_ptr(), ours.birth(), ours.is_readonly()),
            (theirs.as_ptr(), Birth::Constant, true)
        );
        assert!(ours.write().unwrap_err().is_read_only());
        let slice = ours.slice(1..3).unwrap();
        drop(ours);
        assert_eq!(theirs.strong_count(), 2);
        drop(slice);
        assert_eq!(theirs.strong_count(), 1);
        let ours = Buffer::try_from(theirs.clone()).unwrap();
        drop(theirs);
        assert_eq!(&ours.read().unwrap()[..], [1, 2, 3, 4]);
    }

    #[test]
    fn a_slice_and_what_arrow_did_not_allocate_are_kept_read_only() {
        let middle = arrow_buffer::Buffer::from(vec![1u8, 2, 3, 4]).slice_with_length(1, 2);
        let ours = Buffer::try_from(middle).unwrap();
        assert_eq!((ours.birth(), &ours.read().unwrap()[..]), (Birth::Constant, &[2, 3][..]));
        let bytes = bytes::Bytes::from_static(b"constant");
        let address = bytes.as_ptr();
        let ours = Buffer::try_from(arrow_buffer::Buffer::from(bytes)).unwrap();
        assert_eq!((ours.as_ptr(), ours.birth()), (address, Birth::Constant));
    }

    #[test]
    fn empty_buffers_go_either_way() {
        let ours = Buffer::try_from(arrow_buffer::Buffer::default()).unwrap();
        assert_eq!(ours.nbytes(), 0);
        assert!(arrow_buffer::Buffer::try_from(&ours).unwrap().is_empty());
        assert_eq!(Array::<f64, 1>::try_from(ScalarBuffer::<f64>::default()).unwrap().len(), 0);
    }

    #[test]
    fn elements_come_as_an_array() {
        let theirs = ScalarBuffer::from(vec![1i64, 2, 3, 4]);
        let address = theirs.as_ptr();
        let kept = Array::<i64, 1>::try_from(theirs.slice(1, 2)).unwrap();
        assert_eq!((kept.as_ptr(), kept.is_readonly()), (address.wrapping_add(1), true));
        assert_eq!(kept.read().unwrap().as_slice(), Some(&[2, 3][..]));
        drop(kept);
        let ours = Array::<i64, 1>::try_from(theirs).unwrap();
        ours.set([3], 40).unwrap();
        assert_eq!((ours.as_ptr(), ours.get([3]).unwrap()), (address, 40));
        // A buffer whose length is not a multiple of the element size yields the whole elements.
        let ragged =
            ScalarBuffer::<u16>::from(arrow_buffer::Buffer::from(vec![1u16, 2]).slice_with_length(0, 3));
        assert_eq!(Array::<u16, 1>::try_from(ragged).unwrap().read().unwrap().as_slice(), Some(&[1][..]));
    }

    // ===== export

    #[test]
    fn bytes_are_lent_under_a_read_lease() {
        let ours = Buffer::from_vec(vec![1u8, 2, 3, 4]).unwrap();
        let copied = copied_bytes_here();
        let theirs = arrow_buffer::Buffer::try_from(&ours.slice(1..).unwrap()).unwrap();
        assert_eq!((theirs.as_ptr(), theirs.as_slice()), (ours.as_ptr().wrapping_add(1), &[2, 3, 4][..]));
        let clone = theirs.slice(1);
        drop(theirs);
        assert!(ours.read().is_ok(), "others may read");
        let error = ours.write().unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("a Rust crate"), "{error}");
        drop(clone);
        assert!(ours.write().is_ok());
        let theirs = arrow_buffer::Buffer::try_from(&ours).unwrap();
        drop(ours);
        assert_eq!(theirs.as_slice(), [1, 2, 3, 4]);
        assert_eq!(copied_bytes_here(), copied);
    }

    #[test]
    fn what_is_lent_cannot_be_written_there() {
        let ours = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
        let theirs = arrow_buffer::Buffer::try_from(&ours).unwrap();
        let theirs = theirs.into_mutable().unwrap_err();
        assert!(theirs.into_vec::<u8>().is_err());
    }

    #[test]
    fn a_buffer_comes_back_at_the_same_address() {
        let ours = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
        let back = Buffer::try_from(arrow_buffer::Buffer::try_from(&ours).unwrap()).unwrap();
        assert_eq!((back.as_ptr(), back.birth()), (ours.as_ptr(), Birth::Constant));
        assert!(ours.write().unwrap_err().is_conflict());
        drop(back);
        assert!(ours.write().is_ok());
    }

    #[test]
    fn elements_are_lent_without_gaps_and_aligned() {
        let ours = Array::from_vec((0..6i32).collect(), [6]).unwrap();
        let theirs = ScalarBuffer::try_from(&ours.slice(s![2..5]).unwrap()).unwrap();
        assert_eq!((theirs.as_ptr(), &theirs[..]), (ours.as_ptr().wrapping_add(2), &[2, 3, 4][..]));
        let error = ScalarBuffer::try_from(&ours.slice(s![..;2]).unwrap()).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("8 bytes apart"), "{error}");
        let error = ScalarBuffer::try_from(&ours.reverse(0).unwrap()).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("-4"), "{error}");
        assert!(
            ScalarBuffer::try_from(&ours.slice(s![1..2;-1]).unwrap()).is_ok(),
            "one element has no direction"
        );

        let odd = Buffer::from_vec(vec![0u8; 9]).unwrap().slice(1..).unwrap();
        assert_eq!(arrow_buffer::Buffer::try_from(&odd).unwrap().len(), 8, "bytes are aligned anywhere");
        let unaligned = Array::<f64, 1>::from_buffer(odd.clone(), [1]).unwrap();
        let error = ScalarBuffer::try_from(&unaligned).unwrap_err();
        assert!(error.is_alignment() && error.to_string().contains("multiple of 8"), "{error}");
        let empty = Array::<f64, 1>::from_buffer(odd, [0]).unwrap();
        assert!(ScalarBuffer::try_from(&empty).unwrap().is_empty());
    }

    #[test]
    fn what_others_may_write_and_what_is_elsewhere_is_refused() {
        let shared = Buffer::shared(8).unwrap();
        let error = arrow_buffer::Buffer::try_from(&shared).unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("another owner"), "{error}");
        assert!(arrow_buffer::Buffer::try_from(&shared.into_sealed().unwrap()).is_ok());
        let ours = Buffer::from_vec(vec![1u8]).unwrap();
        let (share, writer) = (ours.share().unwrap(), ours.clone());
        let error = arrow_buffer::Buffer::try_from(&writer).unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("1 share lease"), "{error}");
        drop(share);
        assert!(arrow_buffer::Buffer::try_from(&writer).is_ok());

        let device = FencedDevice::new(0);
        let there = ours.copy_to(&device.memory()).unwrap();
        assert!(arrow_buffer::Buffer::try_from(&there).unwrap_err().is_place());
        let there = Array::<u8, 1>::from_buffer(there, [1]).unwrap();
        assert!(ScalarBuffer::try_from(&there).unwrap_err().is_place());
    }

    #[cfg(feature = "half-2")]
    #[test]
    fn floats_of_16_bits_go_either_way() {
        use half::f16;
        let ours = Array::from_vec(vec![f16::ONE, f16::MAX], [2]).unwrap();
        let theirs = ScalarBuffer::<f16>::try_from(&ours).unwrap();
        assert_eq!(&theirs[..], [f16::ONE, f16::MAX]);
        assert_eq!(Array::<f16, 1>::try_from(theirs).unwrap().as_ptr(), ours.as_ptr());
    }

    #[test]
    fn rows_behind_pointers_are_lent_one_by_one() {
        let table = DArray::from_rows(vec![vec![1u16, 2, 3], vec![4, 5, 6]]).unwrap();
        assert!(arrow_data::ArrayData::try_from(&table).unwrap_err().to_string().contains("suboffsets"));
        let row = table.slice(s![1, ..]).unwrap();
        let row = Array::<u16, 1>::try_from(row).unwrap();
        let theirs = ScalarBuffer::try_from(&row).unwrap();
        drop((table, row));
        assert_eq!(&theirs[..], [4, 5, 6]);
    }
}
