//! What columns are: names, types and whether there may be nulls.

use std::ffi::{CStr, CString, c_char};

use crossdock::bindings::arrow::export_field;
use crossdock::table::{Field, Schema};

use crate::error::{Failure, Result, XD_ERROR_MALFORMED};
use crate::foreign::{given, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over, try_collect};

/// The facts of a field as texts of C.
pub(super) struct FieldTexts {
    pub(super) name: CString,
    pub(super) format: CString,
    pub(super) ty: CString,
}

impl FieldTexts {
    /// # Errors
    ///
    /// `malformed` for a name with a zero in it; `unsupported` for types that Arrow does not have.
    pub(super) fn of(field: &Field) -> Result<Self> {
        let ended = |what: &str, text: String| {
            CString::new(text).map_err(|error| {
                let at = error.nul_position();
                let text =
                    format!("the {what} has a NUL at byte {at}, which ends text in C; rename the column");
                Failure::of_kind(XD_ERROR_MALFORMED, text)
            })
        };
        let name = ended("name of a column", field.name().to_owned())?;
        let ty = ended("type of a column", field.column_type().to_string())?;
        let mut schema = export_field(field)?;
        // SAFETY: `export_field` returned the struct, not released, so its format ends by a zero.
        let format = unsafe { CStr::from_ptr(schema.format) }.to_owned();
        if let Some(release) = schema.release {
            // SAFETY: the struct is that of `export_field`, not released yet, and not used after.
            unsafe { release(&raw mut schema) };
        }
        Ok(Self { name, format, ty })
    }
}

/// `xd_schema_t`: the fields of a table, with their texts.
pub struct XdSchema {
    schema: Schema,
    texts: Box<[FieldTexts]>,
}

impl XdSchema {
    pub(super) fn hand_over(schema: &Schema) -> Result<Handle<Self>> {
        let texts = try_collect(schema.fields().iter().map(FieldTexts::of))?;
        hand_over(Self { schema: schema.clone(), texts })
    }

    fn fact(schema: Option<&Self>, index: usize, fact: impl Fn(&FieldTexts) -> &CStr) -> *const c_char {
        let texts = schema.and_then(|schema| schema.texts.get(index));
        texts.map_or(std::ptr::null(), |texts| fact(texts).as_ptr())
    }
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_schema_free(schema: Handle<XdSchema>) {
    answer(|| drop(schema));
}

/// The number of columns.
#[unsafe(no_mangle)]
pub extern "C" fn xd_schema_len(schema: Option<&XdSchema>) -> usize {
    answer(|| schema.map_or(0, |schema| schema.texts.len()))
}

/// The name of a column.
#[unsafe(no_mangle)]
pub extern "C" fn xd_schema_name(schema: Option<&XdSchema>, index: usize) -> *const c_char {
    answer(|| XdSchema::fact(schema, index, |texts| &texts.name))
}

/// The type of a column as Arrow's format string.
#[unsafe(no_mangle)]
pub extern "C" fn xd_schema_format(schema: Option<&XdSchema>, index: usize) -> *const c_char {
    answer(|| XdSchema::fact(schema, index, |texts| &texts.format))
}

/// The type of a column for people.
#[unsafe(no_mangle)]
pub extern "C" fn xd_schema_type(schema: Option<&XdSchema>, index: usize) -> *const c_char {
    answer(|| XdSchema::fact(schema, index, |texts| &texts.ty))
}

/// Whether a column may have nulls.
#[unsafe(no_mangle)]
pub extern "C" fn xd_schema_is_nullable(schema: Option<&XdSchema>, index: usize) -> bool {
    answer(|| {
        let field = schema.and_then(|schema| schema.schema.fields().get(index));
        field.is_some_and(Field::is_nullable)
    })
}

/// The index of the first column with a name; -1 if there is none.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_schema_index(
    schema: Option<&XdSchema>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> isize {
    let found = fallible(error, || {
        let schema = given(schema, "schema")?;
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let name = unsafe { text(name, "name") }?;
        // One more than the index, since a failure returns 0.
        Ok(schema.schema.index_of(name).map_or(0, |index| index.cast_signed() + 1))
    });
    found - 1
}
