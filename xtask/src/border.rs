//! The suite of the C interface: the installed library, used from C and C++.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::install;
use crate::provision::TESTS;
use crate::run::Run;
use crate::workspace::Workspace;

/// The tests that run programs.
const PROGRAMS: &[&str] = &["programs::", "nulls::", "bugs::"];
/// The instruments, and the tests that run under each.
const INSTRUMENTS: &[(&str, &[&str])] = &[("", &[]), ("valgrind", PROGRAMS), (ADDRESS, PROGRAMS)];
/// The instrument of the long run only. It instruments the programs but not the library, and
/// valgrind sees the heap of both.
const ADDRESS: &str = "address";

pub(crate) fn c(run: &mut Run<'_>) -> Result<()> {
    // The arguments of the suite `test`, so that its build is reused.
    let features = Workspace::of(run)?.features(run.door)?;
    run.exec(run.door.cargo("test --workspace --no-run --test border").arg(&features))?;
    let prefix = run.door.target.join("xtask/prefix");
    if prefix.exists() {
        fs::remove_dir_all(&prefix).with_context(|| format!("{} cannot be removed", prefix.display()))?;
    }
    install::install(run.door, &run.door.target.join("debug/deps"), &prefix)?;

    let programs = run.door.target.join("xtask/border");
    if programs.exists() {
        fs::remove_dir_all(&programs).with_context(|| format!("{} cannot be removed", programs.display()))?;
    }
    let is_of_this_run = |name: &str| run.door.long || name != ADDRESS;
    let instruments: Vec<_> = INSTRUMENTS.iter().filter(|(name, _)| is_of_this_run(name)).collect();
    for (instrument, filters) in instruments {
        run.step(if instrument.is_empty() { "plain" } else { instrument });
        let mut command = run.door.cargo("test --workspace --test border");
        command.arg(&features);
        command.env("CROSSDOCK_PREFIX", &prefix).env("CROSSDOCK_INSTRUMENT", instrument);
        // Valgrind runs the programs that were built for the plain run.
        command.env("CROSSDOCK_PROGRAMS", &programs);
        command.env("CROSSDOCK_REQUIRE_COUNTERPARTS", "1").env("CROSSDOCK_PYTHON", TESTS.python(run.door));
        run.tests(&mut command, filters)?;
    }

    // The examples against the shared library, and some against the static one, found by CMake:
    // through a link to the folder of libraries, as from `/lib` where that is a link to `/usr/lib`.
    run.step("cmake");
    let build = run.door.target.join("xtask/cmake");
    let linked = run.door.target.join("xtask/prefix-linked");
    if linked.exists() {
        fs::remove_dir_all(&linked).with_context(|| format!("{} cannot be removed", linked.display()))?;
    }
    fs::create_dir_all(&linked).with_context(|| format!("{} cannot be made", linked.display()))?;
    symlink(prefix.join("lib"), linked.join("lib")).context("a link to the libraries cannot be made")?;
    let mut configure = run.door.command("cmake", "-S examples -B");
    configure.arg(&build).arg("--fresh").arg(format!("-DCMAKE_PREFIX_PATH={}", linked.display()));
    run.exec(configure.arg(format!("-DPYTHON={}", TESTS.python(run.door).display())))?;
    run.exec(run.door.command("cmake", "--build").arg(&build))?;
    // Programs find the installed library by their own path, which comes after Cargo's variable.
    let ctest = |build: &Path| {
        let mut command = run.door.command("ctest", "--output-on-failure --no-tests=error --test-dir");
        command.arg(build).env_remove("LD_LIBRARY_PATH");
        command
    };
    let told = run.output(&mut ctest(&build))?;
    if !told.contains("100% tests passed") || !told.contains("arrow-buffer-static") {
        bail!("`ctest` did not run all examples");
    }
    run.note("examples built by pkg-config and by CMake, shared and static");

    // With the sources, as `FetchContent` gets them; the library is the installed one, to build it
    // once.
    let fetched = run.door.target.join("xtask/cmake-fetch");
    let mut configure = run.door.command("cmake", "-S examples/fetch -B");
    configure.arg(&fetched).arg("--fresh").arg(format!("-DCROSSDOCK_BUILT={}", prefix.join("lib").display()));
    run.exec(&mut configure)?;
    run.exec(run.door.command("cmake", "--build").arg(&fetched))?;
    run.exec(&mut ctest(&fetched))?;

    run.step("meson");
    let build = run.door.target.join("xtask/meson");
    if build.exists() {
        fs::remove_dir_all(&build).with_context(|| format!("{} cannot be removed", build.display()))?;
    }
    let mut setup = run.door.command("meson", "setup");
    setup.arg(&build).arg("examples/meson").arg("--pkg-config-path").arg(prefix.join("lib/pkgconfig"));
    run.exec(&mut setup)?;
    run.exec(run.door.command("meson", "test -C").arg(&build).env_remove("LD_LIBRARY_PATH"))?;
    Ok(())
}
