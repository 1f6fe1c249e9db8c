//! The page and the tests: neither says more than the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The tables, by the letter that their rows' ids begin with, and how many columns they have.
const NAMES: (&str, usize) = ("N", 5);
const NOTHING: (&str, usize) = ("X", 3);
const SURPRISES: (&str, usize) = ("S", 4);
const THEIRS: (&str, usize) = ("T", 4);

/// Files of this folder that check, and are not checked.
const NOT_ROWS: [&str; 2] = ["main", "page"];

fn crate_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// A row: its id, and its other cells.
struct Row {
    id: String,
    cells: Vec<String>,
}

impl Row {
    /// The tests that the last cell names.
    fn tests(&self) -> Vec<&str> {
        code(self.cells.last().unwrap())
    }
}

/// What stands between backticks.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn rows((letter, columns): (&str, usize)) -> Vec<Row> {
    let page = fs::read_to_string(crate_root().join("../../docs/arrow.md")).unwrap();
    let mut rows = vec![];
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        let number = cells[0].strip_prefix(letter).filter(|rest| rest.parse::<u16>().is_ok());
        if number.is_none() {
            continue;
        }
        assert_eq!(cells.len(), columns, "{line}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{line}");
        rows.push(Row { id: cells[0].clone(), cells: cells[1..].to_vec() });
    }
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids.len(), rows.len(), "an id of {letter} is there twice");
    rows
}

/// The text of a test function, from its name to its end, or why it is none.
fn test_body(path: &str) -> Result<String, String> {
    let (modules, name) = path.rsplit_once("::").ok_or("no module")?;
    let file = modules.replace("::", "/");
    let inline = file.strip_suffix("/tests").unwrap_or(&file);
    let places = [
        format!("tests/{file}.rs"),
        format!("tests/{file}/mod.rs"),
        format!("src/{file}.rs"),
        format!("src/{inline}.rs"),
        format!("src/{inline}/mod.rs"),
    ];
    let found = places.iter().find_map(|place| fs::read_to_string(crate_root().join(place)).ok());
    let text = found.ok_or("no such file")?;
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &&str| {
        let line = line.trim_start().trim_start_matches("pub(crate) ");
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let head = lines.iter().position(is_head).ok_or("no such function")?;
    let attributes: Vec<&str> = lines[..head]
        .iter()
        .rev()
        .map(|line| line.trim())
        .take_while(|line| line.starts_with("#["))
        .collect();
    if modules == "conformance" {
        // Made a test for each device by a macro, which lists it on a line of its own.
        let devices = fs::read_to_string(crate_root().join("tests/devices.rs")).unwrap();
        if !devices.lines().any(|line| line.trim() == name) {
            return Err("not among those that every device has".to_owned());
        }
    } else if !attributes.contains(&"#[test]") {
        return Err("not a test".to_owned());
    }
    if attributes.iter().any(|line| line.starts_with("#[ignore") || line.starts_with("#[should_panic")) {
        return Err("ignored, or glad to fail".to_owned());
    }
    let indent = lines[head].len() - lines[head].trim_start().len();
    let end = format!("{}}}", " ".repeat(indent));
    let body = lines[head..].iter().take_while(|line| **line != end);
    Ok(body.copied().collect::<Vec<_>>().join("\n"))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

#[test]
fn every_row_names_tests_that_run() {
    let mut count = 0;
    for row in [NAMES, SURPRISES, THEIRS].into_iter().flat_map(rows) {
        assert!(!row.tests().is_empty(), "{} names no test", row.id);
        for test in row.tests() {
            count += 1;
            if let Err(why) = test_body(test) {
                panic!("{} names the test {test}: {why}", row.id);
            }
        }
    }
    assert!(count >= 150, "{count} tests were looked for");
}

#[test]
fn every_test_of_this_folder_is_named_by_a_row() {
    let all: Vec<Row> = [NAMES, SURPRISES, THEIRS].into_iter().flat_map(rows).collect();
    let named: BTreeSet<&str> = all.iter().flat_map(Row::tests).collect();
    let mut count = 0;
    for entry in fs::read_dir(crate_root().join("tests/arrow")).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap();
        if NOT_ROWS.contains(&module) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for after in text.split("#[test]\nfn ").skip(1) {
            let name = after.split('(').next().unwrap();
            let path = format!("arrow::{module}::{name}");
            assert!(named.contains(path.as_str()), "no row names {path}");
            count += 1;
        }
    }
    assert!(count >= 100, "{count} tests were seen");
}

#[test]
fn every_name_has_one_test_of_its_own_which_uses_the_item() {
    let mut seen = BTreeMap::new();
    for row in rows(NAMES) {
        let tests = row.tests();
        assert_eq!(tests.len(), 1, "{} names {tests:?}", row.id);
        if let Some(other) = seen.insert(tests[0].to_owned(), row.id.clone()) {
            panic!("{} and {other} have the same test", row.id);
        }
        let body = test_body(tests[0]).unwrap();
        let items = code(&row.cells[1]);
        assert!(!items.is_empty(), "{} names no item", row.id);
        for item in items {
            let last = item.rsplit("::").next().unwrap();
            assert!(has_word(&body, last), "{}: {} does not use {item}", row.id, tests[0]);
        }
    }
    assert!(seen.len() >= 80, "{} names were seen", seen.len());
}

#[test]
fn what_is_not_here_has_a_reason_and_no_test() {
    let absent = rows(NOTHING);
    assert!(absent.len() >= 5);
    for row in absent {
        assert!(row.cells[1].len() >= 20, "{} has no reason", row.id);
    }
}
