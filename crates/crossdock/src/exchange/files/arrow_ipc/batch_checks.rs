//! Batches that another process wrote are checked when they are first read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::memory::fork::get_or_make;
use crate::table::{Checks, Column, Schema};

/// One flag per column of a batch, made when the batch is first read.
type Flags = OnceLock<Box<[AtomicBool]>>;

/// Which columns of which batches met `Checks::Full`, if they are checked.
pub(super) struct BatchChecks {
    are_checked: Option<Box<[Flags]>>,
}

impl BatchChecks {
    pub(super) fn new(checks: Checks, batches: usize) -> Self {
        let are_checked = match checks {
            Checks::Shape => None,
            Checks::Full => Some((0..batches).map(|_| OnceLock::new()).collect()),
        };
        Self { are_checked }
    }

    /// Checks all columns of a batch, or only one, if that is due. A column of memory that another
    /// party may write is not checked: the result would not last, and no program gets it in place.
    pub(super) fn check(
        &self,
        batch: usize,
        schema: &Schema,
        columns: &[Column],
        only: Option<usize>,
    ) -> Result<()> {
        let Some(are_checked) = self.are_checked.as_ref().and_then(|all| all.get(batch)) else {
            return Ok(());
        };
        if columns.iter().all(Column::is_aliased) {
            return Ok(());
        }
        let fields = schema.fields();
        let are_checked =
            get_or_make(are_checked, || fields.iter().map(|_| AtomicBool::new(false)).collect());
        let first = only.unwrap_or(0);
        let fields = fields.iter().zip(are_checked).skip(first);
        for ((field, is_checked), column) in fields.zip(columns) {
            if column.is_aliased() || is_checked.load(Ordering::Relaxed) {
                continue;
            }
            column.check_named(field.name(), Checks::Full)?;
            if column.is_constant() {
                is_checked.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
