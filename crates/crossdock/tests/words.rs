//! What each language says to do about an error: its words name only things that it has, and the
//! facts name no item of Rust.

use std::fs;
use std::path::Path;

use crossdock::bindings::{Advice, Words};

#[path = "../../crossdock-capi/src/words.rs"]
mod c;
#[path = "../../crossdock-cli/src/words.rs"]
mod command;
#[path = "../../../bindings/python/src/words.rs"]
#[expect(dead_code, reason = "the wheel's other texts are of its functions alone")]
mod python;
#[path = "../../../bindings/ruby/ext/crossdock/src/words.rs"]
mod ruby;

const STUB: &str = include_str!("../../../bindings/python/python/crossdock/__init__.pyi");
const SIGNATURES: &str = concat!(
    include_str!("../../../bindings/ruby/sig/crossdock.rbs"),
    include_str!("../../../bindings/ruby/sig/exchange.rbs"),
    include_str!("../../../bindings/ruby/sig/adapters.rbs"),
);
const HEADER: &str = concat!(
    include_str!("../../crossdock-capi/include/crossdock/base.h"),
    include_str!("../../crossdock-capi/include/crossdock/dtype.h"),
    include_str!("../../crossdock-capi/include/crossdock/buffer.h"),
    include_str!("../../crossdock-capi/include/crossdock/array.h"),
    include_str!("../../crossdock-capi/include/crossdock/file.h"),
    include_str!("../../crossdock-capi/include/crossdock/memory_view.h"),
    include_str!("../../crossdock-capi/include/crossdock/exchange.h"),
    include_str!("../../crossdock-capi/include/crossdock/table.h"),
    include_str!("../../crossdock-capi/include/crossdock/shared.h"),
    include_str!("../../crossdock-capi/include/crossdock/device.h"),
);
const SURFACE: &str = include_str!("../../../docs/surface.txt");
const COMMAND: &str = concat!(
    include_str!("../../crossdock-cli/src/convert/mod.rs"),
    include_str!("../../crossdock-cli/src/lend/mod.rs"),
);

/// The words, the text that lists the language's names, and names that stand for a program's own.
const LANGUAGES: &[(&str, Words, &str, &[&str])] = &[
    ("Rust", Advice::in_rust, SURFACE, &["crossdock_cuda", "crossdock_opencl", "Dyn", "to_vec"]),
    (
        "Python",
        python::words,
        STUB,
        &["x", "data", "True", "gzip", "lzma", "pickle", "numpy", "loadtxt", "scipy", "io", "loadmat"],
    ),
    ("Ruby", ruby::words, SIGNATURES, &["uint8", "column", "path", "npy", "true"]),
    ("C", c::words, HEADER, &[]),
    ("C, of tables", c::table_words, HEADER, &[]),
    (
        "the command",
        command::words,
        COMMAND,
        &[
            "crossdock",
            "convert",
            "lend",
            "always",
            "uint8",
            "gunzip",
            "unxz",
            "unzstd",
            "tiffcp",
            "c",
            "none",
            "s",
        ],
    ),
];

#[test]
fn each_advice_names_only_things_that_the_language_has() {
    assert!(python::COPY_OF_ELEMENTS.starts_with("crossdock.array ") && STUB.contains("def array("));
    for &(language, words, names, own) in LANGUAGES {
        let known: Vec<&str> = identifiers(names).collect();
        for &advice in Advice::ALL {
            let text = words(advice);
            assert!(text.starts_with(|first: char| first.is_ascii_lowercase()), "{language}: {text:?}");
            assert!(!text.ends_with(['.', ';', ' ']), "{language}: {text:?}");
            for quoted in text.split('`').skip(1).step_by(2) {
                // A text in quotes is a value.
                let code: String = quoted.split('"').step_by(2).collect();
                for name in identifiers(&code).filter(|name| !own.contains(name)) {
                    assert!(known.contains(&name), "{language} has no {name}: {text:?}");
                }
            }
            if language != "Rust" {
                assert!(
                    !text.contains("()?") && (!text.contains("::") || text.contains("Crossdock::")),
                    "{text:?}"
                );
            }
        }
    }
}

/// Texts for authors of Rust, which the compiler shows.
const FOR_AUTHORS: &[&str] = &["error/advice.rs", "element/mod.rs", "element/padding.rs"];

#[test]
fn no_fact_names_an_item_of_rust() {
    let mut files = Vec::new();
    sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut files);
    assert!(files.len() > 100);
    for (path, text) in files {
        if FOR_AUTHORS.iter().any(|file| path.ends_with(file)) {
            continue;
        }
        let is_text = |line: &&str| !line.trim_start().starts_with(['/', '#']) && !line.contains("doc = ");
        for line in text.lines().filter(is_text) {
            for quoted in line.split('`').skip(1).step_by(2) {
                let is_item = quoted.contains('_') || quoted.contains("::") || quoted.contains('(');
                assert!(!is_item || !line.contains('"'), "{path}: {line}");
            }
        }
    }
}

fn sources(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|ending| ending.to_str()) {
            None => sources(&path, files),
            Some("rs") => files.push((path.display().to_string(), fs::read_to_string(&path).unwrap())),
            Some(_) => {}
        }
    }
}

/// Words of letters, digits and underscores, outside of numbers.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    parts.filter(|part| part.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}
