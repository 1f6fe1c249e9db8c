//! The functions and constants that the header declares, read from its text.

use std::fs;
use std::path::Path;

use crate::toolchain::PACKAGE;

/// One function of the header.
pub(crate) struct Prototype {
    pub(crate) name: String,
    /// The return type, as written.
    pub(crate) returns: String,
    /// The parameters, as written.
    pub(crate) parameters: Vec<String>,
}

impl Prototype {
    /// Whether the last parameter receives the error.
    pub(crate) fn is_fallible(&self) -> bool {
        self.parameters.last().is_some_and(|parameter| parameter == "xd_error_t **error")
    }

    /// The names of the parameters that are pointers, except the error.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = &str> {
        let pointers = self.parameters.iter().filter(|parameter| parameter.contains('*'));
        pointers.map(|parameter| name_of(parameter)).filter(|&name| name != "error")
    }
}

/// The name in a parameter; for a function pointer, the name in parentheses.
fn name_of(parameter: &str) -> &str {
    match parameter.split_once("(*") {
        Some((_, rest)) => rest.split(')').next().unwrap_or_default(),
        None => parameter.rsplit([' ', '*']).next().unwrap_or_default(),
    }
}

/// The names of the chapters that the header includes: "crossdock/base.h".
pub(crate) fn chapters() -> Vec<String> {
    let path = Path::new(PACKAGE).join("include/crossdock.h");
    let text = fs::read_to_string(path).expect("the header");
    let names = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
    names.map(str::to_owned).collect()
}

/// The text of all chapters without comments.
pub(crate) fn header() -> String {
    let chapters = chapters();
    let texts = chapters.iter().map(|name| fs::read_to_string(Path::new(PACKAGE).join("include").join(name)));
    let text: String = texts.map(|text| text.expect("a chapter of the header")).collect();
    let mut parts = text.split("/*");
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        bare.push_str(part.split_once("*/").expect("a comment ends").1);
    }
    bare
}

/// All functions.
pub(crate) fn prototypes() -> Vec<Prototype> {
    let text = header();
    let text: String = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
    let declarations = text.split("XD_API ").skip(1);
    declarations.map(|declaration| read(declaration.split(';').next().unwrap_or_default())).collect()
}

fn read(declaration: &str) -> Prototype {
    let text = declaration.replace("XD_MUST_USE ", "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, list) = text.split_once('(').expect("a function has brackets");
    let list = list.strip_suffix(')').expect("a function has brackets");
    let at = head.rfind([' ', '*']).expect("a function returns something") + 1;
    let parameters = match list {
        "void" => Vec::new(),
        list => split(list),
    };
    Prototype { name: head[at..].to_owned(), returns: head[..at].trim().to_owned(), parameters }
}

/// Splits at the commas outside parentheses.
fn split(list: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in list.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            letter => parts.last_mut().expect("there is one").push(letter),
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

#[test]
fn prototypes_are_read_as_they_are_written() {
    let adopt = read(
        "XD_MUST_USE xd_buffer_t *xd_adopt(void *data, size_t n, void (*release)(void *, int), xd_error_t **error)",
    );
    assert_eq!((&*adopt.name, &*adopt.returns, adopt.parameters.len()), ("xd_adopt", "xd_buffer_t *", 4));
    assert!(adopt.is_fallible());
    assert_eq!(adopt.pointers().collect::<Vec<_>>(), ["data", "release"]);
    assert!(read("uint32_t xd_version(void)").parameters.is_empty());
    assert!(prototypes().len() > 60);
}

#[test]
fn every_chapter_is_included_and_listed_once() {
    let folder = Path::new(PACKAGE).join("include/crossdock");
    let entries = fs::read_dir(folder).expect("the folder of the chapters");
    let files = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    // Code for Ruby's header includes it alone.
    let mut files: Vec<_> =
        files.filter(|name| name != "ruby_names.h").map(|name| format!("crossdock/{name}")).collect();
    let mut chapters = chapters();
    files.sort();
    chapters.sort();
    assert_eq!(files, chapters);
}

#[test]
fn no_line_is_wider_than_120_columns() {
    let files = chapters().into_iter().chain(
        ["crossdock.h", "crossdock.hpp", "crossdock_producer.h", "crossdock/ruby_names.h"].map(str::to_owned),
    );
    for name in files {
        let path = Path::new(PACKAGE).join("include").join(&name);
        let text = fs::read_to_string(path).expect("a header");
        for (number, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            assert!(columns <= 120, "{name}:{}: {columns} columns", number + 1);
        }
    }
}

/// A comment describes the functions up to the next empty line.
#[test]
fn every_function_is_described() {
    for name in chapters() {
        let path = Path::new(PACKAGE).join("include").join(&name);
        let text = fs::read_to_string(path).expect("a chapter of the header");
        for group in
            text.split("\n\n").filter(|group| group.contains("\nXD_API ") || group.starts_with("XD_API "))
        {
            assert!(group.contains("/*"), "{name} does not describe\n{group}");
        }
    }
}
