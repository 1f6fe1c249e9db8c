//! Which dictionaries were written, and what a new one adds.

use std::collections::HashMap;

use crate::error::Result;
use crate::exchange::files::arrow_ipc::columns_write::OutgoingColumns;
use crate::exchange::files::arrow_ipc::schema_read::IpcField;
use crate::table::Column;

/// What must be written before a batch that refers to a dictionary.
#[derive(Debug)]
pub(super) enum DictionaryChange {
    /// Nothing: it has these values already.
    None,
    /// All values.
    New(Column),
    /// Those that follow the ones so far.
    Delta(Column),
    /// Other values than those so far.
    Replaced(Column),
}

/// The dictionaries as they were written.
#[derive(Debug, Default)]
pub(super) struct WrittenDictionaries(HashMap<i64, Column>);

impl WrittenDictionaries {
    /// Compares a dictionary with the one of its identifier. O(1) if it is the same column, else
    /// O(n).
    ///
    /// # Errors
    ///
    /// As [`OutgoingColumns::add`].
    pub(super) fn change(&self, id: i64, field: &IpcField, values: &Column) -> Result<DictionaryChange> {
        let Some(known) = self.0.get(&id) else { return Ok(DictionaryChange::New(values.clone())) };
        if known.is_same(values) {
            return Ok(DictionaryChange::None);
        }
        let (before, now) = (known.len(), values.len());
        if before <= now && is_equal(field, known, &values.slice(..before)?)? {
            return Ok(if before == now {
                DictionaryChange::None
            } else {
                DictionaryChange::Delta(values.slice(before..)?)
            });
        }
        Ok(match before > now && is_equal(field, &known.slice(..now)?, values)? {
            // The indices mean the same values.
            true => DictionaryChange::None,
            false => DictionaryChange::Replaced(values.clone()),
        })
    }

    pub(super) fn insert(&mut self, id: i64, values: Column) {
        self.0.insert(id, values);
    }
}

fn is_equal(field: &IpcField, one: &Column, other: &Column) -> Result<bool> {
    let [mut first, mut second] = [OutgoingColumns::default(), OutgoingColumns::default()];
    first.add(field, one)?;
    second.add(field, other)?;
    one.or_fault(other.or_fault(first.equals(&second)))
}
