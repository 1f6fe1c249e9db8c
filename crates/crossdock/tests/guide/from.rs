//! The pages "Coming from …": the rows of their tables are run, and each page shows what its
//! program prints.

use std::path::Path;

use crossdock::Result;

#[path = "from_arrow.rs"]
mod from_arrow;
#[path = "from_majel.rs"]
mod from_majel;
#[cfg(feature = "ndarray-0_17")]
#[path = "from_ndarray.rs"]
mod from_ndarray;

#[cfg(feature = "ndarray-0_17")]
mod ndarray_program {
    include!("../../../../docs/guide/programs/from_ndarray.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod majel_program {
    include!("../../../../docs/guide/programs/from_majel.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

const PROGRAM: &str = "CROSSDOCK_TEST_PROGRAM_FROM";

/// One of the programs, if this process was started for it, as in `guide.rs`.
#[test]
fn program() {
    let Ok(name) = std::env::var(PROGRAM) else { return };
    let outcome: Result<()> = match name.as_str() {
        #[cfg(feature = "ndarray-0_17")]
        "ndarray" => ndarray_program::run(),
        "majel" => majel_program::run(),
        _ => panic!("{name}"),
    };
    if let Err(error) = &outcome {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(outcome.is_err()));
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(format!("docs/guide/from-{name}.md"))).unwrap()
}

#[track_caller]
fn shows_its_program_and_what_it_prints(name: &str) {
    let output = crossdock_testkit::this_program()
        .args(["--exact", "from::program", "--nocapture", "--quiet", "--test-threads=1"])
        .env(PROGRAM, name)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed = printed.strip_prefix("\nrunning 1 test\n").unwrap_or_else(|| panic!("{printed}"));
    let source = std::fs::read_to_string(root().join(format!("docs/guide/programs/from_{name}.rs"))).unwrap();
    let shown = format!("```rust\n{source}```\n\n```text\n{printed}```\n");
    assert!(page(name).contains(&shown), "the page does not show\n{shown}");
}

fn without_spaces(code: &str) -> String {
    code.split_whitespace().collect()
}

/// The code in these columns of a page's first table is that of `rows`, which were run, in the same
/// order.
#[track_caller]
fn table_is(name: &str, columns: &[usize], rows: &[Vec<&str>]) {
    let page = page(name);
    let lines = page.lines().skip_while(|line| !line.starts_with("|--")).skip(1);
    let shown: Vec<Vec<String>> = lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert!(cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()), "{line}");
            columns.iter().map(|&column| without_spaces(cells[column].trim_matches('`'))).collect()
        })
        .collect();
    let run: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| without_spaces(cell)).collect()).collect();
    assert!((12..=18).contains(&run.len()), "{} rows", run.len());
    for (shown, run) in shown.iter().zip(&run) {
        assert_eq!(shown, run);
    }
    assert_eq!(shown.len(), run.len());
}

#[cfg(feature = "ndarray-0_17")]
#[test]
fn the_page_on_ndarray_shows_its_program_and_what_it_prints() {
    shows_its_program_and_what_it_prints("ndarray");
}

#[test]
fn the_page_on_majel_shows_its_program_and_what_it_prints() {
    shows_its_program_and_what_it_prints("majel");
}
