//! Arrays as bytes, for where no memory is shared: a pickle, a message through a network.

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::shm::description::Description;
use crate::layout::{AxisSlice, Layout, Order};

/// A view goes with the bytes between its elements if it covers at most so many times as many bytes as its elements have.
const MOST_GAPS: usize = 2;

/// The bytes that say all of an array, and where in them its elements lie.
pub struct Frame {
    bytes: Buffer,
    description: Description,
}

impl Frame {
    /// The bytes from the lowest to the highest that the array covers, in place: those between its elements go along.
    ///
    /// Where they would be more than twice as many as the elements have, and for rows behind pointers, it is a copy of the elements in
    /// row-major order. What an axis repeats (of stride 0) counts once, and is copied once.
    ///
    /// ```
    /// use crossdock::bindings::shm::Frame;
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
    /// `is_place` for memory that the processor does not reach, where it would have to be copied; `is_conflict` while somebody holds
    /// Write, `is_out_of_memory`, where it is copied.
    pub fn new(array: &DArray) -> Result<Self> {
        Self::with_at_most(MOST_GAPS, array)
    }

    /// As [`Frame::new`], but whatever has bytes between its elements is copied: for bytes that are copied again on their way, so that gaps
    /// would cost more than they save.
    ///
    /// # Errors
    ///
    /// As [`Frame::new`].
    pub fn without_gaps(array: &DArray) -> Result<Self> {
        Self::with_at_most(1, array)
    }

    /// In place, unless it would be more than so many times the bytes of the elements.
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
        let (dtype, layout) = (array.dtype().clone(), array.layout().normalized());
        let description = Description::from_layout(dtype, layout, within as u64, !array.is_readonly())?;
        Ok(Self { bytes, description })
    }

    /// Bytes that came from elsewhere with a description of which nothing is known to be true.
    pub fn from_parts(bytes: Buffer, description: Description) -> Self {
        Self { bytes, description }
    }

    /// The bytes as an array of their own.
    ///
    /// # Errors
    ///
    /// `is_exhausted` where there are as many handles on the memory as can be counted.
    pub fn bytes(&self) -> Result<DArray> {
        let layout = Layout::contiguous(&[self.nbytes()], 1, Order::RowMajor)?;
        DArray::from_buffer(self.bytes.try_clone()?, DType::U8, layout, 0)
    }

    /// How many bytes there are.
    pub fn nbytes(&self) -> usize {
        self.bytes.nbytes()
    }

    /// What lies in them.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The array that they are, in place. It is read-only if the description says so, or if the bytes are. O(rank).
    ///
    /// # Errors
    ///
    /// `is_bounds` where the array reaches beyond the bytes.
    pub fn into_array(self) -> Result<DArray> {
        let Self { bytes, description } = self;
        let offset = usize::try_from(description.offset()).map_err(|_| {
            let text = format!("element 0 at byte {} of {}", description.offset(), bytes.nbytes());
            Error::new(Kind::Bounds, text)
        })?;
        let bytes = if description.is_writable() { bytes } else { bytes.into_readonly() };
        DArray::from_buffer(bytes, description.dtype().clone(), description.layout().clone(), offset)
    }
}

/// The first along each axis that has the same elements again and again.
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

    /// What arrives in another process.
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
