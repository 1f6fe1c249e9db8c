//! Arrays that come to another place.

use std::sync::Arc;

use crate::array::{Array, DArray};
use crate::buffer::Buffer;
use crate::device::{Event, MemoryManager, Moved, Placed, Stream};
use crate::element::Element;
use crate::error::Result;
use crate::kernel::{Casting, Gaps};
use crate::layout::{Layout, Order};

/// An array that came to another place.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlacedArray<A> {
    /// The array there.
    pub array: A,
    /// Whether it is the same bytes or a copy.
    pub moved: Moved,
    /// The end of the copy, where that is still under way. It is noted on the array's memory, too.
    pub event: Option<Arc<dyn Event>>,
}

impl<A> PlacedArray<A> {
    fn try_map<B>(self, f: impl FnOnce(A) -> Result<B>) -> Result<PlacedArray<B>> {
        Ok(PlacedArray { array: f(self.array)?, moved: self.moved, event: self.event })
    }
}

impl PlacedArray<DArray> {
    /// A copy, all of whose bytes came from elsewhere.
    pub(crate) fn copied(array: DArray, event: Option<Arc<dyn Event>>) -> Self {
        let moved = Moved::Copied { nbytes: array.layout().span().nbytes() };
        Self { array, moved, event }
    }
}

impl DArray {
    /// The elements in new memory of another manager. Without gaps: in the order in which they lie
    /// so already, else row-major. What has gaps is packed where it is, by the processor or by the
    /// device, and moved as bytes; where the device does no strided work, all bytes from the lowest
    /// to the highest that the array touches are moved as they lie, and the array there has the
    /// same strides. Copies, and counts, [`DArray::nbytes`]; twice that where it was packed first.
    ///
    /// ```
    /// use crossdock::device::fenced::FencedDevice;
    /// use crossdock::device::{self, Device};
    /// use crossdock::memory::Place;
    /// use crossdock::{Array, DArray, s};
    ///
    /// let rows = DArray::from(Array::from_vec((0..12).collect::<Vec<i32>>(), [3, 4])?);
    /// let there = rows.slice(s![.., 1..3])?.copy_to(&FencedDevice::new(0).memory())?;
    /// assert_eq!((there.place().to_string(), there.strides()), ("ext_dev:0".to_owned(), &[8, 4][..]));
    /// assert_eq!(there.copy_to(&device::memory(Place::CPU)?)?.get(&[2, 0])?.as_i64(), Some(9));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Buffer::copy_to`] and [`DArray::to_order`].
    pub fn copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Self> {
        Ok(self.copied_to(memory, None)?.array)
    }

    /// As [`DArray::copy_to`], in a stream: it returns when the work is in the queue. What cannot
    /// be put into such a stream is done at once, and the result has no event if the last part of
    /// it was.
    ///
    /// # Errors
    ///
    /// As [`DArray::copy_to`]. What fails later is told by the event, and by every lease for access
    /// to the new memory by the processor.
    pub fn copy_to_in(
        &self,
        memory: &Arc<dyn MemoryManager>,
        stream: &dyn Stream,
    ) -> Result<PlacedArray<Self>> {
        self.copied_to(memory, Some(stream))
    }

    /// The same elements, reachable as memory of another manager without a copy, or `None` where
    /// that cannot be: see [`Buffer::map_to`], of which it has the rules.
    ///
    /// # Errors
    ///
    /// As [`Buffer::map_to`]; `is_layout` for what a table of pointers leads to.
    pub fn map_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Option<Self>> {
        let (buffer, offset) = self.buffer()?;
        let mapped = buffer.map_to(memory)?;
        mapped
            .map(|mapped| Self::from_buffer(mapped, self.dtype().clone(), self.layout().clone(), offset))
            .transpose()
    }

    /// Maps where that can be, else copies, and says which it was. Only "cannot be" leads to a
    /// copy: what could be and failed is an error.
    ///
    /// # Errors
    ///
    /// As [`DArray::map_to`] and [`DArray::copy_to`].
    pub fn map_or_copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<PlacedArray<Self>> {
        // What pointers lead to is in no one buffer that could be mapped.
        let mapped = if self.is_indirect() { None } else { self.map_to(memory)? };
        match mapped {
            Some(array) => Ok(PlacedArray { array, moved: Moved::Mapped, event: None }),
            None => self.copied_to(memory, None),
        }
    }

    fn copied_to(
        &self,
        memory: &Arc<dyn MemoryManager>,
        stream: Option<&dyn Stream>,
    ) -> Result<PlacedArray<Self>> {
        if !self.is_indirect() && self.layout().order().is_some() {
            return self.bytes_to(memory, stream);
        }
        let layout = Layout::contiguous(self.shape(), self.dtype().itemsize(), Order::RowMajor)?;
        let fresh = |memory: &Arc<dyn MemoryManager>| {
            Self::from_buffer(Buffer::on(memory, layout.nbytes())?, self.dtype().clone(), layout.clone(), 0)
        };
        if self.place().is_host() {
            if memory.place().is_host() {
                if let Some(stream) = stream {
                    stream.synchronize()?;
                }
                let array = fresh(memory)?;
                array.assign(self, Casting::Checked)?;
                return Ok(PlacedArray::copied(array, None));
            }
            return self.to_order(Order::RowMajor)?.bytes_to(memory, stream);
        }
        let engine = match self.engine() {
            // Nobody packs it.
            Err(error) if error.is_place() => return self.bytes_to(memory, stream),
            engine => engine?,
        };
        let (Some(engine), Some(own)) = (engine, self.memory_manager()?) else {
            return self.bytes_to(memory, stream);
        };
        let within = stream.filter(|stream| engine.can_enqueue(*stream));
        if let (Some(stream), None) = (stream, within) {
            stream.synchronize()?;
        }
        let direct = engine.reaches(&**memory);
        let packed = fresh(if direct { memory } else { &own })?;
        let event = packed.written_by(&*engine, self, Casting::Checked, Gaps::Fill, within)?;
        if direct { Ok(PlacedArray::copied(packed, event)) } else { packed.bytes_to(memory, stream) }
    }

    /// All bytes from the lowest to the highest, as they lie.
    fn bytes_to(
        &self,
        memory: &Arc<dyn MemoryManager>,
        stream: Option<&dyn Stream>,
    ) -> Result<PlacedArray<Self>> {
        let (buffer, offset) = self.buffer()?;
        let (there, event) = match stream {
            None => (buffer.copy_to(memory)?, None),
            Some(stream) => {
                let Placed { buffer, event, .. } = buffer.copy_to_in(memory, stream)?;
                (buffer, event)
            }
        };
        Ok(PlacedArray::copied(
            Self::from_buffer(there, self.dtype().clone(), self.layout().clone(), offset)?,
            event,
        ))
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The elements in new memory of another manager, as [`DArray::copy_to`] does it.
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::device;
    /// use crossdock::memory::Place;
    ///
    /// let array = Array::from_vec(vec![1.5f32, 2.5], [2])?.copy_to(&device::shared_memory())?;
    /// assert!(array.buffer()?.0.descriptor().is_some());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`DArray::copy_to`].
    pub fn copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Self> {
        Ok(Self::try_from(DArray::from(self.clone()).copy_to(memory)?)?)
    }

    /// As [`DArray::copy_to_in`].
    ///
    /// # Errors
    ///
    /// As [`DArray::copy_to_in`].
    pub fn copy_to_in(
        &self,
        memory: &Arc<dyn MemoryManager>,
        stream: &dyn Stream,
    ) -> Result<PlacedArray<Self>> {
        let placed = DArray::from(self.clone()).copy_to_in(memory, stream)?;
        placed.try_map(|array| Ok(Self::try_from(array)?))
    }

    /// As [`DArray::map_to`].
    ///
    /// # Errors
    ///
    /// As [`DArray::map_to`].
    pub fn map_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Option<Self>> {
        let mapped = DArray::from(self.clone()).map_to(memory)?;
        Ok(mapped.map(Self::try_from).transpose()?)
    }

    /// As [`DArray::map_or_copy_to`].
    ///
    /// # Errors
    ///
    /// As [`DArray::map_or_copy_to`].
    pub fn map_or_copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<PlacedArray<Self>> {
        let placed = DArray::from(self.clone()).map_or_copy_to(memory)?;
        placed.try_map(|array| Ok(Self::try_from(array)?))
    }
}
