//! The figures as bars, for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use indicatif::BinaryBytes;

use crate::bench::report::{BenchReport, Figure, Memory, Traffic};

const TITLE: Style = AnsiColor::Green.on_default().bold();
const NEAR: Style = AnsiColor::Green.on_default();
const MIDDLE: Style = AnsiColor::Yellow.on_default();
const FAR: Style = AnsiColor::Red.on_default();
const MORE: Style = AnsiColor::Cyan.on_default();

/// From this ratio on, a figure is near the limit.
const NEAR_FROM: f64 = 0.8;
/// From this ratio on, a figure is in the middle.
const MIDDLE_FROM: f64 = 0.4;

/// The length of a bar for `memcpy`, or for the fastest memory.
const FULL: usize = 32;
/// The length at which a bar is truncated.
const LONGEST: usize = FULL * 3 / 2;

/// The characters of a bar.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarGlyphs {
    one: char,
    all: char,
    limit: char,
}

impl BarGlyphs {
    /// For files and pipes.
    pub(super) const ASCII: Self = Self { one: '#', all: '=', limit: '|' };
    /// For terminals.
    pub(super) const UNICODE: Self = Self { one: '█', all: '▒', limit: '│' };
}

/// Writes the report. The stream keeps or removes the styles.
pub(super) fn write(report: &BenchReport, glyphs: BarGlyphs) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{TITLE}{}{TITLE:#}", report.machine);
    if let Some(device) = &report.device {
        let _ = writeln!(text, "{TITLE}{device}{TITLE:#}");
    }
    memory(&mut text, report, glyphs);
    works(&mut text, report, glyphs);
    let BarGlyphs { one, all, limit } = glyphs;
    if report.device.is_some() {
        let _ = writeln!(text, "\n{one} the device\n{limit} the device's own copy of as many bytes");
        return text;
    }
    let _ = writeln!(text, "\n{one} one thread");
    if report.threads > 1 {
        let _ = writeln!(text, "{all} {} threads", report.threads);
    }
    let _ = writeln!(text, "{limit} memcpy of as many bytes in one thread (memset, if the work only writes)");
    text
}

impl BenchReport {
    /// The headings of the two columns of figures.
    fn columns(&self) -> [String; 2] {
        match self.device {
            None => ["1 thread".to_owned(), format!("{} thr.", self.threads)],
            Some(_) => ["device".to_owned(), String::new()],
        }
    }
}

fn memory(text: &mut String, report: &BenchReport, glyphs: BarGlyphs) {
    let [one, all] = report.columns();
    let what = |memory: &Memory, traffic: &Traffic| {
        format!("{} {} of {}", memory.level, traffic.name, BinaryBytes(memory.nbytes as u64))
    };
    let lines = report
        .memory
        .iter()
        .flat_map(|memory| memory.traffic.iter().map(move |traffic| what(memory, traffic)));
    let width = lines.map(|line| line.len()).fold(30, usize::max);
    let _ = writeln!(text, "\n{TITLE}memory, in GB/s{TITLE:#}");
    let _ = writeln!(text, "{}", format!("  {:<width$} {one:>9} {all:>9}", "").trim_end());
    let all = report.memory.iter().flat_map(|memory| &memory.traffic);
    let fastest = all.fold(1e-9, |most: f64, traffic| most.max(traffic.one_thread));
    for memory in &report.memory {
        for traffic in &memory.traffic {
            let what = what(memory, traffic);
            let bar =
                bar(traffic.one_thread / fastest, traffic.all_threads.map(|all| all / fastest), None, glyphs);
            let all = traffic.all_threads.map_or(String::new(), |all| format!("{all:.1}"));
            let line = format!("  {what:<width$} {:>9.1} {all:>9}  {bar}", traffic.one_thread);
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
}

fn works(text: &mut String, report: &BenchReport, glyphs: BarGlyphs) {
    let limit = if report.device.is_some() {
        "the device's own copy"
    } else {
        "memcpy (for fills: memset) in one thread"
    };
    let [one, all] = report.columns();
    let _ = writeln!(text, "\n{TITLE}speed as a share of {limit}{TITLE:#}");
    let _ = writeln!(text, "{}", format!("{:<42} {:>6} {one:>8} {all:>6}", "", "GB/s").trim_end());
    let mut section = "";
    for work in &report.works {
        if work.section != section {
            section = work.section;
            let _ = writeln!(text, "  {section}");
        }
        let Figure { gigabytes, ratio } = work.one_thread;
        let bar = bar(ratio, work.all_threads.map(|all| all.ratio), Some(FULL), glyphs);
        let all = work.all_threads.map_or(String::new(), |all| format!("{:.2}", all.ratio));
        let _ = writeln!(text, "    {:<38} {gigabytes:>6.1} {ratio:>8.2} {all:>6}  {bar}", work.name);
    }
}

/// A bar for the share of one thread, extended by that of all threads, with a mark at `limit`.
fn bar(one: f64, all: Option<f64>, limit: Option<usize>, glyphs: BarGlyphs) -> String {
    let letters = |share: f64| ((share * FULL as f64).round().max(0.0) as usize).min(LONGEST);
    let (one_ends, all_ends) = (letters(one), letters(all.unwrap_or(0.0)));
    let style = match limit {
        None => NEAR,
        Some(_) if one >= NEAR_FROM => NEAR,
        Some(_) if one >= MIDDLE_FROM => MIDDLE,
        Some(_) => FAR,
    };
    let run = |from: usize, to: usize, letter: char| {
        (from..to).map(|at| if limit == Some(at) { glyphs.limit } else { letter }).collect::<String>()
    };
    let ends = one_ends.max(all_ends);
    let rest = run(ends, limit.map_or(ends, |limit| ends.max(limit + 1)), ' ');
    let (own, more) = (run(0, one_ends, glyphs.one), run(one_ends, ends, glyphs.all));
    format!("{style}{own}{style:#}{MORE}{more}{MORE:#}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bar: &str) -> String {
        anstream::adapter::strip_str(bar).to_string()
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_and_has_a_mark_at_the_limit() {
        let half = plain(&bar(0.5, Some(0.75), Some(FULL), BarGlyphs::ASCII));
        assert_eq!(half, format!("{}{}{}|", "#".repeat(16), "=".repeat(8), " ".repeat(8)));
        let more = plain(&bar(1.25, None, Some(FULL), BarGlyphs::ASCII));
        assert_eq!(more, format!("{}|{}", "#".repeat(32), "#".repeat(7)));
    }

    #[test]
    fn a_bar_ends_whatever_the_share() {
        for share in [0.0, -1.0, f64::NAN] {
            assert_eq!(plain(&bar(share, None, None, BarGlyphs::ASCII)), "");
        }
        assert_eq!(plain(&bar(1e9, Some(f64::INFINITY), None, BarGlyphs::ASCII)).len(), LONGEST);
    }
}
