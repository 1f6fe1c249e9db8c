//! Which files are mutated, and which tests judge each.

/// A configuration of build and tests, shared by the files that they judge.
pub(crate) struct Judge {
    /// The name of the folder with the copy of the checkout and its build.
    pub(crate) copy: &'static str,
    /// A file that replaces another file in the copy, so that the unneeded parts of a crate are not
    /// built.
    pub(crate) replaced: Option<(&'static str, &'static str)>,
    /// The folder of the workspace, from the root of the checkout.
    pub(crate) workspace: &'static str,
    pub(crate) package: &'static str,
    /// The feature arguments for Cargo.
    pub(crate) features: &'static str,
    /// The test programs, as arguments for Cargo. Each is linked anew for every mutant.
    pub(crate) programs: &'static str,
    /// Filters for test names; all tests of the programs if empty.
    pub(crate) filters: &'static [&'static str],
}

/// One line of the table.
pub(crate) struct Mutated {
    /// Relative to the root of the checkout.
    pub(crate) file: &'static str,
    pub(crate) judge: &'static Judge,
}

const fn library(programs: &'static str, filters: &'static [&'static str]) -> Judge {
    Judge {
        copy: "library",
        replaced: None,
        workspace: ".",
        package: "crossdock",
        features: "--no-default-features",
        programs,
        filters,
    }
}

/// The layers that need no other layer.
const fn pure(programs: &'static str, filters: &'static [&'static str]) -> Judge {
    let replaced = Some(("crates/crossdock/src/lib.rs", "xtask/mutants/pure.rs"));
    Judge { copy: "pure", replaced, ..library(programs, filters) }
}

const LAYOUT: &Judge = &pure("--lib --test layout", &["layout::", "oracle::", "fixed::"]);
const PARTS: &Judge = &pure("--lib", &["word::", "charge::", "plan::"]);
const OVERLAP: &Judge = &library("--lib --test overlap", &["overlap", "behaviour::", "random::", "roads::"]);
const ARRAYS: &Judge = &library("--lib --test arrays", &[]);
const DLPACK: &Judge = &library("--lib --test dlpack", &["dlpack", "import::", "export::", "prepared::"]);
const VIEWS: &Judge = &library("--test memory_view", &[]);
const ARROW: &Judge = &library("--lib --test arrow_c", &["arrow", "import::", "layouts::", "stream::"]);

/// The files whose tests are tested: a wrong sign there silently corrupts data, or accesses another
/// owner's memory.
#[rustfmt::skip]
pub(crate) const FILES: &[Mutated] = &[
    Mutated { file: "crates/crossdock/src/layout/span.rs", judge: LAYOUT },
    Mutated { file: "crates/crossdock/src/layout/rules.rs", judge: LAYOUT },
    Mutated { file: "crates/crossdock/src/layout/slice.rs", judge: LAYOUT },
    Mutated { file: "crates/crossdock/src/layout/reshape.rs", judge: LAYOUT },
    Mutated { file: "crates/crossdock/src/kernel/copy/plan.rs", judge: PARTS },
    Mutated { file: "crates/crossdock/src/memory/word.rs", judge: PARTS },
    Mutated { file: "crates/crossdock/src/memory/pool/charge.rs", judge: PARTS },
    Mutated { file: "crates/crossdock/src/memory/overlap/mod.rs", judge: OVERLAP },
    Mutated { file: "crates/crossdock/src/memory/overlap/elsewhere.rs", judge: OVERLAP },
    Mutated { file: "crates/crossdock/src/array/convert.rs", judge: ARRAYS },
    Mutated { file: "crates/crossdock/src/exchange/protocol/dlpack/import.rs", judge: DLPACK },
    Mutated { file: "crates/crossdock/src/exchange/protocol/memory_view/foreign.rs", judge: VIEWS },
    Mutated { file: "crates/crossdock/src/exchange/protocol/arrow/leaf.rs", judge: ARROW },
    Mutated { file: "crates/crossdock/src/view/producer.rs", judge: VIEWS },
];

impl Mutated {
    /// The file, relative to its workspace.
    pub(crate) fn within(&self) -> &'static str {
        let folder = self.judge.workspace;
        self.file.strip_prefix(folder).and_then(|file| file.strip_prefix('/')).unwrap_or(self.file)
    }

    /// A name for the file's own folder.
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
            let judge = Box::leak(Box::new(Judge { workspace, ..library("", &[]) }));
            Mutated { file, judge }.within()
        };
        assert_eq!(named("crates/crossdock/src/lib.rs", "."), "crates/crossdock/src/lib.rs");
        assert_eq!(named("bindings/python/src/import.rs", "bindings/python"), "src/import.rs");
    }
}
