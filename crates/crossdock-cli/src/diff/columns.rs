//! Compares columns of two tables element by element: text, lists, columns with nulls, and all
//! others that cannot be compared as arrays.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;

use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::table::{Column, ColumnType, ColumnValue, Field};

use crate::cell::cell;
use crate::diff::compare::DiffPlan;
use crate::diff::elements::Differences;
use crate::diff::rule::{Compared, Rule};
use crate::failure::Result;
use crate::open::TableTarget;

/// Two columns, compared.
#[derive(Debug)]
pub(super) struct ColumnDiff {
    /// Its number among the columns of its name, from 1 on, and their count; `None` if it is the
    /// only one.
    pub(super) which: Option<[usize; 2]>,
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

    /// The columns that the targets name; `None` if they name whole tables.
    pub(super) fn one(&self) -> Option<Pair<'_>> {
        let [a, b] = &self.0;
        Some(Pair { columns: [(a, a.column?), (b, b.column?)], which: None })
    }

    /// The columns of both tables, those of one name in their order.
    pub(super) fn pairs(&self) -> Vec<Pair<'_>> {
        let [a, b] = &self.0;
        let ([ours, theirs], mut pairs) = (self.numbered(), Vec::new());
        for (one, (name, number)) in ours.iter().enumerate() {
            if let Some(other) = theirs.iter().position(|other| *other == (*name, *number)) {
                let count = |all: &[(&str, usize)]| all.iter().filter(|(other, _)| other == name).count();
                let count = count(&ours).max(count(&theirs));
                let which = (count > 1).then_some([number + 1, count]);
                pairs.push(Pair { columns: [(a, one), (b, other)], which });
            }
        }
        pairs
    }

    /// The names of the columns that only one of the tables has.
    pub(super) fn only(&self) -> [Vec<String>; 2] {
        let [ours, theirs] = self.numbered();
        let missing = |from: &HashSet<&(&str, usize)>, all: &[(&str, usize)]| {
            let names = all.iter().filter(|column| !from.contains(column));
            names.map(|(name, _)| (*name).to_owned()).collect()
        };
        [missing(&theirs.iter().collect(), &ours), missing(&ours.iter().collect(), &theirs)]
    }

    /// The name of each column, and how many columns before it have the same name.
    fn numbered(&self) -> [Vec<(&str, usize)>; 2] {
        self.0.each_ref().map(|table| {
            let mut counts = HashMap::new();
            let number = |name| {
                let count = counts.entry(name).or_insert(0);
                *count += 1;
                (name, *count - 1)
            };
            table.file.schema().fields().iter().map(|field| field.name()).map(number).collect()
        })
    }
}

/// A column of each table.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    columns: [(&'a TableTarget, usize); 2],
    /// Its number among the columns of its name, from 1 on, and their count; `None` if it is the
    /// only one.
    which: Option<[usize; 2]>,
}

impl Pair<'_> {
    pub(super) fn name(&self) -> &str {
        self.fields()[0].name()
    }

    fn fields(&self) -> [&Field; 2] {
        self.columns.map(|(table, index)| &table.file.schema().fields()[index])
    }

    /// The types, as text.
    pub(super) fn types(&self) -> [String; 2] {
        self.fields().map(|field| field.column_type().to_string())
    }

    /// Whether a comparison as arrays is complete: the name stands for one column, and the dtypes
    /// show every difference of the types.
    pub(super) fn is_of_arrays(&self, plan: DiffPlan) -> bool {
        let types = self.fields().map(Field::column_type);
        let are_fixed = types.iter().all(|ty| matches!(ty, ColumnType::Fixed(_)));
        self.which.is_none() && (are_fixed || !plan.types_differ(types))
    }

    /// Compares the columns, element by element.
    pub(super) fn compare(&self, plan: DiffPlan) -> Result<ColumnDiff> {
        Ok(ColumnDiff { which: self.which, ..compare(self.columns, plan)? })
    }
}

fn compare(columns: [(&TableTarget, usize); 2], plan: DiffPlan) -> Result<ColumnDiff> {
    let fields = columns.map(|(table, index)| &table.file.schema().fields()[index]);
    let [a, b] = columns.map(|(table, _)| table.file.rows());
    let lens = [a?, b?];
    let mut diff = ColumnDiff {
        which: None,
        types: fields.map(|field| field.column_type().to_string()),
        lens,
        differs: lens[0] != lens[1] || plan.types_differ(fields.map(|field| field.column_type())),
        tally: None,
        places: Places::default(),
    };
    if lens[0] != lens[1] {
        return Ok(diff);
    }
    let mut cursors = columns.map(Cursor::new);
    let tally = tally(&mut cursors, plan)?;
    let texts = |row: usize| -> Result<[String; 2]> {
        let [a, b] = &cursors;
        Ok([a.text(row)?, b.text(row)?])
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
    /// Whether the types differ. With a tolerance, types of numbers may differ. As in arrays, the
    /// names of the items of fixed-size lists do not matter, nor whether the items may be null.
    fn types_differ(self, [a, b]: [&ColumnType; 2]) -> bool {
        match (a, b) {
            (ColumnType::Fixed(a), ColumnType::Fixed(b)) => a != b && !self.any_dtype,
            (ColumnType::FixedList { item: a, len: one }, ColumnType::FixedList { item: b, len: other }) => {
                one != other || self.types_differ([a.column_type(), b.column_type()])
            }
            (a, b) => a != b,
        }
    }
}

/// Compares all elements, whatever the batches of the tables are.
fn tally([a, b]: &mut [Cursor<'_>; 2], plan: DiffPlan) -> Result<Differences> {
    let mut tally = Differences::default();
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
    column: Option<Column>,
    /// The number of rows up to the end of each batch that was read.
    ends: Vec<usize>,
}

impl<'a> Cursor<'a> {
    fn new((table, index): (&'a TableTarget, usize)) -> Self {
        Self { file: &table.file, index, column: None, ends: Vec::new() }
    }

    /// The column of the batch that has the row `start`; `None` after the last row. Sets `start` to
    /// 0 where a new batch begins.
    fn at(&mut self, start: &mut usize) -> Result<Option<&Column>> {
        while self.column.as_ref().is_none_or(|column| *start >= column.len()) {
            let batch = self.ends.len();
            if batch >= self.file.len() {
                return Ok(None);
            }
            *start = 0;
            let column = self.file.column(batch, self.index)?;
            self.ends.push(self.before(batch) + column.len());
            self.column = Some(column);
        }
        Ok(self.column.as_ref())
    }

    /// The number of rows before a batch, at most the next one.
    fn before(&self, batch: usize) -> usize {
        batch.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// The element of a row that was read, counted from the first batch on. Decodes only the batch
    /// of the row again.
    fn text(&self, row: usize) -> Result<String> {
        let batch = self.ends.partition_point(|&end| end <= row);
        cell(&self.file.column(batch, self.index)?, row - self.before(batch))
    }
}

fn compared(rule: Rule, a: &ColumnValue, b: &ColumnValue) -> Result<Compared> {
    let differs = match (a, b) {
        (ColumnValue::Element(a), ColumnValue::Element(b)) => return Ok(rule.values(a, b)),
        (ColumnValue::List(a), ColumnValue::List(b)) | (ColumnValue::Map(a), ColumnValue::Map(b)) => {
            a.len() != b.len() || any(rule, a.values().zip(b.values()).map(|(a, b)| Ok((a?, b?))))?
        }
        (ColumnValue::Struct(a), ColumnValue::Struct(b)) => {
            a.len() != b.len() || any(rule, a.iter().zip(b).map(Ok))?
        }
        (a, b) => a != b,
    };
    Ok(Compared { differs, ..Compared::default() })
}

/// Whether the values of any pair differ. Stops at the first that does.
fn any<V: Borrow<ColumnValue>>(rule: Rule, pairs: impl Iterator<Item = Result<(V, V)>>) -> Result<bool> {
    for pair in pairs {
        let (a, b) = pair?;
        if compared(rule, a.borrow(), b.borrow())?.differs {
            return Ok(true);
        }
    }
    Ok(false)
}
