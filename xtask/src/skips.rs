//! The tests that were not run, and why: Rust tests report to a file, pytest and test-unit in their
//! output.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Names the file to which `crossdock_testkit::not_run` appends a line: the test, a tab, and the
/// reason.
pub(crate) const FILE: &str = "CROSSDOCK_NOT_RUN";

/// The reasons in that file, one for each test. A test's repeated reason counts once.
pub(crate) fn read(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    lines
        .into_iter()
        .map(|line| line.split_once('\t').map_or(line, |(_, reason)| reason).to_owned())
        .collect()
}

/// The reasons in a line of a test runner's output, one for each test that it skipped.
pub(crate) fn in_line(line: &str) -> Vec<String> {
    if let Some(reason) = line.strip_prefix("Omission: ") {
        // `Omission: this Ruby has no RBS [test_signatures(TestSignatures)]`
        return vec![reason.rsplit_once(" [").map_or(reason, |(reason, _)| reason).to_owned()];
    }
    // `SKIPPED [2] tests/test_explain.py:64: could not import 'torch'`
    let Some((count, rest)) = line.strip_prefix("SKIPPED [").and_then(|rest| rest.split_once("] ")) else {
        return Vec::new();
    };
    let reason = rest.split_once(": ").map_or(rest, |(_, reason)| reason);
    vec![reason.to_owned(); count.parse().unwrap_or(1)]
}

/// All reasons in one remark, if there are any.
pub(crate) fn remark(reasons: &[String]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    reasons.iter().for_each(|reason| *counts.entry(reason).or_default() += 1);
    let parts: Vec<_> = counts
        .into_iter()
        .map(|(reason, count)| if count == 1 { reason.to_owned() } else { format!("{count} × {reason}") })
        .collect();
    (!parts.is_empty()).then(|| format!("not run: {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_from_every_runner() {
        let reason = "could not import 'torch': No module named 'torch'";
        assert_eq!(in_line(&format!("SKIPPED [2] tests/test_explain.py:64: {reason}")), [reason, reason]);
        assert_eq!(
            in_line("Omission: this Ruby has no RBS [test_signatures(TestSignatures)]"),
            ["this Ruby has no RBS"]
        );
        assert_eq!(in_line("2 passed, 1 skipped in 0.1s"), [""; 0]);
    }

    #[test]
    fn a_test_that_says_the_same_twice_counts_once() {
        let path = std::env::temp_dir().join(format!("crossdock-xtask-skips-{}", std::process::id()));
        fs::write(&path, "a\tno huge pages\na\tno huge pages\nb\tno huge pages\nc\tno device\n").unwrap();
        let reasons = read(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(remark(&reasons).unwrap(), "not run: no device; 2 × no huge pages");
        assert_eq!(remark(&read(&path)), None);
    }
}
