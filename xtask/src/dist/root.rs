//! Roots in which nothing of this project is installed: Debian 12 of its packages, and an empty
//! folder. A root is unpacked anew for each trial.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Dist;
use crate::run::Run;

/// Debian 12 has glibc 2.36, CPython 3.11 and Ruby 3.1.
const RELEASE: &str = "bookworm";

/// What the trials need in it.
const PACKAGES: &str = "--include=python3-venv,ruby";

/// Where the machine's own packages come from.
const SOURCES: [&str; 2] = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];

pub(super) struct Root {
    folder: PathBuf,
}

impl Root {
    /// A Debian with Python, Ruby and the repository's data, in the folder `/trial`.
    pub(super) fn debian(run: &mut Run<'_>, dist: &Dist) -> Result<Self> {
        let packed = run.door.target.join("dist-debian.tar");
        if !packed.is_file() {
            let new = packed.with_extension("new.tar");
            let mut make = run.door.command("mmdebstrap", "--mode=root --variant=minbase");
            make.args([PACKAGES, RELEASE]).arg(&new);
            make.args(SOURCES.iter().find(|file| Path::new(file).is_file()));
            run.exec(&mut make).context("a root of Debian could not be made (is this run as root?)")?;
            fs::rename(&new, &packed)?;
        }
        let folder = dist.staging("root")?;
        run.exec(run.door.command("tar", "--numeric-owner -xf").arg(&packed).arg("-C").arg(&folder))?;
        fs::create_dir_all(folder.join("dev/shm"))?;
        let root = Self { folder };
        root.put_data(run)?;
        Ok(root)
    }

    /// A folder with the repository's data and no program at all.
    pub(super) fn empty(run: &Run<'_>, dist: &Dist) -> Result<Self> {
        let root = Self { folder: dist.staging("empty")? };
        root.put_data(run)?;
        Ok(root)
    }

    /// The README's programs open `data/rocket.npy`.
    fn put_data(&self, run: &Run<'_>) -> Result<()> {
        let data = self.trial().join("data");
        fs::create_dir_all(&data)?;
        fs::copy(run.door.root.join("data/rocket.npy"), data.join("rocket.npy"))?;
        Ok(())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder `/trial` of the root, in which its programs run.
    pub(super) fn trial(&self) -> PathBuf {
        self.folder.join("trial")
    }

    /// A command in the root, with processes and mounts of its own.
    pub(super) fn command(&self, run: &Run<'_>, script: &str) -> Command {
        let mut command = run.door.command("unshare", "--mount --pid --fork");
        command.arg(format!("--mount-proc={}", self.folder.join("proc").display()));
        command.arg("chroot").arg(&self.folder).args(["/bin/sh", "-euc"]);
        command.arg(format!("cd /trial; {script}"));
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", "/root").env("LANG", "C.UTF-8");
        command
    }
}
