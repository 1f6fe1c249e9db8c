//! The compiler, and other packages of Debian, which are unpacked into the target folder rather
//! than installed.
//!
//! The compiler is Debian's for the web browsers: it is new, has the sources of the standard
//! library, and Debian has that library for some other processors.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{Door, Run};

/// The packages of the compiler, and how the names begin of those that it needs: they end with
/// versions.
const PACKAGES: &[&str] = &["rustc-web", STD, "rust-web-src"];
const VERSIONED: &[&str] = &["libstd-rust-web-", "libllvm"];
const STD: &str = "libstd-rust-web-dev";

/// Starts the compiler with its libraries, which are beside the script. It has no path in it, since
/// builds of releases see the target folder at another one.
const SCRIPT: &str = r#"#!/bin/sh
system=$(dirname "$0")/system
LD_LIBRARY_PATH="$system/usr/lib/x86_64-linux-gnu" exec "$system/usr/bin/rustc" "$@"
"#;

/// A script that starts the compiler with its own libraries. Unpacks it if that was not done.
pub(crate) fn compiler(run: &mut Run<'_>) -> Result<PathBuf> {
    let script = run.door.target.join("platforms/rustc");
    if fs::read_to_string(&script).is_ok_and(|text| text == SCRIPT) {
        return Ok(script);
    }
    let mut names: Vec<_> = PACKAGES.iter().map(ToString::to_string).collect();
    let closure = "depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
                   --no-enhances rustc-web";
    let needed = run.stdout(&mut run.door.command("apt-cache", closure))?;
    let versioned = |name: &&str| VERSIONED.iter().any(|first| name.starts_with(first));
    names.extend(needed.lines().filter(versioned).map(str::to_owned));
    names.sort_unstable();
    names.dedup();
    let system = unpack(run, "compiler", &names)?;
    let program = system.join("usr/bin/rustc");
    if !program.is_file() {
        bail!("the packages {} have no {}", names.join(", "), program.display());
    }
    fs::write(&script, SCRIPT).with_context(|| format!("{} cannot be written", script.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

/// qemu for programs of a processor.
pub(crate) fn qemu(run: &mut Run<'_>, processor: &str) -> Result<PathBuf> {
    let system = unpack(run, "qemu", &["qemu-user-static".to_owned()])?;
    Ok(system.join("usr/bin").join(format!("qemu-{processor}-static")))
}

/// Unpacks the standard library for another processor. Its packages have a list of their own, so
/// that the machine's settings stay as they are.
pub(super) fn standard_library(run: &mut Run<'_>, architecture: &str) -> Result<()> {
    let what = format!("std-{architecture}");
    if is_unpacked(run.door, &what) {
        return Ok(());
    }
    let root = run.door.target.join("platforms/apt").join(architecture);
    for folder in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(root.join(folder))
            .with_context(|| format!("{} cannot be made", root.display()))?;
    }
    fs::write(root.join("status"), "")?;
    let apt = |run: &Run<'_>, command: &str| {
        let mut apt = run.door.command("apt-get", "");
        for (option, file) in
            [("Dir::State", "state"), ("Dir::State::status", "status"), ("Dir::Cache", "cache")]
        {
            apt.arg("-o").arg(format!("{option}={}", root.join(file).display()));
        }
        for option in ["APT::Architecture", "APT::Architectures"] {
            apt.arg("-o").arg(format!("{option}={architecture}"));
        }
        apt.arg(command);
        apt
    };
    run.exec(&mut apt(run, "update"))
        .context("the packages of Debian cannot be listed (does the package registry answer?)")?;
    let download = apt(run, "download");
    unpack_with(run, &what, &[STD.to_owned()], download).map(drop)
}

/// Downloads Debian packages and unpacks them into the target folder, unless `what` was unpacked
/// before. Returns the folder that takes the place of the system's root.
pub(super) fn unpack(run: &mut Run<'_>, what: &str, names: &[String]) -> Result<PathBuf> {
    let download = run.door.command("apt-get", "download");
    unpack_with(run, what, names, download)
}

fn unpack_with(run: &mut Run<'_>, what: &str, names: &[String], mut download: Command) -> Result<PathBuf> {
    let system = run.door.target.join("platforms/system");
    if is_unpacked(run.door, what) {
        return Ok(system);
    }
    let packages = packages(run.door, what);
    fs::create_dir_all(&packages).with_context(|| format!("{} cannot be made", packages.display()))?;
    run.exec(download.args(names).current_dir(&packages)).with_context(|| {
        format!("{} could not be had (does the package registry answer?)", names.join(", "))
    })?;
    for package in fs::read_dir(&packages)? {
        run.exec(run.door.command("dpkg", "-x").arg(package?.path()).arg(&system))?;
    }
    fs::write(stamp(run.door, what), "").context("the target folder cannot be written")?;
    Ok(system)
}

fn packages(door: &Door, what: &str) -> PathBuf {
    door.target.join("platforms/packages").join(what)
}

fn stamp(door: &Door, what: &str) -> PathBuf {
    packages(door, what).join("unpacked")
}

fn is_unpacked(door: &Door, what: &str) -> bool {
    Path::is_file(&stamp(door, what))
}
