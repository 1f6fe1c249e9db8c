//! The binary interface, as a list: the exported functions with their types, the layout of each
//! struct as the C compiler has it, and the constants. `CROSSDOCK_BLESS=1` writes the list.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::prototypes::{header, prototypes};
use crate::toolchain::{C11, PACKAGE, program, scratch, shared_library, succeeded};

/// The list in the repository.
const LIST: &str = "abi.txt";

const HEAD: &str = "The binary interface of the shared library. Another list is another interface: before 1.0 it needs another minor
version, and from then on another major one. Written by `CROSSDOCK_BLESS=1 cargo test -p crossdock-capi --test border abi`.
";

/// The parts of a text at the semicolons that are in no braces.
fn statements(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts
}

/// The paths of the fields in the body of a struct.
fn fields(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    for field in statements(body) {
        if let Some((inner, name)) = field.rsplit_once('}') {
            let inner = inner.split_once('{').expect("a brace opens").1;
            found.push(name.trim().to_owned());
            found.extend(fields(inner).into_iter().map(|inner| format!("{}.{inner}", name.trim())));
        } else if let Some((_, rest)) = field.split_once("(*") {
            found.push(rest.split(')').next().expect("a name").to_owned());
        } else {
            let name = field.split('[').next().expect("a name");
            found.push(name.rsplit([' ', '*']).next().expect("a name").to_owned());
        }
    }
    found
}

/// The structs with members: their names and fields.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let text: String = header.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for part in text.split("typedef struct ").skip(1) {
        let end = statements(part).first().map_or("", |statement| statement);
        if let Some((body, name)) = end.rsplit_once('}') {
            let body = body.split_once('{').expect("a brace opens").1;
            found.push((name.trim().to_owned(), fields(body)));
        }
    }
    found
}

/// The constants, except those with parameters or braces.
fn constants(header: &str) -> Vec<&str> {
    let definitions = header.lines().filter_map(|line| line.strip_prefix("#define "));
    let definitions = definitions.filter_map(|line| line.split_once(' '));
    let numbers = definitions.filter(|(name, value)| {
        name.starts_with("XD_")
            && !name.contains('(')
            && !value.contains(['{', '"'])
            && !["XD_API", "XD_MUST_USE", "XD_ALL"].contains(name)
    });
    numbers.map(|(name, _)| name).collect()
}

/// A program that prints the layouts and the constants.
fn text() -> String {
    let header = header();
    let mut text = "#include <crossdock.h>\n#include <stdio.h>\nint main(void) {\n".to_owned();
    for (name, fields) in structs(&header) {
        writeln!(
            text,
            "  printf(\"\\nstruct {name}: %zu bytes, alignment %zu\\n\", sizeof({name}), _Alignof({name}));"
        )
        .unwrap();
        for field in fields {
            writeln!(text, "  printf(\"  %zu {field}: %zu\\n\", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));")
                .unwrap();
        }
    }
    text.push_str("  puts(\"\");\n");
    for name in constants(&header) {
        writeln!(text, "  printf(\"{name} = %lld\\n\", (long long)({name}));").unwrap();
    }
    text.push_str("  return 0;\n}\n");
    text
}

#[test]
fn the_binary_interface_is_the_one_that_is_kept() {
    let source = scratch("abi.c");
    fs::write(&source, text()).expect("a source of our own");
    let Some(mut command) = program(C11, &source, &[]) else { return };
    let layouts = succeeded(&mut command);
    let table = succeeded(Command::new("nm").args(["-D", "--defined-only"]).arg(shared_library()));
    let exported: BTreeSet<_> = table.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    for name in &exported {
        assert!(name.starts_with("xd_"), "the shared library exports `{name}`, which has no prefix");
    }
    let mut list = HEAD.to_owned();
    list.push('\n');
    let mut functions = prototypes();
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    for prototype in functions.iter().filter(|prototype| exported.contains(&*prototype.name)) {
        let parameters =
            if prototype.parameters.is_empty() { "void".to_owned() } else { prototype.parameters.join(", ") };
        let space = if prototype.returns.ends_with('*') { "" } else { " " };
        writeln!(list, "{}{space}{}({parameters})", prototype.returns, prototype.name).unwrap();
    }
    list.push_str(&layouts);
    let path = Path::new(PACKAGE).join(LIST);
    if env::var_os("CROSSDOCK_BLESS").is_some() {
        fs::write(&path, &list).expect("the list is written");
        return;
    }
    let kept = fs::read_to_string(&path).expect("the list");
    let (kept_lines, lines): (BTreeSet<_>, BTreeSet<_>) = (kept.lines().collect(), list.lines().collect());
    let gone: Vec<_> = kept_lines.difference(&lines).collect();
    let new: Vec<_> = lines.difference(&kept_lines).collect();
    assert!(kept == list, "the binary interface changed: {gone:#?} became {new:#?}; {HEAD}");
}

#[test]
fn structs_and_constants_are_read_as_they_are_written() {
    let header = "#define XD_A 1\n#define XD_F(x) (x)\ntypedef struct opaque opaque_t;\ntypedef struct xd_s {\n  int *a; void \
                  (*call)(void *);\n  struct { long b; } in;\n  char c[3];\n} xd_s;\n";
    assert_eq!(
        structs(header),
        [("xd_s".to_owned(), ["a", "call", "in", "in.b", "c"].map(str::to_owned).to_vec())]
    );
    assert_eq!(constants(header), ["XD_A"]);
    assert!(structs(&self::header()).len() > 12 && constants(&self::header()).len() > 100);
}
