//! The paths that builds see: the same ones in every checkout. Compilers write some paths into what
//! they make, and hash others into the names of symbols, which no flag changes.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Dist;
use crate::run::{Door, Run};

/// The folder below which builds see theirs: every Linux system has it.
const ABOVE: &str = "/mnt";

/// Where builds see the folder of builds, the artefacts, the sources, and the target folder.
pub(super) const PATHS: [&str; 4] = ["/mnt/build", "/mnt/dist", "/mnt/source", "/mnt/target"];

/// Mounts folders below that one for one command: pairs of a folder and its new path, `--`, the
/// folder in which the command runs, and the command.
const MOUNT: &str = r#"
mount -t tmpfs crossdock /mnt
while [ "$1" != -- ]; do mkdir "$2"; mount --bind "$1" "$2"; shift 2; done
shift
cd "$1"
shift
exec "$@"
"#;

/// Whether a program of this user may have mounts of its own, and sees the checkout with them.
pub(super) fn can_be_had(door: &Door) -> bool {
    let status = door.command("unshare", "--mount /bin/true").stderr(std::process::Stdio::null()).status();
    status.is_ok_and(|status| status.success()) && !door.target.starts_with(ABOVE)
}

/// Runs a command that builds. Where mounts can be had, it sees the same paths in every checkout.
pub(super) fn exec(run: &mut Run<'_>, dist: &Dist, command: &mut Command) -> Result<()> {
    if !dist.has_mounts {
        return run.exec(command);
    }
    fs::create_dir_all(&dist.build).with_context(|| format!("{} cannot be made", dist.build.display()))?;
    run.exec(&mut Mounts::of(dist).around(command))
}

/// Folders, each with the path that builds see. A folder comes before the one that it is in.
struct Mounts([(PathBuf, &'static str); PATHS.len()]);

impl Mounts {
    fn of(dist: &Dist) -> Self {
        let [build, out, source, target] = PATHS;
        Self([
            (dist.build.clone(), build),
            (dist.out.clone(), out),
            (dist.door.root.clone(), source),
            (dist.door.target.clone(), target),
        ])
    }

    /// The same command with the mounts, and with the new paths in its arguments and variables.
    fn around(&self, command: &Command) -> Command {
        let mut around = Command::new("unshare");
        around.args(["--mount", "/bin/sh", "-euc", MOUNT, "mount"]);
        for (folder, path) in &self.0 {
            around.arg(folder).arg(path);
        }
        let folder = command.get_current_dir().unwrap_or(Path::new("/"));
        around.arg("--").arg(self.seen(folder.as_os_str())).arg(self.seen(command.get_program()));
        around.args(command.get_args().map(|argument| self.seen(argument)));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => around.env(name, self.seen(value)),
                None => around.env_remove(name),
            };
        }
        around.stdin(std::process::Stdio::null());
        around
    }

    /// A text with the paths that builds see in place of the folders'.
    fn seen(&self, text: &OsStr) -> OsString {
        let Some(text) = text.to_str() else { return text.to_owned() };
        let folders = self.0.iter().filter_map(|(folder, path)| Some((folder.to_str()?, path)));
        folders.fold(text.to_owned(), |text, (folder, path)| replaced(&text, folder, path)).into()
    }
}

/// `text` with `path` in place of each `folder`, but not where another folder's name begins so.
fn replaced(text: &str, folder: &str, path: &str) -> String {
    let mut parts = text.split(folder);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_longer_name = part.starts_with(|next: char| next.is_alphanumeric() || "-_.".contains(next));
        replaced += if is_longer_name { folder } else { path };
        replaced += part;
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_no_folder_of_the_checkout() {
        let mounts = Mounts([
            ("/c/target/dist-build".into(), "/mnt/build"),
            // The names of other folders begin with this one's.
            ("/c/target/dist".into(), "/mnt/dist"),
            ("/c/target/dist-source".into(), "/mnt/source"),
            ("/c/target".into(), "/mnt/target"),
        ]);
        let mut command = Command::new("/c/target/venv/bin/python");
        command.args(["--out", "/c/target/dist"]).current_dir("/c/target/dist-source/bindings");
        command.env("FLAGS", "/c/target/dist-build=/build /c/target=/t").env_remove("RUSTFLAGS");
        let around = mounts.around(&command);
        let arguments: Vec<_> = around.get_args().map(|argument| argument.to_str().unwrap()).collect();
        let end = arguments.iter().position(|&argument| argument == "--").unwrap();
        assert_eq!(
            arguments[end + 1..],
            ["/mnt/source/bindings", "/mnt/target/venv/bin/python", "--out", "/mnt/dist"]
        );
        let variables: Vec<_> = around.get_envs().collect();
        assert!(variables.contains(&("FLAGS".as_ref(), Some("/mnt/build=/build /mnt/target=/t".as_ref()))));
        assert!(variables.contains(&("RUSTFLAGS".as_ref(), None)));
    }
}
