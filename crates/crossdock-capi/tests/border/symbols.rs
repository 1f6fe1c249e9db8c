//! The header declares the functions that the library exports.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::prototypes::{header, prototypes};
use crate::toolchain::{PACKAGE, shared_library, soname, succeeded};

#[test]
fn every_function_of_the_header_is_exported_and_every_export_declared() {
    let declared: BTreeSet<String> = prototypes().into_iter().map(|prototype| prototype.name).collect();
    let table = succeeded(Command::new("nm").args(["-D", "--defined-only"]).arg(shared_library()));
    let exported: BTreeSet<String> =
        table.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect();
    assert_eq!(declared, exported);
}

/// A library for Windows has neither; a test can build none, so it reads the sources.
#[test]
fn what_windows_lacks_is_not_declared_there() {
    let lacks: BTreeSet<String> = ["channel", "descriptors", "set", "table/channel"]
        .into_iter()
        .flat_map(|module| {
            let (folder, name) = module.rsplit_once('/').unwrap_or(("", module));
            let parent = if folder.is_empty() { "lib.rs".into() } else { format!("{folder}/mod.rs") };
            let only = format!("#[cfg(unix)]\npub mod {name};");
            assert!(source(&parent).contains(&only), "{module} is compiled everywhere");
            let text = source(&format!("{module}.rs"));
            let names = text.split("extern \"C\" fn xd_").skip(1);
            names.map(|rest| format!("xd_{}", rest.split('(').next().unwrap_or(rest))).collect::<Vec<_>>()
        })
        .collect();
    assert!(lacks.len() > 30);

    let (mut guarded, mut hidden) = (BTreeSet::new(), None);
    let mut depth = 0;
    for line in header().lines() {
        match line.split_whitespace().next() {
            Some("#ifdef" | "#ifndef" | "#if") => {
                depth += 1;
                hidden = hidden.or((line == "#ifndef _WIN32").then_some(depth));
            }
            Some("#endif") => {
                hidden = hidden.filter(|&at| at != depth);
                depth -= 1;
            }
            _ if hidden.is_some() => guarded.extend(declared_in(line)),
            _ => {}
        }
    }
    assert_eq!(guarded, lacks);
}

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(PACKAGE).join("src").join(path)).expect("a source")
}

/// The function that a declaration names which begins in this line.
fn declared_in(line: &str) -> Option<String> {
    let (head, _) = line.strip_prefix("XD_API ")?.split_once('(')?;
    Some(head.rsplit([' ', '*']).next()?.to_owned())
}

#[test]
fn the_library_is_named_by_its_version() {
    let version = env!("CARGO_PKG_VERSION").split('.').collect::<Vec<_>>();
    let number = if version[0] == "0" { version[..2].join(".") } else { version[0].to_owned() };
    assert_eq!(soname(&shared_library()), format!("libcrossdock.so.{number}"));
}

#[test]
fn what_is_installed_has_no_line_tables() {
    if env::var_os("CROSSDOCK_PREFIX").is_some() {
        let sections = succeeded(Command::new("objdump").arg("-h").arg(shared_library()));
        assert!(sections.contains(" .text ") && !sections.contains(" .debug_"), "{sections}");
    }
}

/// Every exported function uses the guard, so that nothing unwinds into C.
#[test]
fn every_exported_function_is_guarded() {
    let mut exported = 0;
    let mut folders = vec![Path::new(PACKAGE).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            for function in text.split("#[unsafe(no_mangle)]").skip(1) {
                let name = function.split("extern \"C\" fn ").nth(1).unwrap_or(function);
                let name = name.split('(').next().unwrap_or(name);
                let body = function.split("\n}\n").next().unwrap_or_default();
                let doors = ["fallible(error, ", "refusable(", "answer(", "ask(view, "];
                let guarded = doors.iter().any(|door| body.contains(door));
                assert!(guarded, "{name} in {} has no guard", path.display());
                assert!(name.starts_with("xd_"), "{name} in {} has another prefix", path.display());
                exported += 1;
            }
        }
    }
    assert_eq!(exported, prototypes().len());
}
