//! The wheels and their sources.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Dist, GLIBC, HOST, mounts, third_party};
use crate::platforms;
use crate::provision::DIST;
use crate::run::Run;

const MANIFEST: &str = "bindings/python/Cargo.toml";

/// musl 1.2 and later.
const MUSLLINUX: &str = "musllinux_1_2";

/// How the names of macOS's platforms end.
const DARWIN: &str = "apple-darwin";

pub(super) const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The name that the extension exports. cargo-zigbuild drops the compiler's list of names, and
/// without one the linker exports all, which are more than a library for Windows can have.
const EXPORTS: &str = "EXPORTS\n    PyInit__crossdock\n";

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
    let mut build = maturin(dist, HOST);
    build.args(["--compatibility", &manylinux()]).arg("--interpreter").arg(python);
    built(run, dist, HOST, dist.prepare(&mut build))?;
    audit(run, dist, HOST, &manylinux())
}

pub(super) fn aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let target = "aarch64-unknown-linux-gnu";
    cross(run, dist, target, Some(&manylinux()), &[])?;
    audit(run, dist, target, &manylinux())
}

pub(super) fn musl(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    for_musl(run, dist, "x86_64")
}

pub(super) fn musl_aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    for_musl(run, dist, "aarch64")
}

pub(super) fn macos_aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    for_macos(run, dist, "aarch64")
}

pub(super) fn macos_x86_64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    for_macos(run, dist, "x86_64")
}

/// zig has the names in macOS's libraries, which is all that a linker needs of them, and strips the
/// extension: Rust's compiler would start a program for that which the other one lacks. Names of
/// CPython are found when the extension is loaded.
fn for_macos(run: &mut Run<'_>, dist: &Dist, processor: &str) -> Result<()> {
    cross(run, dist, &format!("{processor}-{DARWIN}"), None, &["-Cstrip=none", "-Clink-arg=-s"])
}

/// maturin writes a list of exports for zig, which names the entry after the whole module,
/// `PyInit_crossdock._crossdock`, and no function has that name. Where it cannot write the list, it
/// warns and links without it, so a folder is at the path of that file.
pub(super) fn windows(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let blocked = dist.build.join("maturin/crossdock._crossdock.def");
    fs::create_dir_all(&blocked).with_context(|| format!("{} cannot be made", blocked.display()))?;
    let list = dist.staging("wheel-windows")?.join("exports.def");
    fs::write(&list, EXPORTS).with_context(|| format!("{} cannot be written", list.display()))?;
    let empty = format!("-Lnative={}", platforms::windows::empty_libraries(&dist.door)?.display());
    let list = format!("-Clink-arg={}", list.display());
    cross(run, dist, WINDOWS, None, &["-Cstrip=none", "-Clink-arg=-s", &empty, &list])
}

/// An extension is loaded by the interpreter and its C library, and so is not linked statically.
fn for_musl(run: &mut Run<'_>, dist: &Dist, processor: &str) -> Result<()> {
    let target = format!("{processor}-unknown-linux-musl");
    cross(run, dist, &target, Some(MUSLLINUX), &["-Ctarget-feature=-crt-static"])?;
    needs_only_musl(run, dist, processor)
}

/// The extension needs one library, by a name that musl's loader takes as its own. (auditwheel
/// knows that library by the name that Alpine's linker gives it, and zig by musl's.)
fn needs_only_musl(run: &mut Run<'_>, dist: &Dist, processor: &str) -> Result<()> {
    let wheel = wheel(dist, &format!("{processor}-unknown-linux-musl"))?;
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

fn cross(run: &mut Run<'_>, dist: &Dist, target: &str, tag: Option<&str>, flags: &[&str]) -> Result<()> {
    let mut build = maturin(dist, target);
    match tag {
        Some(tag) => build.args(["--compatibility", tag]),
        None => build.args(["--strip", "false"]),
    };
    dist.prepare_cross(run, build.arg(STD), target, flags)?;
    built(run, dist, target, &mut build)
}

/// The tool that builds a wheel, and refuses if it needs a newer system than its tag says.
fn maturin(dist: &Dist, target: &str) -> Command {
    let options = format!("-m maturin build --release --locked -m {MANIFEST} --zig --target {target} --out");
    let mut build = dist.door.command(DIST.python(&dist.door), &options);
    build.arg(&dist.out);
    build
}

/// Builds a wheel with the licences of the crates in it. Its manifest includes all files whose
/// names begin so; the sources of the wheel contain no crates, and so not this file.
fn built(run: &mut Run<'_>, dist: &Dist, target: &str, build: &mut Command) -> Result<()> {
    let list = dist.door.root.join("bindings/python").join(third_party::FILE);
    third_party::write(run, dist, third_party::WHEEL, target, &list)?;
    let result = mounts::exec(run, dist, build);
    fs::remove_file(&list).with_context(|| format!("{} cannot be removed", list.display()))?;
    result?;
    let wheel = wheel(dist, target)?;
    let mut abi3audit = dist.door.command(DIST.python(&dist.door), "-m abi3audit --strict --summary");
    run.exec(abi3audit.arg(&wheel)).with_context(|| format!("{} is not of abi3", wheel.display()))
}

/// The wheel for a platform.
pub(super) fn wheel(dist: &Dist, target: &str) -> Result<PathBuf> {
    let (processor, rest) = target.split_once('-').context("a platform has a processor")?;
    let processor = if rest == DARWIN { processor.replace("aarch64", "arm64") } else { processor.to_owned() };
    let system = match rest {
        "unknown-linux-musl" => MUSLLINUX.to_owned(),
        DARWIN => "macosx_1".to_owned(),
        _ if target == WINDOWS => "win".to_owned(),
        _ => manylinux(),
    };
    // Windows has another word for the processor.
    let processor = if target == WINDOWS { "amd64" } else { &*processor };
    dist.artefact(&format!("crossdock-{}-cp311-abi3-{system}", dist.version), &format!("_{processor}.whl"))
}

/// Has a second tool say what a wheel needs of the system.
fn audit(run: &mut Run<'_>, dist: &Dist, target: &str, tag: &str) -> Result<()> {
    let processor = target.split('-').next().unwrap_or_default();
    let wheel = wheel(dist, target)?;
    let python = DIST.python(&dist.door);
    let told = run.output(dist.door.command(python, "-m auditwheel show").arg(&wheel))?;
    // In quotes: the name of the file, which is printed too, contains the tag of every wheel.
    let policy = format!("\"{tag}_{processor}\"");
    ensure!(told.contains(&policy), "{} does not run where {tag} says", wheel.display());
    Ok(())
}
