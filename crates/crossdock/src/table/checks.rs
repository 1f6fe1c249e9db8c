//! How thoroughly a column is compared with its type.
//!
//! Reasons: `DESIGN.md`, "Checked offsets are believed in constant memory only".

use crate::buffer::Buffer;
use crate::error::{Result, short};
use crate::table::column::{Column, ColumnParts};
use crate::table::column_type::ColumnType;
use crate::table::full;
use crate::table::record_batch::RecordBatch;
use crate::table::shape::check_shape;

/// How thoroughly the parts of a column are compared with its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// The number and the sizes of buffers and children, and the first and the last offset: O(1)
    /// for each. This library's own code relies on no more: it checks each offset, index and view
    /// when it uses it.
    #[default]
    Shape,
    /// Also each offset, view, index, run end and identifier, and that text is UTF-8: O(n). For
    /// consumers that rely on them, such as other Arrow libraries. The result holds for as long as
    /// no party writes the memory.
    Full,
}

impl Column {
    /// A column of these parts, in place. O(1) for each buffer and child with
    /// [`Checks::Shape`], O(n) with [`Checks::Full`].
    ///
    /// # Errors
    ///
    /// `is_malformed` for parts that the type does not have or that contradict each other;
    /// `is_bounds` for buffers and children that are too short, and offsets beyond them;
    /// `is_overflow`; `is_value` for a type that contradicts itself ([`Field::new`]); as
    /// [`Column::check`].
    ///
    /// [`Field::new`]: crate::table::Field::new
    pub fn new(ty: ColumnType, parts: ColumnParts, checks: Checks) -> Result<Self> {
        check_shape(&ty, &parts)?;
        let column = Self::of_checked(ty, parts)?; // Column 1: checked above
        column.check(checks)?;
        Ok(column)
    }

    /// A column of no elements.
    pub(crate) fn empty(ty: &ColumnType) -> Result<Self> {
        let (count, _) = ty.storage().buffer_count();
        let is_dictionary = matches!(ty, ColumnType::Dictionary { .. });
        let mut below =
            ty.fields().map(|field| Self::empty(field.column_type())).collect::<Result<Vec<_>>>()?;
        let parts = ColumnParts {
            buffers: (0..count).map(|_| Buffer::zeroed(0)).collect::<Result<_>>()?,
            dictionary: if is_dictionary { below.pop() } else { None },
            children: below,
            ..ColumnParts::default()
        };
        Self::new(ty.clone(), parts, Checks::Shape)
    }

    /// Compares the elements with the rules of the type. O(1) for [`Checks::Shape`], which held
    /// when the column was made. O(n) for [`Checks::Full`]; O(1) from the second time on if the
    /// memory is constant.
    ///
    /// # Errors
    ///
    /// `is_bounds` for offsets, views, indices and run ends beyond what they refer to;
    /// `is_malformed` for text that is not UTF-8, offsets and run ends that decrease, and unknown
    /// identifiers of a union; `is_conflict` while a Write lease is held; `is_fault` if a guarded
    /// file shrank; `is_place` on a device.
    pub fn check(&self, checks: Checks) -> Result<()> {
        if checks == Checks::Shape || self.is_checked() {
            return Ok(());
        }
        self.or_fault(full::check(self))?;
        if self.is_constant() {
            self.mark_checked();
        }
        Ok(())
    }

    /// As [`Column::check`], with the column's name in the error.
    pub(crate) fn check_named(&self, name: &str, checks: Checks) -> Result<()> {
        self.check(checks).map_err(|error| error.within(format_args!("column {}", short(name))))
    }
}

impl RecordBatch {
    /// Compares the columns with the rules of their types, as [`Column::check`].
    ///
    /// # Errors
    ///
    /// As [`Column::check`], with the name of the column.
    #[doc(hidden)]
    pub fn check(&self, checks: Checks) -> Result<()> {
        if checks == Checks::Shape {
            return Ok(());
        }
        let mut fields = self.schema().fields().iter().zip(self.columns());
        fields.try_for_each(|(field, column)| column?.check_named(field.name(), checks))
    }
}
