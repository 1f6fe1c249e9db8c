//! The bodies of the suites that are more than one command.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::provision::TESTS;
use crate::run::{Run, start};
use crate::workspace::{HEAVY, Workspace};

/// The default features of `crossdock` may pull this many crates, and no more.
const MOST_DEPENDENCIES: usize = 5;

/// Sanitizers need a target of their own, so that build scripts and proc macros stay without them.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What is unstable in the sanitizers' and the fuzzer's builds is unlocked in the toolchain at hand, so that what is
/// checked is compiled by the compiler that the other suites use. Inline assembly is hidden from instrumentation,
/// hence `crossdock_portable`.
const UNLOCK: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
const SANITIZED: &str = "-Zsanitizer=address --cfg crossdock_portable";

/// A library that a test loads has no sanitizer of its own, and finds the program's.
const FOR_LIBRARIES: &str = "-Clink-arg=-Wl,--export-dynamic-symbol=__asan_*";

/// Integration tests of `crossdock` that the address sanitizer leaves out, and why.
const NOT_SANITIZED: &[(&str, &str)] = &[
    ("documents", "reads text and touches no memory of ours"),
    ("layers", "reads source text and touches no memory of ours"),
    ("layout", WITHOUT_UNSAFE),
    ("layout_heap", WITHOUT_UNSAFE),
    ("majel", "calls by Majel's names what others call"),
    ("numpy", "asks NumPy what is right; where the same code goes wrong, others show"),
    (
        "strided_on_devices",
        "has a driver's compiler work, which leaks; what devices hold, and give back, `opencl` shows",
    ),
];

const WITHOUT_UNSAFE: &str = "runs a layer in which the compiler permits no unsafe code";

/// Test binaries of `crossdock` that run under valgrind, the longest first, with the filters that pick tests in them. The sanitizer runs
/// them all; valgrind is slower by far, but also sees uninitialised bytes and the inline assembly. (Not `fork` and
/// `devices_fork`: in a child, what only its parent's threads knew of is lost, the test harness's own memory among it.)
const UNDER_VALGRIND: &[(&str, &[&str])] = &[
    ("pools_system", &[]),
    ("arrow", &[]),
    ("memory", &[]),
    ("crossdock", &["memory::"]),
    ("allocation", &[]),
    ("allocators", &[]),
    ("drops", &[]),
    ("files", &[]),
    ("ledger", &[]),
    ("no_heap", &[]),
    ("devices", &[]),
    ("opencl", &[]),
    ("cuda", &["device::"]),
    ("fence", &["every_"]),
    ("pools", &[]),
    ("pools_debug", &[]),
    ("shm", &[]),
];

/// Tests that do not run under valgrind, by a part of their names, and why.
const NOT_UNDER_VALGRIND: &[(&str, &str)] = &[
    ("forgotten", "forgets guards on purpose"),
    ("threads_never_share_a_block", MOVED_PAGES),
    ("a_child_uses_the_cache", MOVED_PAGES),
    ("resizing_keeps_bytes", MOVED_PAGES),
    ("out_of_memory_is_none", "valgrind's own address space is limited along"),
    ("a_guarded_map_of_a_file_that_shrinks", FAULTS),
    ("a_guarded_part_tells_the_fault", FAULTS),
    ("a_copy_over_the_end_of_a_shrunken_file", FAULTS),
    ("a_file_that_ends_within_a_page", FAULTS),
    ("a_file_that_shrinks_under_its_reader", FAULTS),
    ("a_page_put_in_place", FAULTS),
    ("a_range_of_a_file_is_mapped_at_any_byte", FAULTS),
    ("slots_are_reused_by_many_threads_while_others_fault", FAULTS),
    ("failure_at_any_request_of_a_pool", MANY_TIMES_OVER),
    ("a_hundred_thousand_rows", MANY_TIMES_OVER),
    ("surprises::a_", MANY_TIMES_OVER),
];

/// Whether the program then crashes, never ends, or goes on by luck depends on how the compiler laid it out.
const FAULTS: &str = "goes on behind a fault, for which valgrind does not put all registers back";

const MANY_TIMES_OVER: &str = "does for minutes what tests beside it do once";

/// Seen with a C program, too, that moves pages of its own on four threads.
const MOVED_PAGES: &str =
    "takes pages that `mremap` moved, while other threads run, for pages that nobody may touch";

const FUZZ_TARGETS: &str = "fuzz/fuzz_targets";

/// A program that loses memory: what looks for leaks has to find this one first.
const LEAK: &str = "fn main() {
    let count = std::env::args().count();
    std::hint::black_box(std::mem::ManuallyDrop::new(vec![1u8; 1000 * count]));
}
";

/// The fuzz targets and the wheel are workspaces of their own, which `cargo fmt --all` does not reach.
pub(crate) fn formatted(run: &mut Run<'_>) -> Result<()> {
    run.cargo("fmt --all --check")?;
    run.cargo("fmt --manifest-path bindings/python/Cargo.toml --check")?;
    let folder = run.door.root.join(FUZZ_TARGETS);
    for target in file_stems(&folder)? {
        let mut rustfmt = run.door.command("rustfmt", "--edition 2024 --check");
        run.exec(rustfmt.arg(folder.join(target).with_extension("rs")))?;
    }
    Ok(())
}

/// The oldest Rust that we promise is the one that runs the tests, or an older one, which is said.
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

/// The first two numbers of a Rust version: patches change no interface.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// A library that one takes for a hub must not bring a forest along.
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
    run.cargo("clippy --workspace --all-targets --all-features -- -D warnings")?;
    // Only the library has features. In the whole workspace it would have those that the command asks for.
    run.cargo("clippy --package crossdock --all-targets --no-default-features -- -D warnings")
}

/// Libraries only: the command's page would have the name of the library's.
pub(crate) fn documentation(run: &mut Run<'_>) -> Result<()> {
    let mut command = run.door.cargo("doc --workspace --lib --no-deps --all-features");
    run.exec(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// In two chains with a target folder each: of one crate that is only checked, one processor has all the work.
pub(crate) fn builds(run: &mut Run<'_>) -> Result<()> {
    let workspace = Workspace::of(run)?;
    let features = workspace.library_features()?;
    let check = |args: &str, target: &Path| {
        let mut command = run.door.cargo(&format!("check {args} --no-default-features"));
        // Each is built once.
        command.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
        command
    };
    let alone = |feature: &&str, target: &Path| {
        check(&format!("--package crossdock --lib --features {feature}"), target)
    };
    // What is heavy goes first, into the folder where the lints have left what it needs.
    let (heavy, light): (Vec<_>, Vec<_>) = features.iter().partition(|feature| HEAVY.contains(feature));
    let (first, second) = light.split_at(light.len() / 2);
    let (here, beside) = (&run.door.target, run.door.target.join("builds"));
    let mut chain: Vec<_> = heavy.iter().chain(first).map(|feature| alone(feature, here)).collect();
    chain.push(check("--workspace", here));
    let mut other: Vec<_> = second.iter().map(|feature| alone(feature, &beside)).collect();
    other.push(check("--package crossdock --lib", &beside));
    run.side_by_side(vec![("builds-first".to_owned(), chain), ("builds-second".to_owned(), other)])?;
    run.note(format!("none, then each of {} alone", features.len()));
    Ok(())
}

/// With real counterparts: where one is missing, its tests fail instead of being skipped.
pub(crate) fn tests(run: &mut Run<'_>) -> Result<()> {
    let nextest = run.exec(&mut run.door.cargo("nextest --version")).is_ok();
    let features = Workspace::of(run)?.light_features()?;
    let mut command = run.door.cargo(if nextest {
        "nextest run --workspace --no-fail-fast"
    } else {
        "test --workspace --lib --bins --tests --examples --no-fail-fast"
    });
    command.arg(features);
    command.env("CROSSDOCK_REQUIRE_COUNTERPARTS", "1").env("CROSSDOCK_PYTHON", TESTS.python(run.door));
    if run.door.long {
        command.env("CROSSDOCK_CASES", "200000");
    }
    run.exec(&mut command)?;
    run.expect_tests()
}

pub(crate) fn doctests(run: &mut Run<'_>) -> Result<()> {
    let features = Workspace::of(run)?.light_features()?;
    run.exec(run.door.cargo("test --doc --workspace").arg(features))?;
    run.expect_tests()
}

/// What no other suite builds: see [`HEAVY`].
pub(crate) fn heavy(run: &mut Run<'_>) -> Result<()> {
    for feature in HEAVY {
        run.cargo(&format!("test --package crossdock --all-features --lib -- {feature}::"))?;
        run.cargo(&format!("test --package crossdock --all-features --doc -- {feature}"))?;
    }
    for test in Workspace::of(run)?.integration_tests()?.iter().filter(|test| test.is_heavy) {
        run.cargo(&format!("test --package crossdock --all-features --test {}", test.name))?;
    }
    run.expect_tests()
}

/// The command in the hands of CPython and NumPy.
pub(crate) fn python(run: &mut Run<'_>) -> Result<()> {
    // A test of the command brings the command along; and with the arguments of the suite `test`, what that built is at hand.
    let features = Workspace::of(run)?.light_features()?;
    run.exec(run.door.cargo("test --workspace --test command --no-run").arg(features))?;
    let mut pytest = run.door.command(TESTS.python(run.door), "-m pytest tests/python -q --color=no");
    pytest.env("CROSSDOCK_BIN", run.door.target.join("debug/crossdock"));
    run.exec(pytest.env("PYTHONDONTWRITEBYTECODE", "1"))?;
    run.expect_tests()
}

pub(crate) fn loom(run: &mut Run<'_>) -> Result<()> {
    let mut command = run.door.cargo("test --package crossdock --release --lib");
    // Of the library the models need a corner; to optimise all of it takes longer than they do.
    command.args(["--config", "profile.release.package.crossdock.opt-level=1"]);
    command.args(["--", "memory::model", "memory::pool::model", "memory_view::state::model"]);
    command.env("CARGO_TARGET_DIR", run.door.target.join("loom")).env("RUSTFLAGS", "--cfg loom");
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    run.exec(&mut command)?;
    run.expect_tests()
}

pub(crate) fn sanitizer(run: &mut Run<'_>) -> Result<()> {
    let canary = compile_leak(run, "leak-sanitized", &["-Zsanitizer=address"])?;
    run.must_fail(&mut run.door.command(canary, ""), "LeakSanitizer: detected memory leaks")?;

    let workspace = Workspace::of(run)?;
    let mut command =
        run.door.cargo(&format!("test --package crossdock --target {TARGET} --no-fail-fast --lib"));
    command.arg(workspace.light_features()?);
    for test in workspace.integration_tests()? {
        if !test.is_heavy && !NOT_SANITIZED.iter().any(|(name, _)| *name == test.name) {
            command.args(["--test", test.name]);
        }
    }
    // To optimise the crates of others takes longer than their part of the tests.
    command.args(["--config", "profile.dev.package.'*'.opt-level=0"]);
    // A forgotten guard leaks by design; the tests that show it say so in their names.
    command.args(["--", "--skip", "forgotten"]);
    command.env(UNLOCK.0, UNLOCK.1).env("RUSTFLAGS", format!("{SANITIZED} {FOR_LIBRARIES}"));
    command.env("CARGO_TARGET_DIR", run.door.target.join("sanitizer"));
    // Hardly ever built twice: what would be kept for the next time costs more than it saves.
    command.env("CARGO_INCREMENTAL", "0");
    // The tests of the guard for shrinking files raise SIGBUS on purpose, and want their own handler to see it. Others ask for
    // more than there is, and want to be told so. A driver of OpenCL changes the signal stack of its callers, which the sanitizer
    // then does not find again.
    command.env("ASAN_OPTIONS", "handle_sigbus=0:allocator_may_return_null=1:use_sigaltstack=0");
    // Instrumented and unoptimised, the property tests would take minutes.
    command.env("CARGO_PROFILE_TEST_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    // What is optimised across the units of a crate at this level takes a third of the build, and saves nothing here.
    command.env("CARGO_PROFILE_TEST_LTO", "off").env("CARGO_PROFILE_DEV_LTO", "off");
    // The suite `test` runs all of their cases.
    if !run.door.long {
        command.env("CROSSDOCK_CASES", "1000");
    }
    run.exec(&mut command)?;
    run.expect_tests()
}

pub(crate) fn valgrind(run: &mut Run<'_>) -> Result<()> {
    let memcheck = "-q --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --fair-sched=yes --suppressions=xtask/valgrind.supp";
    let canary = compile_leak(run, "leak-plain", &[])?;
    run.must_fail(run.door.command("valgrind", memcheck).arg(canary), "definitely lost")?;

    // The arguments of the suite `test`, so that what it built is at hand.
    let features = Workspace::of(run)?.light_features()?;
    let mut build = run.door.cargo("test --workspace --no-run --message-format=json");
    let messages = run.stdout(build.arg(features))?;
    let mut chains = Vec::new();
    for (target, filters) in UNDER_VALGRIND {
        let binary = test_binary(&messages, &run.door.root.join("crates/crossdock"), target)
            .with_context(|| format!("there is no test binary `{target}`"))?;
        let mut command = run.door.command("valgrind", memcheck);
        // Threads take turns there, so that tests beside each other would only disturb each other.
        command.arg(binary).args(*filters).arg("--test-threads=1");
        // The same tests over fewer random cases: valgrind is some fifty times slower.
        command.env("CROSSDOCK_CASES", "200");
        command.args(NOT_UNDER_VALGRIND.iter().flat_map(|(name, _)| ["--skip", name]));
        chains.push((format!("valgrind-{target}"), vec![command]));
    }
    run.side_by_side(chains)?;
    run.expect_tests()
}

/// The test binary `target` of the package in `folder`, from Cargo's messages.
pub(crate) fn test_binary(messages: &str, folder: &Path, target: &str) -> Option<PathBuf> {
    messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|message| {
        let ours = Path::new(message["target"]["src_path"].as_str()?).starts_with(folder);
        let wanted = message["target"]["name"] == target && message["profile"]["test"] == true;
        if ours && wanted { message["executable"].as_str().map(PathBuf::from) } else { None }
    })
}

/// Runs every target in `fuzz/fuzz_targets`, all at once, beginning with its kept corpus. What it finds on the way
/// goes into the target folder, so that the checkout stays as it is.
pub(crate) fn fuzz(run: &mut Run<'_>) -> Result<()> {
    let names = file_stems(&run.door.root.join(FUZZ_TARGETS))?;
    if names.is_empty() {
        bail!("there are no fuzz targets in {FUZZ_TARGETS}");
    }
    let work = run.door.target.join("fuzz");
    let mut build =
        run.door.cargo(&format!("build --manifest-path fuzz/Cargo.toml --release --bins --target {TARGET}"));
    build.env("CARGO_TARGET_DIR", &work).env(UNLOCK.0, UNLOCK.1).env("RUSTFLAGS", fuzzer_flags());
    run.exec(&mut build)?;

    let seconds = if run.door.long { 600 } else { 60 };
    let mut running = Vec::new();
    for name in names {
        running.push(Fuzzer::start(run, &work, name, seconds)?);
    }
    // All are waited for before the first failure is told: none outlives the suite.
    let mut failures = Vec::new();
    for fuzzer in running {
        match fuzzer.finish(run, seconds) {
            Ok(note) => run.note(note),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("; ")) }
}

/// Coverage as libFuzzer reads it, the address sanitizer, and the checks of a debug build in optimised code.
fn fuzzer_flags() -> String {
    let coverage = ["level=4", "inline-8bit-counters", "pc-table", "trace-compares"];
    let coverage = coverage.map(|part| format!("-Cllvm-args=-sanitizer-coverage-{part}")).join(" ");
    format!(
        "{SANITIZED} --cfg fuzzing -Cpasses=sancov-module {coverage} -Ccodegen-units=1 -Cdebug-assertions"
    )
}

/// A fuzz target while it runs.
struct Fuzzer {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Fuzzer {
    fn start(run: &Run<'_>, work: &Path, name: String, seconds: u32) -> Result<Self> {
        let found = work.join("corpus").join(&name);
        let artifacts = work.join("artifacts").join(&name);
        for folder in [&found, &artifacts] {
            fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        }
        let log = work.join(format!("{name}.log"));
        let output = File::create(&log).with_context(|| format!("{} cannot be written", log.display()))?;
        let options =
            format!("-max_total_time={seconds} -timeout=10 -rss_limit_mb=4096 -print_final_stats=1");
        let mut command = run.door.command(work.join(TARGET).join("release").join(&name), &options);
        command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&found);
        // libFuzzer writes into the first folder and only reads the others.
        command.args([run.door.root.join("fuzz/corpus").join(&name)].iter().filter(|seeds| seeds.is_dir()));
        let child = start(command.stdout(output.try_clone()?).stderr(output))?;
        Ok(Self { name, child, log })
    }

    /// Waits, and makes sure that it really ran for `seconds`. What it wrote goes into the suite's log.
    fn finish(mut self, run: &mut Run<'_>, seconds: u32) -> Result<String> {
        let status = run.wait(&mut self.child, &self.name);
        let text = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        run.append(&text)?;
        let (name, status) = (self.name, status?);
        if !status.success() {
            bail!("the fuzz target `{name}` ended with {status}; its log is {}", self.log.display());
        }
        let Some((runs, took)) = done(&text) else {
            bail!(
                "the fuzz target `{name}` did not say how many runs it did; its log is {}",
                self.log.display()
            );
        };
        if runs == 0 || took < seconds {
            bail!("the fuzz target `{name}` did {runs} runs in {took} of {seconds} seconds");
        }
        Ok(format!("{name} {runs} runs in {took} s"))
    }
}

/// Runs and seconds from libFuzzer's `Done 12345 runs in 61 second(s)`.
fn done(log: &str) -> Option<(u64, u32)> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("Done "))?;
    let mut words = line.split(' ');
    Some((words.next()?.parse().ok()?, words.nth(2)?.parse().ok()?))
}

fn compile_leak(run: &mut Run<'_>, name: &str, flags: &[&str]) -> Result<PathBuf> {
    let folder = run.door.target.join("xtask");
    let (source, binary) = (folder.join(format!("{name}.rs")), folder.join(name));
    fs::write(&source, LEAK).with_context(|| format!("{} cannot be written", source.display()))?;
    let mut rustc = run.door.command("rustc", "--edition 2024 -Copt-level=1");
    rustc.args(flags).arg(&source).arg("-o").arg(&binary);
    run.exec(rustc.env(UNLOCK.0, UNLOCK.1))?;
    Ok(binary)
}

/// The names of the Rust files in `folder`, without their ending, in order. A folder that is not there has none.
fn file_stems(folder: &Path) -> Result<Vec<String>> {
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
    fn libfuzzers_last_word_is_read() {
        assert_eq!(done("INFO: seed\nDone 12345 runs in 61 second(s)\nstat::x: 1\n"), Some((12345, 61)));
        assert_eq!(done("INFO: seed\n"), None);
    }

    #[test]
    fn rust_versions_are_compared_as_numbers() {
        assert_eq!(numbers("1.95"), Some((1, 95)));
        assert!(numbers("1.100.0") > numbers("1.95.2"));
        assert_eq!(numbers("nightly"), None);
    }

    #[test]
    fn a_test_binary_is_found_by_package_and_name() {
        let line = |path: &str, test: bool, file: &str| {
            serde_json::json!({
                "target": { "name": "drops", "src_path": path },
                "profile": { "test": test },
                "executable": file,
            })
            .to_string()
        };
        let messages = [
            "not json".to_owned(),
            line("/r/crates/other/tests/drops.rs", true, "/t/other"),
            line("/r/crates/crossdock/src/drops.rs", false, "/t/library"),
            line("/r/crates/crossdock/tests/drops.rs", true, "/t/ours"),
        ]
        .join("\n");
        let folder = Path::new("/r/crates/crossdock");
        assert_eq!(test_binary(&messages, folder, "drops"), Some("/t/ours".into()));
        assert_eq!(test_binary(&messages, folder, "views"), None);
    }
}
