//! The tour on a device: one requested copy to it, and then exports without a copy.
//!
//! Consumers in this process import the array on the device. A copy on the host is then summed for
//! each, as part of the check and not of the export.

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
use crate::tour::report::{Handover, Moved, Outcome, TourReport};
use crate::tour::views;

/// The device of the array, and the host memory for the copies that are summed.
struct Stay {
    device: Arc<dyn Device>,
    host: Arc<dyn MemoryManager>,
}

/// Exports the array on a device, by every protocol that supports devices.
pub(super) fn travel(opened: &Opened, place: Place) -> Result<TourReport> {
    let stay = Stay { device: device::get(place)?, host: device::memory(Place::CPU)? };
    let mut report = TourReport::new(&opened.path, &opened.view);
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
    /// What a consumer saw of an array on the device.
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

    /// Measures a repeated export, and reports what its consumer saw.
    fn taken(&self, mut hand_over: impl FnMut() -> Result<DArray>) -> Result<Outcome> {
        let ns = median_ns(&mut hand_over)?;
        let before = copied_bytes();
        let array = hand_over()?;
        self.told(&array, copied_bytes() - before, ns)
    }

    /// Lets the device copy the elements, with any strides, and compares the result.
    fn prove_kernels(&self, array: &DArray, expected: u64, name: &str) -> Result<()> {
        let packed = array.to_order(Order::RowMajor)?.copy_to(&self.host)?;
        let sum = Checksum::of(&packed)?;
        if sum == expected {
            return Ok(());
        }
        let text = format_args!(
            "{name}: the checksum is {expected}, but {sum} after the device copied the elements"
        );
        Err(crate::failure::Failure::new(text))
    }
}

fn declined(refusal: &Refusal) -> Outcome {
    Outcome::Declined(refusal.reason().fact().to_string())
}

/// Exports a DLPack struct, and imports it again.
fn dlpack(stay: &Stay, array: &DArray) -> Result<Outcome> {
    let options = dlpack::ExportOptions::new();
    if let Err(refusal) = dlpack::export_versioned(array, &options) {
        return Ok(declined(&refusal));
    }
    stay.taken(|| {
        let tensor = dlpack::export_versioned(array, &options)?.into_raw();
        // SAFETY: `export_versioned` created this live tensor, and `into_raw` released it one line
        // above to this import, its only consumer.
        Ok(unsafe { dlpack::import_versioned(tensor) }?)
    })
}

/// Exports an Arrow column on the device, and imports it again.
fn arrow(stay: &Stay, array: &DArray) -> Result<Outcome> {
    let options = arrow::ExportOptions::new();
    if let Err(refusal) = arrow::export_device(array, &options) {
        return Ok(declined(&refusal));
    }
    stay.taken(|| {
        let (mut schema, mut column) = arrow::export_device(array, &options)?.into_raw();
        // SAFETY: `export_device` filled in both local structs, and `into_raw` released them one
        // line above to this import, their only consumer.
        Ok(unsafe { arrow::import_device(ptr::from_mut(&mut schema), ptr::from_mut(&mut column)) }?)
    })
}

/// The same bytes mapped for the CPU, if the device supports it.
fn mapped(stay: &Stay, array: &DArray) -> Result<Outcome> {
    if array.map_to(&stay.host)?.is_none() {
        let text = format!("memory on {} is not accessible from the CPU", stay.device.place());
        return Ok(Outcome::Declined(text));
    }
    stay.taken(|| {
        Ok(array
            .map_to(&stay.host)?
            .ok_or_else(|| Error::device("the memory could be mapped before, but not again"))?)
    })
}

/// The refusal of a view for the CPU, which cannot address the memory.
fn memory_view(_: &Stay, array: &DArray) -> Result<Outcome> {
    match crossdock::view(array, Request::pin()) {
        Ok(view) => Ok(Outcome::Declined(format!("it was granted: {view:?}"))),
        Err(refusal) => Ok(declined(&refusal)),
    }
}
