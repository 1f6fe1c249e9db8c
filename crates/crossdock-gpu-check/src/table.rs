//! What came of each check, as a table and as a record.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crossdock_measure::machine;

use crate::Result;

/// One check, or one figure.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// A program ended well, and said this at last.
    Passed(String),
    /// It did not, or a figure could not be taken, or an answer was wrong.
    Failed(String),
    /// It was left out, and why.
    LeftOut(String),
    Measured(Figure),
}

/// A figure beside what it is compared with.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) unit: String,
    /// Its ratio to another figure of the same rounds, and whose that is.
    pub(crate) ratio: f64,
    pub(crate) peer: String,
    pub(crate) reach: Option<Reach>,
}

/// What a ratio should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    AtLeast(f64),
    AtMost(f64),
}

impl Reach {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMost(most) => ratio <= most,
        }
    }

    /// As [`Reach::to_text`] writes it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ')? {
            (">=", least) => least.parse().ok().map(Self::AtLeast),
            ("<=", most) => most.parse().ok().map(Self::AtMost),
            _ => None,
        }
    }

    fn to_text(self) -> String {
        match self {
            Self::AtLeast(least) => format!(">= {least}"),
            Self::AtMost(most) => format!("<= {most}"),
        }
    }
}

impl Figure {
    fn met(&self) -> &'static str {
        match self.reach {
            None => "",
            Some(reach) if reach.is_met(self.ratio) => "yes",
            Some(_) => "no",
        }
    }

    fn reach(&self) -> String {
        self.reach.map_or(String::new(), Reach::to_text)
    }
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, outcome: Outcome) -> Self {
        Self { what: what.into(), outcome }
    }

    /// A figure that misses what it should reach is no failure: it is said to.
    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

/// The table for people.
pub(crate) fn draw(rows: &[Row]) -> Table {
    let mut table = Table::new();
    let line = LineStyle::none().fill('-').junction('-');
    table.load_style(TableStyle::new().top_border(line).header_separator(line).bottom_border(line));
    table.set_header(
        ["check", "outcome", "figure", "ratio", "to", "reach", "met", "what it said"].map(Cell::new),
    );
    for Row { what, outcome } in rows {
        let said = |outcome: &str, said: &str| [what, outcome, "", "", "", "", "", said].map(Cell::new);
        table.add_row(match outcome {
            Outcome::Passed(last) => said("passed", last),
            Outcome::Failed(why) => said("FAILED", why),
            Outcome::LeftOut(why) => said("left out", why),
            Outcome::Measured(figure) => [
                Cell::new(what),
                Cell::new("measured"),
                Cell::new(format!("{:.3} {}", figure.value, figure.unit)).set_alignment(CellAlignment::Right),
                Cell::new(format!("{:.3}", figure.ratio)).set_alignment(CellAlignment::Right),
                Cell::new(&figure.peer),
                Cell::new(figure.reach()),
                Cell::new(figure.met()),
                Cell::new(""),
            ],
        });
    }
    table
}

/// Appends the figures to a file, in the form of the records of the benchmarks.
pub(crate) fn record(rows: &[Row], device: &str, path: &Path) -> Result {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    for Row { what, outcome } in rows {
        let Outcome::Measured(figure) = outcome else { continue };
        let Figure { value, unit, ratio, peer, .. } = figure;
        let reach = figure.reach.map_or(String::new(), |reach| format!("{} x {peer}", reach.to_text()));
        let (date, met) = (machine::date(), figure.met());
        writeln!(
            file,
            "{date},{device},\"gpu\",\"{what}\",{value:.3},{unit},\"{ratio:.3} x {peer}\",\"{reach}\",{met}"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(ratio: f64, reach: Option<Reach>) -> Row {
        let figure =
            Figure { value: 1.5, unit: "GB/s".to_owned(), ratio, peer: "the driver".to_owned(), reach };
        Row::new("a copy", Outcome::Measured(figure))
    }

    #[test]
    fn a_figure_says_whether_it_is_what_it_should_be() {
        for (ratio, reach, met) in [
            (0.96, Reach::AtLeast(0.95), " yes"),
            (0.94, Reach::AtLeast(0.95), " no"),
            (1.2, Reach::AtMost(1.2), " yes"),
            (1.3, Reach::AtMost(1.2), " no"),
        ] {
            let text = draw(&[measured(ratio, Some(reach))]).to_string();
            let row = text.lines().find(|line| line.contains("a copy")).unwrap();
            assert!(row.trim_end().ends_with(met), "{row:?}");
        }
        assert!(!measured(0.1, Some(Reach::AtLeast(1.0))).is_failed());
    }

    #[test]
    fn only_what_went_wrong_is_a_failure() {
        let rows =
            [Outcome::Passed("3".into()), Outcome::LeftOut("late".into()), Outcome::Failed("719".into())];
        let failed: Vec<_> = rows.into_iter().map(|outcome| Row::new("x", outcome).is_failed()).collect();
        assert_eq!(failed, [false, false, true]);
    }
}
