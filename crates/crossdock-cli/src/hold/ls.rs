//! `crossdock ls`: what is held, and what a set has.

use std::process::ExitCode;

use crossdock::exchange::protocol::hold::{self, HeldSet, Label, Set};
use indicatif::BinaryBytes;
use serde_json::json;

use crate::failure::Result;
use crate::table::{age, counted, memory, table};
use crate::words::words;
use crate::{out, terminal};

const EXAMPLES: &str = "\
Examples:
  crossdock ls
  crossdock ls m      (the arrays and tables of the newest version)
  crossdock ls --json | jq '.[].label'";

/// List what is held for processes of this user.
///
/// With a name, list the arrays and tables of its newest version, or of the one that is named.
/// Without it, remove the sockets of holders that were killed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A name, or a version of it, such as m@3.
    label: Option<Label>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(label) = &args.label {
        return entries(&hold::connect(label)?, args.json);
    }
    let (mut rows, mut listed) = (Vec::new(), Vec::new());
    for name in hold::list()? {
        match name.versions {
            Ok(versions) if versions.is_empty() => {
                let [zero, none] = ["0", ""].map(str::to_owned);
                let label = name.name.to_string();
                let counts = [zero.clone(), zero.clone(), zero.clone()];
                let [arrays, tables, readers] = counts;
                rows.push([label, arrays, tables, readers, none.clone(), zero, none]);
                listed.push(json!({
                    "label": name.name.to_string(), "arrays": 0, "tables": 0, "readers": 0, "age": null, "nbytes": 0,
                    "mapped": false,
                }));
            }
            Ok(versions) => {
                rows.extend(versions.iter().map(row));
                listed.extend(versions.iter().map(|set| {
                    json!({
                        "label": set.label.to_string(),
                        "arrays": set.arrays,
                        "tables": set.tables,
                        "readers": set.readers,
                        "age": set.age.as_secs_f64(),
                        "nbytes": set.nbytes,
                        "mapped": set.is_mapped,
                    })
                }));
            }
            Err(error) => out::note(&format!("{}: {}", name.name, error.in_words(words))),
        }
    }
    if args.json {
        return out::print_json(&listed);
    }
    if rows.is_empty() {
        out::note("nothing is held; hold a file: crossdock hold FILE --name NAME");
        return Ok(ExitCode::SUCCESS);
    }
    let header = ["version", "arrays", "tables", "readers", "since", "bytes", "memory"];
    out::print(&table(header, &rows, &[1, 2, 3, 4, 5]))
}

/// Lists what a set has.
fn entries(set: &Set, as_json: bool) -> Result<ExitCode> {
    let (mut rows, mut listed) = (Vec::new(), Vec::new());
    for name in set.names() {
        let name = name?;
        let shown = terminal::shown(name);
        match set.table_shape(name)? {
            Some((rows_of_table, columns)) => {
                let shape = format!(
                    "{}, {}",
                    counted(rows_of_table as u64, "row"),
                    counted(columns as u64, "column")
                );
                rows.push([shown, "table".to_owned(), shape]);
                listed.push(json!({
                    "name": name, "kind": "table", "rows": rows_of_table, "columns": columns,
                }));
            }
            None => {
                let array = set.get(name)?;
                let dtype = array.dtype().to_string();
                rows.push([shown, terminal::shown(&dtype), format!("{:?}", array.shape())]);
                listed.push(json!({
                    "name": name, "kind": "array", "dtype": dtype, "shape": array.shape(),
                    "nbytes": array.nbytes(),
                }));
            }
        }
    }
    if as_json {
        return out::print_json(&listed);
    }
    out::print(&table(["name", "type", "shape"], &rows, &[]))
}

fn row(set: &HeldSet) -> [String; 7] {
    [
        set.label.to_string(),
        set.arrays.to_string(),
        set.tables.to_string(),
        set.readers.to_string(),
        age(set.age),
        BinaryBytes(set.nbytes).to_string(),
        memory(set.is_mapped),
    ]
}
