//! The trials of the wheels for ARM and for musl. A CPython of that platform installs the wheel and
//! NumPy by its own pip, which chooses among all wheels, in a root without anything else. qemu
//! starts the programs of ARM.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::root::Root;
use super::trials::{FIRST_SESSION, example, names_no_path, offer_wheels, offer_wheels_with, prints};
use super::{Dist, cpython, wheel_tests};
use crate::platforms;
use crate::provision::DIST;
use crate::run::Run;

/// CPython and its pip, unpacked.
pub(super) const PACKAGES: &str = "libpython3.11-stdlib,libstdc++6,python3-pip-whl,python3.11-minimal";

/// An array of NumPy in place, CPython's own view of it, and a mapped file. (The README's program
/// starts processes, which qemu does not do reliably for programs with threads.)
pub(super) const PROGRAM: &str = "\
import crossdock, numpy as np, platform
a = np.ones((2, 3))
x = crossdock.asarray(a)
x[0, 0] = 5
view = memoryview(x)
photo = crossdock.open(\"data/rocket.npy\")
print(a[0, 0], view[0, 0], view.shape, np.shares_memory(np.asarray(x), a), np.asarray(photo[::2]).shape)
print(platform.machine())
";

/// What it prints.
const PRINTED: &str = "5.0 5.0 (2, 3) True (214, 640, 3)\naarch64";

pub(super) fn aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::foreign(run, dist, "arm64", PACKAGES)?;
    fs::copy(platforms::qemu(run, "aarch64")?, root.folder().join("qemu"))?;
    let start = ["/qemu", "/usr/bin/python3.11"];
    let python = Python { root: &root, start: &start, pip: "usr/share/python-wheels" };
    offer_wheels(run, dist, "manylinux_2_28_aarch64", &root.new_folder(WHEELS)?)?;
    python.installs_and_prints(run, dist, PROGRAM, PRINTED)?;
    wheel_tests::pass(run, dist, &root, &start)
}

/// The README's program in Python without the line that needs the module `ctypes`, which this
/// CPython lacks.
pub(super) fn musl(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = musl_root(run, dist, "x86_64", "amd64")?;
    let python = Python { root: &root, start: &["/python/bin/python3"], pip: BUNDLED };
    let program = example(dist, "README.md", "python")?;
    let lines = program.lines().filter(|line| !line.contains("crossdock.explain"));
    let program: String = lines.map(|line| format!("{line}\n")).collect();
    python.installs_and_prints(run, dist, &program, FIRST_SESSION)
}

/// This machine's pip chooses the wheels: the other one would start musl's loader, to read its
/// version, and the kernel cannot start programs of ARM without qemu.
pub(super) fn musl_aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = musl_root(run, dist, "aarch64", "arm64")?;
    fs::copy(platforms::qemu(run, "aarch64")?, root.folder().join("qemu"))?;
    installs(run, dist, &root.trial(), "musllinux_1_2_aarch64")?;
    let python = Python { root: &root, start: &["/qemu", "/python/bin/python3"], pip: BUNDLED };
    python.prints(run, dist, PROGRAM, PRINTED)
}

/// This machine's pip chooses among the wheels in a folder those for a platform, and installs them
/// into the folder `packages` beside it.
pub(super) fn installs(run: &mut Run<'_>, dist: &Dist, folder: &Path, platform: &str) -> Result<()> {
    let mut install = dist.door.command(
        DIST.python(&dist.door),
        "-m pip install --quiet --disable-pip-version-check --no-index --only-binary=:all: --python-version 3.11 \
         --implementation cp --abi cp311 --abi abi3 --find-links wheels --target packages crossdock numpy --platform",
    );
    run.exec(install.arg(platform).current_dir(folder))
}

/// A NumPy whose wheels run with Debian's musl 1.2.3 and Wine 8. Those of NumPy 2.2 and later
/// contain relocations that musl knows since 1.2.4, and crash, and call what Wine lacks.
pub(super) const NUMPY: &str = "numpy==2.0.2";

/// The folder of the wheels, in `/trial`.
pub(super) const WHEELS: &str = "wheels";

/// The pip in CPython's sources.
const BUNDLED: &str = "python/lib/python3.11/ensurepip/_bundled";

/// A root with a static shell, CPython, the wheels, and musl as the only library.
fn musl_root(run: &mut Run<'_>, dist: &Dist, processor: &str, debian: &str) -> Result<Root> {
    let python = cpython::for_musl(run, dist, processor, debian)?;
    let root = Root::busybox(run, dist)?;
    run.exec(dist.door.command("tar", "-xf").arg(python).arg("-C").arg(root.folder()))?;
    let platforms = ["1_2", "1_1"].map(|version| format!("musllinux_{version}_{processor}"));
    let platforms: Vec<_> = platforms.iter().map(String::as_str).collect();
    offer_wheels_with(run, dist, &platforms, NUMPY, &root.new_folder(WHEELS)?)?;
    Ok(root)
}

/// A CPython in a root.
struct Python<'a> {
    root: &'a Root,
    /// The words that start it.
    start: &'a [&'a str],
    /// The folder of the root that has its pip as a wheel, which CPython can run.
    pip: &'a str,
}

impl Python<'_> {
    /// Installs crossdock and NumPy into a folder, and runs a program that finds them there.
    fn installs_and_prints(
        &self,
        run: &mut Run<'_>,
        dist: &Dist,
        program: &str,
        expected: &str,
    ) -> Result<()> {
        let root = self.root;
        root.make_devices(run, dist)?;
        let mut install = root.program(dist, self.start);
        install.arg(self.pip()?).args(["install", "--quiet", "--no-index", "--find-links", WHEELS]);
        run.exec(install.args(["--target", "packages", "crossdock", "numpy"]))?;
        self.prints(run, dist, program, expected)
    }

    /// Runs a program that finds what is installed.
    fn prints(&self, run: &mut Run<'_>, dist: &Dist, program: &str, expected: &str) -> Result<()> {
        let root = self.root;
        fs::write(root.trial().join("program.py"), program)?;
        let mut program = root.program(dist, self.start);
        prints(run, program.arg("program.py").env("PYTHONPATH", "/trial/packages"), expected)?;
        names_no_path(run, dist, &root.trial().join("packages/crossdock"))
    }

    /// The path of pip's program, in the root.
    fn pip(&self) -> Result<OsString> {
        let folder = self.root.folder().join(self.pip);
        let names = fs::read_dir(&folder).with_context(|| format!("{} has pip", folder.display()))?;
        let names: Vec<_> = names.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<_>>()?;
        let wheel = names.iter().find(|name| name.to_string_lossy().starts_with("pip-"));
        let wheel = wheel.with_context(|| format!("{} has no pip", folder.display()))?;
        Ok(Path::new("/").join(self.pip).join(wheel).join("pip").into_os_string())
    }
}
