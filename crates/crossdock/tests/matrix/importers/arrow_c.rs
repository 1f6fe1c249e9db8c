//! Imports of Arrow's C structs.

use std::ffi::{CString, c_void};
use std::ptr;

use crossdock::exchange::protocol::arrow;
use crossdock::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crossdock::layout::Order;

use super::{Brought, INDIRECT, NUMBERS, No, ROW_MAJOR, at_address};
use crate::classes::{ExportedMemory, Kind, Specimen};

/// The producer's data until one of its structs is released.
struct ProducerData {
    format: CString,
    memory: Option<ExportedMemory>,
    buffers: [*const c_void; 2],
    below: (*mut ArrowSchema, *mut ArrowArray),
}

impl ProducerData {
    fn boxed(format: &str) -> Box<Self> {
        let format = CString::new(format).unwrap();
        Box::new(Self {
            format,
            memory: None,
            buffers: [ptr::null(); 2],
            below: (ptr::null_mut(), ptr::null_mut()),
        })
    }
}

/// The release function of one of the two structs.
macro_rules! release {
    ($name:ident, $lent:ty, $below:tt) => {
        unsafe extern "C" fn $name(lent: *mut $lent) {
            // SAFETY: consumers pass a struct of this module, possibly moved, and call its release
            // once.
            let lent = unsafe { &mut *lent };
            lent.release = None;
            // SAFETY: `ProducerData::boxed` made the private data with a box, and the release runs
            // once.
            let kept = unsafe { Box::from_raw(lent.private_data.cast::<ProducerData>()) };
            if !kept.below.$below.is_null() {
                // SAFETY: `lists` made the child with `Box::into_raw`, and only this struct owns
                // it.
                let mut below = unsafe { Box::from_raw(kept.below.$below) };
                // SAFETY: a child is released by its parent alone, and this is the only release of
                // the parent.
                unsafe { below.release.unwrap()(&mut *below) };
            }
        }
    };
}

release!(release_schema, ArrowSchema, 0);
release!(release_array, ArrowArray, 1);

fn schema(format: &str, below: *mut ArrowSchema) -> ArrowSchema {
    let mut kept = ProducerData::boxed(format);
    kept.below.0 = below;
    let kept = Box::into_raw(kept);
    // SAFETY: `kept` was leaked just before, and no other code has the pointer yet.
    let ProducerData { format, below: (children, _), .. } = unsafe { &mut *kept };
    ArrowSchema {
        format: format.as_ptr(),
        n_children: i64::from(!below.is_null()),
        children,
        release: Some(release_schema),
        private_data: kept.cast(),
        ..ArrowSchema::empty()
    }
}

fn array(
    length: usize,
    data: *const u8,
    memory: Option<ExportedMemory>,
    below: *mut ArrowArray,
) -> ArrowArray {
    let mut kept = ProducerData::boxed("");
    (kept.buffers[1], kept.memory, kept.below.1) = (data.cast(), memory, below);
    let kept = Box::into_raw(kept);
    // SAFETY: `kept` was leaked just before, and no other code has the pointer yet.
    let ProducerData { buffers, below: (_, children), .. } = unsafe { &mut *kept };
    let is_list = !below.is_null();
    ArrowArray {
        length: length as i64,
        n_buffers: if is_list { 1 } else { 2 },
        n_children: i64::from(is_list),
        buffers: buffers.as_mut_ptr(),
        children,
        release: Some(release_array),
        private_data: kept.cast(),
        ..ArrowArray::empty()
    }
}

/// A column of lists of a fixed size, in any memory.
pub(super) fn lists(specimen: &Specimen) -> Result<Brought, No> {
    if specimen.is_indirect {
        return Err(INDIRECT);
    }
    if specimen.kind != Kind::Number {
        return Err(NUMBERS);
    }
    let &[rows, columns] = &specimen.shape[..] else { return Err(No::CannotSay("a column has a length")) };
    if !specimen.layout().is_contiguous(Order::RowMajor) {
        return Err(ROW_MAJOR);
    }
    let mut memory = specimen.lend();
    let (address, place) = (memory.first(specimen.offset), memory.place());
    let data = memory.base().wrapping_add(specimen.offset);
    let boxed_schema = Box::into_raw(Box::new(schema("S", ptr::null_mut())));
    let mut schema = schema(&format!("+w:{columns}"), boxed_schema);
    let values = Box::into_raw(Box::new(array(rows * columns, data, Some(memory), ptr::null_mut())));
    let mut device = ArrowDeviceArray {
        array: array(rows, ptr::null(), None, values),
        device_type: place.kind().0,
        device_id: place.ordinal().into(),
        ..ArrowDeviceArray::empty()
    };
    // SAFETY: the structs describe memory that the memory keeps, they match, and this import is
    // their only consumer.
    at_address(unsafe { arrow::import_device(&mut schema, &mut device) }?, address)
}
