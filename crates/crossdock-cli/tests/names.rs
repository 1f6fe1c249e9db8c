//! The names in the documents exist: Rust's in the listing of public names, Python's in the wheel's
//! stub, Ruby's in the gem's signatures, C's in the header, the command's in its help.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The texts between backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Modules, the names in each, and the types that have each name; the empty type is the module
/// itself.
struct Listing(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Listing {
    fn read() -> Self {
        let text = read("docs/surface.txt");
        let (mut modules, mut module, mut name) = (BTreeMap::new(), String::new(), String::new());
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            let line = line.trim();
            if indent == 0 {
                let path = line.split_once(": ").filter(|(path, _)| path.starts_with("crossdock"));
                module = path.map_or(String::new(), |(path, _)| path.to_owned());
                continue;
            }
            let names: &mut BTreeMap<String, BTreeSet<String>> = modules.entry(module.clone()).or_default();
            if indent == 2 {
                name = line.split([':', ' ']).next().unwrap_or_default().to_owned();
            }
            let types = line.rsplit_once(" [").and_then(|(_, types)| types.strip_suffix(']'));
            let of = names.entry(name.clone()).or_default();
            of.extend(types.unwrap_or("").split(' ').map(str::to_owned));
        }
        assert!(modules.len() > 10, "docs/surface.txt has no modules");
        Self(modules)
    }

    /// Whether `path` is `Type::name`, `module::name`, `Type`, `name` or a module.
    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches("()");
        let ends_with = |module: &str, end: &str| module == end || module.ends_with(&format!("::{end}"));
        if self.0.keys().any(|module| ends_with(module, path)) {
            return true;
        }
        let (before, name) = path.rsplit_once("::").unwrap_or(("", path));
        self.0.iter().any(|(module, names)| {
            let Some(types) = names.get(name) else { return false };
            types.contains(before) || types.contains("") && ends_with(module, before)
        })
    }
}

/// The lines of the class `name` in the wheel's stub, or those of its functions.
fn python(stub: &str, path: &str) -> bool {
    let (path, argument) = path.split_once('(').unwrap_or((path, ")"));
    let argument = argument.trim_end_matches(')').trim_end_matches('=');
    let (class, name) = path.split_once('.').map_or((None, path), |(class, name)| (Some(class), name));
    if class.is_none() && stub.contains(&format!("\nclass {name}")) {
        return true;
    }
    let (text, indent) = match class {
        None => (stub, ""),
        Some(class) => {
            let Some((_, body)) = stub.split_once(&format!("\nclass {class}")) else { return false };
            (body.split("\nclass ").next().unwrap_or_default(), "    ")
        }
    };
    let found = text.split(&format!("\n{indent}def {name}(")).nth(1);
    let signature = found.and_then(|rest| rest.split("...").next());
    signature.is_some_and(|signature| argument.is_empty() || signature.contains(&format!("{argument}:")))
}

fn ruby(signatures: &str, path: &str) -> bool {
    let (path, argument) = path.split_once('(').unwrap_or((path, ":)"));
    let argument = argument.trim_end_matches(')').trim_end_matches(':');
    let Some((_, name)) = path.split_once(['#', '.']) else {
        return signatures.contains(&format!("class {path}"));
    };
    let of_class = if path.contains('.') { "self." } else { "" };
    let starts = [format!("def {of_class}{name}:"), format!("attr_reader {name}:")];
    let mut lines = signatures.lines().map(str::trim);
    lines.any(|line| {
        let is_it = starts.iter().any(|start| line.starts_with(start));
        is_it && (argument.is_empty() || line.contains(&format!("?{argument}:")))
    })
}

fn command(words: &str) -> bool {
    let (command, option) = words.split_once(' ').unwrap_or((words, ""));
    let help = Command::new(env!("CARGO_BIN_EXE_crossdock")).args([command, "--help"]).output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    help.status.success() && text.contains(option)
}

#[test]
fn the_table_of_names_is_true() {
    let (listing, stub) = (Listing::read(), read("bindings/python/python/crossdock/__init__.pyi"));
    let folder = root().join("crates/crossdock-capi/include/crossdock");
    let chapters =
        fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let header: String = chapters.collect();
    let signatures: String = ["crossdock", "exchange", "adapters", "tables"]
        .map(|file| read(&format!("bindings/ruby/sig/{file}.rbs")))
        .concat();
    let words: BTreeSet<&str> = header.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let table = read("docs/names.md");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| concept"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(rows.len() > 30, "{} rows were seen", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let [concept, rust, py, rb, c, cli, ..] = row[..] else { panic!("a row has another form: {row:?}") };
        let mut check = |language: &str, cell: &str, exists: &dyn Fn(&str) -> bool| {
            assert!(cell == "—" || cell.contains('`'), "{concept}: {language} has neither a name nor a dash");
            let missing = names(cell).filter(|name| !exists(name));
            wrong.extend(missing.map(|name| format!("{concept}: {language} has no `{name}`")));
        };
        check("Rust", rust, &|name| listing.has(name));
        check("Python", py, &|name| python(&stub, name));
        check("Ruby", rb, &|name| ruby(&signatures, name));
        check("C", c, &|name| words.contains(name));
        check("the command", cli, &command);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_pages_for_authors_name_what_exists() {
    let listing = Listing::read();
    for page in ["docs/application.md", "docs/adapter.md"] {
        let text = read(page);
        let table: String = text.lines().filter(|line| line.starts_with("| ")).collect();
        let all: Vec<&str> = names(&table).collect();
        assert!(all.len() > 30, "{page} has {} names", all.len());
        let missing: Vec<_> = all.into_iter().filter(|name| !listing.has(name)).collect();
        assert!(missing.is_empty(), "{page} names what is not public: {missing:?}");
    }
}

#[test]
fn a_name_that_is_not_there_is_found_out() {
    let listing = Listing::read();
    assert!(listing.has("Array::slice") && listing.has("open()") && listing.has("files::open_all()"));
    assert!(!listing.has("Array::slyce") && !listing.has("Buffer::transpose") && !listing.has("files::pin"));
    let stub = read("bindings/python/python/crossdock/__init__.pyi");
    assert!(
        python(&stub, "asarray(copy=)") && !python(&stub, "asarray(kopy=)") && !python(&stub, "Array.cast")
    );
    assert!(ruby("\n  def cast: (dtype d, ?saturating: bool) -> Array", "Array#cast(saturating:)"));
    assert!(!ruby("\n  def cast: (dtype d) -> Array", "Array#cast(saturating:)"));
    assert!(command("convert --dtype") && !command("convert --dtipe"));
}
