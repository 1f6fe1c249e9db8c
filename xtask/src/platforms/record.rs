//! The record of the suite's last run of each platform and of the wheels that were installed,
//! `docs/platforms.csv`, and the table in `docs/platforms.md` that is made of it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::PLATFORMS;

/// The columns of the table.
pub(super) const PARTS: [&str; 5] = ["library tests", "C library", "command", "wheel", "gem"];

const FILE: &str = "docs/platforms.csv";

/// The state of a wheel that `cargo xtask dist --installed` has installed and used.
pub(crate) const INSTALLED: &str = "installed here";

/// The state of a wheel of which `cargo xtask dist --installed` has only read the files.
pub(crate) const BUILT: &str = "built, never run";

/// The state of a part whose tests ran here.
pub(crate) fn runs(tests: usize) -> String {
    format!("runs here ({tests} tests)")
}

/// Records the state of the wheel for a platform after its trial.
pub(crate) fn wheel_was_tried(root: &Path, target: &str, state: String) -> Result<()> {
    let mut record = Record::read(root)?;
    let mut states = record.of(target).with_context(|| format!("{FILE} has no platform {target}"))?;
    let wheel = PARTS.iter().position(|part| *part == "wheel").context("wheels are a part")?;
    if states[wheel] == state {
        return Ok(());
    }
    states[wheel] = state;
    record.set(target, states);
    record.write(root)
}

/// For each platform the state of each part, as the table shows it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Record(pub(super) Vec<(String, [String; PARTS.len()])>);

impl Record {
    /// A line for each part of each platform: the platform, the part and its state.
    fn to_csv(&self) -> String {
        let lines = self.0.iter().flat_map(|(target, states)| {
            PARTS.iter().zip(states).map(move |(part, state)| format!("{target},{part},{state}\n"))
        });
        ["platform,part,state\n".to_owned()].into_iter().chain(lines).collect()
    }

    /// The record of the last run.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::from_csv(&text).with_context(|| format!("{FILE} has other lines than a record"))
    }

    /// The states of a platform.
    pub(super) fn of(&self, target: &str) -> Option<[String; PARTS.len()]> {
        self.0.iter().find(|(name, _)| name == target).map(|(_, states)| states.clone())
    }

    /// Replaces the states of a platform, or adds them where the suite has it.
    pub(super) fn set(&mut self, target: &str, states: [String; PARTS.len()]) {
        if let Some((_, old)) = self.0.iter_mut().find(|(name, _)| name == target) {
            *old = states;
            return;
        }
        self.0.push((target.to_owned(), states));
        self.0.sort_by_key(|(name, _)| PLATFORMS.iter().position(|platform| platform.target == name));
    }

    fn from_csv(text: &str) -> Option<Self> {
        let mut record = Self::default();
        for (number, line) in text.lines().skip(1).enumerate() {
            let (target, rest) = line.split_once(',')?;
            let (part, state) = rest.split_once(',')?;
            if number % PARTS.len() == 0 {
                record.0.push((target.to_owned(), Default::default()));
            }
            let (last, states) = record.0.last_mut()?;
            if last != target || PARTS[number % PARTS.len()] != part {
                return None;
            }
            states[number % PARTS.len()] = state.to_owned();
        }
        Some(record)
    }

    /// The table of the page.
    fn to_table(&self) -> String {
        let heads = PARTS.map(|part| part[..1].to_uppercase() + &part[1..]).join(" | ");
        let mut text = format!("| Platform | {heads} |\n|{}\n", "---|".repeat(PARTS.len() + 1));
        for (target, states) in &self.0 {
            text += &format!("| `{target}` | {} |\n", states.join(" | "));
        }
        text
    }

    /// Writes the record and the table.
    pub(super) fn write(&self, root: &Path) -> Result<()> {
        let page = root.join("docs/platforms.md");
        let text = fs::read_to_string(&page).with_context(|| format!("{} cannot be read", page.display()))?;
        let (before, _, after) = parts_of(&text).context("docs/platforms.md has no table of platforms")?;
        for (path, text) in
            [(root.join(FILE), self.to_csv()), (page, format!("{before}{}{after}", self.to_table()))]
        {
            fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(())
    }
}

/// The page before its first table, the table, and the rest.
fn parts_of(page: &str) -> Option<(&str, &str, &str)> {
    let start = page.find("| Platform |")?;
    let end = start + page[start..].find("\n\n")? + 1;
    Some((&page[..start], &page[start..end], &page[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platforms::Part;

    #[test]
    fn the_record_has_a_state_that_the_suite_gives_for_each_part_and_the_page_shows_it() {
        let csv = include_str!("../../../docs/platforms.csv");
        let record = Record::from_csv(csv).expect("a line for each part of each platform");
        assert_eq!(record.to_csv(), csv);
        let (_, table, _) = parts_of(include_str!("../../../docs/platforms.md")).unwrap();
        assert_eq!(table, record.to_table());
        let recorded: Vec<_> = record.0.iter().map(|(target, _)| target.as_str()).collect();
        assert_eq!(recorded, PLATFORMS.iter().map(|platform| platform.target).collect::<Vec<_>>());
        for ((target, states), platform) in record.0.iter().zip(PLATFORMS) {
            for (state, part) in states.iter().zip(&platform.parts) {
                let tests = state.strip_prefix("runs here (").and_then(|s| s.strip_suffix(" tests)"));
                let has_run = tests.is_some_and(|tests| tests.parse().is_ok_and(|tests: usize| tests > 0));
                let fits = match part {
                    Part::Tests(_) | Part::Runs(_) => has_run,
                    Part::Checks => state == "checks",
                    Part::Known(known) => state == known,
                    Part::Dist => has_run || [INSTALLED, BUILT, "not made"].contains(&state.as_str()),
                };
                assert!(fits, "{target}: {state}");
            }
        }
    }
}
