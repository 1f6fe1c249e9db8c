//! Exports an array as Arrow's C structs.

use core::ffi::c_void;
use std::fmt;
use std::mem;
use std::ptr;

use crate::array::DArray;
use crate::element::DType;
use crate::error::{Advice, Explanation};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crate::exchange::protocol::arrow::c_structs::{Unsent, lend};
use crate::exchange::protocol::arrow::column::{
    ArrayColumn, SplitArray, TERMS, check_words, has_moments, in_order, list_len, no_rows, permutation_of,
};
use crate::exchange::protocol::arrow::event::SyncEvent;
use crate::exchange::protocol::arrow::validity::Nulls;
use crate::memory::Place;
use crate::view::{Copied, CopyPolicy, Reason, Refusal, Request, Source, negotiate_as};

/// What the caller of an export permits and requests.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    copy: CopyPolicy,
    whole: bool,
    name: String,
    validity: Option<DArray>,
}

impl ExportOptions {
    /// Permits no copy; axis 0 is the rows, and the column has no name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a copy may be made.
    pub fn copy(mut self, policy: CopyPolicy) -> Self {
        self.copy = policy;
        self
    }

    /// Exports the array as the one element of a column: as one tensor, all of whose axes may be in
    /// any order. So column-major arrays, and those of rank 0, are exported zero-copy. An import of
    /// it has one more axis, of length 1, in front.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Marks elements as null by a mask: booleans of the array's shape, false where an element is
    /// null. (Dates and durations that are not a time are null without it.) The mask becomes a
    /// bitmap, which copies, and counts, a byte for each element; there is none if all of the mask
    /// is true. Records are null as a whole.
    pub fn validity(mut self, mask: impl Into<DArray>) -> Self {
        self.validity = Some(mask.into());
        self
    }

    /// Names the column.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

/// Exports an array by the C Data interface: memory that is accessible from the CPU. O(rank) for
/// each field, with some small heap blocks. Copies only if the options permit it. Dates and
/// durations are read once: those that are not a time (`NAT`) are null in Arrow. Their bitmap, of a
/// bit for each element, is made and counted as copied only if there is one.
///
/// # Errors
///
/// A [`Refusal`], with [`Reason::Lease`] while another party holds Share or Write, or if other
/// parties may write the memory; [`Reason::Layout`] for elements in another layout than Arrow's
/// (several fields of records always are); [`Reason::Unsupported`] for a type that Arrow does not
/// have, for rank 0, and for memory of a device.
///
/// ```
/// use crossdock::exchange::protocol::arrow::{self, ExportOptions};
/// use crossdock::{Array, s};
/// use crossdock::view::CopyPolicy;
///
/// let array = Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [3, 2])?;
/// let exported = arrow::export(&array, &ExportOptions::new())?;
/// assert_eq!((exported.array().length, exported.array().null_count), (3, 0));
/// assert!(array.write().is_err()); // Arrow relies on it
/// drop(exported);
///
/// let refusal = arrow::export(&array.slice(s![..;2, ..])?, &ExportOptions::new()).unwrap_err();
/// assert!(refusal.to_string().contains("strides [16, 4]"));
/// let options = ExportOptions::new().copy(CopyPolicy::IfNeeded);
/// assert_eq!(arrow::export(&array.slice(s![..;2, ..])?, &options)?.copied_nbytes(), 16);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn export(source: &impl Source, options: &ExportOptions) -> Result<Exported<ArrowArray>, Refusal> {
    source.lend(|array| export_array(array, options, check_host, |array, _, _| array))
}

/// Exports an array by the C Device interface: memory of any device that has addresses. If this
/// library knows of in-flight work on it, the column has an event of the device that follows the
/// work. The export waits instead if the device has no events, or if the work writes.
///
/// # Errors
///
/// As [`export`]; the error of in-flight work that was to write the memory and failed.
pub fn export_device(
    source: &impl Source,
    options: &ExportOptions,
) -> Result<Exported<ArrowDeviceArray>, Refusal> {
    source.lend(|array| {
        export_array(array, options, check_addressed, |array, place, sync_event| ArrowDeviceArray {
            sync_event,
            ..on_place(array, place)
        })
    })
}

/// A column in memory of this place, without an event.
pub(super) fn on_place(array: ArrowArray, place: Place) -> ArrowDeviceArray {
    ArrowDeviceArray {
        array,
        // The CPU has no number.
        device_id: if place == Place::CPU { -1 } else { place.ordinal().into() },
        device_type: place.kind().0,
        ..ArrowDeviceArray::empty()
    }
}

fn export_array<A: ExportedStruct>(
    array: &DArray,
    options: &ExportOptions,
    check: fn(&DArray) -> Result<(), Reason>,
    wrap: fn(ArrowArray, Place, *mut c_void) -> A,
) -> Result<Exported<A>, Refusal> {
    let request = Request::read().copy(options.copy);
    let refuse = |reason| Refusal::of(array, &request, reason);
    check(array).map_err(refuse)?;
    check_words(array.dtype()).map_err(refuse)?;
    check_validity(array, options).map_err(refuse)?;
    check_times(array).map_err(refuse)?;
    list_len(array.shape().get(usize::from(!options.whole)..).unwrap_or_default()).map_err(refuse)?;
    let lend = |column: ArrayColumn, place| {
        let event = column.event.as_ref().map_or(ptr::null_mut(), |event| event.address());
        // Exported 1: `lend` just created both structs.
        let (schema, array) = lend(column, 0);
        Exported { schema, array: wrap(array, place, event), copied: Copied::NOTHING }
    };
    let (mut exported, copied) = negotiate_as(
        array,
        &request,
        &TERMS,
        |array| Ok(lend(in_place(array, options)?, array.place())),
        |array| SplitArray::copied(&rows(array, options)?).map_err(Reason::Failed),
        |parts| {
            let (place, event) = (parts.place(), parts.event()?);
            Ok(lend(ArrayColumn { event, ..column(parts, options, None)? }, place))
        },
    )?;
    exported.copied = copied;
    Ok(exported)
}

/// Refuses a mask that does not fit the array's elements.
fn check_validity(array: &DArray, options: &ExportOptions) -> Result<(), Reason> {
    let Some(mask) = &options.validity else { return Ok(()) };
    let text = match () {
        () if *mask.dtype() != DType::BOOL => format!("has dtype {}, not bool", mask.dtype().brief()),
        () if mask.shape() != array.shape() => {
            format!("has shape {:?}, but the array has {:?}", mask.shape(), array.shape())
        }
        () if array.dtype().as_subarray().is_some() => {
            format!("cannot mark elements that are sub-arrays ({})", array.dtype().brief())
        }
        () if !array.place().is_host() => format!("is in host memory, but the array is on {}", array.place()),
        () => return Ok(()),
    };
    Err(Reason::Unsupported(format!("the validity mask {text}").into()))
}

/// Refuses dates and durations that the CPU cannot read: which of them are null is unknown.
fn check_times(array: &DArray) -> Result<(), Reason> {
    if array.place().is_host() || !has_moments(array.dtype()) {
        return Ok(());
    }
    let text = format!(
        "NaT is null in Arrow, but the CPU cannot read on {} which dates and durations are NaT",
        array.place()
    );
    Err(Reason::Unsupported(Explanation::new(text, Advice::CopyToCpu)))
}

/// The array with axis 0 as its rows.
fn rows(array: &DArray, options: &ExportOptions) -> Result<DArray, Reason> {
    match options.whole {
        true => array.insert_axis(0).map_err(Reason::Failed),
        false if array.rank() == 0 => Err(Reason::Unsupported(no_rows())),
        false => Ok(array.clone()),
    }
}

fn in_place(array: &DArray, options: &ExportOptions) -> Result<ArrayColumn, Reason> {
    let event = SyncEvent::after(array)?;
    let array = rows(array, options)?;
    let axes = in_order(&array)?;
    let sorted = match &axes {
        Some(axes) => array.permute(axes).map_err(Reason::Failed)?,
        None => array,
    };
    let column = column(SplitArray::of(sorted).map_err(Reason::Failed)?, options, axes.as_deref())?;
    Ok(ArrayColumn { event, ..column })
}

/// The column of an array whose axes were permuted to this order.
fn column(parts: SplitArray, options: &ExportOptions, axes: Option<&[usize]>) -> Result<ArrayColumn, Reason> {
    let mut column = parts.into_column(options.name.clone(), 1, axes.map(permutation_of))?;
    if let Some(mask) = &options.validity {
        let mask = rows(mask, options)?;
        let sorted = axes.map_or_else(|| Ok(mask.clone()), |axes| mask.permute(axes));
        let nulls = sorted.and_then(|mask| Nulls::of(&mask)).map_err(Reason::Failed)?;
        column.add_nulls(nulls).map_err(Reason::Failed)?;
    }
    Ok(column)
}

fn check_host(array: &DArray) -> Result<(), Reason> {
    let place = array.place();
    if place.is_host() {
        return Ok(());
    }
    let text = format!("Arrow's C Data interface lends memory of the CPU, and this is on {place}");
    Err(Reason::Unsupported(Explanation::new(text, Advice::CopyToCpuOrExportDevice)))
}

fn check_addressed(array: &DArray) -> Result<(), Reason> {
    let place = array.place();
    if place.is_host() || place.is_addressed() && array.raw().has_addresses() {
        return Ok(());
    }
    let text = format!("Arrow requires addresses, but this memory on {place} has none");
    Err(Reason::Unsupported(Explanation::new(text, Advice::CopyToCpu)))
}

/// A struct that exports a column: [`ArrowArray`] or [`ArrowDeviceArray`]. Sealed.
pub trait ExportedStruct: sealed::ColumnStruct {}

impl ExportedStruct for ArrowArray {}
impl ExportedStruct for ArrowDeviceArray {}

mod sealed {
    use super::*;

    pub trait ColumnStruct: Sized + 'static {
        const EMPTY: Self;

        fn column(&mut self) -> &mut ArrowArray;
    }

    impl ColumnStruct for ArrowArray {
        const EMPTY: Self = Self::empty();

        fn column(&mut self) -> &mut ArrowArray {
            self
        }
    }

    impl ColumnStruct for ArrowDeviceArray {
        const EMPTY: Self = Self::empty();

        fn column(&mut self) -> &mut ArrowArray {
            &mut self.array
        }
    }
}

/// An exported column, before a consumer has it. Dropping it releases both structs;
/// [`Exported::into_raw`] leaves that to the consumer.
///
/// # Invariants
///
/// 1. Each of the two structs is from `lend`, was not released, and has no other user; or is empty.
pub struct Exported<A: ExportedStruct> {
    schema: ArrowSchema,
    array: A,
    copied: Copied,
}

// SAFETY: Exported 1: no other party uses the structs. Their bodies hold text, leases, buffers and
// events, all of which are `Send`, and the interface permits releases on any thread.
unsafe impl<A: ExportedStruct> Send for Exported<A> {}
// SAFETY: the methods of `&Exported` only read the structs' numbers and pointers, and the refusal;
// release needs `&mut`.
unsafe impl<A: ExportedStruct> Sync for Exported<A> {}

impl Exported<ArrowArray> {
    /// Both structs of a table's column.
    pub(super) fn of_column(schema: Unsent<ArrowSchema>, array: Unsent<ArrowArray>) -> Self {
        // Exported 1: both structs are new.
        Self { schema: schema.send(), array: array.send(), copied: Copied::NOTHING }
    }
}

impl Exported<ArrowDeviceArray> {
    /// Both structs of a table's column on a device.
    pub(super) fn of_device_column(schema: Unsent<ArrowSchema>, array: ArrowDeviceArray) -> Self {
        // Exported 1: both structs are new.
        Self { schema: schema.send(), array, copied: Copied::NOTHING }
    }
}

impl<A: ExportedStruct> Exported<A> {
    /// Exports both structs: the consumer releases each once, on any thread, from wherever it moved
    /// them. If it never does, the leases are leaked.
    pub fn into_raw(mut self) -> (ArrowSchema, A) {
        (mem::replace(&mut self.schema, ArrowSchema::empty()), mem::replace(&mut self.array, A::EMPTY))
    }

    /// The type of the column, for inspection.
    pub fn schema(&self) -> &ArrowSchema {
        &self.schema
    }

    /// The column, for inspection.
    pub fn array(&self) -> &A {
        &self.array
    }

    /// The number of bytes that this export copied.
    pub fn copied_nbytes(&self) -> usize {
        self.copied.nbytes()
    }

    /// The reason why the export copied: the refusal without permission to copy. `None` if nothing
    /// was copied, or if the copy was requested.
    pub fn copied_because(&self) -> Option<&Refusal> {
        self.copied.because()
    }
}

impl<A: ExportedStruct> Drop for Exported<A> {
    fn drop(&mut self) {
        if let Some(release) = self.schema.release {
            // SAFETY: Exported 1: the schema is from `lend` and was not released (`release` is
            // set); no other code uses it, and this is the one call.
            unsafe { release(&mut self.schema) }
        }
        let array = self.array.column();
        if let Some(release) = array.release {
            // SAFETY: Exported 1: the column is from `lend` and was not released (`release` is
            // set); no other code uses it, and this is the one call.
            unsafe { release(ptr::from_mut(array)) }
        }
    }
}

impl<A: ExportedStruct> fmt::Debug for Exported<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exported(Arrow column; {:?})", self.schema)
    }
}
