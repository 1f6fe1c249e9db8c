//! The library, the C library and the command, compiled for other platforms, and the library's
//! tests on those whose programs can run here. Runs only by its name and in the long run, since it
//! first compiles the standard library for many of them.
//!
//! `CROSSDOCK_PLATFORMS` limits it to these platforms, separated by commas. The record keeps the
//! states of the others.

mod machine;
mod packages;
mod record;
mod wasi;
pub(crate) mod windows;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::provision::PLATFORMS_VENV;
use crate::run::{Door, Run};
use machine::Machine;
use packages::standard_library;
pub(crate) use packages::{compiler, qemu};
pub(crate) use record::{BUILT, INSTALLED, runs, wheel_was_tried};
use record::{PARTS, Record};

/// What the suite does for a part of a platform.
pub(crate) enum Part {
    /// Runs the tests of the library.
    Tests(&'static Machine),
    /// Builds it, and runs programs that use it. Returns how many.
    Runs(fn(&mut Run<'_>, &Build) -> Result<usize>),
    /// Compiles it.
    Checks,
    /// Nothing: its state, as another suite shows it, or the reason.
    Known(&'static str),
    /// Nothing: `cargo xtask dist --installed` records its state.
    Dist,
}

/// A row of the table in `docs/platforms.md`.
pub(crate) struct Platform {
    pub(crate) target: &'static str,
    /// The processor in Debian's names, where Debian has the standard library of this compiler for
    /// it. (For most processors Debian has that of an older one.)
    debian: Option<&'static str>,
    pub(crate) parts: [Part; PARTS.len()],
}

use Part::{Checks, Dist, Known, Runs, Tests};

/// As `cargo xtask test` shows.
const RUNS: Part = Known("runs here");
const NOT_MADE: Part = Known("not made");
const NO_RUBY: Part = Known("no Ruby of it here");
const NO_WASM: Part = Known("no interpreter of it here");
const NO_SHARED: Part = Known("checks, static only");
const BITS: Part = Known("structs for 64 bits only");

const fn row(target: &'static str, debian: Option<&'static str>, parts: [Part; PARTS.len()]) -> Platform {
    Platform { target, debian, parts }
}

/// The platforms of the table, and the parts in the order of its columns.
#[rustfmt::skip]
pub(crate) const PLATFORMS: &[Platform] = &[
    row("x86_64-unknown-linux-gnu", None, [RUNS, RUNS, RUNS, RUNS, RUNS]),
    row("aarch64-unknown-linux-gnu", Some("arm64"), [Tests(&machine::AARCH64), Checks, Checks, Dist, NO_RUBY]),
    row("aarch64-unknown-linux-musl", None, [Checks, NO_SHARED, Checks, Dist, NO_RUBY]),
    row("x86_64-unknown-linux-musl", None, [Checks, NO_SHARED, Checks, Dist, NO_RUBY]),
    row("s390x-unknown-linux-gnu", None, [Tests(&machine::S390X), Checks, Checks, NOT_MADE, NO_RUBY]),
    row("powerpc64le-unknown-linux-gnu", None, [Tests(&machine::POWER), Checks, Checks, NOT_MADE, NO_RUBY]),
    row("riscv64gc-unknown-linux-gnu", None, [Tests(&machine::RISCV), Checks, Checks, NOT_MADE, NO_RUBY]),
    row("aarch64-apple-darwin", None, [Checks, Checks, Checks, Dist, NO_RUBY]),
    row("x86_64-apple-darwin", None, [Checks, Checks, Checks, Dist, NO_RUBY]),
    row("x86_64-pc-windows-gnu", None, [Tests(&machine::WINDOWS), Runs(windows::library), Runs(windows::command), Dist, NO_RUBY]),
    row("x86_64-pc-windows-msvc", None, [Checks, Checks, Checks, NOT_MADE, NO_RUBY]),
    row("armv7-unknown-linux-gnueabihf", None, [Tests(&machine::ARMV7), BITS, BITS, NOT_MADE, NO_RUBY]),
    row("i686-unknown-linux-gnu", None, [Tests(&machine::I686), BITS, BITS, NOT_MADE, NO_RUBY]),
    row("wasm32-wasip1", None, [Tests(&machine::WASI), BITS, BITS, NO_WASM, NO_WASM]),
];

pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    let only = std::env::var("CROSSDOCK_PLATFORMS").ok();
    let wanted = |target: &str| only.as_ref().is_none_or(|only| only.split(',').any(|name| name == target));
    run.step("compiler");
    let script = compiler(run)?;
    let mut record = Record::read(&run.door.root)?;
    let (mut done, mut failures) = (0, Vec::new());
    for platform in PLATFORMS.iter().filter(|platform| wanted(platform.target)) {
        match platform.states(run, &record, script.clone()) {
            Ok(states) => record.set(platform.target, states),
            Err(error) => failures.push(format!("{}: {error:#}", platform.target)),
        }
        done += 1;
    }
    record.write(&run.door.root)?;
    run.note(format!("{done} platforms; docs/platforms.csv is the record"));
    if done == 0 {
        bail!("CROSSDOCK_PLATFORMS names no platform of the table");
    }
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("; ")) }
}

impl Platform {
    /// Compiles the parts and runs their tests. Returns what is true of each.
    fn states(&self, run: &mut Run<'_>, record: &Record, script: PathBuf) -> Result<[String; PARTS.len()]> {
        let packages = ["crossdock", "crossdock-capi", "crossdock-cli"].into_iter().zip(&self.parts);
        let packages: Vec<_> = packages.filter(|(_, part)| part.is_checked()).map(|(name, _)| name).collect();
        let mut build = Build { target: self.target, script, std: true, path: Vec::new(), flags: Vec::new() };
        if !packages.is_empty() {
            run.step(self.target);
            if let Some(architecture) = self.debian {
                standard_library(run, architecture)?;
                build.std = false;
            }
            if self.target.ends_with("windows-gnu") {
                // Programs of mingw make the import libraries.
                build.path.push(windows::tools(run)?);
                windows::takes_headers(run)?;
                let empty = windows::empty_libraries(run.door)?;
                build.flags.push(format!("-Lnative={}", empty.display()));
            }
            if self.target.ends_with("wasip1") {
                build.flags = wasi::flags(run.door)?;
            }
            // By the same tool as the tests, so that both use one standard library.
            let mut check = run.door.command("cargo-zigbuild", "check --locked");
            build.prepare(run.door, &mut check)?;
            run.exec(check.args(packages.iter().flat_map(|name| ["-p", name])))?;
        }
        let mut states = record.of(self.target).unwrap_or_default();
        for ((state, part), name) in states.iter_mut().zip(&self.parts).zip(PARTS) {
            *state = match part {
                Runs(programs) => {
                    run.step(&format!("{}, {name}", self.target));
                    record::runs(programs(run, &build)?)
                }
                Tests(machine) => {
                    run.step(&format!("{}, tests", self.target));
                    record::runs(machine.tests(run, &build)?)
                }
                Checks => "checks".to_owned(),
                Known(state) => (*state).to_owned(),
                // A platform that is new in the table has no record.
                Dist if state.is_empty() => "not made".to_owned(),
                Dist => continue,
            };
        }
        Ok(states)
    }
}

impl Part {
    fn is_checked(&self) -> bool {
        matches!(self, Tests(_) | Runs(_) | Checks)
            || matches!(self, Known(state) if state.starts_with("checks"))
    }
}

/// How commands of Cargo build for a platform.
pub(crate) struct Build {
    target: &'static str,
    /// The compiler.
    script: PathBuf,
    /// Whether to build the standard library, too.
    std: bool,
    /// Folders of programs that the compiler starts.
    path: Vec<PathBuf>,
    /// Flags for the compiler.
    flags: Vec<String>,
}

/// The target folder of these builds, in that of the checkout.
const BUILD: &str = "platforms/build";

impl Build {
    /// The folder of what is built.
    fn output(&self, door: &Door) -> PathBuf {
        door.target.join(BUILD).join(self.target).join("debug")
    }

    /// Has a command of Cargo build for the platform.
    fn prepare(&self, door: &Door, command: &mut Command) -> Result<()> {
        if self.std {
            command.arg("-Zbuild-std=std,panic_abort");
        }
        command.args(["--target", self.target]);
        if !self.flags.is_empty() {
            command.arg("--config").arg(format!("target.{}.rustflags={:?}", self.target, self.flags));
        }
        let tools = PLATFORMS_VENV.python(door).parent().map(ToOwned::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = tools.into_iter().chain(self.path.iter().cloned()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).context("a folder has a colon in its name")?);
        command.env("RUSTC", &self.script).env("RUSTC_BOOTSTRAP", "1");
        command.env("CARGO_TARGET_DIR", door.target.join(BUILD));
        // To build takes longer than to run, even by an emulator.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("CARGO_INCREMENTAL", "0");
        Ok(())
    }
}
