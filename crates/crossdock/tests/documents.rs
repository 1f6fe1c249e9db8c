//! Paths, links, identifiers, suites, and the version of Rust in the documents exist.

#[path = "documents/design.rs"]
mod design;
#[path = "documents/features.rs"]
mod features;
#[path = "documents/surface.rs"]
mod surface;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents at the root, and all pages in `docs` and its folders.
fn documents() -> Vec<String> {
    let at_root =
        ["README.md", "ARCHITECTURE.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "COMPARE.md"];
    let pages = ["docs", "docs/design", "docs/guide", "docs/evidence"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(move |name| format!("{folder}/{}", name.to_str().unwrap()))
    });
    let pages = pages.filter(|name| name.ends_with(".md"));
    let mut documents: Vec<String> = at_root.map(str::to_owned).into_iter().chain(pages).collect();
    documents.sort();
    assert!(documents.len() > at_root.len());
    documents
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(document: &str) -> String {
    fs::read_to_string(root().join(document)).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// The prose of a document, without its fenced blocks (which other tests run or compare).
fn prose(document: &str) -> String {
    let text = read(document);
    let outside = text.split("```").step_by(2);
    outside.collect::<Vec<_>>().join("\n")
}

/// The text between backticks.
fn code(prose: &str) -> Vec<&str> {
    prose.split('`').skip(1).step_by(2).collect()
}

/// The fragment by which a link reaches a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || [' ', '-', '_'].contains(&c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The sources in Rust, Ruby and Python, without build outputs.
fn sources() -> Vec<PathBuf> {
    let mut folders = ["crates", "bench", "xtask", "fuzz/src", "fuzz/fuzz_targets", "bindings"]
        .map(|folder| root().join(folder))
        .to_vec();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders
                    .extend(Some(path).filter(|path| !path.ends_with("target") && !path.ends_with("vendor")));
            } else if is_source(&path) && !path.ends_with("documents.rs") {
                sources.push(path);
            }
        }
    }
    sources
}

/// Every word of every source, and the sources' names.
fn words() -> HashSet<String> {
    let mut words = HashSet::new();
    for path in sources() {
        words.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
        let text = fs::read_to_string(path).unwrap();
        words.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
    }
    words
}

/// The comment lines of the Rust sources: path and number, the line, and whether it is in a block
/// of code.
fn comments() -> Vec<(String, String, bool)> {
    let mut comments = Vec::new();
    for path in sources().into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs")) {
        let (mut is_code, mut is_python) = (false, false);
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let Some(text) = line.trim_start().strip_prefix("//") else {
                (is_code, is_python) = (false, false);
                continue;
            };
            let is_fence = text.trim_start_matches(['/', '!', ' ']).starts_with("```");
            is_code ^= is_fence;
            let content = text.trim_start_matches(['/', '!', ' ']);
            is_python = content.starts_with(">>> ") || is_python && !content.is_empty();
            let place = format!("{}:{}", path.strip_prefix(root()).unwrap().display(), number + 1);
            comments.push((place, line.to_owned(), is_code || is_fence || is_python));
        }
    }
    assert!(comments.len() > 10_000, "{} lines of comments were seen", comments.len());
    comments
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|kind| ["rs", "rb", "py"].iter().any(|&known| kind == known))
}

#[test]
fn the_readme_says_whether_cuda_ran_on_hardware() {
    let has_record = root().join("bench/record/gpu.csv").exists();
    let says_not = prose("README.md").contains("CUDA has not run on hardware");
    assert_eq!(says_not, !has_record, "bench/record/gpu.csv exists: {has_record}");
}

/// The example of the README, which reads a file below the current folder.
#[cfg(feature = "ndarray-0_17")]
mod photo {
    include!("../../../docs/photo.rs");

    pub(crate) fn run() -> crossdock::Result<()> {
        main()
    }
}

#[test]
#[cfg(feature = "ndarray-0_17")]
fn the_example_of_the_readme_runs() {
    let example = include_str!("../../../docs/photo.rs");
    let (_, program) = example.split_once("\n\n").unwrap();
    assert!(read("README.md").contains(&format!("```rust\n{program}```")), "{program}");
    // The other tests of this program use absolute paths.
    std::env::set_current_dir(root()).unwrap();
    photo::run().unwrap();
}

#[test]
fn links_lead_somewhere() {
    let mut links = 0;
    for document in &documents() {
        let text = read(document);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            links += 1;
            let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
            let page = root().join(document);
            let page = if path.is_empty() { page } else { page.parent().unwrap().join(path) };
            assert!(page.exists(), "{document} links to {target}");
            if !fragment.is_empty() {
                let text = fs::read_to_string(&page).unwrap();
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| anchor(line.trim_start_matches(['#', ' '])));
                assert!(anchors.any(|found| found == fragment), "{document} links to {target}");
            }
        }
    }
    assert!(links >= 6, "{links} links were seen");
}

#[test]
fn paths_exist() {
    let mut paths = 0;
    for document in &documents() {
        let text = prose(document);
        for token in code(&text) {
            let is_path =
                token.contains('/') && !token.contains([' ', '<', '*', '=', '(']) && !token.contains("::");
            // Names of schemas in JSON, such as `crossdock.array/1`, are no paths.
            let is_schema = token.starts_with("crossdock.");
            if !is_path || is_schema || token == "&[T]" {
                continue;
            }
            paths += 1;
            let places = ["", "crates/crossdock/src"].map(|place| root().join(place).join(token));
            assert!(places.iter().any(|place| place.exists()), "{document} names the path {token}");
        }
    }
    assert!(paths >= 15, "{paths} paths were seen");
}

#[test]
fn identifiers_exist() {
    let words = words();
    let mut seen = 0;
    for document in &documents() {
        let text = prose(document);
        for token in code(&text) {
            let plain =
                |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
            let parts: Vec<&str> = token.trim_end_matches("()").split("::").collect();
            let named = parts.len() > 1 || token.ends_with("()") || token.starts_with(char::is_uppercase);
            // Names of Ruby's header are looked up there, by the gem's test of the guide.
            if !named || token.starts_with("RUBY_") || !parts.iter().all(|part| plain(part)) {
                continue;
            }
            seen += 1;
            for part in parts {
                assert!(words.contains(part), "{document} names {token}, but no source has {part}");
            }
        }
    }
    assert!(seen >= 25, "{seen} identifiers were seen");
}

/// Beginnings of SAFETY lines that defer to another place and name no fact.
const DEFERRING: [&str; 7] =
    ["as above", "as before", "as for", "see above", "same as", "likewise", "the caller's word"];

#[test]
fn safety_lines_name_a_fact() {
    let mut deferring = Vec::new();
    for (place, line, _) in comments() {
        let Some((_, reason)) = line.split_once("SAFETY: ") else { continue };
        if DEFERRING.iter().any(|phrase| reason.to_lowercase().starts_with(phrase)) {
            deferring.push(format!("{place}: {reason}"));
        }
    }
    assert!(deferring.is_empty(), "{}", deferring.join("\n"));
}

#[test]
fn comments_have_at_most_100_columns() {
    let is_too_long = |line: &str| {
        let text = line.trim_start().trim_start_matches(['/', '!', ' ']);
        // Rows of tables, and links, are not wrapped.
        line.chars().count() > 100 && !text.starts_with('|') && !text.contains("://")
    };
    let long: Vec<String> = comments()
        .into_iter()
        .filter(|(_, line, is_code)| !is_code && is_too_long(line))
        .map(|(place, line, _)| format!("{place}: {} columns", line.chars().count()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_version_of_rust_is_the_workspaces() {
    let manifest = read("Cargo.toml");
    let stated =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(read("README.md").contains(&format!("Rust {stated} or newer")), "{stated}");
}

/// `ndarray-0_17` exports types of `ndarray` 0.17, and of no other version.
#[test]
fn a_version_in_the_name_of_a_feature_is_that_of_its_crates() {
    let manifest = read("crates/crossdock/Cargo.toml");
    let (features, rest) = manifest.split_once("[features]").unwrap().1.split_once("[dependencies]").unwrap();
    let dependencies = rest.split_once("\n[").unwrap().0;
    let version = |name: &str| {
        let line = dependencies.lines().find(|line| line.split(" = ").next() == Some(name));
        line.unwrap_or_else(|| panic!("no dependency {name}")).split('"').nth(1).unwrap()
    };
    let mut versioned = 0;
    for line in features.lines() {
        let Some((feature, brings)) = line.split_once(" = ") else { continue };
        let Some((name, number)) = feature.rsplit_once('-') else { continue };
        if !number.chars().all(|c| c.is_ascii_digit() || c == '_') {
            continue;
        }
        versioned += 1;
        // Only crates of that name are in the interface: `arrow-60` uses several, `serde` is a
        // tool.
        let first = name.split('-').next().unwrap();
        let crates = brings.split('"').filter_map(|word| word.strip_prefix("dep:"));
        let mut crates = crates.filter(|dependency| dependency.starts_with(first)).peekable();
        assert!(crates.peek().is_some(), "{feature} brings no crate of its name");
        for dependency in crates {
            let found = version(dependency);
            let stated = number.replace('_', ".");
            let fits =
                found.strip_prefix(&stated).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            assert!(fits, "{feature} brings {dependency} {found}");
        }
    }
    assert!(versioned >= 10, "{versioned} features have a version");
}
