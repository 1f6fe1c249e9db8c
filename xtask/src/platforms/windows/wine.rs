//! Wine, and what zig lacks to build for Windows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::platforms::packages::unpack;
use crate::provision::{PLATFORMS_VENV, WINE};
use crate::run::{Door, Run};

/// A function that the standard library takes from Windows, and Wine 8 lacks: bytes for the seeds
/// of hash tables.
const MISSING: &str = "int ProcessPrng(unsigned char *bytes, unsigned long long count) {
  static unsigned long long state = 88172645463325252ull;
  for (unsigned long long i = 0; i < count; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    bytes[i] = (unsigned char)(state >> 32);
  }
  return 1;
}
int __stdcall DllMainCRTStartup(void *library, unsigned reason, void *reserved) { return 1; }
";

/// Wine with its settings and the libraries that it lacks.
pub(crate) struct Wine {
    folder: PathBuf,
}

impl Wine {
    pub(crate) fn new(run: &mut Run<'_>) -> Result<Self> {
        let folder = run.door.target.join("platforms/wine");
        let source = folder.join("libraries/bcryptprimitives.c");
        write(&source, MISSING)?;
        let mut cc = cc(run.door, "-shared -O1 -nostdlib -o");
        run.exec(cc.arg(source.with_extension("dll")).arg(&source))?;
        Ok(Self { folder })
    }

    /// The command that starts a program.
    pub(crate) fn command(&self, door: &Door, program: &Path) -> Command {
        let mut command = door.command(WINE, "");
        self.prepare(command.arg(program));
        command
    }

    /// Gives a command that starts Wine its settings.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.env("WINEPREFIX", self.folder.join("prefix")).env("WINEDEBUG", "-all");
        command.env("WINEPATH", self.libraries());
    }

    /// The folder of the libraries that it lacks.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.folder.join("libraries")
    }
}

/// The command that starts programs for Windows. The tests get its settings.
pub(in crate::platforms) fn runner(run: &mut Run<'_>, test: &mut Command) -> Result<Vec<String>> {
    Wine::new(run)?.prepare(test);
    Ok(vec![WINE.to_owned()])
}

/// A path as programs for Windows take it.
pub(crate) fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

/// The folder of mingw's programs that make import libraries, and list names.
pub(crate) fn tools(run: &mut Run<'_>) -> Result<PathBuf> {
    let system = unpack(run, "windows", &["binutils-mingw-w64-x86-64".to_owned()])?;
    Ok(system.join("usr/bin"))
}

/// A folder with empty libraries in place of those that the compiler names, and zig lacks: they
/// would hold checks of the stack by GCC.
pub(crate) fn empty_libraries(door: &Door) -> Result<PathBuf> {
    let folder = door.target.join("platforms/empty");
    for name in ["libssp.a", "libssp_nonshared.a"] {
        write(&folder.join(name), "!<arch>\n")?;
    }
    Ok(folder)
}

/// A compiler of C for Windows.
pub(crate) fn cc(door: &Door, options: &str) -> Command {
    let mut cc = door.command(PLATFORMS_VENV.python(door), "-m ziglang cc -target x86_64-windows-gnu");
    cc.args(options.split_whitespace());
    cc
}

pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}
