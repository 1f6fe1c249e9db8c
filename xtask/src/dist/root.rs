//! Roots in which nothing of this project is installed: Debian 12 of its packages, one with a shell
//! only, and an empty folder. A root is unpacked anew for each trial.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Dist, empty};
use crate::run::Run;

/// Debian 12 has glibc 2.36, CPython 3.11, Ruby 3.1 and GCC 12.
const RELEASE: &str = "bookworm";

/// What users have who install what is built.
pub(super) const PLAIN: &str = "python3-venv,ruby";

/// What users have who build programs.
pub(super) const COMPILERS: &str = "gcc,libc6-dev,pkg-config,python3";

/// Where the machine's own packages come from.
const SOURCES: [&str; 2] = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];

/// What users have who build the wheel or the gem of its sources. (Its bindings to Ruby are made by
/// libclang.)
pub(super) const BUILDERS: &str = "gcc,libc6-dev,libclang-dev,make,python3-venv,ruby-dev";

pub(super) struct Root {
    folder: PathBuf,
}

/// An archive of a Debian, which is made once.
fn packed(
    run: &mut Run<'_>,
    dist: &Dist,
    architecture: &str,
    variant: &str,
    packages: &str,
) -> Result<PathBuf> {
    let folder = dist.door.target.join("dist-roots");
    fs::create_dir_all(&folder)?;
    // Named for its content: another list of packages is another file.
    let packed = folder.join(format!("{RELEASE}-{architecture}-{}.tar", packages.replace(',', "+")));
    if !packed.is_file() {
        let new = packed.with_extension("new.tar");
        let mut make = dist.door.command("mmdebstrap", "--mode=root");
        make.arg(format!("--architectures={architecture}")).arg(format!("--variant={variant}"));
        make.arg(format!("--include={packages}")).arg(RELEASE).arg(&new).args(sources());
        run.exec(&mut make).context("a root of Debian could not be made (is this run as root?)")?;
        fs::rename(&new, &packed)?;
    }
    Ok(packed)
}

/// The file that names where the machine's packages come from.
pub(super) fn sources() -> Option<&'static Path> {
    SOURCES.iter().map(Path::new).find(|file| file.is_file())
}

impl Root {
    /// A Debian with some packages and the repository's data, in the folder `/trial`.
    pub(super) fn debian(run: &mut Run<'_>, dist: &Dist, packages: &str) -> Result<Self> {
        let packed = packed(run, dist, "amd64", "minbase", packages)?;
        Self::unpacked(run, dist, &packed)
    }

    /// The files of some packages of Debian for another processor, which installs nothing.
    pub(super) fn foreign(
        run: &mut Run<'_>,
        dist: &Dist,
        architecture: &str,
        packages: &str,
    ) -> Result<Self> {
        let packed = packed(run, dist, architecture, "extract", packages)?;
        Self::unpacked(run, dist, &packed)
    }

    fn unpacked(run: &mut Run<'_>, dist: &Dist, packed: &Path) -> Result<Self> {
        let folder = dist.staging("root")?;
        run.exec(dist.door.command("tar", "--numeric-owner -xf").arg(packed).arg("-C").arg(&folder))?;
        for folder in ["dev/shm", "proc", "tmp"].map(|name| folder.join(name)) {
            fs::create_dir_all(folder)?;
        }
        Self { folder }.with_data(dist)
    }

    /// A folder with the repository's data and no program at all.
    pub(super) fn empty(dist: &Dist) -> Result<Self> {
        let root = Self { folder: dist.staging("empty")? };
        fs::create_dir_all(root.folder.join("proc"))?;
        root.with_data(dist)
    }

    /// A root whose only program is a static shell with the usual tools: no library, no loader.
    pub(super) fn busybox(run: &mut Run<'_>, dist: &Dist) -> Result<Self> {
        let packages = dist.staging("busybox")?;
        let mut download = dist.door.command("apt-get", "download busybox-static");
        run.exec(download.current_dir(&packages)).context("Debian's busybox could not be had")?;
        let unpacked = packages.join("unpacked");
        for package in fs::read_dir(&packages)? {
            run.exec(dist.door.command("dpkg", "-x").arg(package?.path()).arg(&unpacked))?;
        }
        let root = Self { folder: dist.staging("shell")? };
        let programs = root.folder.join("bin");
        for folder in [&programs, &root.folder.join("proc"), &root.folder.join("tmp")] {
            fs::create_dir_all(folder)?;
        }
        fs::copy(unpacked.join("bin/busybox"), programs.join("busybox"))?;
        let mut install = dist.door.command("chroot", "");
        run.exec(install.arg(&root.folder).args(["/bin/busybox", "--install", "-s", "/bin"]))?;
        root.with_data(dist)
    }

    /// The README's programs open `data/rocket.npy`.
    fn with_data(self, dist: &Dist) -> Result<Self> {
        let data = self.trial().join("data");
        fs::create_dir_all(&data)?;
        fs::copy(dist.door.root.join("data/rocket.npy"), data.join("rocket.npy"))?;
        Ok(self)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder `/trial` of the root, in which its programs run.
    pub(super) fn trial(&self) -> PathBuf {
        self.folder.join("trial")
    }

    /// A new, empty folder in `/trial`.
    pub(super) fn new_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.trial().join(name);
        empty(&folder)?;
        Ok(folder)
    }

    /// What programs find in each system that start processes, where no package has brought it.
    pub(super) fn make_devices(&self, run: &mut Run<'_>, dist: &Dist) -> Result<()> {
        fs::create_dir_all(self.folder.join("dev/shm"))?;
        let null = self.folder.join("dev/null");
        if null.exists() {
            return Ok(());
        }
        run.exec(dist.door.command("mknod", "--mode=666").arg(null).args(["c", "1", "3"]))
    }

    /// A script in the root, with processes and mounts of its own.
    pub(super) fn command(&self, dist: &Dist, script: &str) -> Command {
        self.command_with(dist, &[], script)
    }

    /// A program in the root, likewise, where the root may have no shell of this processor.
    pub(super) fn program(&self, dist: &Dist, words: &[&str]) -> Command {
        let mut command = dist.door.command("unshare", "--mount --pid --fork --mount-proc=/proc --root");
        command.arg(&self.folder).args(["--wd", "/trial", "--"]).args(words);
        with_plain_variables(&mut command);
        command
    }

    /// A script, with folders of this machine, each mounted read-only at a path of the root.
    pub(super) fn command_with(&self, dist: &Dist, lent: &[(&Path, &str)], script: &str) -> Command {
        let mut command = dist.door.command("unshare", "--mount --pid --fork");
        command.arg(format!("--mount-proc={}", self.folder.join("proc").display()));
        command.args(["/bin/sh", "-euc", ENTER, "enter"]);
        command.arg(&self.folder).arg(format!("cd /trial; {script}"));
        let lent = lent.iter().flat_map(|(folder, path)| [folder.as_os_str(), OsStr::new(path)]);
        command.args(lent);
        with_plain_variables(&mut command);
        command
    }
}

/// Gives a command the variables of a new system, and none of this one.
fn with_plain_variables(command: &mut Command) {
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("HOME", "/root").env("LANG", "C.UTF-8");
}

/// Mounts folders below a root, and runs a script there: the root, the script, and the folders in
/// pairs.
const ENTER: &str = r#"
root=$1; script=$2; shift 2
while [ $# -gt 0 ]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
exec chroot "$root" /bin/sh -euc "$script"
"#;
