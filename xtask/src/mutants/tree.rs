//! The copy of the checkout in which files are mutated.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::Door;

/// Updates `to` to the state of the checkout. A file with the same content keeps its modification
/// time, so that its build stays valid; a file that a run left mutated is restored.
pub(super) fn copy(door: &Door, to: &Path) -> Result<()> {
    let listed = door
        .command("git", "ls-files -z --cached --others --exclude-standard")
        .output()
        .context("`git` is needed, which knows the files of the checkout")?;
    if !listed.status.success() {
        bail!("the files of the checkout are unknown: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let names = listed.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)));
    mirror(&door.root, names, to)
}

/// Copies `names` from one folder to another, and removes all other files there.
fn mirror(from: &Path, names: impl Iterator<Item = PathBuf>, to: &Path) -> Result<()> {
    let mut kept = HashSet::new();
    for name in names {
        let (source, target) = (from.join(&name), to.join(&name));
        let Ok(about) = fs::symlink_metadata(&source) else { continue };
        fs::create_dir_all(target.parent().context("a file has a folder")?)?;
        let said = |target: &Path| format!("{} cannot be written", target.display());
        if about.is_symlink() {
            let link = fs::read_link(&source)?;
            if fs::read_link(&target).ok().as_ref() != Some(&link) {
                remove(&target)?;
                symlink(link, &target).with_context(|| said(&target))?;
            }
        } else if fs::read(&target).ok() != Some(fs::read(&source)?) {
            remove(&target)?;
            fs::copy(&source, &target).with_context(|| said(&target))?;
        }
        kept.insert(target);
    }
    for file in files(to)? {
        if !kept.contains(&file) {
            remove(&file)?;
        }
    }
    Ok(())
}

fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", file.display()))
        }
        _ => Ok(()),
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_put_right_and_what_is_the_same_keeps_its_time() {
        let folder = std::env::temp_dir().join(format!("crossdock-xtask-tree-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to ü"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(from.join("src/a.rs"), "a").unwrap();
        fs::write(from.join("b.rs"), "b").unwrap();
        let names = || ["src/a.rs", "b.rs", "deleted.rs"].map(PathBuf::from).into_iter();
        mirror(&from, names(), &to).unwrap();
        let time = |name: &str| fs::metadata(to.join(name)).unwrap().modified().unwrap();
        let before = time("b.rs");
        fs::write(to.join("src/a.rs"), "mutated").unwrap();
        fs::write(to.join("src/gone.rs"), "of an older state").unwrap();
        mirror(&from, names(), &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("src/a.rs")).unwrap(), "a");
        assert!(!to.join("src/gone.rs").exists());
        assert_eq!(time("b.rs"), before);
        fs::remove_dir_all(folder).unwrap();
    }
}
