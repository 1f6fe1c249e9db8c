//! The names in the tables of the pages for users of Arrow C++ and Majel are public.

use std::collections::{BTreeMap, BTreeSet};

use super::{code, read};

/// The public names of `docs/surface.txt`, each with the types that have it as a method, field or
/// variant.
fn surface() -> BTreeMap<String, BTreeSet<String>> {
    let (mut names, mut name) = (BTreeMap::<String, BTreeSet<String>>::new(), String::new());
    for line in read("docs/surface.txt").lines().filter(|line| line.starts_with("  ")) {
        if !line.starts_with("   ") {
            name = line.trim().split([':', ' ']).next().unwrap_or_default().to_owned();
        }
        let types = line.rsplit_once(" [").and_then(|(_, types)| types.strip_suffix(']'));
        names
            .entry(name.clone())
            .or_default()
            .extend(types.into_iter().flat_map(|types| types.split(' ').map(str::to_owned)));
        let parts = line.split_once(" { ").and_then(|(_, parts)| parts.strip_suffix(" }"));
        for part in parts.into_iter().flat_map(|parts| parts.split(", ")) {
            names.entry(part.to_owned()).or_default().insert(name.clone());
        }
    }
    assert!(names.len() > 650, "{} names were seen", names.len());
    names
}

/// The types, functions and methods that code names, each with the type before its `::`.
fn named(code: &str) -> Vec<(Option<&str>, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in code.char_indices() {
        let (before, rest) = code.split_at(at);
        if !rest.starts_with(is_word) || before.ends_with(is_word) {
            continue;
        }
        let word = rest.split(|c| !is_word(c)).next().unwrap_or_default();
        let after = &rest[word.len()..];
        let owner = before.strip_suffix("::").map(|path| {
            let path = if path.ends_with('>') {
                path.rsplit_once("::<").map_or(path, |(path, _)| path)
            } else {
                path
            };
            path.rsplit(|c| !is_word(c)).next().unwrap_or_default()
        });
        let is_call = after.starts_with('(') || after.starts_with("::<");
        let is_alone = before.is_empty() && after.trim_start_matches("()").is_empty();
        if is_call || is_alone || owner.is_some() || word.starts_with(char::is_uppercase) {
            found.push((owner.filter(|owner| !owner.is_empty()), word));
        }
    }
    found
}

/// Methods of the standard library's traits, which the listing has as implementations.
const OF_TRAITS: [&str; 5] = ["clone", "default", "from", "to_string", "try_from"];

/// Types and functions of other crates.
const OF_OTHERS: [&str; 6] = ["Allocator", "Read", "Seek", "Write", "drop", "usize"];

#[test]
fn the_tables_for_users_of_arrow_and_majel_name_what_is_public() {
    let surface = surface();
    let is_public = |owner: Option<&str>, name: &str| {
        if OF_OTHERS.contains(&owner.unwrap_or(name)) {
            return true;
        }
        let is_type = owner.is_some_and(|owner| owner.starts_with(char::is_uppercase));
        match owner.filter(|_| is_type) {
            Some(owner) if OF_TRAITS.contains(&name) => surface.contains_key(owner),
            Some(owner) => surface.get(name).is_some_and(|types| types.contains(owner)),
            None => surface.contains_key(name) || OF_TRAITS.contains(&name),
        }
    };
    let pages = [
        ("docs/guide/from-arrow.md", "| *", 1, 30),
        ("docs/guide/from-majel.md", "| ", 1, 30),
        ("docs/evidence/arrow.md", "| N", 2, 150),
        ("docs/evidence/majel.md", "| N", 2, 90),
    ];
    let mut missing = Vec::new();
    for (page, start, column, fewest) in pages {
        let text = read(page);
        let cells = text.lines().filter(|line| line.starts_with(start));
        let cells = cells.map(|line| line.trim_matches('|').split('|').nth(column).unwrap_or_default());
        // Variables of the environment are no names of Rust.
        let codes = cells.flat_map(code).filter(|code| !code.starts_with("CROSSDOCK_"));
        let names: Vec<_> = codes.flat_map(|code| named(code.trim_end_matches('!'))).collect();
        assert!(names.len() >= fewest, "{page} names {}", names.len());
        let unknown = names.into_iter().filter(|&(owner, name)| !is_public(owner, name));
        missing.extend(unknown.map(|(owner, name)| format!("{page}: {}::{name}", owner.unwrap_or_default())));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(
        !is_public(Some("Buffer"), "slyce") && !is_public(Some("Pool"), "slice") && !is_public(None, "slyce")
    );
}

#[test]
fn code_names_methods_types_and_functions() {
    let found = named("Array::<f32, 2>::zeros(([2, 3], Order::ColumnMajor))?.slice(s![..])");
    assert_eq!(
        found,
        [
            (None, "Array"),
            (Some("Array"), "zeros"),
            (None, "Order"),
            (Some("Order"), "ColumnMajor"),
            (None, "slice")
        ]
    );
}
