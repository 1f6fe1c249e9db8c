//! `cargo xtask bench`: builds the benchmark and its peers, and runs it.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::install;
use crate::provision::{self, BENCH, BENCH_VENV, CC, CXX, RUBY, RUBY_HEADERS};
use crate::run::{Door, Run};

/// Builds with Cargo's defaults, as a program that depends on the library or on a peer does. The
/// workspace's own profile saves build time.
const DEFAULTS: &str = "--config profile.release.codegen-units=16 \
    --config profile.release.package.crossdock.codegen-units=16 \
    --config profile.release.package.crossdock-cli.codegen-units=16";

/// Passes the path of the built peer to the benchmark.
const LIBRARY: &str = "CROSSDOCK_BENCH_ARROW";

/// Pass the paths of the loops over memory views: compiled with this library's header, and as a
/// Ruby extension.
const VIEWS: &str = "CROSSDOCK_BENCH_VIEWS";
const RUBY_VIEWS: &str = "CROSSDOCK_BENCH_RUBY_VIEWS";

/// Passes the path of a second build, compiled for this machine's CPU, which is measured beside the
/// peers, too.
const NATIVE: &str = "CROSSDOCK_BENCH_NATIVE";

/// Passes the path of the interpreter with NumPy.
const PYTHON: &str = "CROSSDOCK_BENCH_PYTHON";

/// Prints where the wheel has its headers and its library, and the extension of the library's file
/// name.
const WHERE: &str = "import pyarrow as p; print(p.get_include(), p.get_library_dirs()[0], p.cpp_build_info.so_version, sep='\\n')";

pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let door = Door::new(false)?;
    let mut benchmark = build(&door)?;
    let mut run = Run::new(&door, "bench")?;
    // The other peers, and the figures without peers, are worth a run.
    match provision::ensure(&mut run, &[BENCH_VENV]) {
        Ok(()) => drop(benchmark.env(PYTHON, BENCH.python(&door))),
        Err(error) => eprintln!("without NumPy: {error:#}"),
    }
    match arrow(&mut run) {
        Ok(library) => drop(benchmark.env(LIBRARY, library)),
        Err(error) => eprintln!("without Arrow C++: {error:#}"),
    }
    match views(&mut run) {
        Ok(library) => drop(benchmark.env(VIEWS, library)),
        Err(error) => eprintln!("without MemoryView through C: {error:#}"),
    }
    match ruby_views(&mut run) {
        Ok(extension) => drop(benchmark.env(RUBY_VIEWS, extension)),
        Err(error) => eprintln!("without Ruby: {error:#}"),
    }
    match native(&door) {
        Ok(program) => drop(benchmark.env(NATIVE, program)),
        Err(error) => eprintln!("without peers compiled for this machine: {error:#}"),
    }
    start(benchmark.args(args))
}

/// Builds the benchmark once more, for this machine's CPU.
fn native(door: &Door) -> Result<PathBuf> {
    let target = door.target.join("native");
    let mut build =
        door.cargo(&format!("build {DEFAULTS} --release --package crossdock-bench --bin crossdock-bench"));
    build.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-Ctarget-cpu=native");
    if !build.status()?.success() {
        bail!("the benchmarks do not build with target-cpu=native");
    }
    Ok(target.join("release/crossdock-bench"))
}

/// `cargo xtask compare`: copies the figures of the record into `COMPARE.md`, the
/// README and `docs/command.md`.
pub(crate) fn compare() -> Result<ExitCode> {
    start(build(&Door::new(false)?)?.arg("--compare"))
}

/// Both binaries: a companion is beside the benchmark.
fn build(door: &Door) -> Result<Command> {
    if !door.root.join("bench/Cargo.toml").exists() {
        bail!("there are no benchmarks: bench/Cargo.toml does not exist");
    }
    let packages = "--package crossdock-bench --package crossdock-capi --package crossdock-cli";
    if !door.cargo(&format!("build {DEFAULTS} --release {packages}")).status()?.success() {
        bail!("the benchmarks do not build");
    }
    Ok(door.command(door.target.join("release/crossdock-bench"), ""))
}

fn start(benchmark: &mut Command) -> Result<ExitCode> {
    let status = benchmark.status().context("the benchmark cannot be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The compiler flags of both kinds of loops over memory views.
const COMPILE_VIEWS: &str = "-O2 -std=gnu11 -Wall -Wextra -fPIC -shared bench/peers/views.c";

/// Builds the loops over memory views against the installed library.
fn views(run: &mut Run<'_>) -> Result<PathBuf> {
    provision::ensure(run, &[CC])?;
    let prefix = run.door.target.join("xtask/prefix-release");
    install::install(run.door, &run.door.target.join("release"), &prefix)?;
    let (include, libraries) = (prefix.join("include"), prefix.join("lib"));
    let library = run.door.target.join("xtask/libcrossdock-bench-views.so");
    let mut compile = run.door.command("cc", COMPILE_VIEWS);
    compile.arg("-I").arg(include).arg("-L").arg(&libraries).arg("-lcrossdock");
    compile.arg(format!("-Wl,-rpath,{}", libraries.display())).arg("-o").arg(&library);
    run.exec(&mut compile)?;
    Ok(library)
}

/// Builds the same loops as a Ruby extension.
fn ruby_views(run: &mut Run<'_>) -> Result<PathBuf> {
    provision::ensure(run, &[CC, RUBY, RUBY_HEADERS])?;
    let folders = "puts RbConfig::CONFIG.values_at('rubyhdrdir', 'rubyarchhdrdir')";
    let folders = run.stdout(run.door.command("ruby", "-rrbconfig -e").arg(folders))?;
    let extension = run.door.target.join("xtask/views.so");
    let mut compile = run.door.command("cc", COMPILE_VIEWS);
    compile.arg("-DBESIDE_RUBY").args(folders.lines().flat_map(|folder| ["-isystem", folder]));
    run.exec(compile.arg("-o").arg(&extension))?;
    Ok(extension)
}

/// Builds `bench/peers/arrow.cc` against the headers and the library of the pyarrow wheel.
fn arrow(run: &mut Run<'_>) -> Result<PathBuf> {
    provision::ensure(run, &[CXX, BENCH_VENV])?;
    let text = run.stdout(run.door.command(BENCH.python(run.door), "-c").arg(WHERE))?;
    let [include, libraries, version] = text.lines().collect::<Vec<_>>()[..] else {
        bail!("pyarrow does not say where its headers and libraries are");
    };
    let library = run.door.target.join("xtask/libcrossdock-bench-arrow.so");
    let mut compile =
        run.door.command("c++", "-O2 -std=c++20 -Wall -Wextra -fPIC -shared bench/peers/arrow.cc");
    compile.args(["-isystem", include, "-L", libraries]).arg(format!("-l:libarrow.so.{version}"));
    compile.arg(format!("-Wl,-rpath,{libraries}")).arg("-o").arg(&library);
    run.exec(&mut compile)?;
    Ok(library)
}
