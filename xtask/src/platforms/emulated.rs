//! Tests of other processors' programs under qemu. Nothing is installed: qemu and the C libraries
//! are unpacked into the target folder, and zig, from the environment for releases, links.

use std::path::Path;

use anyhow::Result;

use super::{build, unpack};
use crate::provision::DIST;
use crate::run::Run;

/// A processor that qemu emulates.
pub(crate) struct Emulated {
    pub(super) target: &'static str,
    /// The processor in the names of Debian's packages, of qemu and of zig.
    package: &'static str,
    processor: &'static str,
}

pub(super) const AARCH64: Emulated =
    Emulated { target: "aarch64-unknown-linux-gnu", package: "arm64", processor: "aarch64" };

/// The tests that the suite runs: what depends on the processor. All others take far longer.
const FILTERS: &[&str] = &["kernel::", "memory::racy"];

/// Formats and crates that the tests use.
const FEATURES: &str = "arrow-ipc,derive,npz,png,safetensors,threads,torch";

/// Random cases of each property test: qemu takes some twenty times as long as the processor here.
const CASES: &str = "150";

impl Emulated {
    /// The packages of its C library, and qemu's.
    pub(super) fn packages(&self) -> [String; 3] {
        let package = self.package;
        [format!("libc6-{package}-cross"), format!("libgcc-s1-{package}-cross"), "qemu-user-static".into()]
    }

    /// Runs unit tests of the library. Returns how many ran, and passed.
    pub(super) fn tests(&self, run: &mut Run<'_>, script: &Path) -> Result<usize> {
        let Self { target, processor, .. } = self;
        let system = unpack(run, processor, &self.packages())?;
        let qemu = system.join("usr/bin").join(format!("qemu-{processor}-static"));
        let root = system.join(format!("usr/{processor}-linux-gnu"));
        let emulator = format!("{} -L {}", qemu.display(), root.display());
        let tools = DIST.python(run.door).parent().map(Path::to_owned).unwrap_or_default();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(tools.clone()).chain(std::env::split_paths(&path)))?;
        let python = DIST.python(run.door);
        let mut test = run.door.command(tools.join("cargo-zigbuild"), "test --locked --no-fail-fast");
        build(run.door, &mut test, script, target);
        test.args(["-p", "crossdock", "--features", FEATURES, "--lib"]);
        let upper = target.replace('-', "_").to_uppercase();
        test.env(format!("CARGO_TARGET_{upper}_RUNNER"), &emulator);
        test.env("CROSSDOCK_EMULATOR", &emulator).env("CROSSDOCK_CASES", CASES).env("PATH", path);
        let cc = format!("{} -m ziglang cc -target {processor}-linux-gnu", python.display());
        test.env("CROSSDOCK_CC", cc);
        // A test that reports that it was not run counts as passed.
        let ran = |run: &Run<'_>| run.counts.passed - run.skips().len().min(run.counts.passed);
        let before = ran(run);
        run.tests(&mut test, FILTERS)?;
        Ok(ran(run).saturating_sub(before))
    }
}
