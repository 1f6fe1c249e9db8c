//! Columns through Arrow's C Device interface, on any device, with or without an event, from a
//! producer that may lie. Memory that is not on the host is never read: it is imported and exported
//! again with the same numbers, on the same device.

use std::ptr;

use crossdock::exchange::protocol::arrow::abi::ArrowDeviceArray;
use crossdock::exchange::protocol::arrow::{self, ExportOptions, Imported};
use crossdock::memory::{DeviceKind, Place};
use crossdock_testkit::arrow::{Choices, ForeignExport, Recipe};

/// DLPack's kinds of devices, those with addresses and those with handles, and some unknown kinds.
const KINDS: [i32; 20] = [1, 1, 1, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0, -1];

const NUMBERS: [i64; 7] = [0, 1, -1, 7, i32::MAX as i64, i32::MAX as i64 + 1, i64::MIN];

/// A valid pointer for an event, which no device uses.
static EVENT: usize = 0;

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices(data);
    let kind = KINDS[usize::from(choices.below(KINDS.len() as u8))];
    let id = NUMBERS[usize::from(choices.below(NUMBERS.len() as u8))];
    let event = if choices.byte() < 200 { 0 } else { ptr::from_ref(&EVENT).addr() };
    let mut recipe = Recipe::choose(&mut choices);
    recipe.device = Some((kind, id, event));
    let leaves = if recipe.is_honest() { recipe.leaves() } else { vec![] };
    let has_nulls = leaves.iter().any(|leaf| leaf.has_nulls());

    let export = ForeignExport::new(&recipe);
    let taken = take_over(&export);
    if let Ok(taken) = &taken {
        assert!(kind == 1 || taken.place() == Place::new(DeviceKind(kind), id as i32), "{taken:?}");
        assert!(taken.place().is_addressed() && (event == 0 || kind != 1));
    }
    let is_host = taken.as_ref().is_ok_and(|taken| taken.place().is_host());
    match taken.and_then(Imported::into_columns) {
        Ok(columns) => {
            assert!(recipe.is_honest() && (!is_host || !has_nulls));
            for ((name, array), leaf) in columns.into_iter().zip(&leaves) {
                assert_eq!((&name, array.shape()), (&leaf.name, &leaf.shape()[..]));
                if !is_host {
                    assert!(array.get(&vec![0; array.rank()]).is_err(), "memory of a device was read");
                }
                relay(array);
            }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // CPU memory without an event must be accepted if the producer does not lie.
            assert!(kind != 1 || event != 0 || !recipe.is_honest() || has_nulls, "{error:?}");
        }
    }
    assert_released(&export);

    let export = ForeignExport::new(&recipe);
    drop(take_over(&export).and_then(Imported::into_array_with_validity));
    assert_released(&export);
    let export = ForeignExport::new(&recipe);
    if !is_host {
        assert!(
            take_over(&export).and_then(Imported::into_records).map_or(true, |array| !array.place().is_host())
        );
    }
    drop(take_over(&export));
    assert_released(&export);
});

fn take_over(export: &ForeignExport) -> crossdock::Result<Imported> {
    // SAFETY: the structs are on export and marked as released once they are consumed; the events
    // are valid pointers that no device uses.
    unsafe { arrow::take_over_device(export.schema(), export.array()) }
}

/// Exports to the next consumer, which only sees numbers.
fn relay(array: crossdock::DArray) {
    let (place, shape, strides, first) =
        (array.place(), array.shape().to_vec(), array.strides().to_vec(), array.as_ptr());
    let Ok(exported) = arrow::export_device(&array, &ExportOptions::new()) else { return };
    assert_eq!(exported.copied_nbytes(), 0);
    drop(array);
    let (mut schema, mut column): (_, ArrowDeviceArray) = exported.into_raw();
    // SAFETY: both structs were exported just now, match, and are consumed once.
    let again = unsafe { arrow::import_device(&mut schema, &mut column) }.expect("what was exported");
    assert_eq!((again.place(), again.shape()), (place, &shape[..]));
    // Strides matter only along axes longer than 1, and in arrays with elements.
    let walked = |axis: &usize| shape[*axis] > 1 && !again.is_empty();
    assert!((0..shape.len()).filter(walked).all(|axis| again.strides()[axis] == strides[axis]));
    assert!(again.nbytes() == 0 || again.as_ptr() == first);
}

fn assert_released(export: &ForeignExport) {
    let (released, live) = export.released();
    assert_eq!(released, live);
}
