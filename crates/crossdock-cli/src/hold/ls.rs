//! `crossdock ls`: what is held.

use std::process::ExitCode;

use crossdock::exchange::protocol::hold::{self, HeldSet};
use indicatif::BinaryBytes;
use serde_json::json;

use crate::failure::Result;
use crate::out;
use crate::table::{age, memory, table};
use crate::words::words;

const EXAMPLES: &str = "\
Examples:
  crossdock ls
  crossdock ls --json | jq '.[].label'";

/// List the arrays that are held for processes of this user.
///
/// Removes the sockets of holders that were killed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let (mut rows, mut listed) = (Vec::new(), Vec::new());
    for name in hold::list()? {
        match name.versions {
            Ok(versions) if versions.is_empty() => {
                let empty =
                    [name.name.to_string(), "0".into(), "0".into(), String::new(), "0".into(), String::new()];
                rows.push(empty);
                listed.push(json!({
                    "label": name.name.to_string(), "arrays": 0, "readers": 0, "age": null, "nbytes": 0,
                    "mapped": false,
                }));
            }
            Ok(versions) => {
                rows.extend(versions.iter().map(row));
                listed.extend(versions.iter().map(|set| {
                    json!({
                        "label": set.label.to_string(),
                        "arrays": set.arrays,
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
    out::print(&table(["version", "arrays", "readers", "since", "bytes", "memory"], &rows, &[1, 2, 3, 4]))
}

fn row(set: &HeldSet) -> [String; 6] {
    [
        set.label.to_string(),
        set.arrays.to_string(),
        set.readers.to_string(),
        age(set.age),
        BinaryBytes(set.nbytes).to_string(),
        memory(set.is_mapped),
    ]
}
