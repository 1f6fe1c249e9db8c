//! Pages that compare another library with this one, and the tests that their rows name: both have
//! the same entries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A page of `docs/evidence`, and the folder of its tests.
pub(crate) struct Page {
    /// The page, without its extension.
    pub(crate) name: &'static str,
    /// The tables whose rows name tests in the last column.
    pub(crate) tables: &'static [Table],
    /// Files of the folder that check, and need no row.
    pub(crate) not_rows: &'static [&'static str],
}

/// A table: the first letter of its rows' ids, and the number of columns.
pub(crate) type Table = (&'static str, usize);

/// A row: its id, and its other cells.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) cells: Vec<String>,
}

impl Row {
    /// The tests that the last cell names.
    pub(crate) fn tests(&self) -> Vec<&str> {
        code(self.cells.last().unwrap())
    }
}

impl Page {
    pub(crate) fn rows(&self, (letter, columns): Table) -> Vec<Row> {
        let page =
            fs::read_to_string(crate_root().join(format!("../../docs/evidence/{}.md", self.name))).unwrap();
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

    fn all_rows(&self) -> Vec<Row> {
        self.tables.iter().flat_map(|&table| self.rows(table)).collect()
    }

    /// The number of tests that the rows name. Each row names at least one, and each named test
    /// exists and can fail.
    pub(crate) fn check_that_every_row_names_tests_that_run(&self) -> usize {
        let mut count = 0;
        for row in self.all_rows() {
            assert!(!row.tests().is_empty(), "{} names no test", row.id);
            for test in row.tests() {
                count += 1;
                if let Err(why) = test_body(test) {
                    panic!("{} names the test {test}: {why}", row.id);
                }
            }
        }
        count
    }

    /// The number of tests in the folder. A row names each of them.
    pub(crate) fn check_that_every_test_of_the_folder_is_named(&self) -> usize {
        let all = self.all_rows();
        let named: BTreeSet<&str> = all.iter().flat_map(Row::tests).collect();
        let mut count = 0;
        for entry in fs::read_dir(crate_root().join("tests").join(self.name)).unwrap() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap();
            if self.not_rows.contains(&module) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for after in text.split("#[test]\nfn ").skip(1) {
                let name = after.split('(').next().unwrap();
                let path = format!("{}::{module}::{name}", self.name);
                assert!(named.contains(path.as_str()), "no row names {path}");
                count += 1;
            }
        }
        count
    }

    /// The number of rows in the table. Each row's only test uses the items in the row's second
    /// column.
    pub(crate) fn check_that_every_name_has_a_test_of_its_own_which_uses_the_item(
        &self,
        table: Table,
    ) -> usize {
        let mut seen = BTreeMap::new();
        for row in self.rows(table) {
            let tests = row.tests();
            assert_eq!(tests.len(), 1, "{} names {tests:?}", row.id);
            if let Some(other) = seen.insert(tests[0].to_owned(), row.id.clone()) {
                panic!("{} and {other} have the same test", row.id);
            }
            let body = test_body(tests[0]).unwrap();
            let items = code(&row.cells[1]);
            assert!(!items.is_empty(), "{} names no item", row.id);
            for item in items {
                let last = item.rsplit("::").next().unwrap().trim_end_matches('!');
                assert!(has_word(&body, last), "{}: {} does not use {item}", row.id, tests[0]);
            }
        }
        seen.len()
    }

    /// The number of rows for missing features. Each has a reason and names no test.
    pub(crate) fn check_that_what_is_not_here_has_a_reason(&self, table: Table) -> usize {
        let absent = self.rows(table);
        for row in &absent {
            assert!(row.cells[1].len() >= 20, "{} has no reason", row.id);
        }
        absent.len()
    }
}

fn crate_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The text between backticks.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The text of a test function, from its name to its end, or why it is not a test.
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
        format!("../crossdock-ui/tests/{file}.rs"),
        format!("../crossdock-cuda/tests/{file}.rs"),
        format!("../crossdock-opencl/tests/{file}.rs"),
    ];
    let read = |place: &str| fs::read_to_string(crate_root().join(place)).ok();
    let text = if modules == "conformance" {
        let files = ["memory", "copies", "streams"];
        files.map(|file| read(&format!("../crossdock-conformance/src/{file}.rs")).unwrap()).concat()
    } else {
        places.iter().find_map(|place| read(place)).ok_or("no such file")?
    };
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &&str| {
        let line = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
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
        // A macro makes it a test for each device, and lists it on a line.
        let listed = read("../crossdock-conformance/src/lib.rs").unwrap();
        if !listed.lines().any(|line| line.split_whitespace().last() == Some(name)) {
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
