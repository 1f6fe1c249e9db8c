//! The crate's table of features, and the manifests' settings for its documentation, are complete.

use crate::read;

/// A feature, the crates that it brings in, and whether it is on by default.
type Feature = (String, Vec<String>, bool);

fn sorted(mut features: Vec<Feature>) -> Vec<Feature> {
    features.iter_mut().for_each(|(_, crates, _)| crates.sort());
    features.sort();
    features
}

/// The words between two delimiters of one kind.
fn between(text: &str, delimiter: char) -> impl Iterator<Item = &str> {
    text.split(delimiter).skip(1).step_by(2)
}

/// The section `[features]` of a manifest.
fn declared(manifest: &str) -> Vec<Feature> {
    let section = manifest.split_once("[features]\n").unwrap().1.split("\n[").next().unwrap();
    let entries: Vec<(&str, &str)> = section
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let (_, default) = entries.iter().find(|(name, _)| *name == "default").unwrap();
    let named = entries.iter().filter(|(name, _)| *name != "default");
    named
        .map(|&(name, brings)| {
            let crates = between(brings, '"').filter_map(|word| word.strip_prefix("dep:"));
            let is_default = between(default, '"').any(|word| word == name);
            (name.to_owned(), crates.map(str::to_owned).collect(), is_default)
        })
        .collect()
}

/// The rows of the table below the heading "Features".
fn listed(library: &str) -> Vec<Feature> {
    let section = library.split_once("\n//! # Features\n").unwrap().1;
    let rows = section.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let [name, adds, crates, default] = cells[..] else { panic!("{row}") };
        assert!(!adds.is_empty() && ["on", "off"].contains(&default), "{row}");
        let crates = between(crates, '`').map(str::to_owned).collect();
        (name.trim_end_matches('`').to_owned(), crates, default == "on")
    })
    .collect()
}

#[test]
fn the_table_of_features_is_the_manifests() {
    let declared = sorted(declared(&read("crates/crossdock/Cargo.toml")));
    let listed = sorted(listed(&read("crates/crossdock/src/lib.rs")));
    for feature in &declared {
        assert!(listed.contains(feature), "crates/crossdock/src/lib.rs lacks {feature:?}");
    }
    for feature in &listed {
        assert!(declared.contains(feature), "crates/crossdock/Cargo.toml lacks {feature:?}");
    }
    assert_eq!(listed.len(), declared.len(), "a feature is listed twice");
}

/// The crates that a manifest needs without features.
fn needed(manifest: &str) -> Vec<&str> {
    let sections = manifest.split("\n[").filter(|section| {
        let heading = section.lines().next().unwrap_or_default();
        heading.ends_with("dependencies]") && !heading.contains("dev-")
    });
    let lines = sections.flat_map(|section| section.lines().skip(1));
    let needed = lines.filter(|line| !line.contains("optional = true"));
    needed.filter_map(|line| Some(line.split_once(" = ")?.0)).collect()
}

#[test]
fn what_the_library_needs_without_features_is_listed() {
    let manifest = read("crates/crossdock/Cargo.toml");
    let library = read("crates/crossdock/src/lib.rs");
    let (_, list) = library.split_once("//! Without features, the crate depends on ").unwrap();
    let listed: Vec<_> = between(list.split(". ").next().unwrap(), '`').collect();
    assert_eq!(listed, needed(&manifest));
}

#[test]
fn a_published_librarys_documentation_names_the_features_of_its_items() {
    for name in ["crossdock", "crossdock-capi", "crossdock-cuda", "crossdock-derive", "crossdock-opencl"] {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let settings = manifest.split_once("[package.metadata.docs.rs]\n");
        let settings = settings.and_then(|(_, rest)| rest.split("\n\n").next());
        let wanted = "all-features = true\nrustdoc-args = [\"--cfg\", \"docsrs\"]";
        assert_eq!(settings, Some(wanted), "{name}");
    }
    assert!(read("crates/crossdock/src/lib.rs").contains("#![cfg_attr(docsrs, feature(doc_cfg))]"));
}

#[test]
fn a_difference_in_the_features_is_seen() {
    let manifest =
        "[features]\ndefault = [\"b\"]\n# A comment.\na = [\"dep:y\", \"dep:x\", \"b\"]\nb = []\n\n[lints]\n";
    let table =
        "//! it\n//! # Features\n//!\n//! | `a` | more | `x`, `y` | off |\n//! | `b` | less |  | on |\n";
    let features = [("a", vec!["x", "y"], false), ("b", vec![], true)];
    let features: Vec<Feature> = features
        .map(|(name, crates, default)| {
            (name.to_owned(), crates.into_iter().map(str::to_owned).collect(), default)
        })
        .into();
    assert_eq!(sorted(declared(manifest)), features);
    assert_eq!(sorted(listed(table)), features);
    assert_ne!(sorted(listed(&table.replace("`y`", "`z`"))), features);
}
