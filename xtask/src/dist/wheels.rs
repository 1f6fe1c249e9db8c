//! The wheels and their sources.

use std::process::Command;

use anyhow::{Result, ensure};

use super::{Dist, GLIBC, HOST};
use crate::provision::DIST;
use crate::run::Run;

const MANIFEST: &str = "bindings/python/Cargo.toml";

/// The standard library, built of its sources.
const STD: &str = "-Zbuild-std=std,panic_abort";

pub(super) fn sources(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let python = DIST.python(&dist.door);
    let mut sdist = dist.door.command(python, &format!("-m maturin sdist -m {MANIFEST} --out"));
    sdist.arg(&dist.out);
    run.exec(dist.prepare(&mut sdist))
}

pub(super) fn x86_64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let python = DIST.python(&dist.door);
    let mut build = maturin(dist, HOST, &manylinux());
    run.exec(dist.prepare(build.arg("--interpreter").arg(python)))?;
    audit(run, dist, HOST, &manylinux())
}

pub(super) fn aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    cross(run, dist, "aarch64-unknown-linux-gnu", &manylinux(), &[])
}

/// An extension is loaded by the interpreter and its C library, and so is not linked statically.
pub(super) fn musl(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    cross(run, dist, "x86_64-unknown-linux-musl", "musllinux_1_2", &["-Ctarget-feature=-crt-static"])
}

fn manylinux() -> String {
    format!("manylinux_{}", GLIBC.replace('.', "_"))
}

fn cross(run: &mut Run<'_>, dist: &Dist, target: &str, tag: &str, flags: &[&str]) -> Result<()> {
    let mut build = maturin(dist, target, tag);
    dist.prepare_cross(run, build.arg(STD), flags)?;
    run.exec(&mut build)?;
    audit(run, dist, target, tag)
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
