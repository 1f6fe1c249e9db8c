//! Conversion and fill on a device, with the results of the CPU's kernels.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::engine::{Engine, NONE_REFUSED, Start, Step, Work};
use crate::device::{Event, MemoryManager, Stream, copy_aside, in_order, settle_before};
use crate::element::Value;
use crate::error::{Error, Result};
use crate::kernel::device::Operand;
use crate::kernel::device::leaves::{End, Leaf, Way, leaves};
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
    from: Operand<'_>,
    to: Operand<'_>,
    casting: Casting,
    gaps: Gaps,
    stream: Option<&dyn Stream>,
) -> Result<Option<Arc<dyn Event>>> {
    check_direct(from.layout)?;
    check_direct(to.layout)?;
    let all = leaves(end(from), end(to), gaps)?;
    let is_checked = |leaf: &&Leaf| casting == Casting::Checked && matches!(leaf.way, Way::Cast(_));
    let (checked, plain): (Vec<&Leaf>, Vec<&Leaf>) = all.iter().partition(is_checked);
    let zeroed = gaps == Gaps::Fill && from.dtype != to.dtype && has_gaps(to.dtype);
    let ends = Ends { engine, from: Some(from.buffer), to: to.buffer, stream };
    let (source, target) = ends.starts()?;
    let mut steps = Vec::new();
    if zeroed {
        steps = steps::fill(to.layout, target.moved(to.offset as isize), &[0])?;
    }
    for leaf in plain {
        steps.extend(leaf_steps(leaf, source, target)?);
    }
    // Fields may overlap, so their bytes may exceed those of the records.
    let of_leaves: usize = checked.iter().map(|leaf| leaf.to.layout.nbytes()).sum();
    let nbytes =
        if zeroed { to.layout.nbytes() } else { all.iter().map(|leaf| leaf.to.layout.nbytes()).sum() };
    let event = ends.run(steps, nbytes.saturating_sub(of_leaves), None)?;
    let mut first: Option<(usize, Error)> = None;
    for leaf in checked {
        if let Some((position, error)) = ends.cast_checked(leaf)?
            && first.as_ref().is_none_or(|(first, _)| position < *first)
        {
            first = Some((position, error));
        }
    }
    match first {
        Some((_, error)) => Err(error),
        None => {
            // Their refusals are known only at their end.
            count_copied(of_leaves);
            Ok(event)
        }
    }
}

/// Writes one element everywhere. This is not counted as a copy.
///
/// # Errors
///
/// `is_unsupported` for indirect arrays; `is_conflict`, `is_read_only`, and errors of the device.
pub(crate) fn fill(engine: &dyn Engine, to: Operand<'_>, element: &[u8]) -> Result<()> {
    let ends = Ends { engine, from: None, to: to.buffer, stream: None };
    let (_, target) = ends.starts()?;
    let steps = steps::fill(to.layout, target.moved(to.offset as isize), element)?;
    ends.run(steps, 0, None).map(drop)
}

fn end(operand: Operand<'_>) -> End {
    End { dtype: operand.dtype.clone(), layout: operand.layout.clone(), offset: operand.offset }
}

fn leaf_steps(leaf: &Leaf, source: Start, target: Start) -> Result<Vec<Step>> {
    let ((from, source), (to, target)) = sides(leaf, source, target);
    match leaf.way {
        Way::Moved => steps::copy(from, source, to, target, None),
        Way::Swapped(width) => steps::copy(from, source, to, target, Some(width)),
        Way::Cast(numbers) => Ok(numbers.steps((from, source), (to, target), false)),
    }
}

fn sides(leaf: &Leaf, source: Start, target: Start) -> ((&Layout, Start), (&Layout, Start)) {
    let side = |end: &'_ End, start: Start| start.moved(end.offset as isize);
    ((&leaf.from.layout, side(&leaf.from, source)), (&leaf.to.layout, side(&leaf.to, target)))
}

/// The buffers that work reads and writes, the engine, and the stream.
struct Ends<'a> {
    engine: &'a dyn Engine,
    from: Option<&'a Buffer>,
    to: &'a Buffer,
    stream: Option<&'a dyn Stream>,
}

impl Ends<'_> {
    fn starts(&self) -> Result<(Start, Start)> {
        let start = |buffer: &Buffer| self.engine.start(&buffer.hold(LeaseKind::Pin)?);
        let target = start(self.to)?;
        Ok((self.from.map_or(Ok(target), start)?, target))
    }

    /// Runs the steps after all in-flight work, under leases that coexist with others of the same
    /// stream. Does nothing without steps.
    fn run(
        &self,
        steps: Vec<Step>,
        nbytes: usize,
        refused: Option<&Buffer>,
    ) -> Result<Option<Arc<dyn Event>>> {
        let to = self.to.hold(LeaseKind::Share)?;
        let from = self.from.map(|from| from.hold(LeaseKind::Pin)).transpose()?;
        let refused = refused.map(|refused| refused.hold(LeaseKind::Share)).transpose()?;
        if steps.is_empty() {
            return Ok(None);
        }
        // The answer is read at once, so such work cannot stay in a stream.
        let stream = self.stream.filter(|_| refused.is_none());
        let work = Work::new(steps, to, from, refused, nbytes);
        if let Some(stream) = stream {
            let enqueue = || self.engine.enqueue(work, stream);
            return in_order(self.from, self.to, stream, enqueue).map(Some);
        }
        settle_before(self.from, self.to)?;
        self.engine.run(&work)?;
        work.complete();
        Ok(None)
    }

    /// Casts a leaf. Returns the first element, in row-major order, of which a number does not fit.
    fn cast_checked(&self, leaf: &Leaf) -> Result<Option<(usize, Error)>> {
        let Way::Cast(numbers) = leaf.way else { return Ok(None) };
        let (source, target) = self.starts()?;
        let (from, to) = sides(leaf, source, target);
        let answer = Answer::new(self.to)?;
        self.run(numbers.steps(from, to, true), 0, Some(&answer.on_device))?;
        if answer.read()?.is_none() {
            return Ok(None);
        }
        // Again in row-major order, launch by launch. There may be no refusal now, as other threads
        // may write the source.
        for (step, first) in numbers.in_order(from, to) {
            answer.clear()?;
            self.run(vec![step], 0, Some(&answer.on_device))?;
            if let Some(index) = answer.read()? {
                let position = numbers.element_at(first + index as usize);
                return self.refusal(leaf, position);
            }
        }
        Ok(None)
    }

    /// Why an element does not fit, and the position of the element that it belongs to.
    #[cold]
    fn refusal(&self, leaf: &Leaf, position: usize) -> Result<Option<(usize, Error)>> {
        let (dtype, layout) = (&leaf.from.dtype, &leaf.from.layout);
        let index = index_of(layout.shape(), position);
        let start = leaf.from.offset.saturating_add_signed(layout.offset_of(&index)?);
        let Some(from) = self.from else { return Ok(None) };
        let bytes = Buffer::zeroed(dtype.itemsize())?;
        copy_aside(&manager(from)?, &from.slice(start..start + dtype.itemsize())?, &bytes)?;
        let value = Value::read(dtype, &bytes.read()?)?;
        let Err(error) = value.write(&leaf.to.dtype, &mut vec![0; leaf.to.dtype.itemsize()]) else {
            return Ok(None);
        };
        let (outer, inner) = index.split_at(leaf.outer_rank);
        let in_one: usize = layout.shape()[leaf.outer_rank..].iter().product();
        let error = if leaf.path.is_empty() {
            in_element(error, &index)
        } else {
            in_element(in_element(error, inner).within(format_args!("field {:?}", leaf.path)), outer)
        };
        Ok(Some((position / in_one, error)))
    }
}

/// The manager of a buffer's memory.
fn manager(buffer: &Buffer) -> Result<Arc<dyn MemoryManager>> {
    let nobody = || Error::unsupported(format!("nobody allocates and copies memory on {}", buffer.place()));
    buffer.memory_manager()?.ok_or_else(nobody)
}

/// A word on the device, for the index of the first number that a launch refuses.
struct Answer {
    memory: Arc<dyn MemoryManager>,
    on_device: Buffer,
    here: Buffer,
}

impl Answer {
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
