//! The command for each platform, in an archive: a program that needs no library but those of the
//! system.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::archives::{self, LICENCES};
use super::{Dist, mounts, third_party};
use crate::platforms;
use crate::run::Run;

/// The platforms of the static command.
pub(super) const X86_64: &str = "x86_64-unknown-linux-musl";
pub(super) const AARCH64: &str = "aarch64-unknown-linux-musl";

pub(super) const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The most bytes of the command.
const MOST_BYTES: u64 = 8 << 20;

/// The command prints its man pages and completions.
pub(super) fn x86_64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let program = build_static(run, dist, X86_64)?;
    archive(run, dist, X86_64, &program, |run, folder| {
        write_pages(run, dist, &program, &folder.join("man/man1"), &folder.join("completions"))
    })
}

/// The pages and completions are those of the command that runs here.
pub(super) fn aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let program = build_static(run, dist, AARCH64)?;
    archive(run, dist, AARCH64, &program, |run, folder| {
        let other = dist.staging("command-pages")?;
        unpack(run, dist, X86_64, &other)?;
        for name in ["man", "completions"] {
            run.exec(dist.door.command("cp", "-r").arg(other.join(name)).arg(folder))?;
        }
        Ok(())
    })
}

/// Windows reads no man pages, and there are no completions for its shells.
pub(super) fn windows(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let empty = format!("-Lnative={}", platforms::windows::empty_libraries(&dist.door)?.display());
    let program = build(run, dist, WINDOWS, &["-Cstrip=none", "-Clink-arg=-s", &empty])?;
    archive(run, dist, WINDOWS, &program, |_, _| Ok(()))
}

/// A static program has no loader, and so opens no driver of a device.
fn build_static(run: &mut Run<'_>, dist: &Dist, target: &str) -> Result<PathBuf> {
    build(run, dist, target, &["-Ctarget-feature=+crt-static"])
}

fn build(run: &mut Run<'_>, dist: &Dist, target: &str, flags: &[&str]) -> Result<PathBuf> {
    let options = format!("build --locked --profile dist --package crossdock-cli --target {target}");
    let mut build = dist.door.command("cargo-zigbuild", &options);
    build.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=panic-unwind,optimize_for_size"]);
    dist.prepare_cross(run, &mut build, target, flags)?;
    mounts::exec(run, dist, &mut build)?;
    let name = if target == WINDOWS { "crossdock.exe" } else { "crossdock" };
    let program = dist.build.join(target).join("dist").join(name);
    let nbytes = fs::metadata(&program)?.len();
    let is_small = nbytes <= MOST_BYTES || !dist.door.long;
    ensure!(is_small, "the command has {nbytes} bytes, and may have {MOST_BYTES}");
    run.append(&format!("the command has {nbytes} bytes\n"))?;
    Ok(program)
}

/// Packs the program with its licences, its page, and what `add` puts into the folder.
fn archive(
    run: &mut Run<'_>,
    dist: &Dist,
    target: &str,
    program: &Path,
    add: impl FnOnce(&mut Run<'_>, &Path) -> Result<()>,
) -> Result<()> {
    let name = format!("crossdock-{}-{target}", dist.version);
    let staging = dist.staging("command")?;
    let folder = staging.join(&name);
    archives::copy(dist, &LICENCES, &folder)?;
    archives::copy(dist, &["crates/crossdock-cli/README.md", "CHANGELOG.md"], &folder)?;
    third_party::write(run, dist, third_party::COMMAND, target, &folder.join(third_party::FILE))?;
    fs::copy(program, folder.join(program.file_name().context("a program has a name")?))?;
    add(run, &folder)?;
    if target == WINDOWS {
        archives::zip(run, dist, &staging, &name)
    } else {
        archives::tar(run, dist, &staging, &name)
    }
}

/// Unpacks the archive for a Linux into a folder.
pub(super) fn unpack(run: &mut Run<'_>, dist: &Dist, target: &str, folder: &Path) -> Result<()> {
    let archive = dist.artefact("crossdock-", &format!("{target}.tar.gz"))?;
    run.exec(dist.door.command("tar", "--strip-components=1 -xzf").arg(archive).arg("-C").arg(folder))
}

/// The man pages, and the completions under the names that the shells look for.
fn write_pages(
    run: &mut Run<'_>,
    dist: &Dist,
    program: &Path,
    pages: &Path,
    completions: &Path,
) -> Result<()> {
    fs::create_dir_all(completions)?;
    run.exec(dist.door.command(program, "man").arg(pages))?;
    for (shell, name) in [("bash", "crossdock"), ("zsh", "_crossdock"), ("fish", "crossdock.fish")] {
        let script = run.stdout(dist.door.command(program, "completions").arg(shell))?;
        fs::write(completions.join(name), script)?;
    }
    Ok(())
}
