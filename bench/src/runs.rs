//! Several runs of one case, from the record.

use crossdock_measure::median;
use crossdock_measure::record::Line;

/// The greatest number of runs that count, from the last one back.
const MOST: usize = 5;

/// The last runs of one case, on one machine and with one state of the sources.
#[derive(Debug)]
pub(crate) struct Runs(Vec<Line>);

/// The runs of each case on the machine and with the sources of the last line. Older lines stay in
/// the record and do not count.
pub(crate) fn runs(mut lines: Vec<Line>) -> Vec<Runs> {
    let Some(last) = lines.last().map(|line| line.circumstances.clone()) else { return Vec::new() };
    lines.retain(|line| line.circumstances.is_of_the_same_state(&last));
    let mut all: Vec<Runs> = Vec::new();
    for line in lines {
        match all.iter_mut().find(|runs| runs.is_of(&line)) {
            Some(runs) => runs.add(line),
            None => all.push(Runs(vec![line])),
        }
    }
    all
}

impl Runs {
    fn is_of(&self, line: &Line) -> bool {
        (&self.last().table, &self.last().case) == (&line.table, &line.case)
    }

    fn add(&mut self, line: Line) {
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(line);
    }

    /// The last run.
    pub(crate) fn last(&self) -> &Line {
        self.0.last().expect("there is at least one run")
    }

    /// The number of runs.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The number of runs that missed the target.
    pub(crate) fn misses(&self) -> usize {
        self.0.iter().filter(|line| line.met == Some(false)).count()
    }

    /// The median.
    pub(crate) fn figure(&self) -> f64 {
        median(self.0.iter().map(|line| line.figure).collect())
    }

    /// The median, with the lowest and the highest.
    pub(crate) fn figure_in_words(&self) -> String {
        in_words(self.0.iter().map(|line| line.figure).collect(), 1).unwrap_or_default()
    }

    /// The median of the ratios to a peer, with the lowest and the highest; a dash if there are
    /// none.
    pub(crate) fn ratio_in_words(&self, peer: &str) -> String {
        in_words(self.0.iter().filter_map(|line| line.ratio(peer)).collect(), 2)
            .unwrap_or_else(|| "–".to_owned())
    }
}

fn in_words(mut numbers: Vec<f64>, decimals: usize) -> Option<String> {
    numbers.sort_by(f64::total_cmp);
    let (least, most) = (*numbers.first()?, *numbers.last()?);
    let middle = format!("{:.decimals$}", median(numbers.clone()));
    Some(match numbers.len() {
        1 => middle,
        _ => format!("{middle} ({least:.decimals$}–{most:.decimals$})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(commit: &str, case: &str, figure: f64) -> Line {
        let ratio = figure / 10.0;
        let text = format!(
            "2026-01-02,a machine,{commit},rustc,\"\",\"a work\",\"{case}\",{figure},GB/s,\"{ratio} x peer\",\"\","
        );
        Line::parse(&text).unwrap()
    }

    #[test]
    fn runs_of_the_same_sources_have_a_median_and_a_range() {
        let lines = [3.0, 1.0, 2.0].map(|figure| line("abc", "a", figure)).to_vec();
        let all = runs(lines);
        assert_eq!((all.len(), all[0].count(), all[0].figure()), (1, 3, 2.0));
        assert_eq!(all[0].figure_in_words(), "2.0 (1.0–3.0)");
        assert_eq!(all[0].ratio_in_words("peer"), "0.20 (0.10–0.30)");
        assert_eq!(all[0].ratio_in_words("another"), "–");
    }

    #[test]
    fn runs_of_other_sources_do_not_count_and_only_the_last_five_do() {
        let all = runs(vec![
            line("abc", "a", 9.0),
            line("abc", "gone", 9.0),
            line("def", "a", 1.0),
            line("def", "a", 2.0),
        ]);
        assert_eq!((all.len(), all[0].figure_in_words()), (1, "2.0 (1.0–2.0)".to_owned()));
        let all = runs((1..=7).map(|figure| line("abc", "a", f64::from(figure))).collect());
        assert_eq!((all[0].count(), all[0].figure()), (5, 5.0));
    }

    #[test]
    fn cases_stand_in_the_order_of_the_last_sources() {
        let lines = ["abc b", "abc a", "def a", "def b", "def a"];
        let lines = lines.map(|text| text.split_once(' ').unwrap());
        let all = runs(lines.map(|(commit, case)| line(commit, case, 1.0)).to_vec());
        let cases: Vec<_> = all.iter().map(|runs| runs.last().case.as_str()).collect();
        assert_eq!(cases, ["a", "b"]);
    }
}
