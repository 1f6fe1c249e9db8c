//! The rule between layers: which paths the files of a layer may contain.
//!
//! It recognises paths of the form `crate::layer::…`, so it refuses every other spelling that could
//! cross a border.

use std::path::{Path, PathBuf};

use crate::tokens::{Token, test_items, text, tokens, without_tests};

/// A layer, and the layers that it may use.
pub(crate) type Layer = (&'static str, &'static [&'static str]);

/// A macro and its layer. Exported macros live at the root, whatever layer they belong to.
pub(crate) struct Macro {
    name: String,
    layer: String,
}

pub(crate) fn stem(path: &Path) -> String {
    path.with_extension("").to_string_lossy().into_owned()
}

/// The table of layers, and the macros that they export.
pub(crate) struct Rules<'a> {
    pub(crate) layers: &'a [Layer],
    pub(crate) macros: Vec<Macro>,
}

impl Rules<'_> {
    pub(crate) fn allowed(&self, layer: &str) -> Option<&'static [&'static str]> {
        self.layers.iter().find(|(name, _)| *name == layer).map(|(_, allowed)| *allowed)
    }

    /// Why `layer` must not write `crate::used`, if it must not.
    fn refusal(&self, layer: &str, used: &str) -> Option<String> {
        let exported = self.macros.iter().find(|exported| exported.name == used);
        let target = exported.map_or(used, |exported| exported.layer.as_str());
        if self.allowed(target).is_none() {
            return Some(format!("`crate::{used}`: name it by its layer, `crate::layer::{used}`"));
        }
        let is_allowed =
            target == layer || self.allowed(layer).is_some_and(|allowed| allowed.contains(&target));
        (!is_allowed).then(|| format!("`{layer}` must not use `{target}`"))
    }

    /// The violations in `source`, one per line. `file` is its path below `src`.
    pub(crate) fn check(&self, file: &Path, source: &str) -> Vec<String> {
        let parts: Vec<String> = file.iter().map(|part| stem(part.as_ref())).collect();
        let layer = parts[0].as_str();
        if self.allowed(layer).is_none() {
            return vec![format!("{}: `{layer}` has no row in the table of layers", file.display())];
        }
        let protocol = protocol(&parts);
        let is_door = is_door(&parts, protocol);
        let mut violations = Vec::new();
        let tokens = without_tests(&tokens(source));
        let mut refuse =
            |line: usize, text: String| violations.push(format!("{}:{line}: {text}", file.display()));
        // The open inline modules, as the depths of braces at which they end.
        let (mut depth, mut inline) = (0, Vec::new());
        for (i, token) in tokens.iter().enumerate() {
            let word = |ahead: usize| text(&tokens, i + ahead);
            let before = if i == 0 { "" } else { tokens[i - 1].text };
            match token.text {
                "{" => {
                    if i >= 2 && tokens[i - 2].is("mod") {
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
                    refuse(
                        token.line,
                        "`super` leaves the layer or the protocol; spell it `crate::…`".into(),
                    );
                }
                "crossdock" if word(1) == "::" && before != "::" => {
                    refuse(token.line, "the crate's own name hides the layer; spell it `crate::…`".into());
                }
                "crate" if word(1) == "as" => {
                    refuse(token.line, "`crate` under another name hides the layer".into());
                }
                "crate" if word(1) == "::" => match word(2) {
                    "{" => {
                        refuse(token.line, "a group over layers: one `use crate::layer::…` for each".into());
                    }
                    "*" => {
                        refuse(token.line, "a glob over layers: one `use crate::layer::…` for each".into());
                    }
                    used => {
                        if let Some(text) = self.refusal(layer, used) {
                            refuse(token.line, text);
                        }
                    }
                },
                _ => {}
            }
            if let Some(protocol) = protocol
                && token.is("crate")
                && word(2) == "exchange"
            {
                let (family, other) = (word(4), word(6));
                let whole = family == "{" || other == "{" || family == "*" || other == "*";
                let own = family == "protocol" && other == protocol;
                let foreign = ["protocol", "crates", "files"].contains(&family) && !own;
                if whole || foreign {
                    let text = format!("the protocol `{protocol}` must not use `{family}::{other}`");
                    refuse(token.line, text);
                }
            }
        }
        violations
    }
}

/// The protocol that a file is part of: `exchange/protocol/dlpack/import.rs` and
/// `exchange/protocol/dlpack.rs` are part of `dlpack`.
fn protocol(parts: &[String]) -> Option<&str> {
    match parts {
        [exchange, family, name, ..] if exchange == "exchange" && family == "protocol" && name != "mod" => {
            Some(name)
        }
        _ => None,
    }
}

/// Whether `super` at the top of a file lies outside of its layer, or of its protocol.
fn is_door(parts: &[String], protocol: Option<&str>) -> bool {
    match (parts.len(), parts.last().map(String::as_str)) {
        (1, _) => true,
        (2, Some("mod")) => true,
        (3, Some(name)) => protocol == Some(name),
        (4, Some("mod")) => protocol.is_some(),
        _ => false,
    }
}

/// The macros that `source` defines.
pub(crate) fn macros(file: &Path, source: &str) -> Vec<Macro> {
    let tokens = tokens(source);
    let defined = tokens.windows(3).filter(|three| three[0].is("macro_rules") && three[1].is("!"));
    let layer = stem(file.iter().next().unwrap_or_default().as_ref());
    defined.map(|three| Macro { name: three[2].text.to_owned(), layer: layer.clone() }).collect()
}

/// The modules that `lib.rs` declares for more than tests.
pub(crate) fn declared(root: &str) -> Vec<String> {
    let tokens = without_tests(&tokens(root));
    let declared = tokens.windows(3).filter(|three| is_declaration(three));
    declared.map(|three| three[1].text.to_owned()).collect()
}

fn is_declaration(three: &[Token<'_>]) -> bool {
    three[0].is("mod") && three[2].is(";")
}

/// The files and folders that `source` declares as modules for tests only:
/// `#[cfg(test)] mod name;`.
pub(crate) fn test_files(file: &Path, source: &str) -> Vec<PathBuf> {
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") => file.parent().unwrap_or(Path::new("")).to_owned(),
        _ => file.with_extension(""),
    };
    let all = tokens(source);
    let mut found = Vec::new();
    for (start, end) in test_items(&all) {
        if let Some([_, name, _]) = all[start..end].windows(3).find(|three| is_declaration(three)) {
            found.push(folder.join(name.text));
            found.push(folder.join(format!("{}.rs", name.text)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fictitious layers: the rules are tested without the library's table.
    const LAYERS: &[Layer] = &[
        ("error", &[]),
        ("memory", &["error"]),
        ("element", &["error", "memory"]),
        ("layout", &["error"]),
        ("kernel", &["error", "memory", "element", "layout"]),
        ("array", &["error", "memory", "element", "layout", "kernel"]),
        ("view", &["error", "memory", "element", "layout", "kernel", "array"]),
        ("exchange", &["error", "memory", "element", "layout", "kernel", "array", "view"]),
    ];

    /// The violations of `source` in a crate whose layout exports the macro `s!`.
    fn violations(file: &str, source: &str) -> Vec<String> {
        let macros = macros(Path::new("layout/slice.rs"), "#[macro_export] macro_rules! s { () => {} }");
        Rules { layers: LAYERS, macros }.check(Path::new(file), source)
    }

    #[test]
    fn a_planted_violation_is_seen() {
        let planted = [
            ("memory/word.rs", "use crate::layout::Dim;"),
            ("memory/word.rs", "fn f() { crate::exchange::f() }"),
            ("layout/span.rs", "use crate::buffer::Buffer;"),
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
            (
                "memory/word.rs",
                "use super::place::Place; pub(crate) fn f() {} pub(in crate::memory) fn g() {}",
            ),
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
            (
                "kernel/copy.rs",
                "use crate::layout::Layout; use crate::element::DType; use crate::memory::racy;",
            ),
            ("exchange/protocol/mod.rs", "pub mod dlpack; pub mod pep3118;"),
            (
                "exchange/protocol/dlpack/import.rs",
                "use crate::exchange::protocol::dlpack::abi; use super::abi;",
            ),
            ("exchange/protocol/dlpack/import.rs", "use crate::exchange::Foreign; use crate::view::Request;"),
        ];
        for (file, source) in fine {
            assert_eq!(violations(file, source), Vec::<String>::new(), "{file}: {source}");
        }
    }

    #[test]
    fn a_violation_names_its_file_and_line() {
        let source = "//! Text.\n\nconst TEXT: &str = \"\n\";\nuse crate::array::Array;\n";
        assert_eq!(violations("layout/dim.rs", source), ["layout/dim.rs:5: `layout` must not use `array`"]);
    }

    #[test]
    fn a_declaration_says_which_files_are_for_tests() {
        let source = "mod word; #[cfg(test)] mod tests; #[cfg(not(test))] mod other;";
        assert_eq!(
            test_files(Path::new("memory/mod.rs"), source),
            [PathBuf::from("memory/tests"), PathBuf::from("memory/tests.rs")]
        );
        assert_eq!(test_files(Path::new("memory/word.rs"), source)[1], PathBuf::from("memory/word/tests.rs"));
        assert_eq!(
            declared("mod error; pub mod memory; #[cfg(test)] mod tests; mod inline {}"),
            ["error", "memory"]
        );
    }
}
