//! The known bugs of the original: a C function triggers each, and the page for authors lists each.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crossdock_testkit::bugs::{BUGS, Bug};

use crate::programs::sources;
use crate::toolchain::{C11, PACKAGE, program, root, succeeded};

#[test]
fn every_bug_is_met_in_c() {
    let mut met = Vec::new();
    for source in sources(Path::new(PACKAGE).join("tests/c/bugs"), "c") {
        let Some(mut command) = program(C11, &source, &[]) else { return };
        met.extend(succeeded(&mut command).lines().map(str::to_owned));
    }
    met.sort();
    let mut known: Vec<_> = BUGS.iter().map(|bug| bug.id).collect();
    known.sort();
    assert_eq!(met, known);
}

#[test]
fn the_page_lists_every_bug() {
    let page = fs::read_to_string(root().join("docs/c.md")).expect("the page");
    let mut table = "| bug | Ruby | Crossdock |\n|---|---|---|\n".to_owned();
    for Bug { id, original, here, .. } in BUGS {
        writeln!(table, "| {id} | {original} | {here} |").unwrap();
    }
    assert!(page.contains(&format!("\n{table}\n")), "docs/c.md lacks this table, as it is:\n{table}");
}
