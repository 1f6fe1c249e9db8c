//! Schemas of tables: fields as C structs, in both directions.

use crate::element::dialect::arrow::BOOL8;
use crate::element::{DType, MAX_DEPTH};
use crate::error::{Error, Result};
use crate::exchange::protocol::arrow::abi::{ArrowSchema, DICTIONARY_ORDERED, MAP_KEYS_SORTED, NULLABLE};
use crate::exchange::protocol::arrow::c_structs::{SchemaParts, SchemaText, Unsent};
use crate::exchange::protocol::arrow::column_format::{parse, print};
use crate::exchange::protocol::arrow::field::{children, malformed, text, unsupported};
use crate::exchange::protocol::arrow::foreign::ForeignStruct;
use crate::exchange::protocol::arrow::import::within;
use crate::exchange::protocol::arrow::metadata::{EXTENSION_METADATA, EXTENSION_NAME, decode, encode};
use crate::table::{ColumnType, Field, MAX_COLUMNS, Metadata, Schema};

/// Imports the type of a column. The struct is released.
///
/// # Errors
///
/// `is_malformed` for null pointers, negative numbers, released schemas, and text that is not
/// UTF-8; `is_unsupported` for unknown formats, more than 2²⁰ parts, or more than 64 levels;
/// `is_value` as [`Field::new`].
///
/// # Safety
///
/// Clauses 1 to 4 of [`take_over`](super::take_over), for the schema.
pub unsafe fn import_field(schema: *mut ArrowSchema) -> Result<Field> {
    // SAFETY: `# Safety`: `schema` is null, or points to a struct that was released or meets
    // ForeignStruct 1.
    let schema = unsafe { ForeignStruct::moved_from(schema) };
    schema.and_then(|schema| read_field(&schema)).map_err(within)
}

/// The field that a schema describes.
pub(super) fn read_field(schema: &ForeignStruct<ArrowSchema>) -> Result<Field> {
    // SAFETY: ForeignStruct 1: the schema is not released, and what it refers to follows the
    // specification (clauses 1 and 2 of `TableSchemaReader::field`).
    unsafe { TableSchemaReader { columns: 0 }.field(schema.get(), 0) }
}

/// A struct without the fields that cannot be read.
pub(super) struct KnownFields {
    pub(super) field: Field,
    /// The numbers of its fields in the schema.
    pub(super) kept: Vec<usize>,
    /// The names of the others, and why they cannot be read.
    pub(super) refused: Vec<(String, Error)>,
}

/// As [`read_field`], of a struct, without the fields that cannot be read.
pub(super) fn read_known(schema: &ForeignStruct<ArrowSchema>) -> Result<KnownFields> {
    // SAFETY: ForeignStruct 1: the schema is not released, and what it refers to follows the
    // specification (clauses 1 and 2 of `TableSchemaReader::known`).
    unsafe { TableSchemaReader { columns: 0 }.known(schema.get()) }
}

/// Reads a schema into fields, and counts them, since pointers can form cycles.
struct TableSchemaReader {
    columns: usize,
}

impl TableSchemaReader {
    /// # Safety
    ///
    /// The clauses of [`TableSchemaReader::field`].
    unsafe fn known(&mut self, schema: &ArrowSchema) -> Result<KnownFields> {
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its format is null or
        // ends by NUL, and stays unchanged during the call.
        let format = unsafe { text(schema.format, "format") }?.unwrap_or_default();
        if format != "+s" {
            return Err(unsupported(format!("its format {format:?} is no struct of columns")));
        }
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its name is null or
        // ends by NUL, and stays unchanged until it is copied.
        let name = unsafe { text(schema.name, "name") }?.unwrap_or_default();
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its metadata are null
        // or as long as their numbers announce.
        let metadata = unsafe { decode(schema.metadata) }?;
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so `children` points to
        // `n_children` pointers, unchanged during the call.
        let pointers = unsafe { children(schema.n_children, schema.children, "schema", MAX_COLUMNS) }?;
        let (mut below, mut kept, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (k, &child) in pointers.iter().enumerate() {
            // SAFETY: clause 2 of `field`: a pointer to a child is null or points to a schema.
            let child = unsafe { child.as_ref() }.filter(|child| child.release.is_some());
            let Some(child) = child else {
                refused
                    .push((String::new(), malformed(format!("child {k} of its schema is null or released"))));
                continue;
            };
            // SAFETY: clause 1 of `field`: the child was not released (the filter above). Clause 2:
            // it belongs to a schema that follows the specification.
            match unsafe { self.field(child, 1) } {
                Ok(field) => {
                    below.push(field);
                    kept.push(k);
                }
                Err(error) => {
                    // SAFETY: clause 2 of `field`: the child was not released (the filter above),
                    // so its name is null or ends by NUL.
                    let name = unsafe { text(child.name, "name") }.ok().flatten().unwrap_or_default();
                    refused.push((name.to_owned(), error));
                }
            }
        }
        let field = Field::new(name, ColumnType::Struct(below.into()))?.with_metadata(metadata);
        Ok(KnownFields { field, kept, refused })
    }

    /// # Safety
    ///
    /// 1. The schema was not released.
    /// 2. It, and what it refers to, follow the specification and stay unchanged during the call.
    unsafe fn field(&mut self, schema: &ArrowSchema, depth: usize) -> Result<Field> {
        self.columns += 1;
        if depth >= MAX_DEPTH || self.columns > MAX_COLUMNS {
            return Err(unsupported(format!(
                "it has more than {MAX_COLUMNS} columns, or columns nested more than {MAX_DEPTH} levels deep"
            )));
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: the schema was not released, so its name is null
        // or ends by NUL, and stays unchanged until it is copied.
        let name = unsafe { text(schema.name, "name") }?.unwrap_or_default();
        // SAFETY: clauses 1 and 2 of `# Safety` are those of `described`.
        let field = unsafe { self.described(schema, name, depth) };
        field.map_err(|error| if depth == 0 { error } else { error.within(format_args!("column {name:?}")) })
    }

    /// # Safety
    ///
    /// The clauses of [`TableSchemaReader::field`].
    unsafe fn described(&mut self, schema: &ArrowSchema, name: &str, depth: usize) -> Result<Field> {
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its format is null or
        // ends by NUL, and stays unchanged during the call.
        let format = unsafe { text(schema.format, "format") }?;
        let format = format.ok_or_else(|| malformed("its format is null"))?;
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its metadata are null
        // or as long as their numbers announce.
        let metadata = unsafe { decode(schema.metadata) }?;
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so `children` points to
        // `n_children` pointers, unchanged during the call.
        let pointers = unsafe { children(schema.n_children, schema.children, "schema", MAX_COLUMNS) }?;
        let mut below = Vec::with_capacity(pointers.len());
        for (k, &child) in pointers.iter().enumerate() {
            // SAFETY: clause 2 of `field`: a pointer to a child is null or points to a schema.
            let child = unsafe { child.as_ref() }.filter(|child| child.release.is_some());
            let child =
                child.ok_or_else(|| malformed(format!("child {k} of its schema is null or released")))?;
            // SAFETY: clause 1 of `field`: the child was not released (the filter above). Clause 2:
            // it belongs to a schema that follows the specification.
            below.push(unsafe { self.field(child, depth + 1) }?);
        }
        // SAFETY: clause 2 of `field`: a pointer to a dictionary is null or points to a schema.
        let dictionary = match unsafe { schema.dictionary.as_ref() } {
            None => None,
            Some(values) if values.release.is_none() => {
                return Err(malformed("the dictionary of its schema is released"));
            }
            // SAFETY: clause 1 of `field`: the dictionary was not released (checked above). Clause
            // 2: it belongs to a schema that follows the specification.
            Some(values) => Some(unsafe { self.field(values, depth + 1) }?),
        };
        field_of(name, format, schema.flags, metadata, below, dictionary)
    }
}

/// The field that the parts of a schema describe.
pub(super) fn field_of(
    name: &str,
    format: &str,
    flags: i64,
    metadata: Metadata,
    children: Vec<Field>,
    dictionary: Option<Field>,
) -> Result<Field> {
    let extension = metadata.get(EXTENSION_NAME).and_then(|name| std::str::from_utf8(name).ok());
    let mut ty = parse(format, children, flags & MAP_KEYS_SORTED != 0, extension)?;
    if let Some(values) = dictionary {
        let ColumnType::Fixed(index) = ty else {
            return Err(malformed(format!("its format {format:?} is no integer, but it has a dictionary")));
        };
        let ordered = flags & DICTIONARY_ORDERED != 0;
        ty = ColumnType::Dictionary { index, values: values.into(), ordered };
    }
    let field = Field::new(name, ty)?;
    Ok(field.with_nullable(flags & NULLABLE != 0).with_metadata(metadata))
}

/// Exports the type of a column: the consumer releases the struct once, from wherever it moved it.
/// O(parts).
///
/// # Errors
///
/// `is_unsupported` for dtypes that Arrow does not have, and names with a NUL; `is_overflow` for
/// metadata beyond 31 bits.
pub fn export_field(field: &Field) -> Result<ArrowSchema> {
    new_schema(field).map(Unsent::send)
}

/// The struct of an exported schema.
pub(super) fn new_schema(field: &Field) -> Result<Unsent<ArrowSchema>> {
    let ty = field.column_type();
    let named = |error: Error| error.within(format_args!("column {:?}", field.name()));
    let mut below = Vec::new();
    let has_dictionary = if let ColumnType::Dictionary { values, .. } = ty {
        below.reserve_exact(1);
        below.push(new_schema(values)?);
        true
    } else {
        below.reserve_exact(ty.fields().count());
        for field in ty.fields() {
            below.push(new_schema(field)?);
        }
        false
    };
    let parts = SchemaParts {
        text: SchemaText::new(&print(ty).map_err(named)?, field.name()).map_err(named)?,
        metadata: encode(&with_extension(field)).map_err(named)?,
        flags: flags(field),
    };
    Ok(parts.over(below, has_dictionary))
}

/// The flags of a schema.
pub(super) fn flags(field: &Field) -> i64 {
    let ty = field.column_type();
    let flag = |is_set: bool, flag: i64| if is_set { flag } else { 0 };
    flag(field.is_nullable(), NULLABLE)
        | flag(matches!(ty, ColumnType::Dictionary { ordered: true, .. }), DICTIONARY_ORDERED)
        | flag(matches!(ty, ColumnType::Map { keys_sorted: true, .. }), MAP_KEYS_SORTED)
}

/// Exports a schema as that of a struct, which is what batches are in C.
///
/// # Errors
///
/// As [`export_field`].
pub fn export_schema(schema: &Schema) -> Result<ArrowSchema> {
    export_field(&as_struct(schema)?)
}

/// A schema as the field of a struct.
pub(super) fn as_struct(schema: &Schema) -> Result<Field> {
    let field = Field::new("", ColumnType::Struct(schema.shared()))?;
    Ok(field.with_nullable(false).with_metadata(schema.metadata().clone()))
}

/// The schema of batches that are structs of this field.
pub(super) fn schema_of(field: &Field) -> Result<Schema> {
    match field.column_type() {
        ColumnType::Struct(fields) => {
            Ok(Schema::of_shared(fields.clone()).with_metadata(field.metadata().clone()))
        }
        ty => Err(unsupported(format!("a batch is a struct of columns, and this column is of type {ty}"))),
    }
}

/// The metadata, with the extension type of booleans of a byte each.
fn with_extension(field: &Field) -> Metadata {
    let is_bool = *field.column_type() == ColumnType::Fixed(DType::BOOL);
    if !is_bool || field.extension().is_some() {
        return field.metadata().clone();
    }
    let pairs = [(EXTENSION_NAME.as_bytes(), BOOL8.as_bytes()), (EXTENSION_METADATA.as_bytes(), &[])];
    Metadata::new(pairs.into_iter().chain(field.metadata().iter()))
}
