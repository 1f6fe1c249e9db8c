//! The trials of the wheel and the command for Windows: what is in them is read, and they run under
//! Wine, the wheel in a CPython for Windows.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::root::Root;
use super::trials::{PHOTO, example, names_no_path, offer_wheels_with, prints, reads_and_converts};
use super::windows_python::Python;
use super::{Dist, commands, pythons, third_party, wheels};
use crate::platforms::windows::{Wine, tools, windows_path};
use crate::provision::{self, DIST, FOR_PLATFORMS, WINE64};
use crate::run::Run;

/// The libraries that every Windows 10 has, in small letters, and that of CPython's stable
/// interface.
const LIBRARIES: [&str; 7] = [
    "bcryptprimitives.dll",
    "kernel32.dll",
    "ntdll.dll",
    "python3.dll",
    "user32.dll",
    "userenv.dll",
    "ws2_32.dll",
];
/// How the names of further parts of Windows begin.
pub(super) const PARTS: &str = "api-ms-win-";

/// What the program prints at its end.
const PRINTED: &str = "5.0 5.0 (2, 3) True (214, 640, 3)\nAMD64";

pub(super) fn x86_64(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    provision::ensure(run, &[FOR_PLATFORMS, WINE64])?;
    reads(run, dist)?;
    let python = Python::new(run, dist)?;
    let trial = Root::empty(dist)?.trial();
    let wheels = trial.join(pythons::WHEELS);
    fs::create_dir_all(&wheels)?;
    offer_wheels_with(run, dist, &["win_amd64"], pythons::NUMPY, &wheels)?;
    // This machine's pip chooses the wheels: that of Debian has no starters of programs for
    // Windows.
    pythons::installs(run, dist, &trial, "win_amd64")?;
    // The README's program up to shared memory, which Windows lacks.
    let readme = example(dist, "README.md", "python")?;
    let lines = readme.lines().take_while(|line| !line.contains("crossdock.shared"));
    let program: String = lines.chain(pythons::PROGRAM.lines()).map(|line| format!("{line}\n")).collect();
    fs::write(trial.join("program.py"), program)?;
    let packages = trial.join("packages");
    let mut program = python.command(dist, &["program.py"]);
    program.env("PYTHONPATH", windows_path(&packages)).current_dir(&trial);
    prints(run, &mut program, PRINTED)?;
    names_no_path(run, dist, &packages.join("crossdock"))
}

/// The command reads the photograph, writes it in another format, compares them, and lends it.
pub(super) fn command(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    provision::ensure(run, &[FOR_PLATFORMS, WINE64])?;
    let trial = Root::empty(dist)?.trial();
    let name = format!("crossdock-{}-{}", dist.version, commands::WINDOWS);
    let archive = dist.artefact(&name, ".zip")?;
    run.exec(dist.door.command(DIST.python(&dist.door), "-m zipfile -e").arg(archive).arg(&trial))?;
    names_no_path(run, dist, &trial)?;
    let program = trial.join(name).join("crossdock.exe");
    needs_windows_only(&dump(run, dist, &program)?)?;
    let wine = Wine::new(run)?;
    let command = |words: &[&str]| {
        let mut command = wine.command(&dist.door, &program);
        command.args(words).current_dir(&trial);
        command
    };
    reads_and_converts(run, &command)?;
    let lent = ["lend", PHOTO, "--", &windows_path(&program), "--version"];
    prints(run, &mut command(&lent), &format!("crossdock {}", dist.version))
}

/// What objdump prints of a file says that it is for x86-64, and needs libraries of Windows only,
/// or CPython's. Returns their names.
fn needs_windows_only(text: &str) -> Result<Vec<String>> {
    ensure!(text.contains("file format pei-x86-64"), "it is for another processor");
    let libraries = text.lines().filter_map(|line| line.trim().strip_prefix("DLL Name: "));
    let libraries: Vec<_> = libraries.map(str::to_ascii_lowercase).collect();
    let is_known = |name: &String| LIBRARIES.contains(&name.as_str()) || name.starts_with(PARTS);
    ensure!(libraries.iter().all(is_known), "it needs {libraries:?}");
    Ok(libraries)
}

/// The extension is for the processor of its wheel's name, has the entry that CPython calls and no
/// other name, and needs CPython and libraries of Windows only; and the wheel has the licences.
fn reads(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let wheel = wheels::wheel(dist, wheels::WINDOWS)?;
    let folder = dist.staging("wheel-windows")?;
    run.exec(dist.door.command(DIST.python(&dist.door), "-m zipfile -e").arg(&wheel).arg(&folder))?;
    let text = dump(run, dist, &folder.join("crossdock/_crossdock.pyd"))?;
    let libraries = needs_windows_only(&text)?;
    ensure!(libraries.iter().any(|name| name == "python3.dll"), "the extension needs no CPython");
    let names = exports(&text);
    ensure!(names == ["PyInit__crossdock"], "the extension exports {names:?}");
    let licences = folder.join(format!("crossdock-{}.dist-info/licenses", dist.version));
    for licence in super::archives::LICENCES.iter().chain([&third_party::FILE]) {
        ensure!(licences.join(licence).is_file(), "{} has no {licence}", wheel.display());
    }
    Ok(())
}

/// What objdump prints of a library: its processor, the libraries that it needs, and its names.
pub(super) fn dump(run: &mut Run<'_>, dist: &Dist, library: &Path) -> Result<String> {
    let objdump = tools(run)?.join("x86_64-w64-mingw32-objdump");
    run.stdout(dist.door.command(objdump, "-p").arg(library))
}

/// The names that a library exports, in what objdump prints of it.
pub(super) fn exports(text: &str) -> Vec<&str> {
    let (_, names) = text.split_once("[Ordinal/Name Pointer] Table").unwrap_or_default();
    let names = names.lines().skip(1).take_while(|line| !line.trim().is_empty());
    names.filter_map(|line| line.split_whitespace().last()).collect()
}
