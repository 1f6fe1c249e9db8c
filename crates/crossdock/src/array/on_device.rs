//! Arrays in memory that the CPU cannot address: their device does the strided work.

use std::sync::Arc;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::device::engine::Engine;
use crate::device::{Event, MemoryManager, Stream};
use crate::element::DType;
use crate::error::{Error, Result};
use crate::kernel::device::{self as engines, DeviceOperand};
use crate::kernel::{Casting, Gaps, has_gaps};
use crate::layout::{Layout, Order};
use crate::memory::LeaseKind;

impl DArray {
    /// The engine that works on the elements; `None` if the CPU does.
    ///
    /// # Errors
    ///
    /// `is_place` if neither does; the device's errors.
    pub(super) fn engine(&self) -> Result<Option<Arc<dyn Engine>>> {
        if self.place().is_host() {
            return Ok(None);
        }
        let engine = match self.memory_manager() {
            // The driver of foreign memory may not be installed.
            Err(error) if error.is_unsupported() => None,
            manager => manager?.map(MemoryManager::engine).transpose()?.flatten(),
        };
        match engine {
            Some(engine) => Ok(Some(engine)),
            // The lease fails with the same error as any other CPU access.
            None => self.lease(LeaseKind::Pin).map(|_| None),
        }
    }

    /// Checks that the CPU or the elements' device does strided work on them.
    ///
    /// # Errors
    ///
    /// `is_place` if neither does; the device's errors.
    pub(crate) fn check_worked_on(&self) -> Result<()> {
        self.engine().map(drop)
    }

    /// The manager that allocated the memory.
    ///
    /// # Errors
    ///
    /// As [`Buffer::memory_manager`].
    pub(crate) fn memory_manager(&self) -> Result<Option<Arc<dyn MemoryManager>>> {
        self.buffer()?.0.memory_manager()
    }

    /// New memory of the same manager.
    pub(super) fn fresh_beside(&self, nbytes: usize) -> Result<Buffer> {
        let no_manager =
            || Error::unsupported(format!("no registered device allocates memory on {}", self.place()));
        Buffer::on(&self.memory_manager()?.ok_or_else(no_manager)?, nbytes)
    }

    /// Converts the elements into new memory of the same manager.
    pub(super) fn copied_by(
        &self,
        engine: &dyn Engine,
        dtype: &DType,
        order: Order,
        casting: Casting,
    ) -> Result<Self> {
        let layout = Layout::contiguous(self.shape(), dtype.itemsize(), order)?;
        let fresh = Self::from_buffer(self.fresh_beside(layout.nbytes())?, dtype.clone(), layout, 0)?;
        fresh.written_by(engine, self, casting, Gaps::Fill, None)?;
        Ok(fresh)
    }

    /// Writes another array's elements. Both have the same shape, and the engine reaches both
    /// memories. In a stream, the event signals the end of unfinished work.
    pub(super) fn written_by(
        &self,
        engine: &dyn Engine,
        source: &Self,
        casting: Casting,
        gaps: Gaps,
        stream: Option<&dyn Stream>,
    ) -> Result<Option<Arc<dyn Event>>> {
        let ((from, from_offset), (to, to_offset)) = (source.buffer()?, self.buffer()?);
        let from = DeviceOperand {
            buffer: &from,
            offset: from_offset,
            dtype: source.dtype(),
            layout: source.layout(),
        };
        let to = DeviceOperand { buffer: &to, offset: to_offset, dtype: self.dtype(), layout: self.layout() };
        engines::convert(engine, from, to, casting, gaps, stream)
    }

    /// Writes one element's bytes to every element.
    pub(super) fn filled_by(&self, engine: &dyn Engine, bytes: &[u8]) -> Result<()> {
        let (buffer, offset) = self.buffer()?;
        engines::fill(
            engine,
            DeviceOperand { buffer: &buffer, offset, dtype: self.dtype(), layout: self.layout() },
            bytes,
        )
    }

    /// The engine that works on the elements of both arrays; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`DArray::engine`].
    pub(super) fn common_engine(&self, other: &Self) -> Result<Option<Arc<dyn Engine>>> {
        let (Some(engine), Some(_)) = (self.engine()?, other.engine()?) else { return Ok(None) };
        let reaches = other.memory_manager()?.is_some_and(|manager| engine.reaches(&*manager));
        Ok(reaches.then_some(engine))
    }

    /// [`DArray::assign`] for an array of the same shape that does not overlap this one, if either
    /// is in device memory.
    pub(super) fn assign_across(&self, source: &Self, casting: Casting) -> Result<()> {
        let engine = self.common_engine(source)?;
        if self.is_readonly() {
            // Fails before anything is copied.
            drop(self.buffer()?.0.device_lease(LeaseKind::Share)?);
        }
        if let Some(engine) = engine {
            return self.written_by(&*engine, source, casting, Gaps::Keep, None).map(drop);
        }
        // Pack at the source, copy the bytes, unpack at the destination.
        let order = self.layout().order();
        let packed = {
            let order = order.unwrap_or(Order::RowMajor);
            if source.dtype() != self.dtype() {
                source.cast(self.dtype(), order, casting)?
            } else if source.is_indirect() || !source.layout().is_contiguous(order) {
                source.to_order(order)?
            } else {
                source.clone()
            }
        };
        if order.is_some() && !has_gaps(self.dtype()) {
            return packed.buffer()?.0.copy_into(&self.buffer()?.0);
        }
        let bytes = self.fresh_beside(packed.nbytes())?;
        packed.buffer()?.0.copy_into(&bytes)?;
        let here = Self::from_buffer(bytes, packed.dtype().clone(), packed.layout().clone(), 0)?;
        self.assign(&here, Casting::Checked)
    }
}
