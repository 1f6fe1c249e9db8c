//! `cargo xtask surface`: lists the public names of the library, and compares them with the kept
//! listing, so that reviews see changes of the surface.

mod listing;
mod signature;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use self::listing::Listing;
use crate::instruments::UNLOCK;
use crate::run::{Door, Run};
use crate::workspace::Workspace;

/// The kept listing.
const KEPT: &str = "docs/surface.txt";

/// The largest number of names, which rises only with a new module: see
/// `DESIGN.md`, "Public names are counted once per module".
const MOST_NAMES: usize = 1083;

/// The limit follows the number of names down if it is this far above it.
const SLACK: usize = 25;

/// Prints the listing, or keeps it with `bless`.
pub(crate) fn run(bless: bool) -> Result<ExitCode> {
    let door = Door::new(false)?;
    let mut run = Run::new(&door, "surface")?;
    let listing = list(&mut run)?;
    let text = listing.to_string();
    if bless {
        let path = door.root.join(KEPT);
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        println!("{}", listing.head());
    } else {
        print!("{text}");
    }
    check_limit(listing.names()).map(|()| ExitCode::SUCCESS)
}

/// The suite: the documentation has no warnings, and the listing equals the kept one and has no
/// more names than the limit.
pub(crate) fn check(run: &mut Run<'_>) -> Result<()> {
    let listing = list(run)?;
    let path = run.door.root.join(KEPT);
    let kept = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let text = listing.to_string();
    if text != kept {
        run.append(&difference(&kept, &text))?;
        bail!("the public names are not those of {KEPT}: see the log, then `cargo xtask surface --bless`");
    }
    run.note(listing.head());
    check_limit(listing.names())
}

/// Documents the libraries, and lists the public names of `crossdock`. rustdoc performs the same
/// checks for JSON as for HTML. (The command is omitted: its page would have the same name as the
/// library's.)
fn list(run: &mut Run<'_>) -> Result<Listing> {
    let mut cargo = run.door.cargo("doc --workspace --lib --no-deps");
    cargo.arg(Workspace::of(run)?.features(run.door)?);
    cargo.env("RUSTDOCFLAGS", "-D warnings -Zunstable-options --output-format json");
    run.exec(cargo.env("RUSTDOC", unlocked_rustdoc(run)?))?;
    Listing::read(&run.door.target.join("doc/crossdock.json"))
}

/// A script that starts rustdoc unlocked. Cargo itself must not see the variable: build scripts of
/// other crates depend on it, so all crates would be built again here, and again in the next suite.
fn unlocked_rustdoc(run: &Run<'_>) -> Result<PathBuf> {
    let (name, value) = UNLOCK;
    run.script("unlocked-rustdoc", &format!("exec env {name}={value} rustdoc \"$@\""))
}

fn check_limit(names: usize) -> Result<()> {
    if names > MOST_NAMES {
        bail!("{names} public names, {MOST_NAMES} are the most: cut some, or put them into `bindings`");
    }
    if names + SLACK < MOST_NAMES {
        bail!("{names} public names: lower MOST_NAMES, which is {MOST_NAMES}, to that");
    }
    Ok(())
}

/// The lines that only one of the texts has.
fn difference(kept: &str, now: &str) -> String {
    let missing = |from: &str, to: &str, sign: char| -> String {
        let there: std::collections::HashSet<&str> = to.lines().collect();
        from.lines().filter(|line| !there.contains(line)).map(|line| format!("{sign} {line}\n")).collect()
    };
    missing(kept, now, '-') + &missing(now, kept, '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_the_lines_of_either_side() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), "- a\n+ c\n");
        assert_eq!(difference("a\n", "a\n"), "");
    }

    #[test]
    fn the_limit_holds_from_both_sides() {
        assert!(check_limit(MOST_NAMES).is_ok() && check_limit(MOST_NAMES - SLACK).is_ok());
        assert!(check_limit(MOST_NAMES + 1).is_err() && check_limit(MOST_NAMES - SLACK - 1).is_err());
    }
}
