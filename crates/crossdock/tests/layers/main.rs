//! Uses between modules: the one-way rule between layers, and the cycles of files within a crate.
//!
//! The compiler does not separate modules of one crate, so these tests read the sources. Code under
//! `#[cfg(test)]` may use everything.

mod cycles;
mod drawing;
mod edges;
mod modules;
mod names;
mod rules;
mod sizes;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use modules::{Crate, Source, sources};
use rules::{Layer, Rules, declared, macros, stem, test_files};

/// Each layer, and the layers that it may use.
const LAYERS: &[Layer] = &[
    ("error", &[]),
    ("memory", &["error"]),
    ("pool", &["error", "memory"]),
    ("buffer", &["error", "memory", "pool"]),
    ("device", &["error", "memory", "pool", "buffer"]),
    ("ledger", &["error", "memory", "pool", "buffer", "device"]),
    ("io", &["error", "memory", "pool", "buffer", "device"]),
    ("element", &["error", "memory"]),
    ("layout", &["error"]),
    ("kernel", &["error", "memory", "pool", "buffer", "device", "element", "layout"]),
    ("array", &["error", "memory", "pool", "buffer", "device", "element", "layout", "kernel"]),
    ("table", &["error", "memory", "pool", "buffer", "device", "element", "layout", "kernel", "array"]),
    (
        "view",
        &["error", "memory", "pool", "buffer", "device", "element", "layout", "kernel", "array", "table"],
    ),
    (
        "exchange",
        &[
            "error", "memory", "pool", "buffer", "device", "element", "layout", "kernel", "array", "table",
            "view",
        ],
    ),
    (
        "bindings",
        &[
            "error", "memory", "pool", "buffer", "device", "ledger", "io", "element", "layout", "kernel",
            "array", "table", "view", "exchange",
        ],
    ),
];

/// The sources of each crate, and its remaining cycles of more than [`cycles::MOST`] files: their
/// common folder, and their number. Cycles may only leave this list or get smaller.
const CRATES: &[(&str, &[(&str, usize)])] = &[
    ("crates/crossdock/src", &[]),
    ("crates/crossdock-capi/src", &[]),
    ("crates/crossdock-cli/src", &[]),
    ("crates/crossdock-conformance/src", &[]),
    ("crates/crossdock-cuda/src", &[]),
    ("crates/crossdock-opencl/src", &[]),
    ("bindings/python/src", &[]),
    ("bindings/ruby/ext/crossdock/src", &[]),
];

/// The files with [`sizes::LIMIT`] lines of code or more, and the most that they may have.
const LONG: &[(&str, usize)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn library() -> Vec<Source> {
    sources(&root().join("crates/crossdock/src"))
}

#[test]
fn no_layer_uses_one_above_it() {
    let sources = library();
    let lib = sources.iter().find(|source| source.file == Path::new("lib.rs")).unwrap();
    let layers = declared(&lib.text);
    let rules = Rules {
        layers: LAYERS,
        macros: sources.iter().flat_map(|source| macros(&source.file, &source.text)).collect(),
    };
    for layer in &layers {
        assert!(rules.allowed(layer).is_some(), "`{layer}` has no row in the table of layers");
        let is_in = |file: &Path| file.iter().next().is_some_and(|part| stem(part.as_ref()) == *layer);
        assert!(sources.iter().any(|source| is_in(&source.file)), "no file of the layer `{layer}` was found");
    }
    assert!(layers.len() >= 4, "lib.rs has the layers {layers:?} only");

    let tests: Vec<PathBuf> =
        sources.iter().flat_map(|source| test_files(&source.file, &source.text)).collect();
    let mut violations = Vec::new();
    for Source { file, text } in &sources {
        if file != Path::new("lib.rs") && !tests.iter().any(|test| file.starts_with(test)) {
            violations.extend(rules.check(file, text));
        }
    }
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn no_new_cycle_has_more_than_three_files() {
    let mut wrong = String::new();
    for (folder, known) in CRATES {
        let sources = sources(&root().join(folder));
        let whole = Crate::read(&sources);
        let edges = edges::edges(&whole);
        assert!(edges.len() >= 5, "{folder}: only {} files use others", edges.len());
        let known: Vec<_> = known.iter().map(|&(folder, count)| (folder.to_owned(), count)).collect();
        if let Err(text) = cycles::compared(&known, &cycles::too_large(&sources, &edges)) {
            wrong += &format!("\n{folder}:{text}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn files_have_fewer_than_400_lines_of_code() {
    let mut found = Vec::new();
    for (folder, _) in CRATES {
        let sources = sources(&root().join(folder));
        let tests: Vec<PathBuf> =
            sources.iter().flat_map(|source| test_files(&source.file, &source.text)).collect();
        for Source { file, text } in &sources {
            if !tests.iter().any(|test| file.starts_with(test)) {
                found.push((format!("{folder}/{}", file.display()), sizes::lines(text)));
            }
        }
    }
    sizes::compared(LONG, &found).unwrap_or_else(|text| panic!("{text}"));
}

/// The crate for extensions compiles files of the wheel: they name only modules that it has, too.
#[test]
fn the_crate_for_extensions_has_each_module_that_the_wheels_files_name() {
    let lib = root().join("crates/crossdock-pyo3/src/lib.rs");
    let text = fs::read_to_string(&lib).unwrap();
    let has = |name: &str| text.contains(&format!("\nmod {name};\n"));
    let shared = text.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
    let mut files: Vec<PathBuf> = Vec::new();
    for file in shared.map(|file| lib.with_file_name(file)) {
        match file.ends_with("mod.rs") {
            true => {
                files.extend(fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()))
            }
            false => files.push(file),
        }
    }
    assert!(files.len() > 20 && has("errors"), "{} files are shared", files.len());
    let mut missing = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let source = code.collect::<Vec<_>>().join("\n");
        for after in source.split("crate::").skip(1) {
            let named = match after.strip_prefix('{') {
                Some(group) => group.split('}').next().unwrap_or_default().split(',').collect(),
                None => vec![after],
            };
            let name = |item: &str| {
                item.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned)
            };
            missing.extend(named.into_iter().filter_map(name).filter(|name| !name.is_empty() && !has(name)));
        }
    }
    assert!(
        missing.is_empty(),
        "crates/crossdock-pyo3/src/lib.rs has no {missing:?}: add `#[path = …] mod …;`"
    );
}

/// The users of the library, and the roots of their sources.
const ARTEFACTS: [(&str, &str); 7] = [
    ("crossdock-cuda", "crates/crossdock-cuda/src/lib.rs"),
    ("crossdock-opencl", "crates/crossdock-opencl/src/lib.rs"),
    ("crossdock-capi", "crates/crossdock-capi/src/lib.rs"),
    ("crossdock-cli", "crates/crossdock-cli/src/main.rs"),
    ("crossdock-pyo3", "crates/crossdock-pyo3/src/lib.rs"),
    ("bindings/python", "bindings/python/src/lib.rs"),
    ("bindings/ruby", "bindings/ruby/ext/crossdock/src/lib.rs"),
];

#[test]
fn the_architecture_shows_the_drawing_of_the_layers() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap_or_default();
    let summary = |layer: &str| {
        let places = [".rs", "/mod.rs"].map(|ending| read(&format!("crates/crossdock/src/{layer}{ending}")));
        drawing::first_clause(&places.concat())
    };
    let artefacts = ARTEFACTS.map(|(name, file)| (name, drawing::first_clause(&read(file))));
    let drawn = drawing::drawing(LAYERS, &artefacts, summary);
    println!("{drawn}");
    let document = read("ARCHITECTURE.md");
    let shown = drawing::drawing_in(&document);
    if shown != drawn && std::env::var_os("CROSSDOCK_BLESS").is_some() {
        fs::write(root().join("ARCHITECTURE.md"), document.replacen(shown, &drawn, 1)).unwrap();
        return;
    }
    assert_eq!(
        shown, drawn,
        "ARCHITECTURE.md is out of date: CROSSDOCK_BLESS=1 cargo test -p crossdock --test layers"
    );
}

/// Calls that initialise a cell, a static or a lock once. A child that is forked meanwhile would
/// wait for a thread that it does not have.
const ONCE: [&str; 4] = ["get_or_init(", "LazyLock", "call_once", "LazyCell"];

/// The files in which they are allowed, and why.
const MAY_BLOCK: &[(&str, &str)] = &[
    ("memory/os/basic/process.rs", "the systems that have it never fork"),
    ("memory/os/unix/faults.rs", "it is set under a lock that is held across forks"),
];

#[test]
fn cells_are_set_so_that_a_forked_child_does_not_wait_for_them() {
    let mut found = Vec::new();
    for Source { file, text } in library() {
        let code = text.split("#[cfg(test)]").next().unwrap().split("#[cfg(all(test").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        if lines.into_iter().any(|line| ONCE.iter().any(|word| line.contains(word))) {
            found.push(file.to_string_lossy().into_owned());
        }
    }
    let expected: Vec<&str> = MAY_BLOCK.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, expected, "use `memory::fork::get_or_make`");
}

/// Words that only [`OS`] has: calls of the C library and of the kernel, and which system it is.
const SYSTEM: [&str; 4] = ["libc::", "rustix::", "windows_sys::", "target_os"];

/// The module of the library that calls the system.
const OS: &str = "memory/os";

#[test]
fn only_one_module_of_the_library_calls_the_system() {
    let (mut inside, mut outside) = (0, Vec::new());
    for Source { file, text } in library() {
        for (line, code) in text.lines().enumerate() {
            let is_comment = code.trim_start().starts_with("//");
            if is_comment || !SYSTEM.iter().any(|word| code.contains(word)) {
                continue;
            }
            match file.starts_with(OS) {
                true => inside += 1,
                false => outside.push(format!("{}:{}: {}", file.display(), line + 1, code.trim())),
            }
        }
    }
    assert!(inside > 100, "{OS} has {inside} lines that name the system");
    assert!(outside.is_empty(), "only {OS} calls the system:\n{}\n", outside.join("\n"));
}

/// The files of the library outside [`OS`] that have names for POSIX systems alone, and which.
const POSIX_ONLY: &[(&str, usize, &str)] = &[
    ("bindings.rs", 3, "channels, holders and frames"),
    ("buffer/buffer.rs", 1, "the descriptor of a buffer"),
    ("buffer/shared.rs", 1, "the map of a descriptor"),
    ("exchange/explain/offers.rs", 3, "the rows of shared memory"),
    ("exchange/exported.rs", 2, "the descriptor of an export"),
    ("exchange/files/mod.rs", 6, "files of sets that a holder has, and tables in channels"),
    ("exchange/protocol/mod.rs", 3, "the protocols between processes"),
];

#[test]
fn names_for_posix_systems_alone_are_few() {
    let mut found = Vec::new();
    for Source { file, text } in library() {
        let asks = |line: &&str| line.contains("cfg") && (line.contains("unix") || line.contains("windows"));
        let count = text.lines().filter(asks).filter(|line| !line.contains("test")).count();
        if count > 0 && !file.ends_with("tests.rs") && !file.starts_with(OS) {
            found.push((file.to_string_lossy().replace('\\', "/"), count));
        }
    }
    let expected: Vec<_> = POSIX_ONLY.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(found, expected, "a system's lack belongs into {OS}, as an error");
}

#[test]
fn no_other_crate_asks_which_system_it_is_on() {
    let mut found = Vec::new();
    for (folder, _) in CRATES.iter().filter(|(folder, _)| *folder != "crates/crossdock/src") {
        for Source { file, text } in sources(&root().join(folder)) {
            if text.contains("target_os") {
                found.push(format!("{folder}/{}", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "`target_os` belongs into {OS}: {found:?}");
}
