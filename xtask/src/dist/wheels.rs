//! The wheels and their sources.

use std::process::Command;

use anyhow::{Result, ensure};

use super::{Dist, GLIBC, HOST, mounts};
use crate::provision::DIST;
use crate::run::Run;

const MANIFEST: &str = "bindings/python/Cargo.toml";

/// musl 1.2 and later.
const MUSLLINUX: &str = "musllinux_1_2";

/// The standard library, built of its sources.
const STD: &str = "-Zbuild-std=std,panic_abort";

pub(super) fn sources(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let python = DIST.python(&dist.door);
    let mut sdist = dist.door.command(python, &format!("-m maturin sdist -m {MANIFEST} --out"));
    sdist.arg(&dist.out);
    mounts::exec(run, dist, dist.prepare(&mut sdist))
}

pub(super) fn x86_64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let python = DIST.python(&dist.door);
    let mut build = maturin(dist, HOST, &manylinux());
    mounts::exec(run, dist, dist.prepare(build.arg("--interpreter").arg(python)))?;
    audit(run, dist, HOST, &manylinux())
}

pub(super) fn aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let target = "aarch64-unknown-linux-gnu";
    cross(run, dist, target, &manylinux(), &[])?;
    audit(run, dist, target, &manylinux())
}

pub(super) fn musl(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    for_musl(run, dist, "x86_64")
}

pub(super) fn musl_aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    for_musl(run, dist, "aarch64")
}

/// An extension is loaded by the interpreter and its C library, and so is not linked statically.
fn for_musl(run: &mut Run<'_>, dist: &Dist, processor: &str) -> Result<()> {
    let target = format!("{processor}-unknown-linux-musl");
    cross(run, dist, &target, MUSLLINUX, &["-Ctarget-feature=-crt-static"])?;
    needs_only_musl(run, dist, processor)
}

/// The extension needs one library, by a name that musl's loader takes as its own. (auditwheel
/// knows that library by the name that Alpine's linker gives it, and zig by musl's.)
fn needs_only_musl(run: &mut Run<'_>, dist: &Dist, processor: &str) -> Result<()> {
    let wheel = dist.artefact("crossdock-", &format!("{MUSLLINUX}_{processor}.whl"))?;
    let folder = dist.staging("wheel-musl")?;
    let python = DIST.python(&dist.door);
    run.exec(dist.door.command(python, "-m zipfile -e").arg(wheel).arg(&folder))?;
    let mut read = dist.door.command("readelf", "--wide --dynamic");
    let told = run.stdout(read.arg(folder.join("crossdock/_crossdock.abi3.so")))?;
    let needed: Vec<_> = told.lines().filter(|line| line.contains("(NEEDED)")).collect();
    ensure!(matches!(needed[..], [name] if name.ends_with("[libc.so]")), "the wheel needs {needed:?}");
    Ok(())
}

fn manylinux() -> String {
    format!("manylinux_{}", GLIBC.replace('.', "_"))
}

fn cross(run: &mut Run<'_>, dist: &Dist, target: &str, tag: &str, flags: &[&str]) -> Result<()> {
    let mut build = maturin(dist, target, tag);
    dist.prepare_cross(run, build.arg(STD), target, flags)?;
    mounts::exec(run, dist, &mut build)
}

/// The tool that builds a wheel, and refuses if it needs a newer system than `tag` says.
fn maturin(dist: &Dist, target: &str, tag: &str) -> Command {
    let options = format!("-m maturin build --release --locked -m {MANIFEST} --zig --target {target} --out");
    let mut build = dist.door.command(DIST.python(&dist.door), &options);
    build.arg(&dist.out).args(["--compatibility", tag]);
    build
}

/// Has a second tool say what a wheel needs of the system.
fn audit(run: &mut Run<'_>, dist: &Dist, target: &str, tag: &str) -> Result<()> {
    let processor = target.split('-').next().unwrap_or_default();
    let wheel = dist.artefact("crossdock-", &format!("{tag}_{processor}.whl"))?;
    let python = DIST.python(&dist.door);
    let told = run.output(dist.door.command(python, "-m auditwheel show").arg(&wheel))?;
    // In quotes: the name of the file, which is printed too, contains the tag of every wheel.
    let policy = format!("\"{tag}_{processor}\"");
    ensure!(told.contains(&policy), "{} does not run where {tag} says", wheel.display());
    Ok(())
}
