//! Which files are mutated, and which tests judge each.

/// What is built once for all mutants of some files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// The name of the folder with the copy of the checkout and its build.
    pub(crate) copy: &'static str,
    /// The folder of the workspace, from the root of the checkout.
    pub(crate) workspace: &'static str,
    pub(crate) package: &'static str,
    /// The feature arguments for Cargo.
    pub(crate) features: &'static str,
}

/// Some tests of a program.
#[derive(Debug)]
pub(crate) struct Tests {
    /// For Cargo: `--lib`, or `--test` with a name.
    pub(crate) program: &'static str,
    /// Parts of names of tests; all tests of the program if empty.
    pub(crate) filters: &'static [&'static str],
}

/// One line of the table.
pub(crate) struct Mutated {
    /// Relative to the root of the checkout.
    pub(crate) file: &'static str,
    pub(crate) build: &'static Build,
    pub(crate) tests: &'static [Tests],
}

const LIBRARY: &Build =
    &Build { copy: "library", workspace: ".", package: "crossdock", features: "--no-default-features" };

const fn unit(filters: &'static [&'static str]) -> Tests {
    Tests { program: "--lib", filters }
}

const fn test(program: &'static str) -> Tests {
    Tests { program, filters: &[] }
}

const LAYOUT: &[Tests] = &[unit(&["layout::"]), test("--test layout")];
const COPY: &[Tests] = &[unit(&["plan::", "copy::"]), test("--test arrays")];
const LEASES: &[Tests] = &[unit(&["word::"]), test("--test memory")];
const CHARGE: &[Tests] = &[unit(&["charge::"]), test("--test pools")];
const OVERLAP: &[Tests] = &[unit(&["overlap", "interleave"]), test("--test overlap")];
const ARRAYS: &[Tests] = &[unit(&["array::"]), test("--test arrays"), test("--test overlap")];
const DLPACK: &[Tests] = &[unit(&["dlpack"]), test("--test dlpack")];
const VIEWS: &[Tests] = &[unit(&["memory_view", "view::"]), test("--test memory_view")];
const ARROW: &[Tests] = &[unit(&["arrow"]), test("--test arrow_c")];

/// The files whose tests are tested: a wrong sign there silently corrupts data, or accesses another
/// owner's memory.
#[rustfmt::skip]
pub(crate) const FILES: &[Mutated] = &[
    Mutated { file: "crates/crossdock/src/layout/span.rs", build: LIBRARY, tests: LAYOUT },
    Mutated { file: "crates/crossdock/src/layout/rules.rs", build: LIBRARY, tests: LAYOUT },
    Mutated { file: "crates/crossdock/src/layout/slice.rs", build: LIBRARY, tests: LAYOUT },
    Mutated { file: "crates/crossdock/src/layout/reshape.rs", build: LIBRARY, tests: LAYOUT },
    Mutated { file: "crates/crossdock/src/layout/interleave.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/kernel/copy/plan.rs", build: LIBRARY, tests: COPY },
    Mutated { file: "crates/crossdock/src/memory/word.rs", build: LIBRARY, tests: LEASES },
    Mutated { file: "crates/crossdock/src/memory/pool/charge.rs", build: LIBRARY, tests: CHARGE },
    Mutated { file: "crates/crossdock/src/memory/overlap/mod.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/memory/overlap/elsewhere.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/array/extent.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/array/convert.rs", build: LIBRARY, tests: ARRAYS },
    Mutated { file: "crates/crossdock/src/exchange/protocol/dlpack/import.rs", build: LIBRARY, tests: DLPACK },
    Mutated { file: "crates/crossdock/src/exchange/protocol/memory_view/foreign.rs", build: LIBRARY, tests: VIEWS },
    Mutated { file: "crates/crossdock/src/exchange/protocol/arrow/leaf.rs", build: LIBRARY, tests: ARROW },
    Mutated { file: "crates/crossdock/src/view/producer.rs", build: LIBRARY, tests: VIEWS },
];

impl Mutated {
    /// The file, relative to its workspace.
    pub(crate) fn within(&self) -> &'static str {
        let folder = self.build.workspace;
        self.file.strip_prefix(folder).and_then(|file| file.strip_prefix('/')).unwrap_or(self.file)
    }

    /// A name for the file's outcomes.
    pub(crate) fn slug(&self) -> String {
        self.file.trim_end_matches(".rs").replace('/', "-")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_table_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for Mutated { file, .. } in FILES {
            assert!(root.join(file).is_file(), "{file} does not exist");
        }
    }

    #[test]
    fn a_file_is_named_from_its_own_workspace() {
        let named = |file, workspace| {
            let build = Box::leak(Box::new(Build { copy: "", workspace, package: "", features: "" }));
            Mutated { file, build, tests: &[] }.within()
        };
        assert_eq!(named("crates/crossdock/src/lib.rs", "."), "crates/crossdock/src/lib.rs");
        assert_eq!(named("bindings/python/src/import.rs", "bindings/python"), "src/import.rs");
    }
}
