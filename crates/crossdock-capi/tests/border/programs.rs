//! Programs in C and C++, built and run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::toolchain::{C11, Language, PACKAGE, program, succeeded};

/// Builds and runs a program, which has to end well. What it wrote.
#[track_caller]
pub(crate) fn run(language: Language, source: &Path) -> String {
    match program(language, source) {
        Some(mut command) => succeeded(&mut command),
        None => String::new(),
    }
}

/// The sources of a folder with this ending, in order; at least one.
fn sources(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut sources: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    sources.retain(|path| path.extension().is_some_and(|found| found == ending));
    sources.sort();
    assert!(!sources.is_empty(), "there is nothing in {}", folder.display());
    sources
}

#[test]
fn programs_in_c_find_what_they_check() {
    for source in sources(Path::new(PACKAGE).join("tests/c"), "c") {
        run(C11, &source);
    }
}
