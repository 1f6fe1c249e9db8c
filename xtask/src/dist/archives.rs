//! Archives whose bytes depend on the content only.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Dist;
use crate::provision::DIST;
use crate::run::Run;

/// The licences, which each archive contains.
pub(super) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Packs the folder `name` of `parent` into `name.tar.gz`: sorted, without users and times.
pub(super) fn tar(run: &mut Run<'_>, dist: &Dist, parent: &Path, name: &str) -> Result<()> {
    let fixed =
        "--create --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w";
    let mut tar = dist.door.command("tar", fixed);
    tar.arg("--use-compress-program=gzip -n -9").arg(format!("--mtime=@{}", dist.commit.epoch));
    tar.arg("--directory").arg(parent).arg("--file").arg(dist.out.join(format!("{name}.tar.gz")));
    run.exec(tar.arg(name))
}

/// Packs the folder `name` of `parent` into `name.zip`, likewise.
pub(super) fn zip(run: &mut Run<'_>, dist: &Dist, parent: &Path, name: &str) -> Result<()> {
    let mut zip = dist.door.command(DIST.python(&dist.door), "xtask/dist/zip.py");
    zip.arg(dist.out.join(format!("{name}.zip"))).arg(parent).args([name, &dist.commit.epoch]);
    run.exec(&mut zip)
}

/// Copies files of the repository into a folder.
pub(super) fn copy(dist: &Dist, names: &[&str], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for name in names {
        let from = dist.door.root.join(name);
        let file = from.file_name().context("a file has a name")?;
        fs::copy(&from, folder.join(file)).with_context(|| format!("{name} cannot be copied"))?;
    }
    Ok(())
}
