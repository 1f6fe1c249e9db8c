//! `cargo xtask bench`: builds the benchmark and its peers, and runs it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::provision::{self, BENCH, BENCH_VENV, CXX};
use crate::run::{Door, Run};

/// Tells the benchmark where the built peer is.
const LIBRARY: &str = "CROSSDOCK_BENCH_ARROW";

/// Writes where the wheel has its headers and its library, and how the library's file name ends.
const WHERE: &str = "import pyarrow as p; print(p.get_include(), p.get_library_dirs()[0], p.cpp_build_info.so_version, sep='\\n')";

pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let door = Door::new(false)?;
    if !door.root.join("bench/Cargo.toml").exists() {
        bail!("there are no benchmarks: bench/Cargo.toml does not exist");
    }
    // Both binaries: a companion stands beside the benchmark.
    let status = door.cargo("build --release --package crossdock-bench").status()?;
    if !status.success() {
        bail!("the benchmarks do not build");
    }
    let mut benchmark = door.command(door.target.join("release/crossdock-bench"), "");
    match arrow(&mut Run::new(&door, "bench")?) {
        Ok(library) => drop(benchmark.env(LIBRARY, library)),
        // The other peers and the figures without peers are worth a run.
        Err(error) => eprintln!("without Arrow C++: {error:#}"),
    }
    let status = benchmark.args(args).status().context("the benchmark cannot be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds `bench/peers/arrow.cc` against the headers and the library that the pyarrow wheel brings.
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
