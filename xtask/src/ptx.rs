//! `cargo xtask ptx`: compiles the kernels to the PTX that CUDA's driver loads; and the suite that
//! checks them.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::provision::{self, PTX, PTX_VENV};
use crate::run::{Door, Run};

/// Where the source of the kernels is, and where the PTX is stored.
const FOLDER: &str = "crates/crossdock/src/device/engine";
const STORED: &str = "crates/crossdock-cuda/src";
/// The programs, and the files of each.
const PROGRAMS: &[(&str, [&str; 2])] =
    &[("copy", ["source/dialect.h", "source/copy.c"]), ("cast", ["source/dialect.h", "source/cast.c"])];

/// Volta: the oldest cards whose threads can wait for each other as the kernels require, and which
/// NVIDIA's compiler still supported at the time of writing. Drivers compile it for all later
/// cards.
const ARCHITECTURE: &str = "compute_70";

/// Cards for which a driver may compile: the oldest, and those of later generations.
const CARDS: &[&str] = &["sm_70", "sm_75", "sm_80", "sm_90", "sm_120"];

/// Rewrites the PTX.
pub(crate) fn run() -> Result<ExitCode> {
    let door = Door::new(false)?;
    let mut run = Run::new(&door, "ptx")?;
    provision::ensure(&mut run, &[PTX_VENV])?;
    for (name, sources) in PROGRAMS {
        let output = door.root.join(STORED).join(name).with_extension("ptx");
        compile(&mut run, sources, &output)?;
        println!("{}", output.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// The suite: the stored PTX is what the compiler makes of the source today, and the assembler
/// accepts it for every card.
pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    let folder = run.door.target.join("xtask/ptx");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for (name, sources) in PROGRAMS {
        let kept = run.door.root.join(STORED).join(name).with_extension("ptx");
        let made = folder.join(name).with_extension("ptx");
        compile(run, sources, &made)?;
        if fs::read(&made)? != fs::read(&kept)? {
            bail!("{} is not what its source gives: run `cargo xtask ptx`", kept.display());
        }
        let mut assemble = run.door.command(PTX.python(run.door), "xtask/ptx/assemble.py");
        assemble.arg(folder.join(name).with_extension("cubin")).arg(&kept).args(CARDS);
        run.exec(&mut assemble)?;
    }
    run.note(format!("{} programs, assembled for {}", PROGRAMS.len(), CARDS.join(", ")));
    Ok(())
}

/// Compiles a program. The first line of the output names the sources, with a hash of them and of
/// the text below.
fn compile(run: &mut Run<'_>, sources: &[&str], output: &Path) -> Result<()> {
    let folder = run.door.root.join(FOLDER);
    let paths: Vec<_> = sources.iter().map(|source| folder.join(source)).collect();
    let mut compile = run.door.command(PTX.python(run.door), "xtask/ptx/compile.py");
    run.exec(compile.arg(ARCHITECTURE).arg(output).args(&paths))?;
    let mut hash = FNV_OFFSET;
    for path in paths.iter().map(|path| &**path).chain([output]) {
        let text = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        hash = fnv(hash, &text);
    }
    let body = fs::read_to_string(output)?;
    let first = format!("// Made by `cargo xtask ptx` of {}: {hash:016x}.\n", sources.join(" and "));
    fs::write(output, first + &body).with_context(|| format!("{} cannot be written", output.display()))
}

/// FNV-1a of 64 bits: a test recomputes it, to see whether the source or the PTX has changed.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
