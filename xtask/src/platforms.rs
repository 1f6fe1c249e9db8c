//! The library, the C library and the command, compiled for platforms that are not at hand. Runs
//! only by its name, since it first compiles the standard library for each of them.
//!
//! The compiler is Debian's for the web browsers: it comes with the sources of the standard
//! library, is unpacked into the target folder, and needs no installation.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{Door, Run};

/// The platforms for which everything compiles. `docs/platforms.md` has a row for each.
const TARGETS: &[&str] = &[
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "x86_64-unknown-linux-musl",
    "s390x-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-gnu",
];

/// The platforms for which the library alone compiles: the C library and the command need pointers
/// of 64 bits.
const LIBRARY: &[&str] = &["armv7-unknown-linux-gnueabihf", "i686-unknown-linux-gnu", "wasm32-wasip1"];

const EVERYTHING: &[&str] = &["-p", "crossdock", "-p", "crossdock-capi", "-p", "crossdock-cli"];

/// The packages of the compiler, and how the names begin of those that it needs: they end with
/// versions.
const PACKAGES: &[&str] = &["rustc-web", "libstd-rust-web-dev", "rust-web-src"];
const VERSIONED: &[&str] = &["libstd-rust-web-", "libllvm"];

pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    run.step("compiler");
    let compiler = compiler(run)?;
    let library = &EVERYTHING[..2];
    let everything = TARGETS.iter().map(|target| (target, EVERYTHING));
    for (target, packages) in everything.chain(LIBRARY.iter().map(|target| (target, library))) {
        run.step(target);
        run.exec(check_for(run.door, &compiler, target).args(packages))?;
    }
    run.note(format!("compiles for {}; the library for {}", TARGETS.join(", "), LIBRARY.join(", ")));
    Ok(())
}

fn check_for(door: &Door, compiler: &Path, target: &str) -> Command {
    let mut check = door.cargo("check --locked -Zbuild-std=std,panic_abort --target");
    check.arg(target);
    check.env("RUSTC", compiler).env("RUSTC_BOOTSTRAP", "1");
    check.env("CARGO_TARGET_DIR", door.target.join("platforms/build"));
    check
}

/// A script that starts the compiler with its own libraries. Unpacks it if that was not done.
pub(crate) fn compiler(run: &mut Run<'_>) -> Result<PathBuf> {
    let folder = run.door.target.join("platforms");
    let (packages, system) = (folder.join("packages"), folder.join("system"));
    let script = folder.join("rustc");
    if script.is_file() {
        return Ok(script);
    }
    fs::create_dir_all(&packages).with_context(|| format!("{} cannot be made", packages.display()))?;
    let mut names: Vec<_> = PACKAGES.iter().map(ToString::to_string).collect();
    let closure = "depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
                   --no-enhances rustc-web";
    let needed = run.stdout(&mut run.door.command("apt-cache", closure))?;
    let versioned = |name: &&str| VERSIONED.iter().any(|first| name.starts_with(first));
    names.extend(needed.lines().filter(versioned).map(str::to_owned));
    names.sort_unstable();
    names.dedup();
    let mut download = run.door.command("apt-get", "download");
    run.exec(download.args(&names).current_dir(&packages))
        .context("Debian's compiler could not be had (does the package registry answer?)")?;
    for package in fs::read_dir(&packages)? {
        run.exec(run.door.command("dpkg", "-x").arg(package?.path()).arg(&system))?;
    }
    let (libraries, program) = (system.join("usr/lib/x86_64-linux-gnu"), system.join("usr/bin/rustc"));
    if !program.is_file() {
        bail!("the packages {} have no {}", names.join(", "), program.display());
    }
    let text =
        format!("#!/bin/sh\nLD_LIBRARY_PATH='{}' exec '{}' \"$@\"\n", libraries.display(), program.display());
    fs::write(&script, text).with_context(|| format!("{} cannot be written", script.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_of_each_platform_and_of_no_other_that_it_compiles() {
        let page = include_str!("../../docs/platforms.md");
        let rows: Vec<_> =
            page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).collect();
        let compiles = |column: usize| {
            let cell =
                |cells: &str| cells.split(" | ").nth(column).is_some_and(|cell| cell.starts_with("compiles"));
            rows.iter().filter(|(_, cells)| cell(cells)).map(|(target, _)| *target).collect::<Vec<_>>()
        };
        assert_eq!(compiles(0), [TARGETS, LIBRARY].concat());
        assert_eq!([compiles(1), compiles(2)], [TARGETS, TARGETS]);
    }
}
