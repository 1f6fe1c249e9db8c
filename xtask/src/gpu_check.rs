//! `cargo xtask gpu-check`: everything that needs a GPU, on this machine or in a folder for a
//! machine that only has the driver.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::install::strip;
use crate::instruments::test_binary;
use crate::provision::{self, VENV};
use crate::run::{Door, Run, start};
use crate::wheel;

/// The integration tests of the CUDA driver that can run on a GPU.
const TESTS: &[&str] = &["cuda"];

/// The arguments of both builds, so that they share one.
const TESTED: &str = "test --release --package crossdock-cuda --no-run --message-format=json";

/// The program that runs the others, and the command.
const PROGRAMS: &[&str] = &["crossdock-gpu-check", "crossdock"];
const PACKAGES: &str = "--package crossdock-gpu-check --package crossdock-cli";

/// The script of Python's measurements.
const SCRIPT: &str = "bindings/python/bench/gpu.py";

/// The kernels in the form that the driver loads.
const PTX: &str = "crates/crossdock-cuda/src";

/// The size limit of a bundle, which is copied to other machines.
const MOST_BYTES: u64 = 40 << 20;

/// Starts the checks with the files beside this one.
const RUN: &str = r#"#!/bin/sh
# Checks and measures Crossdock on this machine's GPU. Needs the driver; with a Python 3.11 or newer, the wheel is checked as well,
# and with PyTorch in it, beside PyTorch.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    "$python" -m zipfile -e crossdock-*.whl python
    PYTHONPATH=$PWD/python exec ./crossdock-gpu-check --python "$python" "$@"
fi
exec ./crossdock-gpu-check "$@"
"#;

/// Runs the checks on this machine, or creates a folder with them.
pub(crate) fn run(bundle: Option<&Path>, arguments: &[String]) -> Result<ExitCode> {
    let door = Door::new(false)?;
    match bundle {
        Some(folder) => make_bundle(&door, &door.root.join(folder)),
        None => check(&door, arguments),
    }
}

/// The first program reports at once whether there is a device: without one, nothing else is built.
fn check(door: &Door, arguments: &[String]) -> Result<ExitCode> {
    build(door, PACKAGES)?;
    let program = door.target.join("release").join(PROGRAMS[0]);
    let probe = door.command(&program, "--probe").output().context("the program does not start")?;
    if !probe.status.success() || probe.stdout.starts_with(b"no device") {
        print!("{}{}", String::from_utf8_lossy(&probe.stdout), String::from_utf8_lossy(&probe.stderr));
        return Ok(if probe.status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let folder = door.target.join("xtask/gpu-check");
    gather(door, &folder)?;
    let mut checks = door.command(folder.join(PROGRAMS[0]), "");
    let status = start(checks.args(arguments))?.wait()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The programs, the wheel, the kernels, and the script that starts them.
fn make_bundle(door: &Door, folder: &Path) -> Result<ExitCode> {
    build(door, PACKAGES)?;
    gather(door, folder)?;
    let mut run = Run::new(door, "gpu-check")?;
    provision::ensure(&mut run, &[VENV])?;
    let wheel = wheel::build(&mut run, |_, _| {})?;
    copy(&wheel, &folder.join(wheel.file_name().context("the wheel has no name")?))?;
    for file in
        files(&door.root.join(PTX))?.iter().filter(|file| file.extension().is_some_and(|it| it == "ptx"))
    {
        copy(file, &folder.join(file.file_name().context("a file without a name")?))?;
    }
    let start = folder.join("run");
    fs::write(&start, RUN).with_context(|| format!("{} cannot be written", start.display()))?;
    fs::set_permissions(&start, fs::Permissions::from_mode(0o755))?;

    let mut whole = 0;
    for file in files(folder)? {
        let nbytes = fs::metadata(&file)?.len();
        whole += nbytes;
        println!("{:>9} KiB  {}", nbytes.div_ceil(1 << 10), file.display());
    }
    println!("{:>9} KiB in all", whole.div_ceil(1 << 10));
    if whole > MOST_BYTES {
        bail!("the bundle has {whole} bytes, where {MOST_BYTES} are the most");
    }
    Ok(ExitCode::SUCCESS)
}

fn build(door: &Door, packages: &str) -> Result<()> {
    if !door.cargo(&format!("build --release {packages}")).status()?.success() {
        bail!("the programs do not build");
    }
    Ok(())
}

/// Copies the programs and the tests into a separate folder.
fn gather(door: &Door, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for program in PROGRAMS {
        place(door, &door.target.join("release").join(program), &folder.join(program))?;
    }
    let mut run = Run::new(door, "gpu-check-tests")?;
    let mut tests = door.cargo(TESTED);
    for test in TESTS {
        tests.args(["--test", test]);
    }
    let messages = run.stdout(&mut tests)?;
    for test in TESTS {
        let binary = test_binary(&messages, &door.root.join("crates/crossdock-cuda"), test)
            .with_context(|| format!("there is no test binary `{test}`"))?;
        place(door, &binary, &folder.join(format!("test-{test}")))?;
    }
    let script = door.root.join(SCRIPT);
    copy(&script, &folder.join(script.file_name().context("the script has no name")?))
}

/// A program without debug information.
fn place(door: &Door, from: &Path, to: &Path) -> Result<()> {
    copy(from, to)?;
    strip(door, to)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("{} cannot become {}", from.display(), to.display())).map(drop)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}
