//! Builds the test programs, and finds the mutants that do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::table::{Build, Language, Module};
use crate::provision::WHEEL;
use crate::run::Door;

/// A build with its folders.
pub(super) struct Workshop<'a> {
    pub(super) door: &'a Door,
    pub(super) build: &'static Build,
    /// The copy of the checkout.
    pub(super) tree: PathBuf,
    /// Cargo's target folder.
    pub(super) target: PathBuf,
}

/// The compiler's result.
pub(super) enum Made {
    /// Test programs, by Cargo's arguments that select them: `--lib`, `--test layout`.
    Programs(BTreeMap<String, PathBuf>),
    /// Nothing, because of errors in these lines of files, named from the root of the checkout.
    Errors(BTreeSet<(PathBuf, usize)>, String),
}

impl Workshop<'_> {
    /// Builds test programs, or the module that they load.
    pub(super) fn make(&self, programs: &BTreeSet<&str>) -> Result<Made> {
        let Build { package, features, workspace, module, .. } = self.build;
        let what = if module.is_some() { "build --lib --locked" } else { "test --no-run" };
        let mut command = self.door.cargo(what);
        command.args(["--message-format=json", "--package", package]).args(features.split_whitespace());
        if module.is_none() {
            command.args(programs.iter().flat_map(|program| program.split_whitespace()));
        }
        command.current_dir(self.tree.join(workspace)).env("CARGO_TARGET_DIR", &self.target);
        // Built once and run often, with debug assertions. A lint does not judge a mutant.
        for profile in ["DEV", "TEST"] {
            command.env(format!("CARGO_PROFILE_{profile}_OPT_LEVEL"), "1");
            command.env(format!("CARGO_PROFILE_{profile}_DEBUG"), "false");
        }
        command.env("CARGO_INCREMENTAL", "1").env("RUSTFLAGS", "--cap-lints=warn");
        let output = command.stderr(Stdio::null()).output().context("Cargo cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let messages: Vec<Value> = messages.collect();
        if output.status.success() {
            let programs = match module {
                None => messages.iter().filter_map(program).collect(),
                Some(module) => self.install(module, programs, &messages)?,
            };
            return Ok(Made::Programs(programs));
        }
        let errors: Vec<&Value> = messages
            .iter()
            .map(|message| &message["message"])
            .filter(|error| error["level"] == "error")
            .collect();
        let shown: String = errors.iter().filter_map(|error| error["rendered"].as_str()).take(3).collect();
        let places = errors.iter().flat_map(|error| self.places(error)).collect();
        if errors.is_empty() {
            bail!("the tests of {package} cannot be built, and no line is to blame");
        }
        Ok(Made::Errors(places, shown))
    }

    /// Copies the module to where the interpreter finds it; every test file uses it.
    fn install(
        &self,
        module: &Module,
        programs: &BTreeSet<&str>,
        messages: &[Value],
    ) -> Result<BTreeMap<String, PathBuf>> {
        let files = messages.iter().filter_map(|message| message["filenames"].as_array()).flatten();
        let mut files = files.filter_map(Value::as_str).map(Path::new);
        let library = files.find(|file| file.ends_with(module.library));
        let library = library.with_context(|| format!("Cargo made no {}", module.library))?;
        let place = self.tree.join(module.place);
        fs::copy(library, &place).with_context(|| format!("{} cannot be written", place.display()))?;
        let interpreter = match module.language {
            Language::Python => WHEEL.python(self.door),
            Language::Ruby => PathBuf::from("ruby"),
        };
        Ok(programs.iter().map(|&program| (program.to_owned(), interpreter.clone())).collect())
    }

    /// The positions of an error, including those inside of macros.
    fn places(&self, error: &Value) -> Vec<(PathBuf, usize)> {
        let mut places = Vec::new();
        for span in error["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true)
        {
            let mut span = span;
            while let Some(name) = span["file_name"].as_str() {
                let line = span["line_start"].as_u64().unwrap_or(0) as usize;
                places.push((Path::new(self.build.workspace).join(name), line));
                span = &span["expansion"]["span"];
            }
        }
        places
    }
}

/// The name and the path of a test program.
fn program(message: &Value) -> Option<(String, PathBuf)> {
    let path = message["executable"].as_str()?.into();
    let target = &message["target"];
    let kind = target["kind"][0].as_str()?;
    let name =
        if kind == "test" { format!("--test {}", target["name"].as_str()?) } else { "--lib".to_owned() };
    Some((name, path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_is_named_as_it_is_chosen() {
        let message =
            |kind: &str| json!({ "executable": "/t/a", "target": { "kind": [kind], "name": "low" } });
        assert_eq!(program(&message("test")).unwrap(), ("--test low".into(), "/t/a".into()));
        assert_eq!(program(&message("lib")).unwrap(), ("--lib".into(), "/t/a".into()));
        assert_eq!(program(&json!({ "executable": null, "target": { "kind": ["lib"] } })), None);
    }
}
