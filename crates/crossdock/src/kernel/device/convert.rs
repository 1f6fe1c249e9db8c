//! Conversion and fill on a device, with the results of the CPU's kernels.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::engine::{Engine, NONE_REFUSED, Start, Step, Work};
use crate::device::{Event, MemoryManager, Stream, copy_aside, in_order, settle_before};
use crate::element::Value;
use crate::error::{Error, Result};
use crate::kernel::device::DeviceOperand;
use crate::kernel::device::converted_part::{ConvertedPart, PartConversion, PartEndpoint, converted_parts};
use crate::kernel::device::steps::{self, check_direct};
use crate::kernel::records::has_gaps;
use crate::kernel::{Casting, Gaps, in_element, index_of};
use crate::layout::Layout;
use crate::memory::{LeaseKind, count_copied};

/// Converts the elements of one array to those of another of the same shape. Both lie in memory
/// that the engine reaches, and do not overlap. Records are converted by the names of their fields,
/// sub-arrays element by element, scalars according to `casting`. Copies, and counts, what it
/// writes. In a stream, for which the engine's `can_enqueue` must hold, the work may go on after
/// the call, which then returns its event.
///
/// # Errors
///
/// `is_value`, with an index, for the first element in row-major order that does not fit: any of
/// the others may have been written. `is_dtype` where the source lacks a field. `is_unsupported`
/// for indirect arrays and for dtypes that no kernel converts. `is_conflict`, `is_read_only`, and
/// errors of the device.
pub(crate) fn convert(
    engine: &dyn Engine,
    from: DeviceOperand<'_>,
    to: DeviceOperand<'_>,
    casting: Casting,
    gaps: Gaps,
    stream: Option<&dyn Stream>,
) -> Result<Option<Arc<dyn Event>>> {
    check_direct(from.layout)?;
    check_direct(to.layout)?;
    let all = converted_parts(endpoint(from), endpoint(to), gaps)?;
    let is_checked = |part: &&ConvertedPart| {
        casting == Casting::Checked && matches!(part.conversion, PartConversion::Cast(_))
    };
    let (checked, plain): (Vec<&ConvertedPart>, Vec<&ConvertedPart>) = all.iter().partition(is_checked);
    let zeroed = gaps == Gaps::Fill && from.dtype != to.dtype && has_gaps(to.dtype);
    let endpoints = DeviceEndpoints { engine, from: Some(from.buffer), to: to.buffer, stream };
    let (source, target) = endpoints.starts()?;
    let mut steps = Vec::new();
    if zeroed {
        steps = steps::fill(to.layout, target.moved(to.offset as isize), &[0])?;
    }
    for part in plain {
        steps.extend(part_steps(part, source, target)?);
    }
    // Fields may overlap, so their bytes may exceed those of the records.
    let of_checked: usize = checked.iter().map(|part| part.to.layout.nbytes()).sum();
    let nbytes =
        if zeroed { to.layout.nbytes() } else { all.iter().map(|part| part.to.layout.nbytes()).sum() };
    // SAFETY: clause 1 of `run`: the steps were planned from `starts` for layouts that lie within
    // the two buffers.
    let event = unsafe { endpoints.run(steps, nbytes.saturating_sub(of_checked), None) }?;
    let mut first: Option<(usize, Error)> = None;
    for part in checked {
        if let Some((position, error)) = endpoints.cast_checked(part)?
            && first.as_ref().is_none_or(|(first, _)| position < *first)
        {
            first = Some((position, error));
        }
    }
    match first {
        Some((_, error)) => Err(error),
        None => {
            // Their refusals are known only at their end.
            count_copied(of_checked);
            Ok(event)
        }
    }
}

/// Writes one element everywhere. This is not counted as a copy.
///
/// # Errors
///
/// `is_unsupported` for indirect arrays; `is_conflict`, `is_read_only`, and errors of the device.
pub(crate) fn fill(engine: &dyn Engine, to: DeviceOperand<'_>, element: &[u8]) -> Result<()> {
    let endpoints = DeviceEndpoints { engine, from: None, to: to.buffer, stream: None };
    let (_, target) = endpoints.starts()?;
    let steps = steps::fill(to.layout, target.moved(to.offset as isize), element)?;
    // SAFETY: clause 1 of `run`: the steps were planned from `starts` for a layout that lies within
    // the buffer.
    unsafe { endpoints.run(steps, 0, None) }.map(drop)
}

fn endpoint(operand: DeviceOperand<'_>) -> PartEndpoint {
    PartEndpoint { dtype: operand.dtype.clone(), layout: operand.layout.clone(), offset: operand.offset }
}

fn part_steps(part: &ConvertedPart, source: Start, target: Start) -> Result<Vec<Step>> {
    let ((from, source), (to, target)) = endpoints_of(part, source, target);
    match part.conversion {
        PartConversion::Moved => steps::copy(from, source, to, target, None),
        PartConversion::Swapped(width) => steps::copy(from, source, to, target, Some(width)),
        PartConversion::Cast(numbers) => Ok(numbers.steps((from, source), (to, target), false)),
    }
}

fn endpoints_of(part: &ConvertedPart, source: Start, target: Start) -> ((&Layout, Start), (&Layout, Start)) {
    let at = |endpoint: &'_ PartEndpoint, start: Start| start.moved(endpoint.offset as isize);
    ((&part.from.layout, at(&part.from, source)), (&part.to.layout, at(&part.to, target)))
}

/// The buffers that work reads and writes, the engine, and the stream.
struct DeviceEndpoints<'a> {
    engine: &'a dyn Engine,
    from: Option<&'a Buffer>,
    to: &'a Buffer,
    stream: Option<&'a dyn Stream>,
}

impl DeviceEndpoints<'_> {
    fn starts(&self) -> Result<(Start, Start)> {
        let start = |buffer: &Buffer| self.engine.start(&buffer.device_lease(LeaseKind::Pin)?);
        let target = start(self.to)?;
        Ok((self.from.map_or(Ok(target), start)?, target))
    }

    /// Runs the steps after all in-flight work, under leases that coexist with others of the same
    /// stream. Does nothing without steps.
    ///
    /// # Safety
    ///
    /// 1. If the starts that the engine returned are true, the steps read bytes of `from`, write
    ///    bytes of `to`, and lower the 32-bit word of `refused`, and access no others.
    unsafe fn run(
        &self,
        steps: Vec<Step>,
        nbytes: usize,
        refused: Option<&Buffer>,
    ) -> Result<Option<Arc<dyn Event>>> {
        let to = self.to.device_lease(LeaseKind::Share)?;
        let from = self.from.map(|from| from.device_lease(LeaseKind::Pin)).transpose()?;
        let refused = refused.map(|refused| refused.device_lease(LeaseKind::Share)).transpose()?;
        if steps.is_empty() {
            return Ok(None);
        }
        // The answer is read at once, so such work cannot stay in a stream.
        let stream = self.stream.filter(|_| refused.is_none());
        // SAFETY: clause 1 of `new`: clause 1 of `# Safety` is Work 1, and the leases taken above
        // are those of Work 2.
        let work = unsafe { Work::new(steps, to, from, refused, nbytes) };
        if let Some(stream) = stream {
            let enqueue = || self.engine.enqueue(work, stream);
            return in_order(self.from, self.to, stream, enqueue).map(Some);
        }
        settle_before(self.from, self.to)?;
        self.engine.run(&work)?;
        work.complete();
        Ok(None)
    }

    /// Casts a part. Returns the first element, in row-major order, of which a number does not fit.
    fn cast_checked(&self, part: &ConvertedPart) -> Result<Option<(usize, Error)>> {
        let PartConversion::Cast(numbers) = part.conversion else { return Ok(None) };
        let (source, target) = self.starts()?;
        let (from, to) = endpoints_of(part, source, target);
        let answer = RefusedIndex::new(self.to)?;
        // SAFETY: clause 1 of `run`: the steps were planned from `starts` for a part of both
        // layouts, and the answer is a 32-bit word.
        unsafe { self.run(numbers.steps(from, to, true), 0, Some(&answer.on_device)) }?;
        if answer.read()?.is_none() {
            return Ok(None);
        }
        // Again in row-major order, launch by launch. There may be no refusal now, as other threads
        // may write the source.
        for (step, first) in numbers.in_order(from, to) {
            answer.clear()?;
            // SAFETY: clause 1 of `run`: the step is one of those above.
            unsafe { self.run(vec![step], 0, Some(&answer.on_device)) }?;
            if let Some(index) = answer.read()? {
                let position = numbers.element_at(first + index as usize);
                return self.refusal(part, position);
            }
        }
        Ok(None)
    }

    /// Why an element does not fit, and the position of the element that it belongs to.
    #[cold]
    fn refusal(&self, part: &ConvertedPart, position: usize) -> Result<Option<(usize, Error)>> {
        let (dtype, layout) = (&part.from.dtype, &part.from.layout);
        let index = index_of(layout.shape(), position);
        let start = part.from.offset.saturating_add_signed(layout.offset_of(&index)?);
        let Some(from) = self.from else { return Ok(None) };
        let bytes = Buffer::zeroed(dtype.itemsize())?;
        copy_aside(&manager(from)?, &from.slice(start..start + dtype.itemsize())?, &bytes)?;
        let value = Value::read(dtype, &bytes.read()?)?;
        let Err(error) = value.write(&part.to.dtype, &mut vec![0; part.to.dtype.itemsize()]) else {
            return Ok(None);
        };
        let (outer, inner) = index.split_at(part.outer_rank);
        let in_one: usize = layout.shape()[part.outer_rank..].iter().product();
        let error = if part.path.is_empty() {
            in_element(error, &index)
        } else {
            in_element(in_element(error, inner).within(format_args!("field {:?}", part.path)), outer)
        };
        Ok(Some((position / in_one, error)))
    }
}

/// The manager of a buffer's memory.
fn manager(buffer: &Buffer) -> Result<Arc<dyn MemoryManager>> {
    let no_manager =
        || Error::unsupported(format!("no registered device allocates memory on {}", buffer.place()));
    buffer.memory_manager()?.ok_or_else(no_manager)
}

/// A word on the device, for the index of the first number that a launch refuses.
struct RefusedIndex {
    memory: Arc<dyn MemoryManager>,
    on_device: Buffer,
    here: Buffer,
}

impl RefusedIndex {
    /// In the same memory as a buffer.
    fn new(beside: &Buffer) -> Result<Self> {
        let memory = manager(beside)?;
        let (on_device, here) = (Buffer::on(&memory, size_of::<u32>())?, Buffer::zeroed(size_of::<u32>())?);
        let answer = Self { memory, on_device, here };
        answer.clear()?;
        Ok(answer)
    }

    fn clear(&self) -> Result<()> {
        self.here.share()?.store(0, NONE_REFUSED)?;
        copy_aside(&self.memory, &self.here, &self.on_device)
    }

    fn read(&self) -> Result<Option<u32>> {
        copy_aside(&self.memory, &self.on_device, &self.here)?;
        let index = self.here.pin()?.load::<u32>(0)?;
        Ok((index != NONE_REFUSED).then_some(index))
    }
}
