//! The fields of a table.

use std::fmt;
use std::sync::Arc;

use crate::table::field::Field;
use crate::table::metadata::Metadata;

/// The fields of a table, in order, and metadata beside them. Names need not be unique. Cloning is
/// O(1).
///
/// ```
/// use crossdock::table::{ColumnType, Field, Schema};
///
/// let schema = Schema::new([Field::new("name", ColumnType::utf8())?, Field::new("ok", ColumnType::Boolean)?]);
/// assert_eq!(schema.index_of("ok"), Some(1));
/// assert_eq!(schema.to_string(), "name: string\nok: bool");
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    fields: Arc<[Field]>,
    metadata: Metadata,
}

impl Schema {
    /// These fields, without metadata. O(n).
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Self {
        Self { fields: fields.into_iter().collect(), metadata: Metadata::default() }
    }

    /// These fields, shared, without metadata. O(1).
    pub(crate) fn of_shared(fields: Arc<[Field]>) -> Self {
        Self { fields, metadata: Metadata::default() }
    }

    /// The fields, shared. O(1).
    pub(crate) fn shared(&self) -> Arc<[Field]> {
        self.fields.clone()
    }

    /// The same fields with these metadata.
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The pairs of keys and values beside the fields.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The index of the first field with this name. O(n).
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name() == name)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, field) in self.fields.iter().enumerate() {
            write!(f, "{}{field}", if k == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}
