//! A column's name, type and metadata.

use std::fmt;
use std::sync::Arc;

use crate::element::MAX_DEPTH;
use crate::error::{Error, Kind, Result};
use crate::table::column_type::ColumnType;
use crate::table::metadata::Metadata;

/// The name and the type of a column, of a child of one, or of a dictionary's values.
///
/// Names may be empty and need not be unique among siblings. Metadata are kept byte for byte: an
/// extension type that this library does not know stays in them.
///
/// ```
/// use crossdock::element::DType;
/// use crossdock::table::{ColumnType, Field};
///
/// let price = Field::new("price", ColumnType::Fixed(DType::F64))?.with_nullable(false);
/// let prices = Field::new("prices", ColumnType::list(price))?;
/// assert_eq!(prices.column_type().to_string(), "list<price: float64 not null>");
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. The type obeys the rules of [`ColumnType`], and is nested `depth` levels deep, at most
///    `MAX_DEPTH`.
/// 2. `columns` fields are in it, itself included, at most `MAX_COLUMNS`, so that walking it ends
///    soon even if it contains the same field many times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: Arc<str>,
    ty: ColumnType,
    nullable: bool,
    metadata: Metadata,
    depth: usize,
    columns: usize,
}

/// The limit of fields in one, itself included.
pub(crate) const MAX_COLUMNS: usize = 1 << 20;

impl Field {
    /// A field that may have nulls, without metadata. O(1) for each field directly below.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for types nested more than 64 levels deep or of more than 2²⁰ fields;
    /// `is_value` for a type that contradicts itself: a unit that dates, times or durations do not
    /// have, a precision of 0 or beyond the width of the decimal, indices or run ends that are no
    /// integers, a map whose entries are no pairs, a union with other identifiers than children.
    pub fn new(name: impl AsRef<str>, ty: ColumnType) -> Result<Self> {
        let name = name.as_ref();
        ty.check().map_err(|error| error.within(format_args!("column {name:?}")))?;
        let depth = 1 + ty.fields().map(|field| field.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            let text =
                format!("column {name:?} is nested {depth} levels deep; at most {MAX_DEPTH} are supported");
            return Err(Error::new(Kind::Unsupported, text));
        }
        let columns = ty.fields().fold(1usize, |sum, field| sum.saturating_add(field.columns));
        if columns > MAX_COLUMNS {
            let text = format!("column {name:?} has {columns} parts; at most {MAX_COLUMNS} are supported");
            return Err(Error::new(Kind::Unsupported, text));
        }
        Ok(Self { name: name.into(), ty, nullable: true, metadata: Metadata::default(), depth, columns })
    }

    /// The same field, which may have nulls or not.
    pub fn with_nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// The same field with these metadata.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The same field with this name.
    pub fn with_name(mut self, name: impl AsRef<str>) -> Self {
        self.name = name.as_ref().into();
        self
    }

    /// The name; it may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type.
    pub fn column_type(&self) -> &ColumnType {
        &self.ty
    }

    /// Whether there may be nulls.
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// The pairs of keys and values beside the type.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The name and the parameters of the extension type, if the metadata name one.
    ///
    /// ```
    /// use crossdock::table::{ColumnType, Field, Metadata};
    ///
    /// let name = [("ARROW:extension:name", "arrow.uuid")];
    /// let id = Field::new("id", ColumnType::FixedBinary(16))?.with_metadata(Metadata::new(name));
    /// assert_eq!(id.extension(), Some(("arrow.uuid", &b""[..])));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn extension(&self) -> Option<(&str, &[u8])> {
        self.metadata.extension()
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.name, self.ty, if self.nullable { "" } else { " not null" })
    }
}
