//! The C library for Windows: zig makes it of the static library, and the programs of its tests and
//! the examples run with it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::wine::{Wine, cc, tools, windows_path, write};
use crate::platforms::Build;
use crate::run::Run;

const HEADERS: &str = "-Icrates/crossdock-capi/include";

/// What the static library needs of Windows.
const LIBRARIES: &str = "-lntdll -luserenv -lws2_32 -ldbghelp -lunwind";

/// Programs that test descriptors, which the library for Windows lacks.
const POSIX: [&str; 2] = ["channels.c", "shared.c"];

/// A compiler for Windows takes the headers of the C library.
pub(in crate::platforms) fn takes_headers(run: &mut Run<'_>) -> Result<()> {
    let folder = run.door.target.join("platforms/headers");
    for header in ["crossdock.h", "crossdock_producer.h"] {
        let source = folder.join(header).with_extension("c");
        write(&source, &format!("#include <{header}>\n"))?;
        let mut cc = cc(run.door, "-std=c99 -c -o");
        cc.arg(source.with_extension("o")).arg(&source);
        run.exec(cc.args(["-Wall", "-Wextra", "-Werror", HEADERS]))?;
    }
    Ok(())
}

/// Builds the library, and runs each program that needs no POSIX. Returns how many there are.
pub(in crate::platforms) fn library(run: &mut Run<'_>, build: &Build) -> Result<usize> {
    let folder = run.door.target.join("platforms/library");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    // The library that programs are linked with is in a folder without the DLL, by which zig would
    // link them, too.
    let linked = folder.join("lib");
    fs::create_dir_all(&linked).with_context(|| format!("{} cannot be made", linked.display()))?;
    link(run, build, &folder, &linked)?;
    let wine = Wine::new(run)?;
    let mut programs = 0;
    for sources in ["crates/crossdock-capi/tests/c", "examples/c"] {
        for entry in fs::read_dir(run.door.root.join(sources))? {
            let source = entry?.path();
            if source.extension().is_none_or(|extension| extension != "c") {
                continue;
            }
            let name = source.file_name().context("a source has a name")?;
            if POSIX.iter().any(|posix| name == *posix) {
                continue;
            }
            let program = folder.join(name).with_extension("exe");
            let mut cc = cc(run.door, "-std=c11 -Wall -Wextra -Werror");
            cc.arg(HEADERS).arg("-o").arg(&program).arg(&source);
            run.exec(cc.arg("-L").arg(&linked).arg("-lcrossdock"))?;
            let files = folder.join("files");
            fs::create_dir_all(&files)?;
            // Wine finds the library beside the program.
            run.exec(wine.command(run.door, &program).arg(windows_path(&files)))?;
            programs += 1;
        }
    }
    ensure!(programs > 0, "there are no programs");
    Ok(programs)
}

/// Makes `crossdock.dll` with all functions of the header and no other name, and the library that
/// programs are linked with, under the one name by which zig, mingw and Microsoft's compiler find
/// it. (Cargo's shared library cannot be made: cargo-zigbuild drops the list of its names, and
/// there are more than a library for Windows can have.)
fn link(run: &mut Run<'_>, build: &Build, folder: &Path, linked: &Path) -> Result<()> {
    let mut cargo =
        run.door.command("cargo-zigbuild", "rustc --locked -p crossdock-capi --lib --crate-type staticlib");
    build.prepare(run.door, &mut cargo)?;
    run.exec(&mut cargo)?;
    let library = build.output(run.door).join("libcrossdock_capi.a");
    let nm = tools(run)?.join("x86_64-w64-mingw32-nm");
    let mut names = run.door.command(nm, "--defined-only --extern-only");
    let names = run.stdout(names.arg("--format=just-symbols").arg(&library))?;
    let exports: Vec<_> = names.lines().filter(|name| name.starts_with("xd_")).collect();
    let list = folder.join("crossdock.def");
    write(&list, &format!("LIBRARY crossdock.dll\nEXPORTS\n{}\n", exports.join("\n")))?;
    let mut cc = cc(run.door, "-shared -o");
    cc.arg(folder.join("crossdock.dll")).arg(&library).arg(&list).args(LIBRARIES.split_whitespace());
    run.exec(cc.arg(format!("-Wl,--out-implib={}", linked.join("crossdock.lib").display())))
}
