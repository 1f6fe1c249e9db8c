//! The files that describe the artefacts: `SHA256SUMS` and `manifest.json`.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Dist;
use crate::run::Run;

pub(super) const SUMS: &str = "SHA256SUMS";
const MANIFEST: &str = "manifest.json";

/// Both.
pub(super) const NAMES: [&str; 2] = [SUMS, MANIFEST];

/// Describes all files in the folder of the artefacts, which one run has made of one commit.
pub(super) fn write(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let names = dist.names()?;
    let mut sums = dist.door.command("sha256sum", "--");
    let sums = run.stdout(sums.args(&names).current_dir(&dist.out))?;
    let rustc = run.stdout(&mut dist.door.command("rustc", "--version"))?;
    let described = names.iter().zip(sums.lines()).map(|(name, line)| {
        let size = fs::metadata(dist.out.join(name))?.len();
        let sum = line.split(' ').next().context("sha256sum prints a sum on each line")?;
        Ok(json!({ "name": name, "bytes": size, "sha256": sum, "commit": dist.commit.name }))
    });
    let manifest = json!({
        "name": "crossdock",
        "version": dist.version,
        "commit": dist.commit.name,
        "is_checkout_changed": dist.commit.is_checkout_changed,
        "is_optimized": dist.door.long,
        "source_date_epoch": dist.commit.epoch.parse::<u64>()?,
        "rustc": rustc.trim(),
        "files": described.collect::<Result<Vec<Value>>>()?,
    });
    fs::write(dist.out.join(SUMS), sums)?;
    fs::write(dist.out.join(MANIFEST), format!("{manifest:#}\n"))?;
    Ok(())
}
