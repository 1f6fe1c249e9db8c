//! How the tests of other processors' programs run here: by qemu. zig links them.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::Build;
use super::packages::{qemu, unpack};
use crate::provision::PLATFORMS_VENV;
use crate::run::Run;

/// A processor that qemu emulates, in the names of Debian's packages and of qemu.
pub(crate) struct Machine {
    package: &'static str,
    processor: &'static str,
}

pub(super) const AARCH64: Machine = Machine { package: "arm64", processor: "aarch64" };
pub(super) const S390X: Machine = Machine { package: "s390x", processor: "s390x" };

/// The tests that the suite runs: what depends on the processor and on its byte order. Others,
/// such as those of threads and forks, mostly test qemu.
const FILTERS: &[&str] = &["array::", "buffer::", "exchange::", "kernel::", "memory::", "table::", "view::"];

/// Formats and crates that the tests use.
const FEATURES: &str = "arrow-ipc,derive,npz,png,safetensors,threads,torch";

/// Random cases of each property test: qemu takes some twenty times as long as the processor here.
const CASES: &str = "150";

impl Machine {
    /// Runs the unit tests of the library. Returns how many ran, and passed.
    pub(super) fn tests(&self, run: &mut Run<'_>, build: &Build) -> Result<usize> {
        let mut test = run.door.command("cargo-zigbuild", "test --locked --no-fail-fast");
        // Found by the folders in which `prepare` has the command search.
        build.prepare(run.door, &mut test)?;
        test.args(["-p", "crossdock", "--lib", "--features", FEATURES]).env("CROSSDOCK_CASES", CASES);
        let runner = self.runner(run, &mut test)?;
        // Words of a list may contain spaces; those of a variable of the environment cannot.
        test.arg("--config").arg(format!("target.{}.runner={runner:?}", build.target));
        // A test that reports that it was not run counts as passed.
        let ran = |run: &Run<'_>| run.counts.passed - run.skips().len().min(run.counts.passed);
        let before = ran(run);
        run.tests(&mut test, FILTERS)?;
        Ok(ran(run).saturating_sub(before))
    }

    /// The command that starts programs of the processor. The tests get it, too.
    fn runner(&self, run: &mut Run<'_>, test: &mut Command) -> Result<Vec<String>> {
        let Self { package, processor } = self;
        let libraries = ["libc6", "libgcc-s1"].map(|name| format!("{name}-{package}-cross"));
        let qemu = qemu(run, processor)?;
        let system = unpack(run, processor, &libraries)?;
        let root = system.join(format!("usr/{processor}-linux-gnu"));
        let runner = vec![qemu.display().to_string(), "-L".to_owned(), root.display().to_string()];
        let python = PLATFORMS_VENV.python(run.door).display().to_string();
        let cc = [&*python, "-m", "ziglang", "cc", "-target", &format!("{processor}-linux-gnu")];
        test.env("CROSSDOCK_EMULATOR", runner.join("\n")).env("CROSSDOCK_CC", cc.join("\n"));
        Ok(runner)
    }
}

/// A compiler for Windows takes the headers of the C library.
pub(super) fn compiles_for_windows(run: &mut Run<'_>) -> Result<()> {
    let folder = run.door.target.join("platforms/headers");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for header in ["crossdock.h", "crossdock_producer.h"] {
        let source = folder.join(header).with_extension("c");
        fs::write(&source, format!("#include <{header}>\n"))
            .with_context(|| format!("{} cannot be written", source.display()))?;
        let python = PLATFORMS_VENV.python(run.door);
        let mut cc = run.door.command(python, "-m ziglang cc -target x86_64-windows-gnu -std=c99 -c -o");
        cc.arg(source.with_extension("o")).arg(&source);
        run.exec(cc.args(["-Wall", "-Wextra", "-Werror", "-Icrates/crossdock-capi/include"]))?;
    }
    Ok(())
}
