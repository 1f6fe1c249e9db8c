//! How the tests of another platform's programs run here: by qemu, by Wine, by wasmtime, or by the
//! processor itself. zig links them.

use std::process::Command;

use anyhow::Result;

use super::packages::{qemu, unpack};
use super::{Build, wasi, windows};
use crate::provision::PLATFORMS_VENV;
use crate::run::Run;

/// What runs the programs of a platform.
pub(crate) enum Machine {
    /// Another processor, in the names of Debian's packages, of qemu and of zig, and the ends of
    /// the names that Debian and zig have for its system.
    Qemu {
        package: &'static str,
        qemu: &'static str,
        processor: &'static str,
        system: &'static str,
        /// The programs of the library's tests that run, besides unit tests.
        programs: &'static [&'static str],
    },
    /// The processor here, in another mode.
    Here,
    /// Windows, as Wine has it.
    Wine,
    /// WebAssembly with WASI, as wasmtime has them.
    Wasmtime,
}

pub(super) const AARCH64: Machine = Machine::Qemu {
    package: "arm64",
    qemu: "aarch64",
    processor: "aarch64",
    system: GNU,
    programs: PROGRAMS,
};
pub(super) const S390X: Machine = gnu("s390x", "s390x", "s390x");
pub(super) const POWER: Machine = gnu("ppc64el", "ppc64le", "powerpc64le");
pub(super) const RISCV: Machine = gnu("riscv64", "riscv64", "riscv64");
pub(super) const ARMV7: Machine = Machine::Qemu {
    package: "armhf",
    qemu: "arm",
    processor: "arm",
    system: "linux-gnueabihf",
    programs: &[],
};
pub(super) const I686: Machine = Machine::Here;
pub(super) const WINDOWS: Machine = Machine::Wine;
pub(super) const WASI: Machine = Machine::Wasmtime;

/// What Debian and zig call Linux where there is one kind of it.
const GNU: &str = "linux-gnu";

/// A processor on which unit tests run, and no other programs.
const fn gnu(package: &'static str, qemu: &'static str, processor: &'static str) -> Machine {
    Machine::Qemu { package, qemu, processor, system: GNU, programs: &[] }
}

/// The tests that run under qemu: what depends on the processor and on its byte order. Others,
/// such as those of threads and forks, mostly test qemu.
const UNDER_QEMU: &[&str] =
    &["array::", "buffer::", "element::", "exchange::", "kernel::", "memory::", "table::", "view::"];

/// Programs that neither fork nor limit nor measure the process, and whose random tests find enough
/// in that few cases.
const PROGRAMS: &[&str] =
    &["array_interface", "arrays", "arrow_c", "dlpack", "files", "majel", "memory_view", "pack", "pep3118"];

/// Formats and crates that the tests use.
const FEATURES: &str = "arrow-ipc,derive,npz,png,safetensors,threads,torch";

/// Random cases of each property test: qemu takes some twenty times as long as the processor here.
const CASES: &str = "150";

impl Machine {
    /// Runs the unit tests of the library, and programs of tests. Returns how many tests ran, and
    /// passed.
    pub(super) fn tests(&self, run: &mut Run<'_>, build: &Build) -> Result<usize> {
        // A test that reports that it was not run counts as passed.
        let ran = |run: &Run<'_>| run.counts.passed - run.skips().len().min(run.counts.passed);
        let before = ran(run);
        let (filters, programs) = match self {
            Self::Qemu { programs, .. } => (UNDER_QEMU, *programs),
            _ => (&[][..], &[][..]),
        };
        let mut test = self.command(run, build)?;
        run.tests(test.arg("--lib"), filters)?;
        if !programs.is_empty() {
            let mut test = self.command(run, build)?;
            run.tests(test.args(programs.iter().flat_map(|name| ["--test", name])), &[])?;
        }
        Ok(ran(run).saturating_sub(before))
    }

    /// The command that tests the library.
    fn command(&self, run: &mut Run<'_>, build: &Build) -> Result<Command> {
        let mut test = run.door.command("cargo-zigbuild", "test --locked --no-fail-fast");
        // Found by the folders in which `prepare` has the command search.
        build.prepare(run.door, &mut test)?;
        test.args(["-p", "crossdock", "--features", FEATURES]).env("CROSSDOCK_CASES", CASES);
        let runner = self.runner(run, &mut test)?;
        if !runner.is_empty() {
            // Words of a list may contain spaces; those of a variable of the environment cannot.
            test.arg("--config").arg(format!("target.{}.runner={runner:?}", build.target));
        }
        Ok(test)
    }

    /// The command that starts programs of the machine. The tests get what they need in the
    /// environment.
    fn runner(&self, run: &mut Run<'_>, test: &mut Command) -> Result<Vec<String>> {
        let python = PLATFORMS_VENV.python(run.door).display().to_string();
        let (runner, target) = match self {
            Self::Here => return Ok(Vec::new()),
            Self::Wine => return windows::runner(run, test),
            Self::Wasmtime => return Ok(wasi::runner(run.door)),
            Self::Qemu { package, qemu: name, processor, system, .. } => {
                let libraries = ["libc6", "libgcc-s1"].map(|name| format!("{name}-{package}-cross"));
                let qemu = qemu(run, name)?;
                let target = format!("{processor}-{system}");
                let root = unpack(run, processor, &libraries)?.join("usr").join(&target);
                (vec![qemu.display().to_string(), "-L".to_owned(), root.display().to_string()], target)
            }
        };
        let cc = [&*python, "-m", "ziglang", "cc", "-target", &target];
        test.env("CROSSDOCK_EMULATOR", runner.join("\n")).env("CROSSDOCK_CC", cc.join("\n"));
        Ok(runner)
    }
}
