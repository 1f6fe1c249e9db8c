//! The library, the C library and the command, compiled for other platforms, and the library's
//! tests on other processors. Runs only by its name, since it first compiles the standard library
//! for each of them.
//!
//! The compiler is Debian's for the web browsers: it comes with the sources of the standard
//! library, is unpacked into the target folder, and needs no installation.

mod emulated;
mod record;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{Door, Run};
use emulated::{AARCH64, Emulated};
use record::{PARTS, Record};

/// What the suite does for a part of a platform.
pub(crate) enum Part {
    /// Runs the tests of the library by an emulator.
    Tests(&'static Emulated),
    /// Compiles it.
    Checks,
    /// Nothing: its state, as another suite shows it, or the reason.
    Known(&'static str),
}

/// A row of the table in `docs/platforms.md`.
pub(crate) struct Platform {
    pub(crate) target: &'static str,
    pub(crate) parts: [Part; PARTS.len()],
}

use Part::{Checks, Known, Tests};

/// As `cargo xtask test` shows.
const RUNS: Part = Known("runs here");
/// As `cargo xtask dist` shows.
const BUILT: Part = Known("built, never run");
const NOT_MADE: Part = Known("not made");
const NO_RUBY: Part = Known("no Ruby of it here");
const NO_WASM: Part = Known("no interpreter of it here");
const NO_SHARED: Part = Known("checks, static only");
const BITS: Part = Known("structs for 64 bits only");

/// The platforms of the table, and the parts in the order of its columns. The wheels that no
/// interpreter here can run are built by `cargo xtask dist`.
pub(crate) const PLATFORMS: &[Platform] = &[
    Platform { target: "x86_64-unknown-linux-gnu", parts: [RUNS, RUNS, RUNS, RUNS, RUNS] },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        parts: [Tests(&AARCH64), Checks, Checks, NOT_MADE, NO_RUBY],
    },
    Platform { target: "aarch64-unknown-linux-musl", parts: [Checks, NO_SHARED, Checks, NOT_MADE, NO_RUBY] },
    Platform { target: "x86_64-unknown-linux-musl", parts: [Checks, NO_SHARED, Checks, BUILT, NO_RUBY] },
    Platform { target: "s390x-unknown-linux-gnu", parts: [Checks, Checks, Checks, NOT_MADE, NO_RUBY] },
    Platform { target: "aarch64-apple-darwin", parts: [Checks, Checks, Checks, NOT_MADE, NO_RUBY] },
    Platform { target: "x86_64-apple-darwin", parts: [Checks, Checks, Checks, NOT_MADE, NO_RUBY] },
    Platform { target: "x86_64-pc-windows-gnu", parts: [Checks, Checks, Checks, NOT_MADE, NO_RUBY] },
    Platform { target: "armv7-unknown-linux-gnueabihf", parts: [Checks, BITS, BITS, NOT_MADE, NO_RUBY] },
    Platform { target: "i686-unknown-linux-gnu", parts: [Checks, BITS, BITS, NOT_MADE, NO_RUBY] },
    Platform { target: "wasm32-wasip1", parts: [Checks, BITS, BITS, NO_WASM, NO_WASM] },
];

/// The packages of the compiler, and how the names begin of those that it needs: they end with
/// versions.
const PACKAGES: &[&str] = &["rustc-web", "libstd-rust-web-dev", "rust-web-src"];
const VERSIONED: &[&str] = &["libstd-rust-web-", "libllvm"];

/// Starts the compiler with its libraries, which are beside the script. It has no path in it, since
/// builds of releases see the target folder at another one.
const SCRIPT: &str = r#"#!/bin/sh
system=$(dirname "$0")/system
LD_LIBRARY_PATH="$system/usr/lib/x86_64-linux-gnu" exec "$system/usr/bin/rustc" "$@"
"#;

pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    run.step("compiler");
    let script = compiler(run)?;
    let mut record = Record::default();
    for Platform { target, parts } in PLATFORMS {
        let packages = ["crossdock", "crossdock-capi", "crossdock-cli"].into_iter().zip(parts);
        let packages: Vec<_> = packages.filter(|(_, part)| part.is_checked()).map(|(name, _)| name).collect();
        if !packages.is_empty() {
            run.step(target);
            let mut check = run.door.cargo("check --locked");
            build(run.door, &mut check, &script, target);
            run.exec(check.args(packages.iter().flat_map(|name| ["-p", name])))?;
        }
        let mut states = <[String; PARTS.len()]>::default();
        for (state, part) in states.iter_mut().zip(parts) {
            *state = match part {
                Tests(emulated) => {
                    run.step(&format!("{target}, emulated"));
                    Record::runs(emulated.tests(run, &script)?)
                }
                Checks => "checks".to_owned(),
                Known(state) => (*state).to_owned(),
            };
        }
        record.0.push(((*target).to_owned(), states));
    }
    record.write(&run.door.root)?;
    run.note(format!("{} platforms; docs/platforms.csv is their record", PLATFORMS.len()));
    Ok(())
}

impl Part {
    fn is_checked(&self) -> bool {
        matches!(self, Tests(_) | Checks) || matches!(self, Known(state) if state.starts_with("checks"))
    }
}

/// Has a command of Cargo build for a platform, with the standard library.
fn build(door: &Door, command: &mut Command, script: &Path, target: &str) {
    command.args(["-Zbuild-std=std,panic_abort", "--target", target]);
    command.env("RUSTC", script).env("RUSTC_BOOTSTRAP", "1");
    command.env("CARGO_TARGET_DIR", door.target.join("platforms/build"));
}

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

/// Downloads Debian packages and unpacks them into the target folder, unless `what` was unpacked
/// before. Returns the folder that takes the place of the system's root.
fn unpack(run: &mut Run<'_>, what: &str, names: &[String]) -> Result<PathBuf> {
    let folder = run.door.target.join("platforms");
    let (packages, system) = (folder.join("packages").join(what), folder.join("system"));
    let stamp = packages.join("unpacked");
    if stamp.is_file() {
        return Ok(system);
    }
    fs::create_dir_all(&packages).with_context(|| format!("{} cannot be made", packages.display()))?;
    let mut download = run.door.command("apt-get", "download");
    run.exec(download.args(names).current_dir(&packages)).with_context(|| {
        format!("{} could not be had (does the package registry answer?)", names.join(", "))
    })?;
    for package in fs::read_dir(&packages)? {
        run.exec(run.door.command("dpkg", "-x").arg(package?.path()).arg(&system))?;
    }
    fs::write(&stamp, "").with_context(|| format!("{} cannot be written", stamp.display()))?;
    Ok(system)
}
