//! Imports arrays from Arrow's C structs.

use std::fmt;
use std::sync::Arc;

use crate::array::DArray;
use crate::device::{Effect, Event};
use crate::element::DType;
use crate::error::{Advice, Error, Result};
use crate::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crate::exchange::protocol::arrow::event;
use crate::exchange::protocol::arrow::field::{ArrowField, FieldKind, SchemaReader, malformed, unsupported};
use crate::exchange::protocol::arrow::foreign::ForeignStruct;
use crate::exchange::protocol::arrow::leaf_column::{LeafColumn, leaves};
use crate::layout::{Layout, Order};
use crate::memory::{DeviceKind, Place};

/// Imports a column as an array: [`take_over`] and [`Imported::into_array`] in one.
///
/// # Errors
///
/// As these two.
///
/// # Safety
///
/// As for [`take_over`].
///
/// ```
/// use crossdock::Array;
/// use crossdock::exchange::protocol::arrow::{self, ExportOptions};
///
/// let array = Array::from_vec(vec![1.5f32, 2.5], [2])?;
/// let (mut schema, mut column) = arrow::export(&array, &ExportOptions::new())?.into_raw();
/// // SAFETY: just exported, and not consumed yet.
/// let imported: Array<f32, 1> = unsafe { arrow::import(&mut schema, &mut column) }?.try_into()?;
/// assert_eq!(imported.read()?.as_slice(), Some(&[1.5, 2.5][..]));
/// assert!(column.release.is_none() && imported.write().is_err());
/// # Ok::<(), crossdock::Error>(())
/// ```
pub unsafe fn import(schema: *mut ArrowSchema, array: *mut ArrowArray) -> Result<DArray> {
    // SAFETY: `# Safety`: both pointers meet clauses 1 to 4 of `take_over`, which are all that it
    // requires.
    unsafe { take_over(schema, array) }?.into_array()
}

/// As [`import`], by the C Device interface.
///
/// # Errors
///
/// As [`take_over_device`] and [`Imported::into_array`].
///
/// # Safety
///
/// As for [`take_over_device`].
pub unsafe fn import_device(schema: *mut ArrowSchema, array: *mut ArrowDeviceArray) -> Result<DArray> {
    // SAFETY: `# Safety`: both pointers meet clauses 1 and 2 of `take_over_device`, which are all
    // that it requires.
    unsafe { take_over_device(schema, array) }?.into_array()
}

/// Imports a column by the C Data interface. O(columns).
///
/// Both structs are moved: the sources are marked as released when this returns. The schema is read
/// and released at once. The column is released exactly once: when the last handle or lease on the
/// resulting arrays is dropped, on any thread, or before this or a method of [`Imported`] returns
/// an error.
///
/// # Errors
///
/// `is_malformed` for null pointers, structs that were released, and schemas that contradict
/// themselves; `is_unsupported` for types without a dtype, for dictionaries, and for more columns
/// and levels than any real schema has.
///
/// # Safety
///
/// Each pointer is null, or:
///
/// 1. It points to a struct that a producer exported to the caller and no other party uses. The
///    struct follows the specification of the C Data interface; it may have been released.
/// 2. Strings end by NUL. Arrays of pointers, metadata and buffers are as long as the numbers
///    beside them, and the type, require.
/// 3. The contents of the buffers are initialised, and constant until the column is released.
/// 4. The struct may be released on any thread.
pub unsafe fn take_over(schema: *mut ArrowSchema, array: *mut ArrowArray) -> Result<Imported> {
    // Both structs are moved here before either is checked, so that both are released.
    // SAFETY: clauses 1 to 4 of `# Safety`: `schema` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let schema = unsafe { ForeignStruct::moved_from(schema) };
    // SAFETY: clauses 1 to 4 of `# Safety`: `array` is null, or points to a struct that was
    // released or meets ForeignStruct 1.
    let array = unsafe { ForeignStruct::moved_from(array) };
    schema.and_then(|schema| Imported::new(schema, array?, Place::CPU)).map_err(within)
}

/// Imports a column by the C Device interface. A column on an unknown device can be exported again,
/// but not accessed.
///
/// # Errors
///
/// As [`take_over`]; `is_unsupported` if there is an event of an unknown device, and on devices
/// whose buffers are handles instead of addresses; the errors of the device for the event.
///
/// # Safety
///
/// 1. Each pointer is null or meets the clauses of [`take_over`], where the buffers are memory of
///    the device.
/// 2. `sync_event` is null, or points to a handle of an event of the device's driver; the event
///    lives until the column is released.
pub unsafe fn take_over_device(schema: *mut ArrowSchema, array: *mut ArrowDeviceArray) -> Result<Imported> {
    // SAFETY: clause 1 of `# Safety`: `schema` is null, or points to a struct that was released or
    // meets ForeignStruct 1.
    let schema = unsafe { ForeignStruct::moved_from(schema) };
    // SAFETY: clause 1 of `# Safety`: `array` is null, or points to a struct that no other party
    // uses.
    let Some(array) = (unsafe { array.as_mut() }) else {
        return Err(within(malformed("the pointer to its array is null")));
    };
    let place = place(array);
    // SAFETY: clause 1 of `# Safety`: the column in the struct was released or meets
    // ForeignStruct 1, and no other party uses it.
    let column = unsafe { ForeignStruct::moved_from(&mut array.array) };
    let mut imported = schema.and_then(|schema| Imported::new(schema, column?, place?)).map_err(within)?;
    // SAFETY: clause 2 of `# Safety`: `sync_event` is null or points to an event's handle of the
    // driver of `place`; the event lives, since `imported` holds the column unreleased.
    imported.event = unsafe { event::taken_over(array, imported.place) }.map_err(within)?;
    Ok(imported)
}

/// The place of a column whose buffers are addresses.
pub(super) fn place(array: &ArrowDeviceArray) -> Result<Place> {
    let place = match DeviceKind(array.device_type) {
        DeviceKind::CPU => Place::CPU,
        kind => {
            let id = array.device_id;
            Place::new(
                kind,
                i32::try_from(id).map_err(|_| {
                    malformed(format!("it is on device {id} of kind {kind}, which is out of range"))
                })?,
            )
        }
    };
    if !place.is_addressed() {
        return Err(unsupported(format!("its buffers on {place} are handles, not addresses")));
    }
    Ok(place)
}

/// A column from a producer, with a known type, to be imported as arrays. Dropping it releases it.
///
/// Its memory is constant: Read and Pin leases can be taken, and all arrays are read-only. Lists of
/// a fixed size become further axes; fixed-shape tensors keep all their axes, permuted as the type
/// describes.
///
/// ```
/// use crossdock::element::DType;
/// use crossdock::exchange::protocol::arrow::{self, ExportOptions};
/// use crossdock::view::CopyPolicy;
/// use crossdock::{DArray, layout::Order};
///
/// let trade = DType::packed_record([("price", DType::F64), ("kind", DType::U8)])?;
/// let trades = DArray::zeros(trade, &[100], Order::RowMajor)?;
/// let options = ExportOptions::new().copy(CopyPolicy::IfNeeded); // fields of records do not lie as Arrow's columns do
/// let (mut schema, mut column) = arrow::export(&trades, &options)?.into_raw();
///
/// // SAFETY: just exported, and not consumed yet.
/// let columns = unsafe { arrow::take_over(&mut schema, &mut column) }?.into_columns()?;
/// let (name, price) = &columns[0];
/// assert_eq!((name.as_str(), price.strides()), ("price", &[8][..]));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct Imported {
    field: Arc<ArrowField>,
    foreign: Arc<ForeignStruct<ArrowArray>>,
    place: Place,
    /// The event to wait for before the memory is accessed.
    event: Option<Arc<dyn Event>>,
}

impl Imported {
    fn new(
        schema: ForeignStruct<ArrowSchema>,
        array: ForeignStruct<ArrowArray>,
        place: Place,
    ) -> Result<Self> {
        Ok(Self::of_type(read(&schema)?, array, place))
    }

    /// A column of a known type.
    pub(super) fn of_type(field: Arc<ArrowField>, array: ForeignStruct<ArrowArray>, place: Place) -> Self {
        Self { field, foreign: Arc::new(array), place, event: None }
    }

    /// The name of the column; empty if it has none.
    pub fn name(&self) -> &str {
        &self.field.name
    }

    /// The names of the children, if it is a struct.
    #[doc(hidden)]
    pub fn child_names(&self) -> Option<Vec<&str>> {
        self.field.child_names()
    }

    /// The path of names to each column that [`Imported::into_columns`] returns, in the same order:
    /// several names for a column in a nested struct, none if the import is not a struct. Neither
    /// names nor paths need be unique.
    ///
    /// ```
    /// use crossdock::element::DType;
    /// use crossdock::exchange::protocol::arrow::{self, ExportOptions};
    /// use crossdock::view::CopyPolicy;
    /// use crossdock::{DArray, layout::Order};
    ///
    /// let b = DType::packed_record([("c", DType::U8)])?;
    /// let rows = DArray::zeros(DType::packed_record([("b.c", DType::U8), ("b", b)])?, &[3], Order::RowMajor)?;
    /// let options = ExportOptions::new().copy(CopyPolicy::IfNeeded);
    /// let (mut schema, mut column) = arrow::export(&rows, &options)?.into_raw();
    /// // SAFETY: just exported, and not consumed yet.
    /// let imported = unsafe { arrow::take_over(&mut schema, &mut column) }?;
    /// assert_eq!(imported.column_paths(), [vec!["b.c"], vec!["b", "c"]]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn column_paths(&self) -> Vec<Vec<&str>> {
        let mut found = Vec::new();
        self.field.paths(&[], &mut found);
        found
    }

    /// The place of the memory.
    #[doc(hidden)]
    pub fn place(&self) -> Place {
        self.place
    }

    /// The column as an array, zero-copy. O(rank); the bitmap is read if the producer announces
    /// nulls, or did not count them.
    ///
    /// # Errors
    ///
    /// `is_value` if elements are null, with their number; `is_unsupported` for structs, more than
    /// 64 axes, and bitmaps on a device; `is_malformed` for negative or missing numbers, missing
    /// children and buffers; `is_bounds` if lists reach beyond their elements; `is_overflow`;
    /// `is_out_of_memory`.
    pub fn into_array(self) -> Result<DArray> {
        let leaf = self.single()?;
        // SAFETY: clause 1 of `array`: `single` returned the leaf.
        unsafe { self.array(leaf) }.map_err(within)
    }

    /// As [`Imported::into_array`], with nulls. The second array holds booleans of the same shape,
    /// false where an element is null; it is `None` if there are no nulls. Null elements of the
    /// first array hold arbitrary values. Copies, and counts, a byte for each element if there are
    /// nulls.
    ///
    /// # Errors
    ///
    /// As [`Imported::into_array`], except for nulls.
    ///
    /// ```
    /// use crossdock::exchange::protocol::arrow::{self, ExportOptions};
    /// use crossdock::Array;
    ///
    /// let array = Array::from_vec(vec![1u8, 2, 3], [3])?;
    /// let (mut schema, mut column) = arrow::export(&array, &ExportOptions::new())?.into_raw();
    /// // SAFETY: just exported, and not consumed yet.
    /// let (data, valid) = unsafe { arrow::take_over(&mut schema, &mut column) }?.into_array_with_validity()?;
    /// assert_eq!((data.len(), valid.is_none()), (3, true));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn into_array_with_validity(self) -> Result<(DArray, Option<DArray>)> {
        let leaf = self.single()?;
        let valid = leaf.validity().map_err(within)?;
        // SAFETY: clause 1 of `array_of_all`: `single` returned the leaf.
        let array = unsafe { self.array_of_all(leaf) }.map_err(within)?;
        Ok((array, valid))
    }

    /// The children of a struct with their names, each a zero-copy array; together they hold the
    /// one struct. A column of a nested struct has both names, joined by a dot, so several columns
    /// may have the same name ([`Imported::column_paths`] tells them apart). If the import is not a
    /// struct, it is its only column. O(rank) each, and bitmaps as in [`Imported::into_array`].
    ///
    /// # Errors
    ///
    /// As [`Imported::into_array`].
    pub fn into_columns(self) -> Result<Vec<(String, DArray)>> {
        let column = |leaf: LeafColumn<'_>| {
            let name = leaf.name().to_owned();
            // SAFETY: clause 1 of `array`: the leaf is one of `self.leaves`.
            unsafe { self.array(leaf) }.map(|array| (name, array))
        };
        self.leaves().and_then(|leaves| leaves.into_iter().map(column).collect()).map_err(within)
    }

    /// As [`Imported::into_columns`], with nulls as in [`Imported::into_array_with_validity`].
    ///
    /// # Errors
    ///
    /// As [`Imported::into_array_with_validity`].
    pub fn into_columns_with_validity(self) -> Result<Vec<(String, DArray, Option<DArray>)>> {
        let column = |leaf: LeafColumn<'_>| {
            let (name, valid) = (leaf.name().to_owned(), leaf.validity()?);
            // SAFETY: clause 1 of `array_of_all`: the leaf is one of `self.leaves`.
            unsafe { self.array_of_all(leaf) }.map(|array| (name, array, valid))
        };
        self.leaves().and_then(|leaves| leaves.into_iter().map(column).collect()).map_err(within)
    }

    /// The children of a struct as the fields of records, in new memory: packed, row-major. Lists
    /// and tensors in a struct become sub-arrays. Copies, and counts, the bytes of all columns,
    /// those of nested structs once for each level. Other columns become the array of
    /// [`Imported::into_array`].
    ///
    /// # Errors
    ///
    /// As [`Imported::into_array`], and as [`DArray::from_columns`]: names that are empty or
    /// repeated, structs without children.
    pub fn into_records(self) -> Result<DArray> {
        // SAFETY: clause 1 of `array`: the leaf is one of `self.leaves`.
        let array = |leaf: LeafColumn<'_>| unsafe { self.array(leaf) };
        let arrays: Result<Vec<_>> = self.leaves().and_then(|leaves| leaves.into_iter().map(array).collect());
        let arrays = arrays.map_err(within)?;
        records(&self.field, &mut arrays.into_iter(), 1).map_err(within)
    }

    /// # Safety
    ///
    /// 1. The leaf is one of `self.leaves`.
    unsafe fn array(&self, leaf: LeafColumn<'_>) -> Result<DArray> {
        // SAFETY: clause 1 of `into_array`: the leaves (clause 1 of `# Safety`) are of
        // `self.foreign` on `self.place`.
        self.awaiting(unsafe { leaf.into_array(&self.foreign, self.place) }?)
    }

    /// # Safety
    ///
    /// 1. The leaf is one of `self.leaves`.
    unsafe fn array_of_all(&self, leaf: LeafColumn<'_>) -> Result<DArray> {
        // SAFETY: clause 1 of `into_array_of_all`: the leaves (clause 1 of `# Safety`) are of
        // `self.foreign` on `self.place`.
        self.awaiting(unsafe { leaf.into_array_of_all(&self.foreign, self.place) }?)
    }

    /// Orders later accesses to the memory after the event.
    fn awaiting(&self, array: DArray) -> Result<DArray> {
        if let Some(event) = &self.event {
            array.buffer()?.0.note_event(event.clone(), Effect::Writes)?;
        }
        Ok(array)
    }

    fn leaves(&self) -> Result<Vec<LeafColumn<'_>>> {
        // SAFETY: clauses 1 and 2 of `leaves`: `self.field` was read from the schema of this
        // column, which meets ForeignStruct 1 on `self.place`. Clause 3: `self.foreign` keeps it
        // unreleased while the leaves borrow it.
        unsafe { leaves(&self.field, self.foreign.get(), self.place) }
    }

    /// The one leaf of a column without structs.
    fn single(&self) -> Result<LeafColumn<'_>> {
        let mut field = &*self.field;
        while let FieldKind::List { item, .. } = &field.kind {
            field = item;
        }
        if let FieldKind::Struct(fields) = &field.kind {
            let text = format!("the {} columns of a struct lie apart", fields.len());
            return Err(within(unsupported(text).advising(Advice::TakeColumns)));
        }
        let mut leaves = self.leaves().map_err(within)?;
        leaves.pop().ok_or_else(|| within(malformed("it has no column with elements")))
    }
}

/// The type that a schema describes.
pub(super) fn read(schema: &ForeignStruct<ArrowSchema>) -> Result<Arc<ArrowField>> {
    // SAFETY: ForeignStruct 1: the schema is not released, and what it refers to follows the
    // specification (clauses 1 and 2 of `SchemaReader::field`).
    unsafe { SchemaReader::new().field(schema.get(), 0) }.map(Arc::new)
}

/// The columns below a field as one array, whose rows have `rank` axes.
fn records(field: &ArrowField, columns: &mut impl Iterator<Item = DArray>, rank: usize) -> Result<DArray> {
    match &field.kind {
        FieldKind::Values(_) => {
            columns.next().ok_or_else(|| malformed("it has fewer columns than its schema"))
        }
        FieldKind::List { item, tensor, .. } => records(item, columns, rank + tensor.shape().len()),
        FieldKind::Struct(fields) => {
            let column = |field: &ArrowField| with_rank(records(field, columns, rank)?, rank);
            let arrays = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
            let named: Vec<_> = fields.iter().map(|field| &*field.name).zip(&arrays).collect();
            DArray::from_columns(&named)
        }
    }
}

/// Turns the axes after the first `rank` into those of sub-arrays.
fn with_rank(array: DArray, rank: usize) -> Result<DArray> {
    let Some((outer, inner)) = array.shape().split_at_checked(rank).filter(|(_, inner)| !inner.is_empty())
    else {
        return Ok(array);
    };
    let dtype = DType::subarray(inner, array.dtype().clone())?;
    let layout = Layout::contiguous(outer, dtype.itemsize(), Order::RowMajor)?;
    let array = if array.is_contiguous(Order::RowMajor) { array } else { array.to_order(Order::RowMajor)? };
    let (buffer, offset) = array.buffer()?;
    DArray::from_buffer(buffer, dtype, layout, offset)
}

impl fmt::Debug for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Imported({:?} on {})", self.field, self.place)
    }
}

#[cold]
pub(super) fn within(error: Error) -> Error {
    error.within("importing an Arrow column")
}
