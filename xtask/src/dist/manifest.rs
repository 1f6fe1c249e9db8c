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

/// Describes all files in the folder of the artefacts, which are of one commit.
pub(super) fn write(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let names = dist.names()?;
    let mut sums = sums(run, dist, &names)?;
    let described = names.iter().zip(sums.lines()).map(|(name, line)| {
        let size = fs::metadata(dist.out.join(name))?.len();
        let sum = line.split(' ').next().context("sha256sum prints a sum on each line")?;
        Ok(json!({ "name": name, "bytes": size, "sha256": sum, "commit": dist.commit.name }))
    });
    let files = described.collect::<Result<Vec<Value>>>()?;
    let mut manifest = of_all(run, dist)?;
    manifest["is_checkout_changed"] = json!(dist.commit.is_checkout_changed);
    manifest["files"] = json!(files);
    fs::write(dist.out.join(MANIFEST), format!("{manifest:#}\n"))?;
    sums += &self::sums(run, dist, &[MANIFEST.to_owned()])?;
    fs::write(dist.out.join(SUMS), sums)?;
    Ok(())
}

fn sums(run: &mut Run<'_>, dist: &Dist, names: &[String]) -> Result<String> {
    let mut sums = dist.door.command("sha256sum", "--");
    run.stdout(sums.args(names).current_dir(&dist.out))
}

/// What is true of all artefacts.
fn of_all(run: &mut Run<'_>, dist: &Dist) -> Result<Value> {
    let rustc = run.stdout(&mut dist.door.command("rustc", "--version"))?;
    Ok(json!({
        "name": "crossdock",
        "version": dist.version,
        "commit": dist.commit.name,
        "is_optimized": dist.door.long,
        "source_date_epoch": dist.commit.epoch.parse::<u64>()?,
        "rustc": rustc.trim(),
    }))
}

/// Whether earlier runs made the artefacts in the folder of the same commit by the same compiler,
/// so that others may be made beside them. A run that failed has left no manifest.
pub(super) fn fits(run: &mut Run<'_>, dist: &Dist) -> Result<bool> {
    let Ok(text) = fs::read_to_string(dist.out.join(MANIFEST)) else { return Ok(false) };
    Ok(says(&text, &of_all(run, dist)?))
}

/// Whether earlier runs made the artefacts in the folder of this commit.
pub(super) fn is_of_commit(dist: &Dist) -> bool {
    let text = fs::read_to_string(dist.out.join(MANIFEST));
    text.is_ok_and(|text| says(&text, &json!({ "commit": dist.commit.name })))
}

/// Whether a manifest has each of these values.
fn says(manifest: &str, values: &Value) -> bool {
    let Ok(manifest) = serde_json::from_str::<Value>(manifest) else { return false };
    values
        .as_object()
        .is_some_and(|values| values.iter().all(|(key, value)| manifest.get(key) == Some(value)))
}

/// Removes both: they are written anew at the end of a run.
pub(super) fn remove(dist: &Dist) -> Result<()> {
    for path in NAMES.map(|name| dist.out.join(name)) {
        if path.exists() {
            fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artefacts_of_another_commit_or_build_do_not_stay() {
        let manifest = r#"{ "commit": "ab", "is_optimized": false, "files": [] }"#;
        assert!(says(manifest, &json!({ "commit": "ab", "is_optimized": false })));
        assert!(!says(manifest, &json!({ "commit": "cd", "is_optimized": false })));
        assert!(!says(manifest, &json!({ "commit": "ab", "is_optimized": true })));
        assert!(!says(manifest, &json!({ "commit": "ab", "rustc": "1" })));
        assert!(!says("{", &json!({})));
    }
}
