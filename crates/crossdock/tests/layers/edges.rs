//! The edges of the graph: which file names items of which other file.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::modules::{Crate, Definition};
use crate::tokens::{Token, text};

/// An edge: its first line, and the path on it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mention {
    pub(crate) line: usize,
    pub(crate) path: String,
}

/// For each file, by its number, the files that define what it names.
pub(crate) type Edges = BTreeMap<usize, BTreeMap<usize, Mention>>;

/// The target of a path.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Target {
    /// An item in this file.
    Item(usize),
    Module(usize),
}

/// The names that a path has passed, so that recursive imports end.
type Seen = HashSet<(usize, String)>;

/// The edges of a crate.
///
/// Private imports and paths in code are edges. A re-export or a declaration of a module is none,
/// until the file itself uses the name.
///
/// Method calls name no file and are not edges: the import of the type is.
pub(crate) fn edges(whole: &Crate<'_>) -> Edges {
    let mut edges = Edges::new();
    for (module, own) in whole.modules.iter().enumerate() {
        let mut note = |line: usize, path: &str, targets: Vec<Target>| {
            for target in targets {
                if let Target::Item(file) = target
                    && file != own.file
                {
                    let mention = || Mention { line, path: path.to_owned() };
                    edges.entry(own.file).or_default().entry(file).or_insert_with(mention);
                }
            }
        };
        for leaf in own.uses.iter().filter(|leaf| !leaf.is_public && !leaf.is_glob()) {
            note(leaf.line, &leaf.path.join("::"), resolve(whole, module, &leaf.path));
        }
        let names = names(whole, module);
        for (i, token) in own.code.iter().enumerate() {
            if let Some(path) = path_at(&own.code, i, &names) {
                note(token.line, &path.join("::"), resolve(whole, module, &path));
            }
        }
    }
    edges
}

/// The names of a module whose uses in code can be edges: modules, re-exports, and the names behind
/// globs. Private imports of items are edges already.
fn names(whole: &Crate<'_>, module: usize) -> BTreeSet<String> {
    let own = &whole.modules[module];
    let mut names = BTreeSet::new();
    let is_here =
        |name: &String| own.definitions.get(name).is_some_and(|all| all.contains(&Definition::Here));
    for name in own.definitions.keys() {
        let is_public = own.uses.iter().any(|leaf| leaf.is_public && leaf.name == *name);
        let leads_out = |target: Target| match target {
            Target::Module(_) => true,
            Target::Item(file) => is_public && file != own.file,
        };
        if resolve(whole, module, std::slice::from_ref(name)).into_iter().any(leads_out) {
            names.insert(name.clone());
        }
    }
    for from in globs(whole, module) {
        all_names(whole, from, &mut names, &mut HashSet::new());
    }
    names.retain(|name| !is_here(name));
    names
}

/// The modules whose names a module imports by globs.
fn globs(whole: &Crate<'_>, module: usize) -> Vec<usize> {
    let globs = whole.modules[module].uses.iter().filter(|leaf| leaf.is_glob());
    let targets = globs.flat_map(|leaf| resolve(whole, module, &leaf.path));
    let modules = targets.filter_map(|target| match target {
        Target::Module(from) => Some(from),
        Target::Item(_) => None,
    });
    modules.collect()
}

/// All names of a module, through globs.
fn all_names(whole: &Crate<'_>, module: usize, names: &mut BTreeSet<String>, seen: &mut HashSet<usize>) {
    if seen.insert(module) {
        names.extend(whole.modules[module].definitions.keys().cloned());
        for from in globs(whole, module) {
            all_names(whole, from, names, seen);
        }
    }
}

/// The path that starts at a token, if it can lead out of the file: it begins with `crate`, `super`
/// or `self`, or with one of `names`.
fn path_at(code: &[Token<'_>], start: usize, names: &BTreeSet<String>) -> Option<Vec<String>> {
    let first = code[start].text;
    let before = if start == 0 { "" } else { code[start - 1].text };
    if !code[start].is_word() || [".", "::", "fn"].contains(&before) {
        return None;
    }
    let is_rooted = ["crate", "super", "self"].contains(&first) && text(code, start + 1) == "::";
    if !is_rooted && !names.contains(first) {
        return None;
    }
    let mut path = vec![first.to_owned()];
    let mut i = start + 1;
    while text(code, i) == "::" && code.get(i + 1).is_some_and(Token::is_word) {
        path.push(code[i + 1].text.to_owned());
        i += 2;
    }
    // A local variable or a field may have the name of a function.
    let is_called = ["(", "!", "::"].contains(&text(code, i));
    let is_type = first.starts_with(|letter: char| letter.is_ascii_uppercase());
    (path.len() > 1 || is_type || is_called).then_some(path)
}

/// The targets of a path, seen from a module; none for paths into other crates.
fn resolve(whole: &Crate<'_>, module: usize, path: &[String]) -> Vec<Target> {
    resolve_through(whole, module, path, &mut Seen::new())
}

fn resolve_through(whole: &Crate<'_>, module: usize, path: &[String], seen: &mut Seen) -> Vec<Target> {
    let mut rest = path;
    let mut from = vec![Target::Module(module)];
    let mut is_ours = false;
    while let [word, tail @ ..] = rest {
        let base = match (word.as_str(), from.as_slice()) {
            ("crate", _) => Some(0),
            ("self", &[Target::Module(at)]) => Some(at),
            ("super", &[Target::Module(at)]) => whole.modules[at].parent,
            _ => break,
        };
        let Some(base) = base else { return Vec::new() };
        (from, rest, is_ours) = (vec![Target::Module(base)], tail, true);
    }
    for word in rest {
        let mut next = BTreeSet::new();
        let has_module = from.iter().any(|target| matches!(target, Target::Module(_)));
        for &target in &from {
            match target {
                // A variant of an enum or a function of a type is in the file of the type.
                Target::Item(_) if !has_module => next.extend([target]),
                // A function of the same name as a module.
                Target::Item(_) => {}
                Target::Module(at) => next.extend(look_up(whole, at, word, seen)),
            }
        }
        if next.is_empty() {
            // A macro may have defined the item, which is then in the file of the module.
            return match from.first() {
                Some(&Target::Module(at)) if is_ours => vec![Target::Item(whole.modules[at].file)],
                _ => Vec::new(),
            };
        }
        (from, is_ours) = (next.into_iter().collect(), true);
    }
    from
}

/// The targets of a name of a module.
fn look_up(whole: &Crate<'_>, module: usize, name: &str, seen: &mut Seen) -> Vec<Target> {
    let is_first = seen.insert((module, name.to_owned()));
    let own = &whole.modules[module];
    let mut found = Vec::new();
    for definition in own.definitions.get(name).into_iter().flatten() {
        match definition {
            Definition::Here => found.push(Target::Item(own.file)),
            Definition::Module(number) => found.push(Target::Module(*number)),
            // `pub use a::a;` beside `mod a;` leads through the module of the same name.
            Definition::Import(path) if is_first => found.extend(resolve_through(whole, module, path, seen)),
            Definition::Import(_) => {}
        }
    }
    if found.is_empty() && is_first {
        for leaf in own.uses.iter().filter(|leaf| leaf.is_glob()) {
            for target in resolve_through(whole, module, &leaf.path, seen) {
                if let Target::Module(from) = target {
                    found.extend(look_up(whole, from, name, seen));
                }
            }
        }
    }
    if is_first {
        seen.remove(&(module, name.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::Source;

    /// The edges of a crate of these files, as `from:line > to`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |&(file, text): &(&str, &str)| Source { file: file.into(), text: text.to_owned() };
        let files: Vec<Source> = files.iter().map(source).collect();
        let edges = edges(&Crate::read(&files));
        let name = |file: usize| files[file].file.display().to_string();
        let edge = |(&from, to): (&usize, &BTreeMap<usize, Mention>)| {
            let lines = to.iter().map(|(&to, at)| format!("{}:{} > {}", name(from), at.line, name(to)));
            lines.collect::<Vec<_>>()
        };
        edges.iter().flat_map(edge).collect()
    }

    /// The edges of `c.rs`, beside `a/mod.rs`, which re-exports what `a/b.rs` has.
    fn found_in(code: &str) -> Vec<String> {
        found(&[
            (
                "a/b.rs",
                "pub struct B; pub enum Kind { One } pub fn f() {} pub(crate) use g; macro_rules! g { () => {} }",
            ),
            ("a/mod.rs", "mod b; pub use b::{B, f as h}; pub(crate) use self::b::*; pub fn own() {}"),
            ("c.rs", code),
            ("d.rs", "pub fn d() {} pub(crate) mod e { pub fn f() {} }"),
            ("lib.rs", "mod a; mod c; mod d; pub use a::B;"),
        ])
    }

    #[test]
    fn a_path_leads_to_the_file_that_defines_the_item() {
        let to_b = [
            "use crate::a::B;",
            "use crate::B;",
            "use crate::a::{h};",
            "use super::a::B as Other;",
            "fn f() { use crate::a::Kind; }",
            "fn f() { crate::a::h() }",
            "fn f() -> crate::a::Kind { crate::a::Kind::One }",
            "use crate::a; fn f() { a::h() }",
            "use crate::{a::{self}, d}; fn f() { a::g!() }",
            "use crate::a::g;",
            "use crate::a::*; fn f(b: B) {}",
            "use crate::a::*; fn f() { h() }",
            "use super::*; fn f() { B }",
            "macro_rules! m { () => { $crate::a::h() } }",
            "mod inner { fn f() { super::super::a::h() } }",
            "#[cfg(not(test))] use crate::B;",
        ];
        for code in to_b {
            assert_eq!(found_in(code), ["c.rs:1 > a/b.rs"], "{code}");
        }
        assert_eq!(found_in("\nuse crate::a::own;"), ["c.rs:2 > a/mod.rs"]);
        assert_eq!(found_in("use crate::a::made_by_a_macro;"), ["c.rs:1 > a/mod.rs"]);
        assert_eq!(found_in("fn f() {\n crate::d::e::f() }"), ["c.rs:2 > d.rs"]);
        assert_eq!(found_in("pub use crate::d::d; fn f() { d() }"), ["c.rs:1 > d.rs"]);
        assert_eq!(found_in("use crate::a as x; fn f() { x::own() }"), ["c.rs:1 > a/mod.rs"]);
    }

    #[test]
    fn these_are_no_edges() {
        let none = [
            "pub use crate::a::B;",
            "pub(in crate::a) use crate::a::{B, h};",
            "use crate::d;",
            "#[cfg(test)] use crate::a::B;",
            "#[cfg(test)] mod tests { use crate::a::B; }",
            "/// [`crate::a::B`]\nfn f() {}",
            "fn f() { self.h(); x.B }",
            "use crate::a::*; struct B; fn f(b: B) { b.h() }",
            "use crate::a::*; fn f() { let h = 1; h + 1 }",
            "use ::d::d; use std::fmt::{self, Debug}; fn f() { fmt::g() }",
            "pub(in crate::d) fn f() { ::d::d() }",
        ];
        for code in none {
            assert_eq!(found_in(code), Vec::<String>::new(), "{code}");
        }
    }

    #[test]
    fn a_parent_that_calls_its_child_is_an_edge() {
        let files = [
            ("a/b.rs", "use super::Own; pub fn f() {}"),
            ("a/mod.rs", "mod b; pub struct Own; fn g() { b::f() }"),
            ("lib.rs", "mod a;"),
        ];
        assert_eq!(found(&files), ["a/b.rs:1 > a/mod.rs", "a/mod.rs:1 > a/b.rs"]);
    }

    #[test]
    fn a_function_may_have_the_name_of_a_module() {
        let files = |code| {
            found(&[
                ("a.rs", "mod b; pub use b::a; pub struct A;"),
                ("a/b.rs", "pub fn a() {}"),
                ("c.rs", code),
                ("lib.rs", "mod a; mod c; pub use a::a;"),
            ])
        };
        assert_eq!(files("fn f() { crate::a(); }"), ["c.rs:1 > a/b.rs"]);
        assert_eq!(files("fn f() { crate::a::A }"), ["c.rs:1 > a.rs"]);
    }
}
