//! Columns: elements of any type that Arrow describes, some of them null.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use crossdock::DArray;
use crossdock::bindings::arrow::{self, abi::ArrowArray, abi::ArrowSchema};
use crossdock::buffer::Buffer;
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, ColumnValue, Field, UnionMode};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::{Failure, Result, XD_ERROR_BOUNDS};
use crate::foreign::{emptied, given, shown, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::lease::Lease;
use crate::table::schema::FieldTexts;
use crate::table::text::XdText;
use crate::table::{exported, imported};
use crate::value::{Owned, XD_VALUE_LIST, XdValue};

/// `xd_column_t`: a column, with its name and type.
pub struct XdColumn {
    field: Field,
    column: Column,
    /// Made by the first query; `None` where they are no texts of C.
    texts: OnceLock<Option<FieldTexts>>,
}

impl XdColumn {
    pub(super) fn hand_over(field: Field, column: Column) -> Result<Handle<Self>> {
        hand_over(Self { field, column, texts: OnceLock::new() })
    }

    pub(super) fn field(&self) -> &Field {
        &self.field
    }

    pub(super) fn column(&self) -> &Column {
        &self.column
    }

    fn fact(column: Option<&Self>, fact: impl Fn(&FieldTexts) -> &CStr) -> *const c_char {
        let texts = column
            .and_then(|column| column.texts.get_or_init(|| FieldTexts::of(&column.field).ok()).as_ref());
        texts.map_or(std::ptr::null(), |texts| fact(texts).as_ptr())
    }
}

/// The range of `len` elements from `start` on.
pub(super) fn range(start: usize, len: usize) -> std::ops::Range<usize> {
    // Saturates, because a sum that overflows lies beyond every end.
    start..start.saturating_add(len)
}

// ===== creation and exchange

/// Imports a column.
///
/// # Safety
///
/// The contract of [`arrow::take_over`] holds for `schema` and `array`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_column_from_arrow(
    schema: *mut ArrowSchema,
    array: *mut ArrowArray,
    checks: i32,
    error: ErrorOut<'_>,
) -> Handle<XdColumn> {
    fallible(error, || {
        let import = |checks| {
            // SAFETY: `# Safety` is the contract of `import_column`, which accepts null for
            // either struct and releases the other.
            unsafe { arrow::import_column(schema, array, checks) }
        };
        let (field, column) = imported(schema, array, checks, import)?;
        XdColumn::hand_over(field, column)
    })
}

/// Exports a column.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_to_arrow(
    column: Option<&XdColumn>,
    schema: Option<&mut MaybeUninit<ArrowSchema>>,
    array: Option<&mut MaybeUninit<ArrowArray>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let column = given(column, "column")?;
        exported(schema, array, || Ok(arrow::export_column(&column.field, &column.column)?.into_raw()))
    })
}

/// The elements of an array as a column, in place.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_column_from_array(
    array: Option<&XdArray>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdColumn> {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let name = if name.is_null() { "" } else { unsafe { text(name, "name") }? };
        let column = Column::from_array(array.clone())?;
        let field = Field::new(name, column.column_type().clone())?;
        XdColumn::hand_over(field.with_nullable(column.validity().is_some()), column)
    })
}

/// Another handle.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_clone(column: Option<&XdColumn>, error: ErrorOut<'_>) -> Handle<XdColumn> {
    fallible(error, || {
        let XdColumn { field, column, .. } = given(column, "column")?;
        XdColumn::hand_over(field.clone(), column.clone())
    })
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_free(column: Handle<XdColumn>) {
    answer(|| drop(column));
}

// ===== facts

/// The name.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_name(column: Option<&XdColumn>) -> *const c_char {
    answer(|| XdColumn::fact(column, |texts| &texts.name))
}

/// The type as Arrow's format string.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_format(column: Option<&XdColumn>) -> *const c_char {
    answer(|| XdColumn::fact(column, |texts| &texts.format))
}

/// The type for people.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_type(column: Option<&XdColumn>) -> *const c_char {
    answer(|| XdColumn::fact(column, |texts| &texts.ty))
}

/// The number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_len(column: Option<&XdColumn>) -> usize {
    answer(|| column.map_or(0, |column| column.column.len()))
}

/// The number of nulls.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_null_count(
    column: Option<&XdColumn>,
    count: Option<&mut MaybeUninit<usize>>,
    error: ErrorOut<'_>,
) -> bool {
    let count = emptied(count, 0);
    fallible(error, || {
        let (column, count) = (given(column, "column")?, given(count, "count")?);
        *count = column.column.null_count()?;
        Ok(true)
    })
}

// ===== in place

/// The bits of validity, in place; null without an error if no element is null.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_validity(
    column: Option<&XdColumn>,
    bit_offset: Option<&mut MaybeUninit<usize>>,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    let bit_offset = emptied(bit_offset, 0);
    fallible(error, || {
        let validity = given(column, "column")?.column.validity();
        let bit_offset = given(bit_offset, "bit_offset")?;
        let Some(bits) = validity else { return Ok(None) };
        *bit_offset = bits.start();
        hand_over(bits.buffer().try_clone()?)
    })
}

/// The elements as an array, in place.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_array(
    column: Option<&XdColumn>,
    validity: Option<&mut MaybeUninit<Handle<XdArray>>>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    let validity = emptied(validity, None);
    fallible(error, || {
        let XdColumn { field, column, .. } = given(column, "column")?;
        let Some(validity) = validity else { return hand_over_array(complete_array(field, column)?) };
        if column.null_count()? == 0 {
            return hand_over_array(complete_array(field, column)?);
        }
        let array = hand_over_array(complete_array(field, &without_validity(column)?)?)?;
        *validity = hand_over_array(column.mask()?)?;
        Ok(array)
    })
}

/// The elements as an array by the extension type, where it has the whole meaning of the column.
fn complete_array(field: &Field, column: &Column) -> Result<DArray> {
    let array = column.complete_array()?;
    Ok(if field.extension().is_some() { field.array_of(column)? } else { array })
}

/// The same elements as if none were null.
fn without_validity(column: &Column) -> Result<Column> {
    let buffers = column.buffers().iter().map(Buffer::try_clone).collect::<crossdock::Result<_>>()?;
    let parts = ColumnParts {
        len: column.len(),
        offset: column.offset(),
        validity: None,
        buffers,
        children: column.children().to_vec(),
        dictionary: column.dictionary().cloned(),
    };
    Ok(Column::new(column.column_type().clone(), parts, Checks::Shape)?)
}

/// The offsets of text, bytes or lists, in place.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_offsets(column: Option<&XdColumn>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || hand_over_array(given(column, "column")?.column.offsets()?))
}

/// The text or bytes, in place, under a read lease.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_text(column: Option<&XdColumn>, error: ErrorOut<'_>) -> Handle<XdText> {
    fallible(error, || {
        let column = &given(column, "column")?.column;
        hand_over(XdText::new(column.text().map_err(Failure::of_table)?, column.column_type().is_utf8()))
    })
}

/// Some of the elements.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_slice(
    column: Option<&XdColumn>,
    start: usize,
    len: usize,
    error: ErrorOut<'_>,
) -> Handle<XdColumn> {
    fallible(error, || {
        let XdColumn { field, column, .. } = given(column, "column")?;
        XdColumn::hand_over(field.clone(), column.slice(range(start, len))?)
    })
}

/// The number of children.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_child_count(column: Option<&XdColumn>) -> usize {
    answer(|| column.map_or(0, |column| column.column.children().len()))
}

/// A child, in place.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_child(
    column: Option<&XdColumn>,
    index: usize,
    error: ErrorOut<'_>,
) -> Handle<XdColumn> {
    fallible(error, || {
        let column = &given(column, "column")?.column;
        let (ty, count) = (column.column_type(), column.children().len());
        let Some((field, child)) = ty.fields().zip(column.children()).nth(index) else {
            let text = format!("child {index} is out of bounds for a column with {count} children");
            return Err(Failure::of_kind(XD_ERROR_BOUNDS, text));
        };
        let child = match ty {
            ColumnType::Struct(_) | ColumnType::Union { mode: UnionMode::Sparse, .. } => {
                child.slice(range(column.offset(), column.len()))?
            }
            ColumnType::FixedList { len, .. } => {
                child.slice(range(column.offset() * len, column.len() * len))?
            }
            _ => child.clone(),
        };
        XdColumn::hand_over(field.clone(), child)
    })
}

/// The values of a dictionary, in place; null without an error if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_dictionary(column: Option<&XdColumn>, error: ErrorOut<'_>) -> Handle<XdColumn> {
    fallible(error, || {
        let column = &given(column, "column")?.column;
        match (column.column_type(), column.dictionary()) {
            (ColumnType::Dictionary { values, .. }, Some(dictionary)) => {
                XdColumn::hand_over(Field::clone(values), dictionary.clone())
            }
            _ => Ok(None),
        }
    })
}

/// One lease of all the memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_lease(
    column: Option<&XdColumn>,
    kind: i32,
    error: ErrorOut<'_>,
) -> Handle<Lease> {
    fallible(error, || {
        let column = &given(column, "column")?.column;
        hand_over(Lease::of_table(kind, |kind| column.lease(kind))?)
    })
}

// ===== by value

/// One element.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_get(
    column: Option<&XdColumn>,
    index: usize,
    value: Option<&mut MaybeUninit<XdValue>>,
    error: ErrorOut<'_>,
) -> bool {
    let value = emptied(value, XdValue::NIL);
    fallible(error, || {
        let (column, value) = (given(column, "column")?, given(value, "value")?);
        *value = of_value(column.column.value(index)?)?.into_c();
        Ok(true)
    })
}

/// A value of a column for C. Columns are nested at most 64 levels deep, so the recursion ends.
fn of_value(value: ColumnValue) -> Result<Owned> {
    match value {
        ColumnValue::Null => Ok(Owned::nil()),
        ColumnValue::Element(value) => Owned::of(value),
        ColumnValue::Decimal(text) => Owned::of(text.into()),
        ColumnValue::List(column) | ColumnValue::Map(column) => {
            Owned::list(XD_VALUE_LIST, column.values().map(|value| of_value(value?)))
        }
        ColumnValue::Struct(values) => Owned::list(XD_VALUE_LIST, values.into_iter().map(of_value)),
        other => Err(Failure::argument(format!("the value {other:?} has no kind in C"))),
    }
}

/// The elements in new memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_compact(column: Option<&XdColumn>, error: ErrorOut<'_>) -> Handle<XdColumn> {
    fallible(error, || {
        let XdColumn { field, column, .. } = given(column, "column")?;
        XdColumn::hand_over(field.clone(), column.compact()?)
    })
}

/// The elements for people.
#[unsafe(no_mangle)]
pub extern "C" fn xd_column_to_text(column: Option<&XdColumn>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || shown(&given(column, "column")?.column))
}
