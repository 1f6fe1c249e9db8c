//! The wheel outside of its own suite: on every interpreter that is found, under valgrind, and in a
//! check of the stable ABI.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::provision::TESTS;
use crate::run::Run;

/// The tests of the wheel that only need the standard library.
const WITHOUT_PEERS: &str = "bindings/python/tests/without_peers.py";

/// The Python versions released since the oldest one that the wheel supports.
const PROMISED: &[&str] = &["3.11", "3.12", "3.13", "3.14"];

/// Whether a wheel only uses the stable part of the interpreter's interface, as its name promises.
pub(crate) fn audit(run: &mut Run<'_>, wheel: &Path) -> Result<()> {
    let python = TESTS.python(run.door);
    run.exec(run.door.command(python, "-m abi3audit --strict --summary").arg(wheel))
}

/// Addresses only: uninitialised memory of the interpreter is not the wheel's concern. The
/// interpreter allocates from C's heap, which valgrind knows.
pub(crate) fn under_valgrind(run: &mut Run<'_>, python: &Path) -> Result<()> {
    let options = "--quiet --error-exitcode=9 --undef-value-errors=no --suppressions=xtask/valgrind.supp";
    let mut valgrind = run.door.command("valgrind", options);
    valgrind.arg(python).arg(WITHOUT_PEERS);
    run.exec(valgrind.env("PYTHONMALLOC", "malloc").env("PYTHONDONTWRITEBYTECODE", "1"))
}

/// Runs a wheel on every interpreter that is found, without installing anything there; the long run
/// includes CPython's own tests.
pub(crate) fn on_all(run: &mut Run<'_>, wheel: &Path) -> Result<()> {
    let folder = run.door.target.join("wheel/unpacked");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    let unpack = run.door.command("python3", "-m zipfile -e").arg(wheel).arg(&folder).output()?;
    anyhow::ensure!(unpack.status.success(), "{} cannot be unpacked", wheel.display());
    let found = found(run)?;
    let paths = [folder, run.door.root.join("bindings/python/tests")];
    let paths = std::env::join_paths(paths)?;
    for (version, python) in &found {
        let mut script = run.door.command(python, WITHOUT_PEERS);
        run.exec(script.env("PYTHONPATH", &paths).env("PYTHONDONTWRITEBYTECODE", "1"))
            .with_context(|| format!("on CPython {version}"))?;
        if run.door.long {
            let mut theirs = run.door.command(python, "-m unittest -q test_others_buffers");
            run.exec(theirs.env("PYTHONPATH", &paths).env("PYTHONDONTWRITEBYTECODE", "1"))
                .with_context(|| format!("on CPython {version}"))?;
        }
    }
    run.note(versions(&found.iter().map(|(version, _)| version.as_str()).collect::<Vec<_>>()));
    Ok(())
}

/// The versions on which the wheel ran, and those that its name promises but for which there is no
/// interpreter.
fn versions(found: &[&str]) -> String {
    let is_found = |wanted: &&&str| found.iter().any(|version| version.starts_with(&format!("{wanted}.")));
    let absent: Vec<_> = PROMISED.iter().filter(|wanted| !is_found(wanted)).copied().collect();
    let ran = format!("on CPython {}", found.join(", "));
    if absent.is_empty() { ran } else { format!("{ran}; not on {}: not installed", absent.join(", ")) }
}

/// Interpreters that can load the wheel, by version: those in the path, the system's and pyenv's.
fn found(run: &Run<'_>) -> Result<Vec<(String, PathBuf)>> {
    const SAY: &str = "import sys, sysconfig
usable = sys.implementation.name == 'cpython' and sys.version_info >= (3, 11) and not sysconfig.get_config_var('Py_GIL_DISABLED')
print('%d.%d.%d' % sys.version_info[:3] if usable else '')";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/bin".into());
    let versions = std::env::home_dir().unwrap_or_default().join(".pyenv/versions");
    for version in fs::read_dir(versions).into_iter().flatten() {
        folders.push(version?.path().join("bin"));
    }
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for python in folders.iter().map(|folder| folder.join("python3")).filter(|python| python.is_file()) {
        let said = run.door.command(&python, "-c").arg(SAY).output()?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if said.status.success() && !version.is_empty() && found.iter().all(|(other, _)| *other != version) {
            found.push((version, python));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_are_not_installed_are_named() {
        assert_eq!(
            versions(&["3.11.7", "3.13.0"]),
            "on CPython 3.11.7, 3.13.0; not on 3.12, 3.14: not installed"
        );
        assert_eq!(
            versions(&["3.11.2", "3.12.1", "3.13.0", "3.14.0"]),
            "on CPython 3.11.2, 3.12.1, 3.13.0, 3.14.0"
        );
    }
}
