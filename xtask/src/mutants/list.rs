//! The mutants of a file, as cargo-mutants lists them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A small mistake: some text of a file is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutation {
    /// `replace < with <= in Span::overlaps`.
    pub(super) what: String,
    /// The beginning and the end of the replaced text.
    pub(super) start: Place,
    pub(super) end: Place,
    pub(super) replacement: String,
}

/// A line and a character of it, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Lists the mutants of one file with the tool. The name is relative to the workspace `folder`.
pub(super) fn list(tool: &Path, folder: &Path, file: &str) -> Result<Vec<Mutation>> {
    let mut command = Command::new(tool);
    command.args(["mutants", "--list", "--json", "--colors", "never", "--file", file, "--dir"]).arg(folder);
    let output = command.output().with_context(|| format!("{} cannot be started", tool.display()))?;
    if !output.status.success() {
        bail!(
            "cargo-mutants ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

fn read(text: &str) -> Result<Vec<Mutation>> {
    let json: Value = serde_json::from_str(text).context("cargo-mutants wrote no JSON")?;
    json.as_array().context("cargo-mutants wrote no list")?.iter().map(mutation).collect()
}

fn mutation(json: &Value) -> Result<Mutation> {
    let word = |key: &str| json[key].as_str().with_context(|| format!("a mutant has no `{key}`: {json}"));
    let number = |end: &str, key: &str| {
        let number = json["span"][end][key].as_u64();
        number.map(|number| number as usize).with_context(|| format!("a mutant has no place: {json}"))
    };
    let place =
        |end| Ok::<_, anyhow::Error>(Place { line: number(end, "line")?, column: number(end, "column")? });
    let name = word("name")?;
    Ok(Mutation {
        // `src/span.rs:12:3: replace …`
        what: name.split_once(": ").map_or(name, |(_, what)| what).to_owned(),
        start: place("start")?,
        end: place("end")?,
        replacement: word("replacement")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_has_a_name_a_place_and_a_replacement() {
        let place = |line, column| serde_json::json!({ "line": line, "column": column });
        let span = serde_json::json!({ "start": place(2, 7), "end": place(2, 8) });
        let name = "src/a.rs:2:7: replace < with == in low";
        let json = serde_json::json!([{ "name": name, "span": span, "replacement": "==" }]);
        let [found] = &read(&json.to_string()).unwrap()[..] else { panic!("not one") };
        assert_eq!((found.what.as_str(), found.replacement.as_str()), ("replace < with == in low", "=="));
        assert_eq!((found.start, found.end), (Place { line: 2, column: 7 }, Place { line: 2, column: 8 }));
        assert!(read("[{\"name\": \"a\"}]").is_err() && read("no").is_err());
    }
}
