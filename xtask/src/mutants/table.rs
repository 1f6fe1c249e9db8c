//! Which files are mutated, and which tests judge each.

use crate::provision::{CC, LIBCLANG, Need, RUBY, RUBY_HEADERS, VENV, WHEEL_VENV};

/// The build for all mutants of some files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// The name of the folder with the copy of the checkout and its build.
    pub(crate) copy: &'static str,
    /// The folder of the workspace, from the root of the checkout.
    pub(crate) workspace: &'static str,
    pub(crate) package: &'static str,
    /// The feature arguments for Cargo.
    pub(crate) features: &'static str,
    /// Set if the tests are in another language, which loads the built library.
    pub(crate) module: Option<Module>,
}

/// A library that an interpreter loads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The file that Cargo creates.
    pub(crate) library: &'static str,
    /// The path at which the interpreter finds it, from the root of the checkout.
    pub(crate) place: &'static str,
    /// The folder in which the tests run, from the root of the checkout.
    pub(crate) folder: &'static str,
    pub(crate) language: Language,
}

impl Module {
    /// The needs of its build and its tests.
    pub(crate) fn needs(&self) -> &'static [Need] {
        match self.language {
            Language::Python => &[CC, VENV, WHEEL_VENV],
            Language::Ruby => &[CC, RUBY, RUBY_HEADERS, LIBCLANG],
        }
    }

    /// The arguments of the interpreter for a file of tests, up to the first that fails.
    pub(crate) fn tests(&self, file: &str) -> Vec<String> {
        let words = match self.language {
            Language::Python => format!("-m pytest -x -q --color=no -p no:cacheprovider tests/{file}"),
            Language::Ruby => format!("-Ilib -Itest test/{file} --stop-on-failure"),
        };
        words.split(' ').map(str::to_owned).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Ruby,
}

/// Some tests of a program.
#[derive(Debug)]
pub(crate) struct Tests {
    /// For Cargo: `--lib`, or `--test` with a name. For a module: a file of tests.
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

const LIBRARY: &Build = &Build {
    copy: "library",
    workspace: ".",
    package: "crossdock",
    features: "--no-default-features",
    module: None,
};

const WHEEL: &Build = &Build {
    copy: "wheel",
    workspace: "bindings/python",
    package: "crossdock-python",
    features: "",
    module: Some(Module {
        library: "lib_crossdock.so",
        place: "bindings/python/python/crossdock/_crossdock.abi3.so",
        folder: "bindings/python",
        language: Language::Python,
    }),
};

const GEM: &Build = &Build {
    copy: "gem",
    workspace: "bindings/ruby/ext/crossdock",
    package: "crossdock-ruby",
    features: "",
    module: Some(Module {
        library: "libcrossdock_ruby.so",
        place: "bindings/ruby/lib/crossdock/crossdock.so",
        folder: "bindings/ruby",
        language: Language::Ruby,
    }),
};

const fn unit(filters: &'static [&'static str]) -> Tests {
    Tests { program: "--lib", filters }
}

const fn test(program: &'static str) -> Tests {
    Tests { program, filters: &[] }
}

const LAYOUT: &[Tests] = &[unit(&["layout::"])];
const COPY: &[Tests] = &[unit(&["plan::", "copy::"]), test("--test arrays")];
const LEASES: &[Tests] = &[unit(&["word::"]), test("--test memory")];
const CHARGE: &[Tests] = &[unit(&["charge::"]), test("--test pools")];
const OVERLAP: &[Tests] = &[unit(&["overlap", "interleave"]), test("--test overlap")];
const ARRAYS: &[Tests] =
    &[test("--test overlap"), test("--test fence"), test("--test own_device"), test("--test arrays")];
const DLPACK: &[Tests] = &[unit(&["dlpack"]), test("--test dlpack")];
const VIEWS: &[Tests] = &[unit(&["memory_view", "view::"]), test("--test memory_view")];
const COPIES: &[Tests] = &[test("--test devices"), test("--test arrays")];
const ARROW: &[Tests] = &[unit(&["arrow"]), test("--test arrow_c")];

const LENT: &[Tests] = &[
    test("test_buffers.py"),
    test("test_requests.py"),
    test("test_memory.py"),
    test("test_ledger.py"),
    test("test_lifetimes.py"),
];
const IMPORTED: &[Tests] = &[
    test("test_array.py"),
    test("test_interfaces.py"),
    test("test_records.py"),
    test("test_buffers.py"),
    test("test_meanings.py"),
    test("test_cuda.py"),
    test("test_exchange.py"),
    test("test_bugs.py"),
];
const CAPSULES: &[Tests] = &[
    test("test_dlpack.py"),
    test("test_cuda.py"),
    test("test_devices.py"),
    test("test_exchange.py"),
    test("test_others_dlpack.py"),
    test("test_bugs.py"),
];
const TABLES: &[Tests] =
    &[test("test_arrow.py"), test("test_meanings.py"), test("test_bugs.py"), test("test_devices.py")];
const GEM_VIEWS: &[Tests] = &[
    test("test_view.rb"),
    test("test_views.rb"),
    test("test_importers.rb"),
    test("test_adapters.rb"),
    test("test_make.rb"),
    test("test_bugs.rb"),
    test("test_pressure.rb"),
    test("test_robust.rb"),
];
const GEM_VALUES: &[Tests] = &[
    test("test_elements.rb"),
    test("test_make.rb"),
    test("test_index.rb"),
    test("test_strings.rb"),
    test("test_encodings.rb"),
    test("test_exact.rb"),
    test("test_words.rb"),
];
const GEM_CAPSULES: &[Tests] = &[
    test("test_dlpack.rb"),
    test("test_importers.rb"),
    test("test_exchange.rb"),
    test("test_pressure.rb"),
    test("test_bugs.rb"),
];

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
    Mutated { file: "crates/crossdock/src/pool/charge.rs", build: LIBRARY, tests: CHARGE },
    Mutated { file: "crates/crossdock/src/memory/overlap/mod.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/memory/overlap/elsewhere.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/memory/overlap/extent.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/memory/overlap/maps.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/array/extent.rs", build: LIBRARY, tests: OVERLAP },
    Mutated { file: "crates/crossdock/src/array/convert.rs", build: LIBRARY, tests: ARRAYS },
    Mutated { file: "crates/crossdock/src/exchange/protocol/dlpack/import.rs", build: LIBRARY, tests: DLPACK },
    Mutated { file: "crates/crossdock/src/exchange/protocol/memory_view/foreign.rs", build: LIBRARY, tests: VIEWS },
    Mutated { file: "crates/crossdock/src/exchange/protocol/arrow/leaf_column.rs", build: LIBRARY, tests: ARROW },
    Mutated { file: "crates/crossdock/src/view/producer.rs", build: LIBRARY, tests: COPIES },
    Mutated { file: "bindings/python/src/buffer/export.rs", build: WHEEL, tests: LENT },
    Mutated { file: "bindings/python/src/buffer/exports.rs", build: WHEEL, tests: LENT },
    Mutated { file: "bindings/python/src/buffer/import.rs", build: WHEEL, tests: IMPORTED },
    Mutated { file: "bindings/python/src/import.rs", build: WHEEL, tests: IMPORTED },
    Mutated { file: "bindings/python/src/interface/import.rs", build: WHEEL, tests: IMPORTED },
    Mutated { file: "bindings/python/src/dlpack.rs", build: WHEEL, tests: CAPSULES },
    Mutated { file: "bindings/python/src/arrow/import.rs", build: WHEEL, tests: TABLES },
    Mutated { file: "bindings/ruby/ext/crossdock/src/import.rs", build: GEM, tests: GEM_VIEWS },
    Mutated { file: "bindings/ruby/ext/crossdock/src/views.rs", build: GEM, tests: GEM_VIEWS },
    Mutated { file: "bindings/ruby/ext/crossdock/src/value.rs", build: GEM, tests: GEM_VALUES },
    Mutated { file: "bindings/ruby/ext/crossdock/src/dlpack.rs", build: GEM, tests: GEM_CAPSULES },
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
            let build =
                Box::leak(Box::new(Build { copy: "", workspace, package: "", features: "", module: None }));
            Mutated { file, build, tests: &[] }.within()
        };
        assert_eq!(named("crates/crossdock/src/lib.rs", "."), "crates/crossdock/src/lib.rs");
        assert_eq!(named("bindings/python/src/import.rs", "bindings/python"), "src/import.rs");
    }
}
