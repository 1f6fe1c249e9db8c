//! The tour on a device: one copy there, asked for, and from then on hand-overs of what is there.
//!
//! Consumers of this process take the array where it lies. What each saw is copied back to be summed, which is part of the proof and
//! not of the hand-over.

use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use crossdock::device::{self, Device, MemoryManager};
use crossdock::exchange::protocol::{arrow, dlpack};
use crossdock::layout::Order;
use crossdock::memory::{Place, copied_bytes};
use crossdock::view::{Refusal, Request};
use crossdock::{DArray, Error};

use crate::failure::Result;
use crate::open::Opened;
use crate::progress;
use crate::tour::checksum::Checksum;
use crate::tour::measure::{self, median_ns};
use crate::tour::report::{Handover, Moved, Outcome, Report};
use crate::tour::views;

/// Where the array is, and where what was handed over is copied to.
struct Stay {
    device: Arc<dyn Device>,
    host: Arc<dyn MemoryManager>,
}

/// Hands the array over on a device, by every protocol that carries one.
pub(super) fn travel(opened: &Opened, place: Place) -> Result<Report> {
    let stay = Stay { device: device::get(place)?, host: device::memory(Place::CPU)? };
    let mut report = Report::new(&opened.path, &opened.view);
    let (before, start) = (copied_bytes(), Instant::now());
    let there = opened.view.copy_to(&stay.device.memory())?;
    let (ns, nbytes) = (start.elapsed().as_nanos() as f64, copied_bytes() - before);
    report.set_moved(Moved { place: place.to_string(), device: stay.device.name(), nbytes, ns });
    type Consumer = fn(&Stay, &DArray) -> Result<Outcome>;
    let consumers: [(&'static str, Consumer); 4] = [
        ("DLPack, and back", dlpack),
        ("Arrow, and back", arrow),
        ("the host, mapped", mapped),
        ("MemoryView of the host", memory_view),
    ];
    let pairs = views::of(&opened.view)?.into_iter().zip(views::of(&there)?);
    let progress = progress::steps(pairs.len() * consumers.len());
    for (here, there) in pairs {
        let expected = Checksum::of(&here.array)?;
        stay.prove_kernels(&there.array, expected, there.name)?;
        let copy_ns = measure::copy(&there.array)?;
        for (to, consume) in consumers {
            progress.set_message(format!("{} to {to}", there.name));
            report.take(there.name, to, consume(&stay, &there.array), &there.array, expected, copy_ns)?;
            progress.inc(1);
        }
    }
    opened.check()?;
    Ok(report)
}

impl Stay {
    /// What a consumer saw of an array that is on the device.
    fn told(&self, array: &DArray, bytes_copied: u64, ns: f64) -> Result<Outcome> {
        Ok(Outcome::Took(Handover {
            dtype: Some(array.dtype().to_string()),
            shape: Some(array.shape().to_vec()),
            strides: Some(array.strides().to_vec()),
            address: array.as_ptr().addr() as u64,
            pages: None,
            checksum: Checksum::of(&array.copy_to(&self.host)?)?,
            bytes_copied: Some(bytes_copied),
            ns,
        }))
    }

    /// The same by a hand-over that is repeated, to find out how long it takes.
    fn taken(&self, mut hand_over: impl FnMut() -> Result<DArray>) -> Result<Outcome> {
        let ns = median_ns(&mut hand_over)?;
        let before = copied_bytes();
        let array = hand_over()?;
        self.told(&array, copied_bytes() - before, ns)
    }

    /// Has the device copy the elements, whatever their strides, and compares what comes of it.
    fn prove_kernels(&self, array: &DArray, expected: u64, name: &str) -> Result<()> {
        let packed = array.to_order(Order::RowMajor)?.copy_to(&self.host)?;
        let sum = Checksum::of(&packed)?;
        if sum == expected {
            return Ok(());
        }
        let text =
            format_args!("{name}: the bytes add up to {expected}, and to {sum} after the device copied them");
        Err(crate::failure::Failure::new(text))
    }
}

fn declined(refusal: &Refusal) -> Outcome {
    let text = refusal.to_string();
    Outcome::Declined(text.split("; on offer").next().unwrap_or(&text).to_owned())
}

/// Lent as DLPack's struct, and taken over again.
fn dlpack(stay: &Stay, array: &DArray) -> Result<Outcome> {
    let options = dlpack::ExportOptions::new();
    if let Err(refusal) = dlpack::export_versioned(array, &options) {
        return Ok(declined(&refusal));
    }
    stay.taken(|| {
        let tensor = dlpack::export_versioned(array, &options)?.into_raw();
        // SAFETY: a tensor that was just lent, and that nobody else takes over.
        Ok(unsafe { dlpack::import_versioned(tensor) }?)
    })
}

/// Lent as a column on a device, and taken over again.
fn arrow(stay: &Stay, array: &DArray) -> Result<Outcome> {
    let options = arrow::ExportOptions::new();
    if let Err(refusal) = arrow::export_device(array, &options) {
        return Ok(declined(&refusal));
    }
    stay.taken(|| {
        let (mut schema, mut column) = arrow::export_device(array, &options)?.into_raw();
        // SAFETY: structs that were just lent, and that nobody else takes over.
        Ok(unsafe { arrow::import_device(ptr::from_mut(&mut schema), ptr::from_mut(&mut column)) }?)
    })
}

/// The same bytes as the processor sees them, where it can.
fn mapped(stay: &Stay, array: &DArray) -> Result<Outcome> {
    if array.map_to(&stay.host)?.is_none() {
        let text = format!("the processor cannot reach the memory of {}", stay.device.place());
        return Ok(Outcome::Declined(text));
    }
    stay.taken(|| {
        Ok(array.map_to(&stay.host)?.ok_or_else(|| Error::device("it could be mapped a moment ago"))?)
    })
}

/// What the processor is told that asks for a view of memory which it cannot reach.
fn memory_view(_: &Stay, array: &DArray) -> Result<Outcome> {
    match crossdock::view(array, Request::pin()) {
        Ok(view) => Ok(Outcome::Declined(format!("it was given: {view:?}"))),
        Err(refusal) => Ok(declined(&refusal)),
    }
}
