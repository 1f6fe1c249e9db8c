//! The result of a suite, and the page that sums the results up.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::run::Counts;

/// The number of log lines that are shown for a failed suite.
const TAIL: usize = 60;

/// The number of characters of a suite's reason in the summary.
const REASON: usize = 300;

/// The outcome of one suite.
pub(crate) struct Report {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    /// The processor time of its commands.
    pub(crate) work: Duration,
    pub(crate) error: Option<String>,
    pub(crate) counts: Counts,
    /// The closing lines of its test runners.
    pub(crate) closing: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) log: PathBuf,
}

impl Report {
    pub(crate) fn is_ok(&self) -> bool {
        self.error.is_none() && self.counts.failed == 0
    }

    pub(crate) fn outcome(&self) -> &'static str {
        if self.is_ok() { "ok" } else { "FAILED" }
    }

    /// Passed and failed, as its runners counted. A suite without tests is one check, and a failure
    /// that no runner counted is one failure.
    fn score(&self) -> (usize, usize) {
        let Counts { passed, failed, .. } = self.counts;
        match (self.is_ok(), passed, failed) {
            (true, 0, _) => (1, 0),
            (false, _, 0) => (passed, 1),
            _ => (passed, failed),
        }
    }

    /// Why the suite failed.
    fn reason(&self) -> &str {
        self.error.as_deref().unwrap_or("tests failed")
    }

    fn remark(&self) -> String {
        let Counts { passed, failed, skipped } = self.counts;
        let mut parts = Vec::new();
        if passed + failed > 0 {
            parts.push(format!("{passed} passed"));
            parts.extend((failed > 0).then(|| format!("{failed} failed")));
            parts.extend((skipped > 0).then(|| format!("{skipped} skipped")));
        }
        parts.extend(self.notes.iter().cloned());
        parts.join(", ")
    }
}

/// The table of suites with their times, the CPU time of their commands, and the sums; the failures
/// with the tails of their logs; the runners' closing lines; the failures again in a line each; and
/// the sum on the last line.
pub(crate) fn summary(reports: &[Report], whole: Duration) -> String {
    let mut text = String::new();
    let width = reports.iter().map(|report| report.name.len()).max().unwrap_or(0).max("suite".len());
    let _ = writeln!(text, "{:width$}  outcome   seconds      work", "suite");
    for report in reports {
        let (outcome, seconds) = (report.outcome(), report.took.as_secs_f64());
        let (name, work, remark) = (report.name, report.work.as_secs_f64(), report.remark());
        let line = format!("{name:width$}  {outcome:7}  {seconds:8.1}  {work:8.1}  {remark}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let work = reports.iter().map(|report| report.work).sum::<Duration>();
    let (seconds, work) = (whole.as_secs_f64(), work.as_secs_f64());
    let _ = writeln!(text, "{:width$}  {:7}  {seconds:8.1}  {work:8.1}", "all", "");

    for report in reports.iter().filter(|report| !report.is_ok()) {
        let _ = writeln!(text, "\n{} failed: {}", report.name, report.reason());
        let _ = writeln!(text, "the last lines of {}:", report.log.display());
        for line in tail(&report.log) {
            let _ = writeln!(text, "  | {line}");
        }
    }

    let closing =
        reports.iter().flat_map(|report| report.closing.iter().map(move |line| (report.name, line)));
    for (i, (name, line)) in closing.enumerate() {
        let _ = writeln!(text, "{}{name:width$}  {line}", if i == 0 { "\n" } else { "" });
    }
    let (passed, failed) =
        reports.iter().map(Report::score).fold((0, 0), |sum, score| (sum.0 + score.0, sum.1 + score.1));
    // Repeated, since the closing lines of a long run hide the failures above them.
    let _ = writeln!(text);
    for report in reports.iter().filter(|report| !report.is_ok()) {
        let _ = writeln!(text, "failed: {}: {}", report.name, short(report.reason()));
    }
    let _ = writeln!(text, "{passed} passed, {failed} failed");
    text
}

/// A reason as one line of at most [`REASON`] characters.
fn short(reason: &str) -> String {
    let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn tail(log: &Path) -> Vec<String> {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines[lines.len().saturating_sub(TAIL)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &'static str, error: Option<&str>, passed: usize, failed: usize) -> Report {
        Report {
            name,
            took: Duration::from_millis(1500),
            work: Duration::from_millis(2500),
            error: error.map(str::to_owned),
            counts: Counts { passed, failed, skipped: 0 },
            closing: (passed + failed > 0)
                .then(|| format!("{passed} passed, {failed} failed in 1.50s"))
                .into_iter()
                .collect(),
            notes: vec![],
            log: PathBuf::from("absent.log"),
        }
    }

    #[test]
    fn the_last_line_is_the_sum_and_the_runners_lines_stand_above_it() {
        let text = summary(
            &[report("fmt", None, 0, 0), report("test", Some("ended"), 7, 2)],
            Duration::from_secs(3),
        );
        let mut lines = text.lines().rev();
        assert_eq!(lines.next(), Some("8 passed, 2 failed"));
        assert_eq!(lines.next(), Some("failed: test: ended"));
        assert_eq!(lines.next(), Some(""));
        assert_eq!(lines.next(), Some("test   7 passed, 2 failed in 1.50s"));
    }

    #[test]
    fn the_reasons_of_all_failures_stand_right_above_the_last_line() {
        let long = format!("the target\n  ended: {}", "ä".repeat(1000));
        let reports = [
            report("test", None, 7, 2),
            report("fuzz", Some(&long), 5, 0),
            report("fmt", None, 0, 0),
            report("doc", None, 0, 0),
        ];
        let text = summary(&reports, Duration::from_secs(3));
        let last: Vec<_> = text.lines().rev().take(4).collect();
        let cut = "ä".repeat(REASON - "the target ended: ".len());
        let expected = [
            "14 passed, 3 failed",
            &format!("failed: fuzz: the target ended: {cut}…"),
            "failed: test: tests failed",
            "",
        ];
        assert_eq!(last, expected);
    }

    #[test]
    fn a_failure_that_no_runner_counted_is_counted_once() {
        assert_eq!(report("clippy", Some("ended"), 0, 0).score(), (0, 1));
        assert_eq!(report("fuzz", Some("ended"), 5, 0).score(), (5, 1));
        assert_eq!(report("fmt", None, 0, 0).score(), (1, 0));
    }

    #[test]
    fn every_suite_has_its_time_and_every_failure_its_reason() {
        let reports = [report("fmt", None, 0, 0), report("loom", Some("not one test ran"), 0, 0)];
        let text = summary(&reports, Duration::from_secs(3));
        assert!(text.contains("fmt    ok            1.5       2.5"), "{text}");
        assert!(text.contains("all                  3.0       5.0"), "{text}");
        assert!(text.contains("loom failed: not one test ran"), "{text}");
    }
}
