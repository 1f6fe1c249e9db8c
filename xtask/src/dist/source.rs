//! The copy of the commit in which everything is built: neither changes of the checkout nor what
//! other suites write there get into an artefact, and no build writes into the checkout.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{Door, Run};

/// The commit that is released.
#[derive(Clone)]
pub(super) struct Commit {
    /// Its whole hash.
    pub(super) name: String,
    /// Its time, in seconds since 1970.
    pub(super) epoch: String,
    /// Whether the checkout has changes or new files, which no artefact contains.
    pub(super) is_checkout_changed: bool,
}

impl Commit {
    /// The commit of the checkout.
    pub(super) fn of(run: &mut Run<'_>) -> Result<Self> {
        let mut told = |args: &str| anyhow::Ok(run.stdout(&mut git(run.door, args))?.trim().to_owned());
        let [name, epoch] = ["rev-parse HEAD", "log -1 --format=%ct"].map(&mut told);
        let is_checkout_changed = !told("status --porcelain")?.is_empty();
        Ok(Self { name: name?, epoch: epoch?, is_checkout_changed })
    }

    /// Makes `folder` a checkout of the commit, which reads the objects of this repository. Files
    /// that are the same as before keep their times, so that they are not built again.
    pub(super) fn check_out(&self, run: &mut Run<'_>, folder: &Path) -> Result<()> {
        run.exec(git(run.door, "init --quiet").arg(folder))?;
        let objects = "rev-parse --path-format=absolute --git-path objects";
        let objects = run.stdout(&mut git(run.door, objects))?;
        let alternates = folder.join(".git/objects/info/alternates");
        fs::write(&alternates, objects)
            .with_context(|| format!("{} cannot be written", alternates.display()))?;
        for step in ["checkout --quiet --force --detach", "clean --quiet -ffdx"] {
            let mut git = git(run.door, step);
            if step.starts_with("checkout") {
                git.arg(&self.name);
            }
            run.exec(git.current_dir(folder))
                .with_context(|| format!("{} cannot be a copy of {}", folder.display(), self.name))?;
        }
        Ok(())
    }
}

/// Git, also where another user owns the checkout, as in a container.
fn git(door: &Door, args: &str) -> Command {
    let mut git = door.command("git", "-c");
    git.arg(format!("safe.directory={}", door.root.display()));
    git.args(args.split_whitespace());
    git
}
