//! What each language says to do about an error: its words name only things that it has.

use crossdock::bindings::{Advice, Words};

#[path = "../../crossdock-capi/src/words.rs"]
mod c;
#[path = "../../crossdock-cli/src/words.rs"]
mod command;
#[path = "../../../bindings/python/src/words.rs"]
mod python;
#[path = "../../../bindings/ruby/ext/crossdock/src/words.rs"]
mod ruby;

const STUB: &str = include_str!("../../../bindings/python/python/crossdock/__init__.pyi");
const SIGNATURES: &str = concat!(
    include_str!("../../../bindings/ruby/sig/crossdock.rbs"),
    include_str!("../../../bindings/ruby/sig/exchange.rbs"),
    include_str!("../../../bindings/ruby/sig/adapters.rbs"),
);
const HEADER: &str = include_str!("../../crossdock-capi/include/crossdock.h");
const SURFACE: &str = include_str!("../../../docs/surface.txt");
const COMMAND: &str = concat!(
    include_str!("../../crossdock-cli/src/convert/mod.rs"),
    include_str!("../../crossdock-cli/src/lend/mod.rs"),
);

/// The words, the text that lists the language's names, and names that stand for a program's own.
const LANGUAGES: &[(&str, Words, &str, &[&str])] = &[
    ("Rust", Advice::in_rust, SURFACE, &["crossdock_cuda", "crossdock_opencl", "Dyn", "to_vec"]),
    ("Python", python::words, STUB, &["x", "data", "f8"]),
    ("Ruby", ruby::words, SIGNATURES, &["uint8", "column", "path", "npy"]),
    ("C", c::words, HEADER, &[]),
    ("the command", command::words, COMMAND, &["crossdock", "convert", "lend", "always", "uint8"]),
];

#[test]
fn each_advice_names_only_things_that_the_language_has() {
    for &(language, words, names, own) in LANGUAGES {
        let known: Vec<&str> = identifiers(names).collect();
        for &advice in Advice::ALL {
            let text = words(advice);
            assert!(text.starts_with(|first: char| first.is_ascii_lowercase()), "{language}: {text:?}");
            assert!(!text.ends_with(['.', ';', ' ']), "{language}: {text:?}");
            for quoted in text.split('`').skip(1).step_by(2) {
                for name in identifiers(quoted).filter(|name| !own.contains(name)) {
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

/// Words of letters, digits and underscores, outside of numbers.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    parts.filter(|part| part.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}
