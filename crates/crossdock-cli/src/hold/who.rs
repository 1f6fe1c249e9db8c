//! `crossdock who`: the processes that use a name.

use std::process::ExitCode;

use crossdock::exchange::protocol::hold::{self, Label, Role};
use indicatif::BinaryBytes;
use serde_json::json;

use crate::failure::Result;
use crate::table::{age, memory, table};
use crate::{out, terminal};

const EXAMPLES: &str = "\
Examples:
  crossdock who m
  crossdock who m --json | jq '.[].pid'";

/// Show which processes hold, read and write a name.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name, as `crossdock ls` lists it.
    name: Label,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let users = hold::who(&args.name)?;
    let role = |role| match role {
        Role::Holder => "holder",
        Role::Reader => "reader",
        Role::Writer => "writer",
        _ => "other",
    };
    if args.json {
        let rows = users.iter().map(|user| {
            json!({
                "pid": user.pid,
                "program": user.program,
                "role": role(user.role),
                "label": user.label.to_string(),
                "age": user.age.as_secs_f64(),
                "nbytes": user.nbytes,
                "mapped": user.is_mapped,
            })
        });
        return out::print_json(&rows.collect::<Vec<_>>());
    }
    let rows: Vec<[String; 7]> = users
        .iter()
        .map(|user| {
            [
                user.pid.to_string(),
                terminal::shown(&user.program),
                role(user.role).to_owned(),
                user.label.to_string(),
                age(user.age),
                BinaryBytes(user.nbytes).to_string(),
                memory(user.is_mapped),
            ]
        })
        .collect();
    out::print(&table(
        ["process", "program", "role", "version", "since", "bytes", "memory"],
        &rows,
        &[0, 4, 5],
    ))
}
