//! The one-way rule: a layer uses only those below it, and no protocol uses another.
//!
//! The compiler does not hold modules of one crate apart, so this test reads the sources. It sees paths that are
//! spelt `crate::layer::…`, which is why every other spelling that could cross a border is refused here as well. Code
//! under `#[cfg(test)]` may use what it likes.

use std::fs;
use std::path::{Path, PathBuf};

/// Each layer, and the layers that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("memory", &["error"]),
    ("element", &["error", "memory"]),
    ("layout", &["error"]),
    ("kernel", &["error", "memory", "element", "layout"]),
    ("array", &["error", "memory", "element", "layout", "kernel"]),
    ("view", &["error", "memory", "element", "layout", "kernel", "array"]),
    ("exchange", &["error", "memory", "element", "layout", "kernel", "array", "view"]),
];

#[test]
fn no_layer_uses_one_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let root = fs::read_to_string(src.join("lib.rs")).unwrap();
    let layers = modules(&root);
    for layer in &layers {
        assert!(allowed(layer).is_some(), "`{layer}` has no row in the table of layers");
        let seen =
            files.iter().any(|file| file.iter().next().is_some_and(|part| stem(part.as_ref()) == *layer));
        assert!(seen, "not one file of the layer `{layer}` was found under {}", src.display());
    }
    assert!(layers.len() >= 4, "lib.rs has the layers {layers:?} only");

    let read = |file: PathBuf| (fs::read_to_string(src.join(&file)).unwrap(), file);
    let files: Vec<(String, PathBuf)> = files.into_iter().map(read).collect();
    let tests: Vec<PathBuf> = files.iter().flat_map(|(source, file)| test_files(file, source)).collect();
    let macros: Vec<Macro> = files.iter().flat_map(|(source, file)| macros(file, source)).collect();
    let mut violations = Vec::new();
    for (source, file) in &files {
        if file != Path::new("lib.rs") && !tests.iter().any(|test| file.starts_with(test)) {
            violations.extend(check(file, source, &macros));
        }
    }
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

/// What a cell, a static or a lock is set by once: a child that is forked meanwhile waits for a
/// thread that it does not have.
const ONCE: [&str; 4] = ["get_or_init(", "LazyLock", "call_once", "LazyCell"];

/// Where they may stand, and why.
const MAY_BLOCK: &[(&str, &str)] = &[("memory/fault.rs", "it is set under a lock that is held across forks")];

#[test]
fn cells_are_set_so_that_a_forked_child_does_not_wait_for_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let mut found = Vec::new();
    for file in &files {
        let source = fs::read_to_string(src.join(file)).unwrap();
        let code = source.split("#[cfg(test)]").next().unwrap().split("#[cfg(all(test").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        if lines.into_iter().any(|line| ONCE.iter().any(|word| line.contains(word))) {
            found.push(file.to_string_lossy().into_owned());
        }
    }
    let expected: Vec<&str> = MAY_BLOCK.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, expected, "use `memory::fork::get_or_make`");
}

/// All Rust files under `src`, as paths relative to it.
fn rust_files(src: &Path, files: &mut Vec<PathBuf>) {
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path.strip_prefix(src).unwrap().to_owned());
            }
        }
    }
    files.sort();
}

fn stem(path: &Path) -> String {
    path.with_extension("").to_string_lossy().into_owned()
}

// ===== the rules =====

/// A macro and its layer. Exported macros live at the root, whatever layer they are part of.
struct Macro {
    name: String,
    layer: String,
}

/// What `source` breaks, one line each. `file` is its path below `src`.
fn check(file: &Path, source: &str, macros: &[Macro]) -> Vec<String> {
    let parts: Vec<String> = file.iter().map(|part| stem(part.as_ref())).collect();
    let layer = parts[0].as_str();
    if allowed(layer).is_none() {
        return vec![format!("{}: `{layer}` has no row in the table of layers", file.display())];
    }
    // `exchange/protocol/dlpack/import.rs` and `exchange/protocol/dlpack.rs` belong to the protocol `dlpack`.
    let protocol = match &parts[..] {
        [exchange, family, name, ..] if exchange == "exchange" && family == "protocol" && name != "mod" => {
            Some(name.as_str())
        }
        _ => None,
    };
    // Where `super` at the top of the file already lies outside of the layer, or of the protocol.
    let is_door = match (parts.len(), parts.last().map(String::as_str)) {
        (1, _) => true,
        (2, Some("mod")) => true,
        (3, Some(name)) => protocol == Some(name),
        (4, Some("mod")) => protocol.is_some(),
        _ => false,
    };

    let mut violations = Vec::new();
    let tokens = without_tests(tokens(source));
    let mut refuse =
        |line: usize, text: String| violations.push(format!("{}:{line}: {text}", file.display()));
    // The inline modules that are open, as the depths of braces at which they end.
    let (mut depth, mut inline) = (0, Vec::new());
    for (i, token) in tokens.iter().enumerate() {
        let word = |ahead: usize| tokens.get(i + ahead).map_or("", |token| token.text.as_str());
        let before = if i == 0 { "" } else { tokens[i - 1].text.as_str() };
        match token.text.as_str() {
            "{" => {
                if i >= 2 && tokens[i - 2].text == "mod" {
                    inline.push(depth);
                }
                depth += 1;
            }
            "}" => {
                depth -= 1;
                if inline.last() == Some(&depth) {
                    inline.pop();
                }
            }
            "super" | "self" if word(1) == "::" && word(2) == "super" => {
                refuse(
                    token.line,
                    "`super` after another word hides which layer is meant; spell it `crate::…`".into(),
                );
            }
            "super" if word(1) == "::" && before != "::" && is_door && inline.is_empty() => {
                refuse(token.line, "`super` leaves the layer or the protocol; spell it `crate::…`".into());
            }
            "crossdock" if word(1) == "::" && before != "::" => {
                refuse(token.line, "the crate's own name hides the layer; spell it `crate::…`".into());
            }
            "crate" if word(1) == "as" => {
                refuse(token.line, "`crate` under another name hides the layer".into())
            }
            "crate" if word(1) == "::" => match word(2) {
                "{" => refuse(token.line, "a group over layers: one `use crate::layer::…` for each".into()),
                "*" => refuse(token.line, "a glob over layers: one `use crate::layer::…` for each".into()),
                used => {
                    if let Some(text) = uses(layer, used, macros) {
                        refuse(token.line, text);
                    }
                }
            },
            _ => {}
        }
        if let Some(protocol) = protocol
            && token.text == "crate"
            && word(2) == "exchange"
        {
            let (family, other) = (word(4), word(6));
            let whole = family == "{" || other == "{" || family == "*" || other == "*";
            let own = family == "protocol" && other == protocol;
            let foreign = ["protocol", "crates", "files"].contains(&family) && !own;
            if whole || foreign {
                refuse(token.line, format!("the protocol `{protocol}` must not use `{family}::{other}`"));
            }
        }
    }
    violations
}

fn allowed(layer: &str) -> Option<&'static [&'static str]> {
    LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, allowed)| *allowed)
}

/// Why `layer` must not write `crate::used`, if it must not.
fn uses(layer: &str, used: &str, macros: &[Macro]) -> Option<String> {
    let exported = macros.iter().find(|exported| exported.name == used);
    let target = exported.map_or(used, |exported| exported.layer.as_str());
    if allowed(target).is_none() {
        return Some(format!("`crate::{used}`: name it by its layer, `crate::layer::{used}`"));
    }
    let is_allowed = target == layer || allowed(layer).is_some_and(|allowed| allowed.contains(&target));
    (!is_allowed).then(|| format!("`{layer}` must not use `{target}`"))
}

/// The macros that `source` defines.
fn macros(file: &Path, source: &str) -> Vec<Macro> {
    let tokens = tokens(source);
    let defined = tokens.windows(3).filter(|three| three[0].text == "macro_rules" && three[1].text == "!");
    let layer = stem(file.iter().next().unwrap_or_default().as_ref());
    defined.map(|three| Macro { name: three[2].text.clone(), layer: layer.clone() }).collect()
}

/// The modules that `lib.rs` declares for more than tests.
fn modules(root: &str) -> Vec<String> {
    let tokens = without_tests(tokens(root));
    let declared = tokens.windows(3).filter(|three| three[0].text == "mod" && three[2].text == ";");
    declared.map(|three| three[1].text.clone()).collect()
}

/// The files and folders that `source` declares as modules for tests only: `#[cfg(test)] mod name;`.
fn test_files(file: &Path, source: &str) -> Vec<PathBuf> {
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib") => file.parent().unwrap_or(Path::new("")).to_owned(),
        _ => file.with_extension(""),
    };
    let all = tokens(source);
    let mut found = Vec::new();
    for (start, end) in test_items(&all) {
        let item = &all[start..end];
        let declared = item.windows(3).find(|three| three[0].text == "mod" && three[2].text == ";");
        if let Some([_, name, _]) = declared {
            found.push(folder.join(&name.text));
            found.push(folder.join(format!("{}.rs", name.text)));
        }
    }
    found
}

// ===== the scanner =====

/// A word, `::`, or one other character of code, and the line on which it stands.
#[derive(Clone, Debug, PartialEq)]
struct Token {
    line: usize,
    text: String,
}

/// The code of `source`: comments, strings and characters are left out.
fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut tokens, mut i) = (Vec::new(), 0);
    let mut line = 1;
    while i < chars.len() {
        let start = i;
        let mut text = None;
        match at(i) {
            '/' if at(i + 1) == '/' => i += chars[i..].iter().take_while(|&&c| c != '\n').count(),
            '/' if at(i + 1) == '*' => i = after_block_comment(&chars, i),
            '"' => i = after_string(&chars, i + 1),
            '\'' => i = after_quote(&chars, i),
            c if is_word(c) => {
                i += chars[i..].iter().take_while(|&&c| is_word(c)).count();
                let word: String = chars[start..i].iter().collect();
                let hashes = chars[i..].iter().take_while(|&&c| c == '#').count();
                if ["r", "br", "cr"].contains(&word.as_str()) && at(i + hashes) == '"' {
                    i = after_raw_string(&chars, i + hashes + 1, hashes);
                } else if word == "r" && hashes == 1 {
                    i += 1; // A raw identifier: the word after it counts.
                } else if !(["b", "c"].contains(&word.as_str()) && ['"', '\''].contains(&at(i))) {
                    text = Some(word);
                }
            }
            ':' if at(i + 1) == ':' => {
                i += 2;
                text = Some("::".to_owned());
            }
            c => {
                i += 1;
                text = (!c.is_whitespace()).then(|| c.to_string());
            }
        }
        tokens.extend(text.map(|text| Token { line, text }));
        line += chars[start..i.min(chars.len())].iter().filter(|&&c| c == '\n').count();
    }
    tokens
}

fn after_block_comment(chars: &[char], mut i: usize) -> usize {
    let mut depth = 0;
    while i < chars.len() {
        match chars[i..] {
            ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
            ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

fn after_string(chars: &[char], mut i: usize) -> usize {
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

fn after_raw_string(chars: &[char], mut i: usize, hashes: usize) -> usize {
    while i < chars.len() {
        let end = i + 1 + hashes;
        if chars[i] == '"' && end <= chars.len() && chars[i + 1..end].iter().all(|&c| c == '#') {
            return end;
        }
        i += 1;
    }
    i
}

/// After a character, or after the quote of a lifetime.
fn after_quote(chars: &[char], i: usize) -> usize {
    match chars[i..] {
        ['\'', '\\', _, ..] => {
            let body = i + 3;
            body + chars[body..].iter().take_while(|&&c| c != '\'').count() + 1
        }
        ['\'', _, '\'', ..] => i + 3,
        _ => i + 1,
    }
}

fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut from = 0;
    for (start, end) in test_items(&tokens) {
        if start >= from {
            kept.extend_from_slice(&tokens[from..start]);
            from = end;
        }
    }
    kept.extend_from_slice(&tokens[from..]);
    kept
}

/// The ranges of items under an attribute `#[cfg(…test…)]`, attribute included. `not(test)` and `any(test, …)` are no such
/// attributes: their items are in other builds too.
fn test_items(tokens: &[Token]) -> Vec<(usize, usize)> {
    let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token| token.text == text);
    let mut items = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if !(is(i, "#") && is(i + 1, "[") && is(i + 2, "cfg") && is(i + 3, "(")) {
            i += 1;
            continue;
        }
        let close = balanced(tokens, i + 1, "[", "]");
        let attribute = &tokens[i..close];
        let for_tests = attribute.iter().any(|token| token.text == "test");
        let negated = attribute
            .windows(3)
            .any(|three| three[0].text == "not" && three[1].text == "(" && three[2].text == "test");
        let widened = attribute.iter().any(|token| token.text == "any");
        if !for_tests || negated || widened {
            i = close;
            continue;
        }
        // The item ends with its braces, or with a semicolon before any.
        let mut end = close;
        while end < tokens.len() && !is(end, "{") && !is(end, ";") {
            end += 1;
        }
        let end = if is(end, "{") { balanced(tokens, end, "{", "}") } else { (end + 1).min(tokens.len()) };
        items.push((i, end));
        i = end;
    }
    items
}

/// The index after the bracket that closes the one at `i`.
fn balanced(tokens: &[Token], mut i: usize, open: &str, close: &str) -> usize {
    let mut depth = 0usize;
    while i < tokens.len() {
        if tokens[i].text == open {
            depth += 1;
        } else if tokens[i].text == close {
            depth -= 1;
        }
        i += 1;
        if depth == 0 {
            break;
        }
    }
    i
}

// ===== the scanner and the rules can fail =====

/// As the rules see `source` in a crate whose layout exports the macro `s!`.
fn violations(file: &str, source: &str) -> Vec<String> {
    let exported = macros(Path::new("layout/slice.rs"), "#[macro_export] macro_rules! s { () => {} }");
    check(Path::new(file), source, &exported)
}

#[test]
fn a_planted_violation_is_seen() {
    let planted = [
        ("memory/word.rs", "use crate::layout::Dim;"),
        ("memory/word.rs", "fn f() { crate::exchange::f() }"),
        ("layout/span.rs", "use crate::memory::Buffer;"),
        ("layout/span.rs", "use crate::element::DType;"),
        ("element/dtype.rs", "use crate::layout::Dim;"),
        ("error.rs", "use crate::memory::Conflict;"),
        ("kernel/copy.rs", "pub use crate :: array :: Array;"),
        ("array/raw.rs", "macro_rules! m { () => { $crate::view::f() } }"),
        ("view/mod.rs", "use crate::exchange;"),
        ("memory/word.rs", "fn f() { crate::s![..] }"),
        ("array/raw.rs", "fn f() { crate::unknown![..] }"),
        ("memory/word.rs", "use super::super::layout;"),
        ("memory/mod.rs", "use super::layout;"),
        ("memory/mod.rs", "use self::super::layout;"),
        ("memory/word.rs", "use crate::{error, layout};"),
        ("memory/word.rs", "use crate::*;"),
        ("memory/word.rs", "use crate as root;"),
        ("memory/word.rs", "use crate::Array;"),
        ("memory/word.rs", "use crossdock::layout::Dim;"),
        ("memory/word.rs", "#[cfg(not(test))] use crate::layout::Dim;"),
        ("memory/word.rs", "#[cfg(any(test, loom))] use crate::layout::Dim;"),
        ("memory/word.rs", "#[cfg(test)] mod tests {} use crate::layout::Dim;"),
        ("memory/word.rs", "#[cfg(test)] use std::fmt; use crate::layout::Dim;"),
        ("memory/word.rs", "/* a /* nested */ comment */ use crate::layout::Dim;"),
        ("memory/word.rs", r##"const A: &str = r#"" // "#; use crate::layout::Dim;"##),
        ("memory/word.rs", "const QUOTE: char = '\"'; use crate::layout::Dim;"),
        ("memory/word.rs", r"const QUOTE: char = '\''; use crate::layout::Dim;"),
        ("memory/word.rs", r#"const A: &str = "\""; use crate::layout::Dim;"#),
        ("memory/word.rs", "fn f<'a>(a: &'a str) -> &'a str { crate::layout::f(a) }"),
        ("exchange/protocol/dlpack/import.rs", "use crate::exchange::protocol::pep3118::f;"),
        ("exchange/protocol/dlpack.rs", "use crate::exchange::protocol::pep3118::f;"),
        ("exchange/protocol/dlpack.rs", "use super::pep3118::f;"),
        ("exchange/protocol/dlpack/mod.rs", "use super::pep3118::f;"),
        ("exchange/protocol/dlpack/mod.rs", "use crate::exchange::protocol::{dlpack, pep3118};"),
        ("exchange/protocol/dlpack/mod.rs", "use crate::exchange::files::npy;"),
        ("exchange/protocol/arrow/import.rs", "use crate::exchange::crates::arrow;"),
        ("registry.rs", ""),
    ];
    for (file, source) in planted {
        assert_eq!(violations(file, source).len(), 1, "{file}: {source}");
    }
}

#[test]
fn what_is_allowed_is_not_refused() {
    let fine = [
        ("memory/word.rs", "use crate::error::{Error, Kind}; use crate::memory::place::Place;"),
        ("memory/word.rs", "use super::place::Place; pub(crate) fn f() {} pub(in crate::memory) fn g() {}"),
        ("memory/mod.rs", "mod repr { use super::Place; }"),
        (
            "memory/word.rs",
            "//! See [`crate::layout::Dim`].\n/// `crate::view::f`\n// crate::array\nfn f() {}",
        ),
        ("memory/word.rs", r#"const A: &str = "use crate::layout::Dim;";"#),
        ("memory/word.rs", "#[cfg(test)]\nmod tests { use crate::array::Array; fn f() { if a { b } } }"),
        ("memory/word.rs", "#[cfg(all(test, loom))]\nmod tests { use crate::array::Array; }"),
        ("memory/word.rs", "#[cfg(all(test, not(loom)))]\nmod tests { use crate::array::Array; }"),
        ("array/mod.rs", "fn f() { crate::s![..] }"),
        ("layout/mod.rs", "pub use crate::s;"),
        ("kernel/copy.rs", "use crate::layout::Layout; use crate::element::DType; use crate::memory::racy;"),
        ("exchange/protocol/mod.rs", "pub mod dlpack; pub mod pep3118;"),
        ("exchange/protocol/dlpack/import.rs", "use crate::exchange::protocol::dlpack::abi; use super::abi;"),
        ("exchange/protocol/dlpack/import.rs", "use crate::exchange::Foreign; use crate::view::Request;"),
    ];
    for (file, source) in fine {
        assert_eq!(violations(file, source), Vec::<String>::new(), "{file}: {source}");
    }
}

#[test]
fn a_violation_is_told_with_its_file_and_line() {
    let source = "//! Text.\n\nconst TEXT: &str = \"\n\";\nuse crate::array::Array;\n";
    assert_eq!(violations("layout/dim.rs", source), ["layout/dim.rs:5: `layout` must not use `array`"]);
}

#[test]
fn files_of_tests_are_known_by_their_declaration() {
    let declared = "mod word; #[cfg(test)] mod tests; #[cfg(not(test))] mod other;";
    assert_eq!(
        test_files(Path::new("memory/mod.rs"), declared),
        [PathBuf::from("memory/tests"), PathBuf::from("memory/tests.rs")]
    );
    assert_eq!(test_files(Path::new("memory/word.rs"), declared)[1], PathBuf::from("memory/word/tests.rs"));
    assert_eq!(
        modules("mod error; pub mod memory; #[cfg(test)] mod tests; mod inline {}"),
        ["error", "memory"]
    );
}
