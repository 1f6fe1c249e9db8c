//! The modules of a crate: which file each is in, what it defines, and what it imports.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tokens::{Token, balanced, text, tokens, without_tests};

/// The meaning of a name in a module. A name may have several, such as a function and a module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Definition {
    /// An item in the module's own file.
    Here,
    /// A module, by its number in [`Crate::modules`].
    Module(usize),
    /// A path, seen from this module.
    Import(Vec<String>),
}

/// A leaf of a `use` tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Use {
    pub(crate) line: usize,
    /// Without the `*` of a glob.
    pub(crate) path: Vec<String>,
    /// The name in the module: `*` for a glob, `_` for a trait without a name.
    pub(crate) name: String,
    /// `pub use`, with any visibility.
    pub(crate) is_public: bool,
}

/// Stands for the `::` in front of a path: no module has this name.
const OTHER_CRATES: &str = "::";

impl Use {
    pub(crate) fn is_glob(&self) -> bool {
        self.name == "*"
    }
}

#[derive(Default)]
pub(crate) struct Module<'a> {
    /// Its number in the list of files.
    pub(crate) file: usize,
    pub(crate) parent: Option<usize>,
    name: String,
    pub(crate) definitions: HashMap<String, Vec<Definition>>,
    pub(crate) uses: Vec<Use>,
    /// Its code, without `use` and without the modules in it.
    pub(crate) code: Vec<Token<'a>>,
}

/// A Rust source, and its path below the root of the crate.
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
}

/// The sources of a crate, from the root on, found through the declarations of modules.
pub(crate) struct Crate<'a> {
    pub(crate) sources: &'a [Source],
    files: HashMap<&'a Path, usize>,
    /// Module 0 is the root.
    pub(crate) modules: Vec<Module<'a>>,
}

/// The keywords that precede names of items.
const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

impl<'a> Crate<'a> {
    /// Reads the modules of the crate whose root is `lib.rs` or `main.rs`.
    ///
    /// # Panics
    ///
    /// If the file of a module that is not for tests is missing.
    pub(crate) fn read(sources: &'a [Source]) -> Self {
        let root = sources.iter().position(|source| is_root(&source.file));
        let root = root.unwrap_or_else(|| panic!("{} files, and no lib.rs", sources.len()));
        let files = sources.iter().enumerate().map(|(number, source)| (&*source.file, number)).collect();
        let mut whole = Self { sources, files, modules: Vec::new() };
        whole.read_file(root, None, "crate");
        whole
    }

    fn read_file(&mut self, file: usize, parent: Option<usize>, name: &str) -> usize {
        let tokens = without_tests(&tokens(&self.sources[file].text));
        let module = Module { file, parent, name: name.to_owned(), ..Module::default() };
        self.read_module(module, &folder_of_modules(&self.sources[file].file), &tokens)
    }

    /// `folder` is where the files of its modules are.
    fn read_module(&mut self, module: Module<'a>, folder: &Path, tokens: &[Token<'a>]) -> usize {
        let (own, file) = (self.modules.len(), module.file);
        self.modules.push(module);
        let (mut i, mut depth) = (0, 0_usize);
        // Whether an attribute before the next item exports a macro.
        let mut is_exported = false;
        while i < tokens.len() {
            let token = tokens[i];
            let next = text(tokens, i + 1);
            match token.text {
                "use" if next != "<" && next != ">" && next != "," => {
                    let is_public = i > 0 && is_visibility(tokens, i - 1);
                    let (leaves, end) = use_leaves(tokens, i + 1);
                    for leaf in leaves {
                        self.import(own, Use { is_public: is_public && depth == 0, ..leaf });
                    }
                    i = end;
                    continue;
                }
                "mod" if depth == 0 && [";", "{"].contains(&text(tokens, i + 2)) => {
                    let below = folder.join(next);
                    let end = if text(tokens, i + 2) == "{" {
                        let end = balanced(tokens, i + 2);
                        let inner =
                            Module { file, parent: Some(own), name: next.to_owned(), ..Module::default() };
                        let child = self.read_module(inner, &below, &tokens[i + 3..end - 1]);
                        self.define(own, next, Definition::Module(child));
                        end
                    } else {
                        for child in self.declared(file, token.line, &below) {
                            let child = self.read_file(child, Some(own), next);
                            self.define(own, next, Definition::Module(child));
                        }
                        i + 3
                    };
                    i = end;
                    continue;
                }
                "macro_rules" if next == "!" => {
                    let name = text(tokens, i + 2);
                    self.define(own, name, Definition::Here);
                    if is_exported && own != 0 {
                        let path = self.path_of(own).into_iter().chain([name.to_owned()]).collect();
                        self.define(0, name, Definition::Import(path));
                    }
                }
                "macro_export" => is_exported = true,
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    is_exported &= depth > 0;
                }
                ";" if depth == 0 => is_exported = false,
                word if depth == 0 && KEYWORDS.contains(&word) => {
                    let before = if i == 0 { "" } else { tokens[i - 1].text };
                    // `*const T`, and parameters `<const N: usize>`.
                    let is_item = !["*", "<", ","].contains(&before);
                    let name = if next == "mut" { text(tokens, i + 2) } else { next };
                    let is_name = !KEYWORDS.contains(&name) && !["unsafe", "async", "extern"].contains(&name);
                    if is_item && is_name && tokens.get(i + 1).is_some_and(Token::is_word) {
                        self.define(own, name, Definition::Here);
                    }
                }
                _ => {}
            }
            self.modules[own].code.push(token);
            i += 1;
        }
        own
    }

    fn define(&mut self, module: usize, name: &str, definition: Definition) {
        let all = self.modules[module].definitions.entry(name.to_owned()).or_default();
        if !all.contains(&definition) {
            all.push(definition);
        }
    }

    fn import(&mut self, module: usize, leaf: Use) {
        if !leaf.is_glob() && leaf.name != "_" {
            self.define(module, &leaf.name, Definition::Import(leaf.path.clone()));
        }
        self.modules[module].uses.push(leaf);
    }

    /// The files of a module that a file declares on this line: one, or one for each `path` of its
    /// attributes, of which a build uses one. `below` is its usual path, without an extension.
    fn declared(&self, file: usize, line: usize, below: &Path) -> Vec<usize> {
        let Source { file, text } = &self.sources[file];
        let folder = file.parent().unwrap_or(Path::new(""));
        let given = paths_in_attributes(text, line).map(|path| folder.join(path));
        let mut found: Vec<usize> = given.filter_map(|path| self.files.get(&*path).copied()).collect();
        if found.is_empty() {
            let places = [below.with_extension("rs"), below.join("mod.rs")];
            found.extend(places.iter().find_map(|place| self.files.get(&**place)));
        }
        assert!(!found.is_empty(), "{}:{line}: no file of the module was found", file.display());
        found
    }

    /// The path of a module from the root, with `crate`.
    fn path_of(&self, module: usize) -> Vec<String> {
        let module = &self.modules[module];
        let mut path = module.parent.map_or_else(Vec::new, |parent| self.path_of(parent));
        path.push(module.name.clone());
        path
    }
}

/// The values of `path = "…"` in the attributes above a line.
fn paths_in_attributes(text: &str, line: usize) -> impl Iterator<Item = &str> {
    let above: Vec<&str> = text.lines().take(line - 1).collect();
    let attributes = above.into_iter().rev().take_while(|line| line.trim_start().starts_with("#["));
    attributes.filter_map(|line| line.split("path = \"").nth(1)?.split('"').next())
}

/// All sources below a folder.
pub(crate) fn sources(folder: &Path) -> Vec<Source> {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(&below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push(Source { file: path.strip_prefix(folder).unwrap().to_owned(), text });
            }
        }
    }
    found.sort_by(|one, other| one.file.cmp(&other.file));
    found
}

fn is_root(file: &Path) -> bool {
    ["lib.rs", "main.rs"].iter().any(|root| file == Path::new(root))
}

/// The folder with the files of the modules that a file declares.
fn folder_of_modules(file: &Path) -> PathBuf {
    if is_root(file) || file.ends_with("mod.rs") {
        file.parent().unwrap_or(Path::new("")).to_owned()
    } else {
        file.with_extension("")
    }
}

/// Whether the token at `last` ends `pub` or `pub(…)`.
fn is_visibility(tokens: &[Token<'_>], last: usize) -> bool {
    let opened = (0..last).rev().find(|&i| tokens[i].is("(")).and_then(|open| open.checked_sub(1));
    tokens[last].is("pub") || tokens[last].is(")") && opened.is_some_and(|before| tokens[before].is("pub"))
}

/// The leaves of the `use` tree that starts at `from`, and the index behind its semicolon.
fn use_leaves(tokens: &[Token<'_>], from: usize) -> (Vec<Use>, usize) {
    let mut leaves = Vec::new();
    let end = (from..tokens.len()).find(|&i| tokens[i].is(";")).unwrap_or(tokens.len());
    branch(&tokens[from..end], &[], &mut leaves);
    (leaves, end + 1)
}

/// The leaves of one branch, whose path goes on behind `stem`.
fn branch(tokens: &[Token<'_>], stem: &[String], leaves: &mut Vec<Use>) {
    let mut path = stem.to_vec();
    let mut i = 0;
    if text(tokens, 0) == "::" && path.is_empty() {
        // Another crate, even if a module has its name.
        path.push(OTHER_CRATES.to_owned());
    }
    while i < tokens.len() {
        let token = tokens[i];
        match token.text {
            "{" => {
                let inside = &tokens[i + 1..tokens.len() - 1];
                for part in split(inside) {
                    branch(part, &path, leaves);
                }
                return;
            }
            "*" => {
                leaves.push(Use { line: token.line, path, name: "*".to_owned(), is_public: false });
                return;
            }
            "::" | "$" => {}
            "as" => {
                let name = text(tokens, i + 1).to_owned();
                leaves.push(Use { line: token.line, path, name, is_public: false });
                return;
            }
            // The `self` of a group stands for the path before it.
            "self" if !path.is_empty() => {}
            word => path.push(word.to_owned()),
        }
        i += 1;
    }
    if let (Some(last), Some(token)) = (path.last(), tokens.first()) {
        leaves.push(Use { line: token.line, name: last.clone(), path, is_public: false });
    }
}

/// The parts between commas outside of inner groups.
fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (i, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&tokens[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[from..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(source: &str) -> Vec<String> {
        let tokens = tokens(source);
        let (leaves, end) = use_leaves(&tokens, 1);
        assert_eq!(end, tokens.len());
        leaves.iter().map(|leaf| format!("{} as {}", leaf.path.join("::"), leaf.name)).collect()
    }

    #[test]
    fn a_use_tree_has_these_leaves() {
        assert_eq!(leaves("use crate::a::B;"), ["crate::a::B as B"]);
        assert_eq!(
            leaves("use a::{self, B as C, d::{E, F as _}};"),
            ["a as a", "a::B as C", "a::d::E as E", "a::d::F as _"]
        );
        assert_eq!(leaves("use self::a::*;"), ["self::a as *"]);
        assert_eq!(leaves("use super::{a::{B, C,},};"), ["super::a::B as B", "super::a::C as C"]);
    }

    fn made(files: &[(&str, &str)]) -> Vec<Source> {
        let source = |&(file, text): &(&str, &str)| Source { file: file.into(), text: text.to_owned() };
        files.iter().map(source).collect()
    }

    #[test]
    fn modules_are_found_by_their_declarations() {
        let files = made(&[
            ("a/b.rs", "pub struct B;"),
            ("a/mod.rs", "mod b; mod c { mod d; }"),
            ("a/c/d.rs", ""),
            ("e.rs", "mod f;"),
            ("e/f.rs", ""),
            ("lib.rs", "mod a; pub mod e; #[cfg(test)] mod gone;"),
        ]);
        let read = Crate::read(&files);
        let paths: Vec<String> = (0..read.modules.len()).map(|m| read.path_of(m).join("::")).collect();
        let all = ["crate", "crate::a", "crate::a::b", "crate::a::c", "crate::a::c::d", "crate::e"];
        assert_eq!(paths[..6], all);
        assert_eq!(paths[6..], ["crate::e::f"]);
        assert_eq!(read.modules[3].file, read.modules[1].file);
    }

    #[test]
    fn twins_are_found_by_their_paths() {
        let files = made(&[
            ("a/mod.rs", "#[cfg_attr(b, path = \"on.rs\")]\n#[cfg_attr(not(b), path = \"off.rs\")]\nmod c;"),
            ("a/off.rs", ""),
            ("a/on.rs", ""),
            ("lib.rs", "mod a;"),
        ]);
        let read = Crate::read(&files);
        let twins: Vec<usize> = read.modules[2..].iter().map(|module| module.file).collect();
        assert_eq!(twins, [1, 2]);
        assert_eq!(read.modules[1].definitions["c"], [Definition::Module(2), Definition::Module(3)]);
    }

    #[test]
    fn items_are_known_by_their_names() {
        let files = made(&[(
            "lib.rs",
            "pub(crate) const unsafe fn a<const N: usize>(x: *const B) {} struct C; static mut D: u8 = 0; \
             impl C { fn e() {} } macro_rules! f { () => {} } pub use g::H; use std::fmt; union I { j: u8 } \
             type K = unsafe extern \"C\" fn(*const L); trait M<const O: u8> { type P; } const fn q() {}",
        )]);
        let read = Crate::read(&files);
        let mut names: Vec<_> = read.modules[0].definitions.keys().cloned().collect();
        names.sort();
        assert_eq!(names, ["C", "D", "H", "I", "K", "M", "a", "f", "fmt", "q"]);
        let visible: Vec<_> = read.modules[0].uses.iter().map(|leaf| leaf.is_public).collect();
        assert_eq!(visible, [true, false]);
    }

    #[test]
    fn an_exported_macro_is_at_the_root_as_well() {
        let files = made(&[
            ("lib.rs", "mod a;"),
            ("a.rs", "#[macro_export] macro_rules! m { () => {} } macro_rules! n { () => {} }"),
        ]);
        let read = Crate::read(&files);
        assert_eq!(
            read.modules[0].definitions["m"],
            [Definition::Import(["crate", "a", "m"].map(str::to_owned).to_vec())]
        );
        assert!(!read.modules[0].definitions.contains_key("n"));
    }
}
