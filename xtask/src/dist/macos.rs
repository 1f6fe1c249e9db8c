//! The trials of the wheels for macOS, of which nothing runs here: what is in them is read.

use anyhow::{Context, Result, ensure};

use super::{Dist, third_party, wheels};
use crate::provision::DIST;
use crate::run::Run;

/// The folders of the libraries that every macOS has.
const SYSTEM: [&str; 2] = ["/usr/lib/", "/System/Library/"];

/// Prints the processor, the oldest system, the libraries and CPython's entry of an extension.
const READ: &str = "\
import sys
from macholib.MachO import MachO
from macholib.SymbolTable import SymbolTable
from macholib.mach_o import CPU_TYPE_NAMES, LC_BUILD_VERSION, LC_LOAD_DYLIB, LC_VERSION_MIN_MACOSX
binary = MachO(sys.argv[1])
[header] = binary.headers
print('processor', CPU_TYPE_NAMES[header.header.cputype])
for load, command, rest in header.commands:
    if load.cmd == LC_LOAD_DYLIB:
        print('library', rest.rstrip(b'\\0').decode())
    if load.cmd in (LC_BUILD_VERSION, LC_VERSION_MIN_MACOSX):
        oldest = command.minos if load.cmd == LC_BUILD_VERSION else command.version
        print('system', f'{oldest >> 16}.{oldest >> 8 & 255}')
names = [name.decode() for _, name in SymbolTable(binary, header).extdefsyms]
print('entry', *[name for name in names if name.startswith('_PyInit_')])
";

pub(super) fn aarch64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    reads(run, dist, "aarch64", "ARM64")
}

pub(super) fn x86_64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    reads(run, dist, "x86_64", "x86_64")
}

/// The extension is for the processor and the system of its wheel's name, has the entry that
/// CPython calls, and needs libraries of the system only; and the wheel has the licences.
fn reads(run: &mut Run<'_>, dist: &Dist, processor: &str, name: &str) -> Result<()> {
    let wheel = wheels::wheel(dist, &format!("{processor}-apple-darwin"))?;
    let folder = dist.staging("wheel-macos")?;
    let python = DIST.python(&dist.door);
    run.exec(dist.door.command(&python, "-m zipfile -e").arg(&wheel).arg(&folder))?;
    let mut read = dist.door.command(&python, "-c");
    let told = run.stdout(read.arg(READ).arg(folder.join("crossdock/_crossdock.abi3.so")))?;
    let values = |key: &str| -> Vec<&str> {
        told.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).collect()
    };
    ensure!(values("processor") == [name], "the extension is for {:?}", values("processor"));
    ensure!(values("entry") == ["_PyInit__crossdock"], "CPython would call {:?}", values("entry"));
    let is_of_system = |library: &&str| SYSTEM.iter().any(|folder| library.starts_with(folder));
    let libraries = values("library");
    ensure!(!libraries.is_empty() && libraries.iter().all(is_of_system), "the extension needs {libraries:?}");
    let file = wheel.file_name().context("a wheel has a name")?.to_string_lossy().replace('_', ".");
    let [oldest] = values("system")[..] else { anyhow::bail!("it names {:?}", values("system")) };
    ensure!(file.contains(&format!("-macosx.{oldest}.")), "{file} needs macOS {oldest}");
    let licences = folder.join(format!("crossdock-{}.dist-info/licenses", dist.version));
    for licence in super::archives::LICENCES.iter().chain([&third_party::FILE]) {
        ensure!(licences.join(licence).is_file(), "{} has no {licence}", wheel.display());
    }
    Ok(())
}
