//! The page that compares C with the Rust library: it lists every function, and nothing else.

use std::collections::BTreeSet;
use std::fs;

use crate::prototypes::{chapters, prototypes};
use crate::toolchain::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the tables with this many cells, without the heads.
fn rows(page: &str, cells: usize) -> Vec<Vec<&str>> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    let rows = lines.map(|line| line.split(" |").map(str::trim).collect::<Vec<_>>());
    rows.filter(|row| row.len() == cells && !["concept", "Rust module"].contains(&row[0])).collect()
}

/// The texts between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The modules of the Rust library, and the names in them.
fn surface() -> (BTreeSet<String>, BTreeSet<String>) {
    let text = read("docs/surface.txt");
    let modules = text.lines().filter(|line| line.starts_with("crossdock") && line.ends_with(" names"));
    let modules = modules.filter_map(|line| Some(line.rsplit_once(": ")?.0.to_owned())).collect();
    let names = text.lines().filter_map(|line| line.strip_prefix("  ")?.split([':', ' ']).next());
    (modules, names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The words of a program that name something of a library: types, and what a dot or a path leads
/// to and a call follows.
fn used(program: &str) -> BTreeSet<String> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = BTreeSet::new();
    for (at, _) in program.match_indices(is_word).filter(|&(at, _)| !program[..at].ends_with(is_word)) {
        let rest = &program[at..];
        let word = &rest[..rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())];
        let is_type = word.starts_with(|letter: char| letter.is_ascii_uppercase());
        let is_called = rest[word.len()..].starts_with(['(']) || rest[word.len()..].starts_with("::<");
        if is_type || (is_called && program[..at].ends_with(['.', ':'])) {
            found.insert(word.to_owned());
        }
    }
    found
}

#[test]
fn every_function_of_c_is_on_the_page_and_every_name_on_it_exists() {
    let page = read("docs/c-coverage.md");
    let functions: BTreeSet<String> = prototypes().into_iter().map(|prototype| prototype.name).collect();
    let (modules, rust) = surface();
    let (mut listed, mut wrong) = (BTreeSet::new(), Vec::new());
    let concepts = rows(&page, 4);
    assert!(concepts.len() > 40, "{} rows were seen", concepts.len());
    for row in &concepts {
        let [concept, of_rust, of_c, reason] = row[..] else { panic!("{row:?}") };
        for name in names(of_rust).filter(|&name| !rust.contains(name)) {
            wrong.push(format!("{concept}: Rust has no `{name}`"));
        }
        if of_c == "—" && reason.is_empty() {
            wrong.push(format!("{concept}: neither a function nor a reason"));
        }
        for name in names(of_c) {
            let start = name.trim_end_matches('*');
            let found = functions
                .iter()
                .filter(|known| if start == name { **known == name } else { known.starts_with(start) });
            let found: Vec<_> = found.cloned().collect();
            if found.is_empty() {
                wrong.push(format!("{concept}: C has no `{name}`"));
            }
            listed.extend(found);
        }
    }
    wrong.extend(functions.difference(&listed).map(|name| format!("no row has `{name}`")));
    let rows = rows(&page, 2);
    let described: BTreeSet<String> = rows.iter().flat_map(|row| names(row[0])).map(str::to_owned).collect();
    wrong.extend(
        modules.symmetric_difference(&described).map(|name| format!("one of both has no module `{name}`")),
    );
    let elsewhere = ["crossdock.h", "crossdock_producer.h", "stdio.h"];
    let headers = rows.iter().flat_map(|row| names(row[1])).filter(|name| name.ends_with(".h"));
    for header in headers.filter(|name| !elsewhere.contains(name)) {
        if !chapters().contains(&format!("crossdock/{header}")) {
            wrong.push(format!("there is no {header}"));
        }
    }
    assert!(wrong.is_empty(), "docs/c-coverage.md: {}", wrong.join("\n"));
}

#[test]
fn what_the_programs_of_the_guide_use_is_on_the_page() {
    let page = read("docs/c-coverage.md");
    let known: BTreeSet<String> =
        rows(&page, 4).iter().flat_map(|row| names(row[1])).map(str::to_owned).collect();
    let (_, rust) = surface();
    let programs = fs::read_dir(root().join("docs/guide/programs")).expect("the programs of the guide");
    let mut missing = BTreeSet::new();
    let mut count = 0;
    for path in programs.map(|entry| entry.expect("an entry").path()) {
        let is_rust = path.extension().is_some_and(|ending| ending == "rs");
        // Chapters: the pages for those who come from elsewhere repeat them.
        let is_chapter = path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit());
        if is_rust && is_chapter {
            let text = fs::read_to_string(&path).expect("a program");
            missing
                .extend(used(&text).into_iter().filter(|name| rust.contains(name) && !known.contains(name)));
            count += 1;
        }
    }
    assert!(count > 5, "{count} programs were seen");
    let shared = ["main", "iter", "collect", "len"];
    missing.retain(|name| !shared.contains(&&**name));
    assert!(missing.is_empty(), "docs/c-coverage.md has no row for {missing:?}, which the guide uses");
}

#[test]
fn names_are_found_in_programs() {
    let found = used("let a = Array::<i32, 1>::from_vec(v)?.share()?; fn own(x: Foo) { a.len }");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["Array", "Foo", "from_vec", "share"]);
}
