//! `cargo xtask ptx`: the kernels as CUDA's driver is given them, of their source.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::provision::{self, PTX, PTX_VENV};
use crate::run::{Door, Run};

/// Where the kernels are, and those of each program, with what stands before them.
const FOLDER: &str = "crates/crossdock/src/kernel/device";
const PROGRAMS: &[(&str, [&str; 2])] =
    &[("copy", ["source/dialect.h", "source/copy.c"]), ("cast", ["source/dialect.h", "source/cast.c"])];

/// Volta: the first cards whose threads wait for each other as the kernels expect it, and the oldest that their vendor still compiled for
/// when this was written. Drivers compile it for all later ones.
const ARCHITECTURE: &str = "compute_70";

/// Writes the PTX anew.
pub(crate) fn run() -> Result<ExitCode> {
    let door = Door::new(false)?;
    let mut run = Run::new(&door, "ptx")?;
    provision::ensure(&mut run, &[PTX_VENV])?;
    let folder = door.root.join(FOLDER);
    for (name, sources) in PROGRAMS {
        let mut hash = FNV_OFFSET;
        for source in sources {
            let path = folder.join(source);
            let text = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            hash = fnv(hash, &text);
        }
        let output = folder.join("cuda").join(name).with_extension("ptx");
        let header = format!("Made by `cargo xtask ptx` of {}: {hash:016x}.", sources.join(" and "));
        let mut compile = door.command(PTX.python(&door), "xtask/ptx/compile.py");
        compile.arg(ARCHITECTURE).arg(&output).arg(header).args(sources.map(|source| folder.join(source)));
        run.exec(&mut compile)?;
        println!("{}", output.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// FNV-1a, of 64 bits: a test computes it again, to see whether the source has changed.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
