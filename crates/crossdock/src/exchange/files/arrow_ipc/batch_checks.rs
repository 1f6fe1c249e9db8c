//! Batches that another process wrote are checked when they are first read.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Result, short};
use crate::table::{Checks, Column, Schema};

/// Which batches met `Checks::Full`, if they are checked.
pub(super) struct BatchChecks {
    are_checked: Option<Box<[AtomicBool]>>,
}

impl BatchChecks {
    pub(super) fn new(checks: Checks, batches: usize) -> Self {
        let are_checked = match checks {
            Checks::Shape => None,
            Checks::Full => Some((0..batches).map(|_| AtomicBool::new(false)).collect()),
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
        let Some(is_checked) = self.are_checked.as_ref().and_then(|all| all.get(batch)) else {
            return Ok(());
        };
        if is_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let fields = schema.fields().iter().skip(only.unwrap_or(0));
        for (field, column) in fields.zip(columns).filter(|(_, column)| !column.is_aliased()) {
            let checked = column.check(Checks::Full);
            checked.map_err(|error| error.within(format_args!("column {}", short(field.name()))))?;
        }
        if only.is_none() && columns.iter().all(Column::is_constant) {
            is_checked.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
