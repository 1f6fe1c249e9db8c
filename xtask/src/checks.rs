//! The bodies of the suites that need more than one command.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::provision::TESTS;
use crate::run::Run;
use crate::workspace::Workspace;

/// The largest number of crates that the default features of `crossdock` may depend on.
const MOST_DEPENDENCIES: usize = 5;

/// The preemptions in an interleaving that the model checker tries, but for the long run. Two show
/// nearly every mistake; without a limit it takes twenty times as long.
const PREEMPTIONS: &str = "5";

/// The wheel and the crate for extensions are separate workspaces, which
/// `cargo fmt --all` does not reach.
pub(crate) fn formatted(run: &mut Run<'_>) -> Result<()> {
    run.cargo("fmt --all --check")?;
    run.cargo("fmt --manifest-path bindings/python/Cargo.toml --check")?;
    run.cargo("fmt --all --manifest-path crates/crossdock-pyo3/Cargo.toml --check")
}

/// Checks with the oldest supported Rust: either the installed one, or an older one, and the
/// suite's line says which.
pub(crate) fn msrv(run: &mut Run<'_>) -> Result<()> {
    let workspace = Workspace::of(run)?;
    let stated = workspace.rust_versions();
    let [stated] = stated[..] else { bail!("the packages state different Rust versions: {stated:?}") };
    let version = run.output(&mut run.door.command("rustc", "--version"))?;
    let running = version.split(' ').nth(1).context("`rustc --version` gave no version")?;
    let at_least = numbers(stated).with_context(|| format!("`{stated}` is no Rust version"))?;
    let at_hand = numbers(running).with_context(|| format!("`{running}` is no Rust version"))?;
    if at_hand < at_least {
        bail!("the workspace states Rust {stated}, but {running} is running");
    }
    let proof = if at_hand == at_least { "proven by this run" } else { "not proven by this run" };
    run.note(format!("stated {stated}, running {running}: {proof}"));
    Ok(())
}

/// The first two numbers of a Rust version: patch releases change no interface.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// A hub library must have few dependencies.
pub(crate) fn default_dependencies(run: &mut Run<'_>) -> Result<()> {
    let mut tree =
        run.door.cargo("tree --quiet --package crossdock --edges normal --prefix none --format {p}");
    let text = run.stdout(&mut tree)?;
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|&name| !name.is_empty() && name != "crossdock");
    let (count, names) = (names.len(), names.join(", "));
    if count > MOST_DEPENDENCIES {
        bail!(
            "the default features pull {count} crates where at most {MOST_DEPENDENCIES} are allowed: {names}"
        );
    }
    run.note(format!("{count} of at most {MOST_DEPENDENCIES}: {names}"));
    Ok(())
}

pub(crate) fn clippy(run: &mut Run<'_>) -> Result<()> {
    let features = Workspace::of(run)?.features(run.door)?;
    if run.door.fast {
        let mut command = run.door.cargo("clippy --workspace --lib --bins");
        return run.exec(command.arg(features).args(["--", "-D", "warnings"]));
    }
    let mut command = run.door.cargo("clippy --workspace --all-targets");
    run.exec(command.arg(features).args(["--", "-D", "warnings"]))?;
    // Only the library has features. In a build of the whole workspace it would have those that the
    // command needs.
    run.cargo("clippy --package crossdock --lib --no-default-features -- -D warnings")
}

/// The packages build with their default features. In the long run, the library builds with each
/// feature alone. All share the target folder, where the lints have left what crates need.
pub(crate) fn builds(run: &mut Run<'_>) -> Result<()> {
    check(run, "--workspace")?;
    if !run.door.long {
        run.note("only the long run builds each feature alone");
        return Ok(());
    }
    let workspace = Workspace::of(run)?;
    let features = workspace.library_features()?;
    for feature in &features {
        check(run, &format!("--package crossdock --lib --features {feature}"))?;
    }
    run.note(format!("each of {} features alone", features.len()));
    Ok(())
}

fn check(run: &mut Run<'_>, what: &str) -> Result<()> {
    let mut command = run.door.cargo(&format!("check {what} --no-default-features"));
    // Each is built once.
    run.exec(command.env("CARGO_INCREMENTAL", "0"))
}

/// The integration tests for daily work: one for each area that most changes affect.
const DAILY: &[&str] = &[
    "layers",
    "memory",
    "pools",
    "arrays",
    "overlap",
    "dlpack",
    "arrow_c",
    "memory_view",
    "pep3118",
    "formats",
    "documents",
];

/// With real counterparts: if one is missing, its tests fail instead of being skipped.
pub(crate) fn tests(run: &mut Run<'_>) -> Result<()> {
    let nextest = run.exec(&mut run.door.cargo("nextest --version")).is_ok();
    let workspace = Workspace::of(run)?;
    let features = workspace.features(run.door)?;
    let tests = workspace.integration_tests()?;
    if let Some(unknown) = DAILY.iter().find(|name| !tests.contains(name)) {
        bail!("`{unknown}` is for daily work, but there are no such tests");
    }
    // Selects the whole workspace either way, so that both build its crates with the same features.
    let mut command = run.door.cargo(if nextest { "nextest run --workspace" } else { "test --workspace" });
    command.args(["--no-fail-fast", "--lib"]);
    if run.door.fast {
        command.args(DAILY.iter().flat_map(|name| ["--test", name]));
    } else {
        command.args(["--bins", "--tests", "--examples"]);
        if nextest {
            // The suite `c` runs them, with and without instruments.
            command.args(["-E", "not binary_id(crossdock-capi::border)"]);
        }
    }
    command.arg(features);
    if !run.door.fast {
        command.env("CROSSDOCK_REQUIRE_COUNTERPARTS", "1").env("CROSSDOCK_PYTHON", TESTS.python(run.door));
    }
    if run.door.long {
        command.env("CROSSDOCK_CASES", "200000");
    }
    run.seed(&mut command);
    run.exec(&mut command)?;
    run.expect_tests()
}

pub(crate) fn doctests(run: &mut Run<'_>) -> Result<()> {
    let features = Workspace::of(run)?.features(run.door)?;
    run.exec(run.door.cargo("test --doc --workspace").arg(features))?;
    run.expect_tests()
}

/// The command with CPython and NumPy.
pub(crate) fn python(run: &mut Run<'_>) -> Result<()> {
    let programs = programs(run)?;
    let mut pytest = run.door.command(TESTS.python(run.door), "-m pytest tests/python -q -rs --color=no");
    pytest.env("CROSSDOCK_BIN", programs.join("crossdock"));
    run.exec(pytest.env("PYTHONDONTWRITEBYTECODE", "1"))?;
    run.expect_tests()
}

/// The folder of what tests in other languages use, after it was built: the command, the CUDA
/// driver without a GPU, and the C library with an example that uses channels.
pub(crate) fn programs(run: &mut Run<'_>) -> Result<PathBuf> {
    // A test of the command builds the command. With the arguments of the suite `test`, that build
    // is reused.
    let features = Workspace::of(run)?.features(run.door)?;
    run.exec(run.door.cargo("test --workspace --test command --no-run").arg(&features))?;
    // `cargo test` would build the tests in the example, of which there are none.
    run.exec(run.door.cargo("build --workspace --example member").arg(&features))?;
    run.cargo("build --package crossdock-mock-cuda")?;
    Ok(run.door.target.join("debug"))
}

pub(crate) fn loom(run: &mut Run<'_>) -> Result<()> {
    let mut command = run.door.cargo("test --package crossdock-loom --release --lib");
    command.env("CARGO_TARGET_DIR", run.door.target.join("loom")).env("RUSTFLAGS", "--cfg loom");
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    if !run.door.long {
        command.env("LOOM_MAX_PREEMPTIONS", PREEMPTIONS);
        run.note(format!(
            "interleavings of at most {PREEMPTIONS} preemptions: the long run goes through all"
        ));
    }
    run.tests(
        &mut command,
        &["memory::model", "pool::model", "memory_view::state::model", "channel::slot::model"],
    )
}

/// The sorted names of the Rust files in `folder`, without extension. A missing folder has none.
pub(crate) fn file_stems(folder: &Path) -> Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_versions_are_compared_as_numbers() {
        assert_eq!(numbers("1.95"), Some((1, 95)));
        assert!(numbers("1.100.0") > numbers("1.95.2"));
        assert_eq!(numbers("nightly"), None);
    }
}
