//! The inputs that a target starts from: named seeds, and inputs found by fuzzing, under the hash
//! that libFuzzer gives them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Target;
use crate::run::Run;

/// The inputs in a folder, sorted; none if the folder does not exist.
pub(super) fn inputs(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Whether fuzzing found an input: its name is the SHA-1 of its content.
fn was_found(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 40 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// An empty working folder for a target.
pub(super) fn fresh(run: &Run<'_>, what: &str, target: &Target) -> Result<PathBuf> {
    let folder = run.door.target.join("fuzz").join(what).join(&target.name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(folder)
}

/// A copy of the named seeds in a separate folder.
pub(super) fn seeds(run: &Run<'_>, target: &Target) -> Result<PathBuf> {
    let folder = fresh(run, "merge", target)?;
    copy(inputs(&target.corpus)?.into_iter().filter(|path| !was_found(path)), &folder)?;
    Ok(folder)
}

/// Merges the kept inputs with those found since: keeps the few that together cover everything that
/// the seeds do not.
pub(super) fn merge(run: &mut Run<'_>, target: &Target) -> Result<String> {
    let chosen = seeds(run, target)?;
    let (kept, found) = (inputs(&target.corpus)?, inputs(&target.found)?.len());
    let mut command = target.command(run);
    // By whether a branch was taken, not how often, which would keep many more inputs.
    command.args(["-set_cover_merge=1", "-use_counters=0"]);
    let log = target.logged(run, command.args([&chosen, &target.corpus, &target.found]))?;
    run.append(&log)?;
    for path in kept.iter().filter(|path| was_found(path)) {
        fs::remove_file(path).with_context(|| format!("{} cannot be removed", path.display()))?;
    }
    copy(inputs(&chosen)?.into_iter().filter(|path| was_found(path)), &target.corpus)?;
    let now = inputs(&target.corpus)?;
    let nbytes = size(&now)?;
    Ok(format!(
        "{}: {} inputs were kept, {found} found; {} are kept, of {nbytes} bytes",
        target.name,
        kept.len(),
        now.len()
    ))
}

/// The total size of these files.
pub(super) fn size(paths: &[PathBuf]) -> Result<u64> {
    paths.iter().map(|path| Ok(fs::metadata(path)?.len())).sum()
}

/// Copies files into a folder, under their names.
pub(super) fn copy(paths: impl Iterator<Item = PathBuf>, folder: &Path) -> Result<()> {
    for path in paths {
        let name = path.file_name().context("an input has a name")?;
        fs::copy(&path, folder.join(name)).with_context(|| format!("{} cannot be copied", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_told_by_its_name() {
        assert!(was_found(Path::new("a/da39a3ee5e6b4b0d3255bfef95601890afd80709")));
        for seed in ["a/structured.npy", "da39a3ee5e6b4b0d3255bfef95601890afd8070", "a/DA39", ""] {
            assert!(!was_found(Path::new(seed)), "{seed}");
        }
    }
}
