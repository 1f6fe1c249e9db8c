//! A compiler for Windows takes the headers of the C library.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::provision::PLATFORMS_VENV;
use crate::run::Run;

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
