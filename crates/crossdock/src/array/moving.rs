//! Arrays copied or mapped to another place.

use std::sync::Arc;

use crate::array::{Array, DArray};
use crate::buffer::Buffer;
use crate::device::{Event, MemoryManager, Moved, Placed, Stream};
use crate::element::Element;
use crate::error::Result;
use crate::kernel::{Casting, Gaps};
use crate::layout::{Layout, Order};

/// An array that was copied or mapped to another place.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlacedArray<A> {
    /// The array at that place.
    pub array: A,
    /// Whether it has the same bytes or is a copy.
    pub moved: Moved,
    /// The event at the end of an in-flight copy. It is also recorded on the array's memory.
    pub event: Option<Arc<dyn Event>>,
}

impl<A> PlacedArray<A> {
    fn try_map<B>(self, f: impl FnOnce(A) -> Result<B>) -> Result<PlacedArray<B>> {
        Ok(PlacedArray { array: f(self.array)?, moved: self.moved, event: self.event })
    }
}

impl PlacedArray<DArray> {
    /// The result of a copy of all bytes.
    pub(crate) fn copied(array: DArray, event: Option<Arc<dyn Event>>) -> Self {
        let moved = Moved::Copied { nbytes: array.layout().span().nbytes() };
        Self { array, moved, event }
    }
}

impl DArray {
    /// Copies the elements to new memory of another manager. The copy is contiguous: in the order
    /// of the array if it is contiguous, else row-major. An array with gaps is packed at the
    /// source, by the CPU or by the device, and copied as bytes. If the device has no strided work,
    /// all bytes that the array spans are copied, and the copy has the same strides. Copies, and
    /// counts, [`DArray::nbytes`], twice that if it is packed first.
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

    /// Like [`DArray::copy_to`], in a stream: it returns when the work is queued. Steps that the
    /// stream cannot run are done synchronously; if the last step is, the result has no event.
    ///
    /// # Errors
    ///
    /// As [`DArray::copy_to`]. The event, and every lease for CPU access to the new memory, reports
    /// a later failure.
    pub fn copy_to_in(
        &self,
        memory: &Arc<dyn MemoryManager>,
        stream: &dyn Stream,
    ) -> Result<PlacedArray<Self>> {
        self.copied_to(memory, Some(stream))
    }

    /// Maps the same elements as memory of another manager without a copy; `None` if that is not
    /// possible. The rules are those of [`Buffer::map_to`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::map_to`]; `is_layout` for an indirect array.
    pub fn map_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Option<Self>> {
        let (buffer, offset) = self.buffer()?;
        let mapped = buffer.map_to(memory)?;
        mapped
            .map(|mapped| Self::from_buffer(mapped, self.dtype().clone(), self.layout().clone(), offset))
            .transpose()
    }

    /// Maps if possible, else copies, and reports which. A mapping that is possible and fails is an
    /// error, not a copy.
    ///
    /// # Errors
    ///
    /// As [`DArray::map_to`] and [`DArray::copy_to`].
    pub fn map_or_copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<PlacedArray<Self>> {
        // The rows of an indirect array are not in one buffer, so they cannot be mapped.
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
            // Neither the CPU nor the device can pack it.
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

    /// Copies all bytes from the lowest to the highest, in place order, with the same layout.
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
    /// Copies the elements to new memory of another manager: see [`DArray::copy_to`].
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
