//! The suite of the gem: its extension in a separate workspace, its tests, also under valgrind and
//! with every other Ruby of the machine, and the gem as users install it, with the extension or, in
//! the long run, from its sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checks;
use crate::provision::TESTS;
use crate::run::{Door, Run};
use crate::wheel;

const GEM: &str = "bindings/ruby";
const MANIFEST: &str = "bindings/ruby/ext/crossdock/Cargo.toml";
/// Test programs that access the gem's memory in every way and start no other program.
const UNDER_VALGRIND: &[&str] = &[
    "adapters", "arrow", "bugs", "dlpack", "elements", "fiddle", "index", "pointers", "strings", "tables",
    "view", "views",
];
/// Tests in these that only take longer under valgrind: the plain run covers them.
const LEFT_OUT: &[&str] = &["exit", "compaction", "every_number", "ranges_take", "ranks", "ractors"];

pub(crate) fn ruby(run: &mut Run<'_>) -> Result<()> {
    run.cargo(&format!("fmt --manifest-path {MANIFEST} --check"))?;
    run.step("gem");
    let tasks: &[&str] = if run.door.long { &["test:install", "test:native"] } else { &["test:native"] };
    for task in tasks {
        let told = run.output(rake(run.door).arg(task))?;
        if !told.contains("0 failures") {
            bail!("the gem was not installed");
        }
    }

    let package = wheel::package(run, &folder(run.door).join("python"))?;
    run.step("test");
    let command = checks::programs(run)?.join("crossdock");
    let mut test = rake(run.door);
    test.env("CROSSDOCK_BIN", command).env("CROSSDOCK_PYTHON_PACKAGE", package);
    test.env("CROSSDOCK_REQUIRE_COUNTERPARTS", "1").env("CROSSDOCK_PYTHON", TESTS.python(run.door));
    if !run.door.long {
        test.env("CROSSDOCK_PEERS_TESTED", "first");
    }
    run.seed(&mut test);
    run.exec(test.arg("test"))?;

    run.step("rubies");
    run.exec(rake(run.door).arg("test:rubies"))?;

    run.step("valgrind");
    let told = run.output(&mut under_valgrind(run.door))?;
    for program in UNDER_VALGRIND {
        if !tests(run.door.root.join(GEM), program)?.iter().any(|test| told.contains(test)) {
            bail!("not one test of `{program}` ran under valgrind");
        }
    }

    run.expect_tests()?;
    run.note(if run.door.long {
        "both gems were installed"
    } else {
        "only the long run builds the gem from its file"
    });
    Ok(())
}

/// The folder of the installed gem and the unpacked wheel.
fn folder(door: &Door) -> PathBuf {
    door.target.join("ruby")
}

/// `rake`. In the long run, the extension of an installed gem is tested, and any other run builds
/// it here, with the library that the wheel has.
fn rake(door: &Door) -> Command {
    let mut rake = door.command("rake", "");
    // What the wheel needs, too, is built once.
    rake.current_dir(door.root.join(GEM)).env("CARGO_TARGET_DIR", wheel::target(door));
    if door.long {
        rake.env("CROSSDOCK_GEM_HOME", folder(door).join("home"));
    }
    door.build_for_tests(&mut rake);
    Door::lint(&mut rake);
    rake
}

/// Addresses only: Ruby's collector reads whatever lies on the stack, initialised or not. Ruby
/// grows the stack at once when it starts, which valgrind must accept. One process runs all
/// programs, since Ruby's start takes longer than the tests of most.
fn under_valgrind(door: &Door) -> Command {
    let options =
        "--quiet --error-exitcode=9 --undef-value-errors=no --max-stackframe=8500000 ruby -Ilib -Itest";
    let mut valgrind = door.command("valgrind", options);
    valgrind.args(UNDER_VALGRIND.iter().map(|program| format!("-r./{}", file(program))));
    // An empty program, after which the tests run; it names each.
    valgrind.args(["-e", "", "--", "--verbose=verbose"]).current_dir(door.root.join(GEM));
    valgrind.arg(format!("--ignore-name=/{}/", LEFT_OUT.join("|")));
    valgrind
}

/// The file of a test program, in the folder of the gem.
fn file(program: &str) -> String {
    format!("test/test_{program}.rb")
}

/// The names of the tests in a program of the gem in `folder`.
fn tests(folder: impl AsRef<Path>, program: &str) -> Result<Vec<String>> {
    let path = folder.as_ref().join(file(program));
    let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("def "));
    Ok(names.filter(|name| name.starts_with("test_")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_valgrind_leaves_out_are_tests_that_there_are() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(GEM);
        let names: Vec<_> =
            UNDER_VALGRIND.iter().flat_map(|program| super::tests(&folder, program).unwrap()).collect();
        for part in LEFT_OUT {
            let count = names.iter().filter(|name| name.contains(part)).count();
            assert_eq!(count, 1, "tests with `{part}` in their names");
        }
    }
}
