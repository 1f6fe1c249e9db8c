//! The suites that run tests under an instrument: the address sanitizer, and valgrind.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::filter;
use crate::fuzz::FUZZ_PACKAGE;
use crate::run::Run;
use crate::workspace::Workspace;

/// Unlocks the unstable options of the sanitizers' and the fuzzer's builds in the installed
/// toolchain, so that all suites use the same compiler. Nothing instruments inline assembly: with
/// `crossdock_sanitized` the library tells the sanitizer of it.
pub(crate) const UNLOCK: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
pub(crate) const SANITIZED: &str = "-Zsanitizer=address --cfg crossdock_sanitized";

/// A library that a test loads has no sanitizer runtime, and uses the program's.
const FOR_LIBRARIES: &str = "-Clink-arg=-Wl,--export-dynamic-symbol=__asan_*";

/// Integration tests of `crossdock` that the address sanitizer omits, and why.
const NOT_SANITIZED: &[(&str, &str)] = &[
    ("documents", "reads only text"),
    ("layers", "reads only source text"),
    ("layout_heap", WITHOUT_UNSAFE),
    ("majel", "calls by Majel's names what others call"),
    ("words", "reads only text"),
    ("numpy", "asks NumPy what is right; where the same code goes wrong, others show"),
];

/// Integration tests that only the long run builds for the address sanitizer: the largest, and why
/// the others suffice.
const LONG_SANITIZED: &[(&str, &str)] = &[
    ("arrays", "the unit tests of the layout and of the kernels access the same elements"),
    ("formats", "the fuzz targets, on their corpora, read and write the same formats"),
    ("matrix", "the tests of each adapter hand over the same arrays"),
];

/// The crates of drivers, each with its integration tests.
const DRIVERS: &[(&str, &[&str])] =
    &[("crossdock-cuda", &["cuda", "cuda_failures"]), ("crossdock-opencl", &["opencl"])];

/// Checks of strided work run a driver's compiler, which leaks and takes long. The other tests
/// cover what devices hold and release.
const COMPILES: &str = "::strided::";

const WITHOUT_UNSAFE: &str = "runs a layer in which the compiler permits no unsafe code";

/// Integration tests that the address sanitizer leaves to valgrind, which runs all of them and
/// finds the same errors there: accesses to memory that was freed or never allocated, and leaks.
const LEFT_TO_VALGRIND: &[&str] = &[
    "allocation",
    "allocators",
    "arrow",
    "devices",
    "drops",
    "ledger",
    "no_heap",
    "opencl",
    "pools",
    "pools_debug",
];

/// Tests of long copies, each by a part of its name, that the address sanitizer omits: without
/// optimisation they take longest. The same loops run over shorter rows there, and
/// these tests compare all bytes of their copies in the suite `test`.
const LONG_COPIES: &[&str] = &[
    "large_arrays_are_streamed_by_threads",
    "large_copies_are_streamed_and_shared",
    "arrays_of_many_chunks_come_back",
    "every_number_of_threads_gives_the_same_bytes",
];

/// Test binaries of `crossdock` that run under valgrind, the longest first, with the filters that
/// select tests in them. The sanitizer runs all others. Valgrind is much slower, but also finds
/// uninitialised bytes and sees the inline assembly. (Not `fork` and `devices_fork`: in a child,
/// memory that only threads of its parent refer to is lost, including the test harness's.)
const UNDER_VALGRIND: &[(&str, &[&str])] = &[
    ("pools_system", &[]),
    ("arrow", &[]),
    ("memory", &["io::", "io_devices::", "leases::"]),
    ("crossdock", &["memory::", "pool::", "buffer::", "device::", "ledger::", "io::", "exchange::crates::"]),
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

/// Tests with this word in their names leak deliberately: valgrind and the sanitizer skip them.
const LOSES_MEMORY: &str = "forgotten";

/// Tests that do not run under valgrind, each by a part of its name that no other test has, and
/// why.
const NOT_UNDER_VALGRIND: &[(&str, &str)] = &[
    ("threads_never_share_a_block", MOVED_PAGES),
    ("a_child_uses_the_cache", MOVED_PAGES),
    ("resizing_keeps_bytes", MOVED_PAGES),
    ("out_of_memory_is_none", "valgrind's own address space is limited along"),
    ("a_guarded_map_of_a_file_that_shrinks", FAULTS),
    ("each_copy_of_a_guarded_map", FAULTS),
    ("a_guarded_part_tells_the_fault", FAULTS),
    ("a_copy_over_the_end_of_a_shrunken_file", FAULTS),
    ("a_file_that_ends_within_a_page", FAULTS),
    ("a_file_that_shrinks_under_its_reader", FAULTS),
    ("a_page_put_in_place", FAULTS),
    ("a_range_of_a_file_is_mapped_at_any_byte", FAULTS),
    ("entries_are_reused_by_many_threads_while_others_fault", FAULTS),
    (
        "a_sparse_descriptor_is_limited_by_the_options_of_the_receiver",
        "maps more than valgrind's own address space has",
    ),
    ("code_of_another_library_may_fork_under_a_lock", FORKS),
    ("a_child_gets_the_value_that_another_thread_was_making", FORKS),
    ("handlers_that_are_registered_several_times_hold_the_locks_once", FORKS),
    ("failure_at_any_request_of_a_pool", MANY_TIMES_OVER),
    ("a_hundred_thousand_rows", MANY_TIMES_OVER),
    ("a_limit_is_not_passed_once_in_600_000_operations", MANY_TIMES_OVER),
    ("a_million_nested_slices", MANY_TIMES_OVER),
    ("a_long_chain_of_owners", MANY_TIMES_OVER),
];

const FORKS: &str = "in a child, what only its parent's threads knew of counts as lost";

/// Whether the program then crashes, hangs, or continues depends on the layout that the compiler
/// chose.
const FAULTS: &str = "goes on behind a fault, for which valgrind does not put all registers back";

const MANY_TIMES_OVER: &str = "does for minutes what tests beside it do once";

/// A C program that moves its own pages on four threads shows it, too.
const MOVED_PAGES: &str = "takes pages that `mremap` moved, while other threads run, for inaccessible pages";

/// The random cases of each test in instrumented code, which is up to fifty times as slow: a wrong
/// access is wrong in nearly every case. The suite `test` and the long run go through all.
const INSTRUMENTED_CASES: &str = "400";

/// A program that leaks: a leak checker must find this leak first.
const LEAK: &str = "fn main() {
    let count = std::env::args().count();
    std::hint::black_box(std::mem::ManuallyDrop::new(vec![1u8; 1000 * count]));
}
";

pub(crate) fn sanitizer(run: &mut Run<'_>) -> Result<()> {
    let canary = compile_leak(run, "leak-sanitized", &["-Zsanitizer=address"])?;
    run.must_fail(&mut run.door.command(canary, ""), "LeakSanitizer: detected memory leaks")?;

    let workspace = Workspace::of(run)?;
    let mut command = run.door.cargo("test --package crossdock --no-fail-fast --lib");
    for (package, tests) in DRIVERS {
        let left = tests.iter().filter(|test| !LEFT_TO_VALGRIND.contains(test));
        command.args(["--package", package]).args(left.flat_map(|test| ["--test", test]));
    }
    // The arguments of the suite `test`, so that other crates are those of its build.
    command.args(["--package", FUZZ_PACKAGE]).arg(workspace.features(run.door)?);
    let tests = workspace.integration_tests()?;
    let mut left_out = NOT_SANITIZED.to_vec();
    if !run.door.long {
        left_out.extend(LONG_SANITIZED);
        run.note(format!("{} test programs only in the long run", LONG_SANITIZED.len()));
    }
    for (name, why) in &left_out {
        if !tests.contains(name) {
            bail!("`{name}` is left out ({why}), but there are no such tests");
        }
    }
    let is_left_out = |name| left_out.iter().any(|(out, _)| *out == name) || LEFT_TO_VALGRIND.contains(&name);
    for test in tests.into_iter().filter(|test| !is_left_out(test)) {
        command.args(["--test", test]);
    }
    // Not optimised: optimising instrumented code takes longer than the tests.
    command.args(["--config", "profile.dev.package.crossdock-testkit.opt-level=0"]);
    // A forgotten guard leaks by design; the names of the tests that show it say so.
    command.args(["--", "--skip", LOSES_MEMORY, "--skip", COMPILES]);
    command.args(LONG_COPIES.iter().flat_map(|name| ["--skip", name]));
    command.env("RUSTC_WORKSPACE_WRAPPER", sanitized_rustc(run)?);
    // Rarely built twice: incremental data would cost more than they save.
    command.env("CARGO_INCREMENTAL", "0");
    // The tests of the guard for shrinking files raise SIGBUS on purpose, and need their own
    // handler. Other tests allocate too much on purpose, and expect an error. An OpenCL driver
    // changes the signal stack of its callers, which the sanitizer then does not find.
    command.env("ASAN_OPTIONS", "handle_sigbus=0:allocator_may_return_null=1:use_sigaltstack=0");
    if !run.door.long {
        command.env("CROSSDOCK_CASES", INSTRUMENTED_CASES);
        // To start a process takes the sanitizer longest, and each of some thousands is killed.
        command.env("CROSSDOCK_CHANNEL_MESSAGES", "30000");
    }
    run.seed(&mut command);
    run.exec(&mut command)?;
    run.expect_tests()
}

/// A script that compiles the crates of the workspace for the sanitizer, but for procedural macros
/// and build scripts, which the compiler and Cargo load, and for the driver without a GPU, whose
/// library has the same path in each build: suites beside this one load it, too. Other crates stay
/// those of the suite `test`, and are neither built again nor instrumented: their unsafe code is
/// not ours. Cargo itself must not see the variable that unlocks, since build scripts of other
/// crates depend on it.
fn sanitized_rustc(run: &Run<'_>) -> Result<PathBuf> {
    let (name, value) = UNLOCK;
    let script = format!(
        "case \" $* \" in\n\
        *' --crate-type proc-macro '* | *' --crate-name build_script_'* | *' --crate-name crossdock_mock_cuda '*) exec \"$@\" ;;\n\
        esac\n\
        exec env {name}={value} \"$@\" {SANITIZED} '{FOR_LIBRARIES}'"
    );
    run.script("sanitized-rustc", &script)
}

pub(crate) fn valgrind(run: &mut Run<'_>) -> Result<()> {
    let memcheck = "-q --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --fair-sched=yes --suppressions=xtask/valgrind.supp";
    let canary = compile_leak(run, "leak-plain", &[])?;
    run.must_fail(run.door.command("valgrind", memcheck).arg(canary), "definitely lost")?;

    // The arguments of the suite `test`, so that its build is reused.
    let features = Workspace::of(run)?.features(run.door)?;
    let mut build = run.door.cargo("test --workspace --no-run --message-format=json");
    let messages = run.stdout(build.arg(features))?;
    let (mut chains, mut listed) = (Vec::new(), Vec::new());
    for (target, filters) in UNDER_VALGRIND {
        let of_driver = DRIVERS.iter().find(|(_, tests)| tests.contains(target));
        let package = of_driver.map_or("crossdock", |(package, _)| package);
        let binary = test_binary(&messages, &run.door.root.join("crates").join(package), target)
            .with_context(|| format!("there is no test binary `{target}`"))?;
        let names = filter::listed(&run.stdout(run.door.command(&binary, "--list").args(*filters))?);
        filter::each_finds_some(filters, &names).with_context(|| format!("in the tests `{target}`"))?;
        listed.extend(names);
        let mut command = run.door.command("valgrind", memcheck);
        // Valgrind runs one thread at a time, so parallel tests would only slow each other down.
        command.arg(binary).args(*filters).arg("--test-threads=1");
        command.env("CROSSDOCK_CASES", INSTRUMENTED_CASES);
        command.args(["--skip", LOSES_MEMORY, "--skip", COMPILES]);
        command.args(NOT_UNDER_VALGRIND.iter().flat_map(|(name, _)| ["--skip", name]));
        chains.push((format!("valgrind-{target}"), vec![command]));
    }
    filter::each_finds_one(NOT_UNDER_VALGRIND.iter().map(|(name, _)| *name), &listed)?;
    filter::each_finds_some(&[LOSES_MEMORY], &listed)?;
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

fn compile_leak(run: &mut Run<'_>, name: &str, flags: &[&str]) -> Result<PathBuf> {
    let folder = run.door.target.join("xtask");
    let (source, binary) = (folder.join(format!("{name}.rs")), folder.join(name));
    fs::write(&source, LEAK).with_context(|| format!("{} cannot be written", source.display()))?;
    let mut rustc = run.door.command("rustc", "--edition 2024 -Copt-level=1");
    rustc.args(flags).arg(&source).arg("-o").arg(&binary);
    run.exec(rustc.env(UNLOCK.0, UNLOCK.1))?;
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sanitizer_leaves_to_valgrind_runs_there_whole() {
        for name in LEFT_TO_VALGRIND {
            let row = UNDER_VALGRIND.iter().find(|(target, _)| target == name);
            assert!(row.is_some_and(|(_, filters)| filters.is_empty()), "{name} under valgrind: {row:?}");
        }
    }

    #[test]
    fn long_copies_that_the_sanitizer_leaves_out_are_tests_that_there_are() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let files = [
            "crossdock/src/kernel/cast/direct/tests.rs",
            "crossdock/src/kernel/copy/tests.rs",
            "crossdock/tests/formats/npy_round_trip.rs",
            "crossdock/tests/threads.rs",
        ];
        for (name, file) in LONG_COPIES.iter().zip(files) {
            let source = fs::read_to_string(crates.join(file)).unwrap();
            assert_eq!(source.matches(&format!("fn {name}")).count(), 1, "{name} in {file}");
        }
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
