//! Arrays as bytes, for transports without shared memory: a pickle, a network message.

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::exchange::description::Description;
use crate::layout::{AxisSlice, Layout, Order};

/// A view is framed with its gaps if it covers at most this many times the bytes of its elements.
const MOST_GAPS: usize = 2;

/// The bytes of an array, and the description of its elements in them.
pub struct Frame {
    bytes: Buffer,
    description: Description,
}

impl Frame {
    /// Frames the bytes from the lowest to the highest that the array covers, zero-copy and gaps
    /// included.
    ///
    /// If they would be more than twice the bytes of the elements, and for indirect arrays, the
    /// frame holds a row-major copy of the elements. An axis of stride 0 counts once, and is copied
    /// once.
    ///
    /// ```
    /// use crossdock::bindings::description::Frame;
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec((0..100i32).collect(), [10, 10])?);
    /// let halves = Frame::new(&array.at(":, ::-2")?)?;
    /// assert_eq!((halves.nbytes(), halves.description().layout().strides()), (396, &[40, -8][..])); // in place, but for the first element
    /// let column = Frame::new(&array.at(":, 3")?)?;
    /// assert_eq!((column.nbytes(), column.description().layout().strides()), (40, &[4][..])); // copied, instead of 364 bytes
    /// let repeated = Frame::new(&array.at("0, :3")?.broadcast_to(&[1000, 3])?)?;
    /// assert_eq!((repeated.nbytes(), repeated.description().layout().strides()), (12, &[0, 4][..]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_place` for memory that is not accessible from the CPU and would have to be copied; for a
    /// copy also `is_conflict` while another party holds Write, and `is_out_of_memory`.
    pub fn new(array: &DArray) -> Result<Self> {
        Self::with_at_most(MOST_GAPS, array)
    }

    /// As [`Frame::new`], but copies every array with gaps: for bytes that are copied again on
    /// their way, where gaps would cost more than they save.
    ///
    /// # Errors
    ///
    /// As [`Frame::new`].
    pub fn without_gaps(array: &DArray) -> Result<Self> {
        Self::with_at_most(1, array)
    }

    /// Zero-copy, unless the array covers more than `times` times the bytes of its elements.
    fn with_at_most(times: usize, array: &DArray) -> Result<Self> {
        let once = without_repeats(array)?;
        if array.layout().suboffsets().is_none()
            && once.layout().span().nbytes() <= once.nbytes().saturating_mul(times)
        {
            return Self::in_place(array);
        }
        let copy = once.to_order(Order::RowMajor)?.broadcast_to(array.shape())?;
        Self::in_place(&if array.is_readonly() { copy.into_readonly() } else { copy })
    }

    fn in_place(array: &DArray) -> Result<Self> {
        let (bytes, within) = array.buffer()?;
        // The bytes are sent as they are, and read as zeros where a mapped file lost them.
        bytes.check_fault()?;
        let (dtype, layout) = (array.dtype().clone(), array.layout().normalized());
        let description = Description::from_layout(dtype, layout, within as u64, !array.is_readonly())?;
        Ok(Self { bytes, description })
    }

    /// Received bytes, with a description that is not checked yet.
    pub fn from_parts(bytes: Buffer, description: Description) -> Self {
        Self { bytes, description }
    }

    /// The bytes as an array of `uint8`.
    ///
    /// # Errors
    ///
    /// `is_exhausted` if the count of handles on the memory would overflow.
    pub fn bytes(&self) -> Result<DArray> {
        let layout = Layout::contiguous(&[self.nbytes()], 1, Order::RowMajor)?;
        DArray::from_buffer(self.bytes.try_clone()?, DType::U8, layout, 0)
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> usize {
        self.bytes.nbytes()
    }

    /// The array in them.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The framed array, zero-copy. It is read-only if the description or the bytes are. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` if the array reaches beyond the bytes.
    pub fn into_array(self) -> Result<DArray> {
        let Self { bytes, description } = self;
        let offset = usize::try_from(description.offset()).map_err(|_| {
            let text = format!(
                "element 0 is at byte {}, but there are {} bytes",
                description.offset(),
                bytes.nbytes()
            );
            Error::new(Kind::Bounds, text)
        })?;
        let bytes = if description.is_writable() { bytes } else { bytes.into_readonly() };
        DArray::from_buffer(bytes, description.dtype().clone(), description.layout().clone(), offset)
    }
}

/// The array with length 1 instead on each axis that repeats its elements.
fn without_repeats(array: &DArray) -> Result<DArray> {
    let axes = array.shape().iter().zip(array.strides());
    let slices: Vec<AxisSlice> = axes
        .map(|(&len, &stride)| match stride {
            0 if len > 1 => AxisSlice::Range { start: Some(0), stop: Some(1), step: 1 },
            _ => AxisSlice::ALL,
        })
        .collect();
    array.slice(slices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::memory::copied::copied_bytes_here;
    use crate::view::Request;

    fn sample() -> DArray {
        Array::from_vec((0..120i32).collect(), [10, 12]).unwrap().into()
    }

    fn bytes(array: &DArray) -> Vec<u8> {
        array.export(&Request::pin().indirect()).unwrap().to_bytes().unwrap()
    }

    /// The array as another process receives it.
    fn travel(frame: &Frame) -> DArray {
        let text = frame.description().to_portable_text().unwrap();
        let arrived = Buffer::copy_from_slice(&bytes(&frame.bytes().unwrap())).unwrap();
        Frame::from_parts(arrived, text.parse().unwrap()).into_array().unwrap()
    }

    #[test]
    fn views_with_few_gaps_go_in_place_and_others_are_copied() {
        let array = sample();
        for (expr, nbytes, copied) in [
            ("", 480, 0),
            ("3:5", 96, 0),
            ("::-1", 480, 0),
            ("::2", 9 * 48, 0),
            ("::-2, ::-1", 9 * 48, 0),
            ("::3", 4 * 48, 192),
            (":, 6:", 480 - 24, 0),
            (":, 5", 40, 40),
            ("5, 3", 4, 0),
            ("4:4", 0, 0),
            ("newaxis, 5:", 240, 0),
        ] {
            let view = array.at(expr).unwrap();
            let before = copied_bytes_here();
            let frame = Frame::new(&view).unwrap();
            assert_eq!((frame.nbytes(), copied_bytes_here() - before), (nbytes, copied), "{expr:?}");
            let arrived = travel(&frame);
            assert_eq!((arrived.shape(), arrived.dtype()), (view.shape(), view.dtype()), "{expr:?}");
            assert_eq!(bytes(&arrived), bytes(&view), "{expr:?}");
            assert!(copied > 0 || frame.bytes().unwrap().as_ptr() >= array.as_ptr());
        }
    }

    #[test]
    fn without_gaps_there_are_the_elements_alone() {
        let array = sample();
        for (expr, copied) in [("", 0), ("::-1", 0), ("2:4", 0), ("::2", 240), (":, 1:", 440), ("7", 0)] {
            let view = array.at(expr).unwrap();
            let before = copied_bytes_here();
            let frame = Frame::without_gaps(&view).unwrap();
            assert_eq!((frame.nbytes(), copied_bytes_here() - before), (view.nbytes(), copied), "{expr:?}");
            assert_eq!(bytes(&travel(&frame)), bytes(&view), "{expr:?}");
        }
    }

    #[test]
    fn repeats_are_sent_once() {
        let array = sample();
        for (expr, shape, nbytes) in [
            ("0", &[7, 12][..], 48),
            (":, 5", &[50, 10], 40),
            (":1, :1", &[8, 9], 4),
            ("0, ::2", &[3, 6], 44),
        ] {
            let view = array.at(expr).unwrap().broadcast_to(shape).unwrap();
            let frame = Frame::new(&view).unwrap();
            assert_eq!((frame.nbytes(), frame.description().layout().strides()[0]), (nbytes, 0), "{expr:?}");
            assert_eq!(bytes(&travel(&frame)), bytes(&view), "{expr:?}");
        }
    }

    #[test]
    fn read_only_stays_read_only_and_read_only_bytes_make_it_so() {
        for array in [sample(), sample().at(":, 1").unwrap()] {
            assert!(!travel(&Frame::new(&array).unwrap()).is_readonly());
            assert!(travel(&Frame::new(&array.into_readonly()).unwrap()).is_readonly());
        }
        let Frame { bytes, description } = Frame::new(&sample()).unwrap();
        assert!(Frame::from_parts(bytes.into_readonly(), description).into_array().unwrap().is_readonly());
    }

    #[test]
    fn a_description_that_lies_is_refused() {
        let open = |shape: &[usize], strides: &[isize], offset| {
            let description = Description::new(DType::I32, shape, strides, offset, true)?;
            Frame::from_parts(Buffer::zeroed(100)?, description).into_array()
        };
        assert!(open(&[25], &[4], 0).is_ok() && open(&[25], &[-4], 96).is_ok());
        for (shape, strides, offset) in [
            (&[25][..], &[4][..], 1),
            (&[25], &[-4], 95),
            (&[2], &[97], 0),
            (&[], &[], u64::MAX - 4),
            (&[0], &[4], 101),
        ] {
            assert!(open(shape, strides, offset).unwrap_err().is_bounds(), "{shape:?} {strides:?} {offset}");
        }
    }
}
