//! The contents of a schema as a tree, which the columns are checked against.

use core::ffi::{CStr, c_char};

use crate::element::dialect::arrow::{ArrowFormat, BOOL8, FIXED_SHAPE_TENSOR, TensorShape};
use crate::element::{DType, MAX_DEPTH};
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::ArrowSchema;
use crate::exchange::protocol::arrow::metadata::Extension;

/// The limit of columns in one schema. Schemas with more are refused, since pointers can form
/// cycles.
pub(super) const MAX_COLUMNS: usize = 1 << 16;

/// The type of a column, and its name.
#[derive(Debug)]
pub(super) struct ArrowField {
    pub(super) name: String,
    pub(super) kind: FieldKind,
}

impl ArrowField {
    /// The names of the children, if it is a struct.
    pub(super) fn child_names(&self) -> Option<Vec<&str>> {
        match &self.kind {
            FieldKind::Struct(fields) => Some(fields.iter().map(|field| &*field.name).collect()),
            FieldKind::Values(_) | FieldKind::List { .. } => None,
        }
    }
}

impl ArrowField {
    /// The path of names to each column of elements below, in the order of the schema.
    pub(super) fn paths<'a>(&'a self, above: &[&'a str], found: &mut Vec<Vec<&'a str>>) {
        match &self.kind {
            FieldKind::Values(_) => found.push(above.to_vec()),
            FieldKind::List { item, .. } => item.paths(above, found),
            FieldKind::Struct(fields) => {
                for field in fields {
                    field.paths(&[above, &[field.name.as_str()]].concat(), found);
                }
            }
        }
    }
}

#[derive(Debug)]
pub(super) enum FieldKind {
    Values(DType),
    List {
        len: usize,
        /// The tensor that a list is; other lists have one axis.
        tensor: TensorShape,
        item: Box<ArrowField>,
    },
    Struct(Vec<ArrowField>),
}

/// Reads a schema into a tree, and counts its columns.
pub(super) struct SchemaReader {
    columns: usize,
}

impl SchemaReader {
    pub(super) fn new() -> Self {
        Self { columns: 0 }
    }

    /// Reads a schema and those below it.
    ///
    /// # Errors
    ///
    /// `is_malformed` for null pointers, negative numbers, released schemas, text that is not
    /// UTF-8, and metadata that contradict the type; `is_unsupported` for types without a dtype,
    /// dictionaries, and too many parts or levels.
    ///
    /// # Safety
    ///
    /// 1. The schema was not released.
    /// 2. It, and what it refers to, follow the specification and stay unchanged during the call.
    pub(super) unsafe fn field(&mut self, schema: &ArrowSchema, depth: usize) -> Result<ArrowField> {
        self.columns += 1;
        if depth > MAX_DEPTH || self.columns > MAX_COLUMNS {
            return Err(unsupported(format!(
                "it has more than {MAX_COLUMNS} columns, or columns nested more than {MAX_DEPTH} levels \
                deep"
            )));
        }
        // SAFETY: clauses 1 and 2 of `# Safety`: the schema was not released, so its name is null
        // or ends by NUL, and stays unchanged until it is copied here.
        let name = unsafe { text(schema.name, "name") }?.unwrap_or_default().to_owned();
        // SAFETY: clauses 1 and 2 of `# Safety`, which are those of `kind`: the schema was not
        // released and follows the specification.
        match unsafe { self.kind(schema, depth) } {
            Ok(kind) => Ok(ArrowField { name, kind }),
            // The top schema needs no name in an error; nested ones add their names one by one.
            Err(error) if depth == 0 => Err(error),
            Err(error) => Err(error.within(format_args!("column {name:?}"))),
        }
    }

    /// # Safety
    ///
    /// The clauses of [`SchemaReader::field`].
    unsafe fn kind(&mut self, schema: &ArrowSchema, depth: usize) -> Result<FieldKind> {
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its format is null or
        // ends by NUL, and stays unchanged during the call.
        let format =
            unsafe { text(schema.format, "format") }?.ok_or_else(|| malformed("its format is null"))?;
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its dictionary is
        // null or points to a schema.
        if let Some(entries) = unsafe { schema.dictionary.as_ref() } {
            // SAFETY: clause 2 of `field`: the dictionary belongs to a schema that follows the
            // specification, so it follows it, too.
            unsafe { self.meaning(entries, depth) }?;
            return Err(unsupported(format!(
                "its elements are dictionary-encoded, with indices of format {format:?}; decode them, or \
                pass the indices as integers"
            )));
        }
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so `children` points to
        // `n_children` pointers, unchanged during the call.
        let children = unsafe { children(schema.n_children, schema.children, "schema", MAX_COLUMNS) }?;
        let format = match ArrowFormat::parse(format) {
            Ok(format) => format,
            Err(error) => {
                for &child in children {
                    // SAFETY: clause 2 of `field`: a pointer to a child is null or points to a
                    // schema.
                    if let Some(child) = unsafe { child.as_ref() } {
                        // SAFETY: clause 2 of `field`: the child belongs to a schema that follows
                        // the specification, so it follows it, too.
                        unsafe { self.meaning(child, depth) }?;
                    }
                }
                return Err(error);
            }
        };
        let wanted = match format {
            ArrowFormat::Scalar(_) => Some(0),
            ArrowFormat::List(_) => Some(1),
            ArrowFormat::Struct => None,
        };
        if let Some(wanted) = wanted
            && wanted != children.len()
        {
            return Err(malformed(format!(
                "its schema has {} children, but its format requires {wanted}",
                children.len()
            )));
        }
        // SAFETY: clauses 1 and 2 of `field`: the schema was not released, so its metadata are null
        // or as long as their numbers announce.
        let extension = unsafe { Extension::decode(schema.metadata) }?.unwrap_or_default();
        if NOT_ITS_STORAGE.contains(&extension.name.as_str()) {
            let Extension { name, metadata } = extension;
            return Err(Error::new(
                Kind::Value,
                format!(
                    "its elements are of type {name} ({metadata}), whose meaning the numbers alone do not \
                    express; convert it first"
                ),
            ));
        }
        let mut below = Vec::new();
        for (k, &child) in children.iter().enumerate() {
            // SAFETY: clause 2 of `field`: a pointer to a child is null or points to a schema.
            let child = unsafe { child.as_ref() }.filter(|child| child.release.is_some());
            let child =
                child.ok_or_else(|| malformed(format!("child {k} of its schema is null or released")))?;
            // SAFETY: clause 1 of `field`: the child was not released (the filter above). Clause 2:
            // it belongs to a schema that follows the specification.
            below.push(unsafe { self.field(child, depth + 1) }?);
        }
        match (format, below.pop()) {
            (ArrowFormat::Scalar(dtype), _) if extension.name == BOOL8 => match dtype == DType::I8 {
                true => Ok(FieldKind::Values(DType::BOOL)),
                false => Err(malformed(format!("its booleans ({BOOL8}) are stored as {dtype}, not as int8"))),
            },
            (ArrowFormat::Scalar(_) | ArrowFormat::Struct, _) if extension.name == FIXED_SHAPE_TENSOR => {
                Err(malformed("its tensors of fixed shape are not stored as lists of fixed size"))
            }
            (ArrowFormat::Scalar(dtype), _) => Ok(FieldKind::Values(dtype)),
            (ArrowFormat::List(len), Some(item)) => {
                Ok(FieldKind::List { len, tensor: tensor(len, &extension)?, item: Box::new(item) })
            }
            (_, last) => {
                below.extend(last);
                Ok(FieldKind::Struct(below))
            }
        }
    }

    /// Checks a schema that cannot be imported itself, but that another way of copying may accept.
    ///
    /// # Errors
    ///
    /// `is_value` if a copy would lose the meaning of the elements.
    ///
    /// # Safety
    ///
    /// The schema follows the specification and stays unchanged during the call; it may have been
    /// released.
    unsafe fn meaning(&mut self, schema: &ArrowSchema, depth: usize) -> Result<()> {
        if schema.release.is_none() {
            return Ok(());
        }
        // SAFETY: clause 1 of `field`: the schema was not released (checked above). Clause 2:
        // `# Safety` of this function says the same.
        match unsafe { self.field(schema, depth + 1) } {
            Err(error) if error.is_value() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Extension types whose elements mean more than the numbers or structs that store them. Any other
/// unknown type counts as its storage, as the specification says.
const NOT_ITS_STORAGE: [&str; 2] = ["pandas.period", "pandas.interval"];

/// The axes of a list.
fn tensor(len: usize, extension: &Extension) -> Result<TensorShape> {
    if extension.name != FIXED_SHAPE_TENSOR {
        return TensorShape::new(vec![len], None);
    }
    let tensor = TensorShape::parse(&extension.metadata)?;
    if tensor.checked_len() != Some(len) {
        return Err(malformed(format!(
            "its tensors of shape {:?} are stored in lists of {len} elements",
            tensor.shape()
        )));
    }
    Ok(tensor)
}

/// Text of a schema; `None` if there is none.
///
/// # Safety
///
/// 1. `text` is null, or points to text that ends by NUL.
/// 2. The text stays unchanged for `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: clauses 1 and 2 of `# Safety`: `text` is not null (checked above), so it ends by NUL,
    // and stays unchanged for `'a`.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| malformed(format!("the {what} of its schema is not UTF-8: {text:?}")))
}

/// The pointers to the children of a struct.
///
/// # Safety
///
/// 1. `pointers` is null, or points to `count` pointers.
/// 2. They stay unchanged for `'a`.
pub(super) unsafe fn children<'a, T>(
    count: i64,
    pointers: *mut *mut T,
    what: &str,
    most: usize,
) -> Result<&'a [*mut T]> {
    let len = usize::try_from(count).map_err(|_| malformed(format!("its {what} has {count} children")))?;
    if len > most {
        return Err(unsupported(format!("its {what} has {len} children; at most {most} are supported")));
    }
    if len == 0 {
        return Ok(&[]);
    }
    if pointers.is_null() {
        return Err(malformed(format!("its {what} has {len} children, but the pointer to them is null")));
    }
    if !pointers.is_aligned() {
        let text = format!("the pointer to the children of its {what}, {pointers:p}, is not aligned");
        return Err(malformed(text));
    }
    // SAFETY: clauses 1 and 2 of `# Safety`: `pointers` is not null and is aligned (checked above),
    // so it points to `len` pointers, unchanged for `'a`; `most` bounds their size.
    Ok(unsafe { std::slice::from_raw_parts(pointers, len) })
}

pub(super) fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}

pub(super) fn unsupported(text: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, text)
}
