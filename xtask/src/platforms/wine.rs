//! Programs for Windows: a compiler for them takes the headers of the C library, and Wine runs
//! them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

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

/// The command that starts programs for Windows. The tests get its settings.
pub(super) fn runner(run: &mut Run<'_>, test: &mut Command) -> Result<Vec<String>> {
    let folder = run.door.target.join("platforms/wine");
    let libraries = folder.join("libraries");
    let source = libraries.join("bcryptprimitives.c");
    write(&source, MISSING)?;
    let mut cc = cc(run, "-shared -O1 -nostdlib -o");
    run.exec(cc.arg(source.with_extension("dll")).arg(&source))?;
    test.env("WINEPREFIX", folder.join("prefix")).env("WINEDEBUG", "-all").env("WINEPATH", libraries);
    Ok(vec![WINE.to_owned()])
}

/// A folder with empty libraries in place of those that the compiler names, and zig lacks: they
/// would hold checks of the stack by GCC.
pub(super) fn empty_libraries(door: &Door) -> Result<PathBuf> {
    let folder = door.target.join("platforms/empty");
    for name in ["libssp.a", "libssp_nonshared.a"] {
        write(&folder.join(name), "!<arch>\n")?;
    }
    Ok(folder)
}

/// A compiler for Windows takes the headers of the C library.
pub(super) fn takes_headers(run: &mut Run<'_>) -> Result<()> {
    let folder = run.door.target.join("platforms/headers");
    for header in ["crossdock.h", "crossdock_producer.h"] {
        let source = folder.join(header).with_extension("c");
        write(&source, &format!("#include <{header}>\n"))?;
        let mut cc = cc(run, "-std=c99 -c -o");
        cc.arg(source.with_extension("o")).arg(&source);
        run.exec(cc.args(["-Wall", "-Wextra", "-Werror", "-Icrates/crossdock-capi/include"]))?;
    }
    Ok(())
}

fn cc(run: &Run<'_>, options: &str) -> Command {
    let mut cc =
        run.door.command(PLATFORMS_VENV.python(run.door), "-m ziglang cc -target x86_64-windows-gnu");
    cc.args(options.split_whitespace());
    cc
}

fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}
