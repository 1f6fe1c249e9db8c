//! The trial of the wheel for ARM: a CPython and a NumPy for that processor, under qemu.

use std::fs;

use anyhow::Result;

use super::Dist;
use super::root::Root;
use super::trials::{install_for, prints};
use crate::platforms;
use crate::run::Run;

/// CPython, unpacked.
const PACKAGES: &str = "libpython3.11-stdlib,libstdc++6,python3.11-minimal";

/// An array of NumPy in place, and a mapped file. (The README's program starts processes, which
/// qemu does not do reliably for programs with threads.)
const PROGRAM: &str = "\
import crossdock, numpy as np
a = np.ones((2, 3))
x = crossdock.asarray(a)
x[0, 0] = 5
photo = crossdock.open(\"data/rocket.npy\")
print(a[0, 0], np.shares_memory(np.asarray(x), a), np.asarray(photo[::2]).shape)
";

pub(super) fn wheel(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let root = Root::foreign(run, dist, "arm64", PACKAGES)?;
    let packages = root.new_folder("packages")?;
    install_for(run, dist, "manylinux_2_28_aarch64", &packages)?;
    fs::write(root.trial().join("program.py"), PROGRAM)?;
    let mut program = dist.door.command(platforms::qemu(run, "aarch64")?, "-L");
    program.arg(root.folder()).arg("-E").arg(format!("PYTHONPATH={}", packages.display()));
    program.arg(root.folder().join("usr/bin/python3.11")).arg("program.py").current_dir(root.trial());
    prints(run, &mut program, "5.0 True (214, 640, 3)")
}
