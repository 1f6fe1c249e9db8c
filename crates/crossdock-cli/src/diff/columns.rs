//! Compares columns of two tables that are no arrays: text, lists, columns with nulls, element by
//! element.

use std::ffi::OsStr;
use std::ops::ControlFlow;

use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::table::{Column, ColumnType, ColumnValue};

use crate::cell::cell;
use crate::diff::compare::DiffPlan;
use crate::diff::elements::Differences;
use crate::diff::rule::{Compared, Rule};
use crate::failure::{Failure, Result};
use crate::open::TableTarget;

/// Two columns, compared.
#[derive(Debug)]
pub(super) struct ColumnDiff {
    pub(super) types: [String; 2],
    pub(super) lens: [usize; 2],
    pub(super) differs: bool,
    /// `None` if the elements were not compared, since the lengths differ.
    pub(super) tally: Option<Differences>,
    /// The elements at the places in the tally, as text.
    pub(super) places: Places,
}

/// The elements of both columns at the first difference, the greatest and the relatively greatest.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) first: Option<[String; 2]>,
    pub(super) greatest: Option<[String; 2]>,
    pub(super) greatest_relative: Option<[String; 2]>,
}

/// The tables of two targets.
pub(super) struct Tables([TableTarget; 2]);

impl Tables {
    /// `None` unless both targets are tables, or columns of tables.
    pub(super) fn open(a: &OsStr, b: &OsStr) -> Result<Option<Self>> {
        Ok(TableTarget::open(a)?.zip(TableTarget::open(b)?).map(|(a, b)| Self([a, b])))
    }

    /// Compares the columns that the targets name; `None` if they name whole tables.
    pub(super) fn one(&self, plan: DiffPlan) -> Result<Option<ColumnDiff>> {
        let [a, b] = &self.0;
        a.column.zip(b.column).map(|(one, other)| compare([(a, one), (b, other)], plan)).transpose()
    }

    /// Compares the columns of a name; `None` if one of the tables lacks it.
    pub(super) fn named(&self, name: &str, plan: DiffPlan) -> Result<Option<ColumnDiff>> {
        let [a, b] = &self.0;
        let index = |table: &TableTarget| table.file.schema().index_of(name);
        index(a).zip(index(b)).map(|(one, other)| compare([(a, one), (b, other)], plan)).transpose()
    }
}

fn compare(columns: [(&TableTarget, usize); 2], plan: DiffPlan) -> Result<ColumnDiff> {
    let fields = columns.map(|(table, index)| &table.file.schema().fields()[index]);
    let [a, b] = columns.map(|(table, _)| table.file.rows());
    let lens = [a?, b?];
    let mut diff = ColumnDiff {
        types: fields.map(|field| field.column_type().to_string()),
        lens,
        differs: lens[0] != lens[1] || plan.types_differ(fields.map(|field| field.column_type())),
        tally: None,
        places: Places::default(),
    };
    if lens[0] != lens[1] {
        return Ok(diff);
    }
    let tally = tally(columns, plan)?;
    let texts = |row: usize| -> Result<[String; 2]> {
        let [a, b] = columns.map(|(table, index)| cell_at(&table.file, index, row));
        Ok([a?, b?])
    };
    diff.places = Places {
        first: tally.first.map(texts).transpose()?,
        greatest: tally.greatest.map(|(_, row)| texts(row)).transpose()?,
        greatest_relative: tally.greatest_relative.map(|(_, row)| texts(row)).transpose()?,
    };
    diff.differs |= tally.differing > 0;
    diff.tally = Some(tally);
    Ok(diff)
}

impl DiffPlan {
    /// Whether the types differ; with a tolerance, numbers may have any.
    fn types_differ(self, [a, b]: [&ColumnType; 2]) -> bool {
        let are_fixed = matches!((a, b), (ColumnType::Fixed(_), ColumnType::Fixed(_)));
        a != b && !(self.any_dtype && are_fixed)
    }
}

/// Compares all elements, whatever the batches of the tables are.
fn tally(columns: [(&TableTarget, usize); 2], plan: DiffPlan) -> Result<Differences> {
    let mut tally = Differences::default();
    let [mut a, mut b] =
        columns.map(|(table, index)| Cursor { file: &table.file, index, batch: 0, column: None });
    let mut row = 0;
    let mut starts = [0; 2];
    while let (Some(one), Some(other)) = (a.at(&mut starts[0])?, b.at(&mut starts[1])?) {
        let count = (one.len() - starts[0]).min(other.len() - starts[1]);
        for index in 0..count {
            let values = (one.value(starts[0] + index)?, other.value(starts[1] + index)?);
            tally.add(compared(plan.rule, &values.0, &values.1)?, row + index);
            if plan.brief && tally.differing > 0 {
                return Ok(tally);
            }
        }
        row += count;
        starts.iter_mut().for_each(|start| *start += count);
    }
    Ok(tally)
}

/// The batches of a column, one after the other.
struct Cursor<'a> {
    file: &'a IpcFile,
    index: usize,
    /// The number of the next batch.
    batch: usize,
    column: Option<Column>,
}

impl Cursor<'_> {
    /// The column of the batch that has the row `start`, which is counted from 0 again at a new
    /// one; `None` after the last row.
    fn at(&mut self, start: &mut usize) -> Result<Option<&Column>> {
        while self.column.as_ref().is_none_or(|column| *start >= column.len()) {
            if self.batch >= self.file.len() {
                return Ok(None);
            }
            *start = 0;
            self.column = Some(self.file.column(self.batch, self.index)?);
            self.batch += 1;
        }
        Ok(self.column.as_ref())
    }
}

/// The element of a row, counted from the first batch on.
fn cell_at(file: &IpcFile, index: usize, row: usize) -> Result<String> {
    let found = (0..file.len()).try_fold(row, |row, batch| {
        let column = match file.column(batch, index) {
            Ok(column) => column,
            Err(error) => return ControlFlow::Break(Err(error.into())),
        };
        match row.checked_sub(column.len()) {
            Some(rest) => ControlFlow::Continue(rest),
            None => ControlFlow::Break(cell(&column, row)),
        }
    });
    found
        .break_value()
        .unwrap_or_else(|| Err(Failure::new("the file changed: it has fewer rows than before")))
}

fn compared(rule: Rule, a: &ColumnValue, b: &ColumnValue) -> Result<Compared> {
    let differs = match (a, b) {
        (ColumnValue::Element(a), ColumnValue::Element(b)) => return Ok(rule.values(a, b)),
        (ColumnValue::List(a), ColumnValue::List(b)) | (ColumnValue::Map(a), ColumnValue::Map(b)) => {
            a.len() != b.len() || any(rule, a.values().zip(b.values()).map(|(a, b)| Ok((a?, b?))))?
        }
        (ColumnValue::Struct(a), ColumnValue::Struct(b)) => {
            a.len() != b.len() || any(rule, a.iter().zip(b).map(|(a, b)| Ok((a.clone(), b.clone()))))?
        }
        (a, b) => a != b,
    };
    Ok(Compared { differs, ..Compared::default() })
}

/// Whether the values of any pair differ.
fn any(rule: Rule, mut pairs: impl Iterator<Item = Result<(ColumnValue, ColumnValue)>>) -> Result<bool> {
    pairs.try_fold(false, |found, pair| {
        let (a, b) = pair?;
        Ok(found || compared(rule, &a, &b)?.differs)
    })
}
