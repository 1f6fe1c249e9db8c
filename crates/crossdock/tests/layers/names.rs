//! Type names: each is defined once in its crate, or the table says why not.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::modules::{Source, sources};
use crate::rules::test_files;
use crate::tokens::{Token, balanced, text, tokens, without_tests};
use crate::{CRATES, root};

const LIBRARY: &str = "crates/crossdock/src";

/// The names that a crate defines more than once: the sources, the name, how often, and why.
const REPEATED: &[(&str, &str, usize, &str)] = &[
    (LIBRARY, "Described", 2, "a producer's description, of the array interface and of PEP 3118"),
    (LIBRARY, "Description", 2, "the text that describes an array, in raw files and in shared memory"),
    (LIBRARY, "Entry", 3, "the entry of what its module lists: allocations, a file's arrays, producers"),
    (LIBRARY, "ExportOptions", 2, "the options of `export`, of Arrow and of DLPack"),
    (LIBRARY, "Exported", 3, "the result of `export`, of Arrow, DLPack and shared memory"),
    (LIBRARY, "Field", 2, "a name with its type, of a record and of a table"),
    (LIBRARY, "Sealed", 4, "the usual supertrait of a sealed trait, in a private module beside it"),
    ("crates/crossdock-cli/src", "Args", 15, "the arguments of each subcommand, in its module"),
];

/// The types that a source defines outside of functions, implementations, macros and tests.
fn type_names<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        match tokens[i].text {
            // The names in a module count, too.
            "mod" if text(tokens, i + 2) == "{" => i += 3,
            "{" => i = balanced(tokens, i),
            "struct" | "enum" | "union" | "trait" | "type"
                if tokens.get(i + 1).is_some_and(Token::is_word) =>
            {
                names.push(tokens[i + 1].text);
                i += 2;
            }
            _ => i += 1,
        }
    }
    names
}

/// The names that these sources define more than once, and the files of each.
fn repeated(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let tests: Vec<PathBuf> =
        sources.iter().flat_map(|source| test_files(&source.file, &source.text)).collect();
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Source { file, text } in sources {
        if tests.iter().any(|test| file.starts_with(test)) {
            continue;
        }
        for name in type_names(&without_tests(&tokens(text))) {
            files.entry(name.to_owned()).or_default().push(file.display().to_string());
        }
    }
    files.retain(|_, files| files.len() > 1);
    files
}

#[test]
fn type_names_are_unique() {
    let mut wrong = String::new();
    for (folder, _) in CRATES {
        let mut found = repeated(&sources(&root().join(folder)));
        for (_, name, count, reason) in REPEATED.iter().filter(|(of, ..)| of == folder) {
            assert!(!reason.is_empty(), "{folder}: `{name}` is repeated without a reason");
            match found.remove(*name) {
                Some(files) if files.len() == *count => {}
                files => wrong += &format!("\n{folder}: `{name}` is in {files:?}, not in {count} files"),
            }
        }
        for (name, files) in found {
            wrong += &format!("\n{folder}: `{name}` is in {files:?}: say by the name what each is");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn types_of_modules_count_and_those_of_functions_do_not() {
    let names = |source| type_names(&without_tests(&tokens(source))).join(" ");
    assert_eq!(
        names("pub(crate) struct A<T>(T); enum B { C } mod m { pub trait D { type E; } } type F = A<u8>;"),
        "A B D F"
    );
    assert_eq!(names("fn f() { struct A; } impl A { type B = u8; } union C { a: u8 }"), "C");
    assert_eq!(names("macro_rules! m { () => { struct A; } } // struct B;\nstruct D { r#type: u8 }"), "D");
    assert_eq!(names("#[cfg(test)] mod tests { struct A; } struct B;"), "B");
}
