//! `crossdock diff`: compares arrays and tables in files, element by element.

mod columns;
mod compare;
mod elements;
mod report;
mod rule;
#[cfg(test)]
mod tests;
pub(crate) mod tiles;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use crossdock::exchange::files::raw::Description;

use crate::diff::columns::{Pair, Tables};
use crate::diff::compare::{ArrayDiff, DiffPlan};
use crate::diff::report::{CommonDiff, FileDiff};
use crate::diff::rule::Rule;
use crate::failure::{Failure, Result};
use crate::open::Opened;
use crate::shards::Archives;
use crate::{out, progress, status, terminal};

const EXAMPLES: &str = "\
Examples:
  crossdock diff before.npy after.npy
  crossdock diff before.npz after.npz            (all arrays, by name)
  crossdock diff before.arrow after.arrow        (all columns, by name)
  crossdock diff model.safetensors:w model.gguf:w --rtol 1e-2
  crossdock diff 'before.npy[::2]' after.npy -q  (only whether they differ)
  crossdock diff before.npz after.npz --json | jq .only_in_b

Exit status: 0 if all is the same, 1 if something differs, 2 if an array could not be compared or \
for wrong arguments, 74 if a mapped file shrank meanwhile.";

/// Compare the arrays of two files, or the columns of two tables.
///
/// A and B are mapped, and compared in parts on several threads. Two files of named arrays are
/// compared by the names of their arrays, and two tables (Arrow IPC files) by the names of their
/// columns, whatever their batches; columns of one name are compared in their order, and a null
/// equals only a null. Shapes, dtypes, types of columns and elements must be equal; byte orders,
/// the order of the elements in memory, and the offsets of fields do not matter. Without
/// --equal-nan, NaN and NaT differ from everything. Records are compared field by field.
///
/// With a tolerance, as in NumPy's allclose, numbers a and b are the same if
/// |a - b| <= atol + rtol * |b|, and dtypes of numbers may differ. Integers are compared exactly;
/// an integer beside a float, in double precision. The greatest errors are those of all elements
/// that are not equal, also of those within the tolerance; the relative error is |a - b| / |b|,
/// where b is not 0. Checksums are not compared, except those of compressed arrays.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file and, after colons, the name of an array in it and a view as in Python.
    #[arg(value_name = "A[:NAME][VIEW]")]
    a: OsString,
    /// The file to compare it with.
    #[arg(value_name = "B[:NAME][VIEW]")]
    b: OsString,
    /// The relative tolerance.
    #[arg(long, value_name = "R", value_parser = tolerance, allow_hyphen_values = true)]
    rtol: Option<f64>,
    /// The absolute tolerance.
    #[arg(long, value_name = "A", value_parser = tolerance, allow_hyphen_values = true)]
    atol: Option<f64>,
    /// The relative and the absolute tolerance.
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true, conflicts_with_all = ["rtol", "atol"])]
    tolerance: Option<f64>,
    /// NaN equals NaN, and NaT equals NaT.
    #[arg(long)]
    equal_nan: bool,
    /// Print only whether the files differ, and stop at the first difference.
    #[arg(short, long)]
    quiet: bool,
    /// Print JSON instead of text, also if all is the same.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// The description of raw files: dtype and shape, and order, strides or offset if they are not
    /// the defaults. It applies to A and B, except to files of a known format.
    #[arg(long, value_name = "DESCRIPTION")]
    raw: Option<Description>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err(format!("{text} is not a number of at least 0")),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let answered = args.compare().and_then(|diff| {
        match (args.json, args.quiet) {
            (true, _) => out::print_json(&diff.json()?)?,
            (_, true) if diff.differs() => {
                let text = format!("{} and {} differ", diff.targets[0], diff.targets[1]);
                out::print(&(terminal::shown(&text) + "\n"))?
            }
            (_, true) => ExitCode::SUCCESS,
            _ => out::print(&diff.text()?)?,
        };
        Ok(diff)
    });
    let diff = answered.map_err(Failure::into_trouble)?;
    diff.failed.iter().for_each(|(name, why)| out::error(&format!("{name}: {why}")));
    Ok(match (diff.failed.is_empty(), diff.differs()) {
        (false, _) => ExitCode::from(status::TROUBLE),
        (true, true) => ExitCode::from(status::FAILED),
        (true, false) => ExitCode::SUCCESS,
    })
}

impl Args {
    fn plan(&self) -> DiffPlan {
        let tolerance = |one: Option<f64>| one.or(self.tolerance);
        let (rtol, atol) = (tolerance(self.rtol), tolerance(self.atol));
        DiffPlan {
            rule: Rule { rtol: rtol.unwrap_or(0.0), atol: atol.unwrap_or(0.0), equal_nan: self.equal_nan },
            any_dtype: rtol.is_some() || atol.is_some(),
            brief: self.quiet,
        }
    }

    fn compare(&self) -> Result<FileDiff> {
        let open = |target: &OsStr| Archives::open(target, self.raw.as_ref());
        let (a, b) = (open(&self.a)?, open(&self.b)?);
        let targets = [&self.a, &self.b].map(|target| terminal::path(Path::new(target)));
        // Only tables are opened a second time, for the types of their columns.
        let tables = if a.is_table() && b.is_table() { Tables::open(&self.a, &self.b)? } else { None };
        let mut diff = FileDiff { targets, is_of_tables: tables.is_some(), ..FileDiff::default() };
        if a.is_by_name() && b.is_by_name() {
            match &tables {
                Some(tables) => self.compare_tables(&a, &b, tables, &mut diff)?,
                None => self.compare_names(&a, &b, &mut diff)?,
            }
            return Ok(diff);
        }
        let arrays = || a.one().and_then(|a| Ok((a, b.one()?)));
        match tables.as_ref().and_then(Tables::one) {
            Some(pair) => self.compare_columns(None, pair, arrays, &mut diff)?,
            None => {
                let (a, b) = arrays()?;
                diff.common.push((None, CommonDiff::Arrays(self.compare_two(&a, &b)?)));
            }
        }
        Ok(diff)
    }

    /// Compares two tables by the names of their columns, and those of one name in their order.
    fn compare_tables(&self, a: &Archives, b: &Archives, tables: &Tables, diff: &mut FileDiff) -> Result<()> {
        diff.only = tables.only();
        for pair in tables.pairs() {
            if self.quiet && diff.differs() {
                break;
            }
            let arrays = || a.view(pair.name()).and_then(|a| Ok((a, b.view(pair.name())?)));
            match self.compare_columns(Some(pair.name()), pair, arrays, diff) {
                Err(failure) if !failure.is_shrunk() => diff.failed.push((pair.name().to_owned(), failure)),
                compared => compared?,
            }
        }
        Ok(())
    }

    /// Compares two columns as arrays if possible, which is faster; otherwise element by element.
    fn compare_columns(
        &self,
        name: Option<&str>,
        pair: Pair<'_>,
        arrays: impl Fn() -> Result<(Opened, Opened)>,
        diff: &mut FileDiff,
    ) -> Result<()> {
        let name = name.map(str::to_owned);
        let arrays = if pair.is_of_arrays(self.plan()) { arrays().map(Some) } else { Ok(None) };
        match arrays {
            Ok(Some((a, b))) => {
                let types = Some(pair.types());
                let compared = ArrayDiff { types, ..self.compare_two(&a, &b)? };
                diff.common.push((name, CommonDiff::Arrays(compared)));
            }
            Err(failure) if failure.is_shrunk() => return Err(failure),
            Ok(None) | Err(_) => diff.common.push((name, CommonDiff::Columns(pair.compare(self.plan())?))),
        }
        Ok(())
    }

    /// Compares the arrays of two files, or checkpoints, by their names.
    fn compare_names(&self, a: &Archives, b: &Archives, diff: &mut FileDiff) -> Result<()> {
        let (ours, theirs) = (a.names(), b.names());
        let missing = |from: &[String], all: &[String]| {
            let names = all.iter().filter(|name| !from.contains(name));
            names.cloned().collect::<Vec<_>>()
        };
        diff.only = [missing(&theirs, &ours), missing(&ours, &theirs)];
        for name in ours.iter().filter(|name| theirs.contains(name)) {
            if self.quiet && diff.differs() {
                break;
            }
            match a.view(name).and_then(|a| Ok((a, b.view(name)?))) {
                Ok((a, b)) => {
                    diff.common.push((Some(name.clone()), CommonDiff::Arrays(self.compare_two(&a, &b)?)))
                }
                Err(failure) if failure.is_shrunk() => return Err(failure),
                Err(failure) => diff.failed.push((name.clone(), failure)),
            }
        }
        Ok(())
    }

    fn compare_two(&self, a: &Opened, b: &Opened) -> Result<ArrayDiff> {
        let check = || a.check().and_then(|()| b.check());
        let progress = progress::comparing(a.view.nbytes().saturating_add(b.view.nbytes()));
        let compared = self.plan().compare(&a.view, &b.view, &|nbytes| {
            progress.inc(nbytes as u64);
            check()
        });
        progress.finish_and_clear();
        // If a file shrank, no other result is valid.
        check()?;
        compared
    }
}
