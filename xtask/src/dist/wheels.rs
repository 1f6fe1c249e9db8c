//! The wheels and their sources.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::{Dist, GLIBC, HOST};
use crate::provision::DIST;
use crate::run::Run;

const MANIFEST: &str = "bindings/python/Cargo.toml";

/// The standard library, built of its sources.
const STD: &str = "-Zbuild-std=std,panic_abort";

pub(super) fn sources(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    dist.forget(|name| {
        name.starts_with("crossdock-") && name.ends_with(&format!("{}.tar.gz", dist.version))
    })?;
    let python = DIST.python(run.door);
    let mut sdist = run.door.command(python, &format!("-m maturin sdist -m {MANIFEST} --out"));
    sdist.arg(&dist.out);
    run.exec(dist.prepare(run.door, &mut sdist))
}

pub(super) fn x86_64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    build(run, dist, HOST, "manylinux", &manylinux(), false)
}

pub(super) fn aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    build(run, dist, "aarch64-unknown-linux-gnu", "manylinux", &manylinux(), true)
}

pub(super) fn musl(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    build(run, dist, "x86_64-unknown-linux-musl", "musllinux", "musllinux_1_2", true)
}

fn manylinux() -> String {
    format!("manylinux_{}", GLIBC.replace('.', "_"))
}

/// Builds a wheel, which the tool refuses if it needs a newer system than `tag` says.
fn build(
    run: &mut Run<'_>,
    dist: &Dist,
    target: &str,
    system: &str,
    tag: &str,
    is_cross: bool,
) -> Result<()> {
    let processor = target.split('-').next().unwrap_or_default();
    dist.forget(|name| name.contains(system) && name.ends_with(&format!("{processor}.whl")))?;
    let python = DIST.python(run.door);
    let options = format!("-m maturin build --release --locked -m {MANIFEST} --zig --target {target} --out");
    let mut build = run.door.command(&python, &options);
    build.arg(&dist.out).args(["--compatibility", tag]);
    dist.prepare(run.door, &mut build);
    if is_cross {
        dist.cross(run, build.arg(STD))?;
    } else {
        build.arg("--interpreter").arg(&python);
    }
    run.exec(&mut build)?;
    audit(run, &dist.artefact("crossdock-", &format!("{tag}_{processor}.whl"))?, tag)
}

/// Has a second tool say what a wheel needs of the system.
fn audit(run: &mut Run<'_>, wheel: &PathBuf, tag: &str) -> Result<()> {
    let python = DIST.python(run.door);
    let told = run.output(run.door.command(python, "-m auditwheel show").arg(wheel))?;
    // In quotes: the name of the file, which is printed too, contains the tag of every wheel.
    let policy = format!("\"{tag}\"");
    ensure!(told.contains(&policy), "{} does not run where {tag} says", wheel.display());
    Ok(())
}
