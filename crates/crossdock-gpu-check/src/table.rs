//! The outcome of each check, as a table and as a record.

use std::path::Path;

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crossdock_measure::record::{self, Circumstances, Line};
use crossdock_measure::{Figure, Reach};

use crate::Result;

/// One check, or one figure.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// A program succeeded, with this last line of output.
    Passed(String),
    /// A program failed, a figure could not be measured, or an answer was wrong.
    Failed(String),
    /// It was skipped, for this reason.
    LeftOut(String),
    Measured(Figure),
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, outcome: Outcome) -> Self {
        Self { what: what.into(), outcome }
    }

    /// A figure below its bound is no failure: the table states it.
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
            Outcome::Measured(figure) => {
                let Figure { value, unit, ratios, reach } = figure;
                let (ratio, peer) = ratios
                    .first()
                    .map_or_else(Default::default, |(ratio, peer)| (format!("{ratio:.3}"), peer.as_str()));
                let reach = reach.as_ref().map(|Reach { bound, .. }| format!("{} {bound}", unit.sign()));
                let met = figure.met().map_or("", |met| if met { "yes" } else { "no" });
                [
                    Cell::new(what),
                    Cell::new("measured"),
                    Cell::new(format!("{value:.3} {}", unit.symbol())).set_alignment(CellAlignment::Right),
                    Cell::new(ratio).set_alignment(CellAlignment::Right),
                    Cell::new(peer),
                    Cell::new(reach.unwrap_or_default()),
                    Cell::new(met),
                    Cell::new(""),
                ]
            }
        });
    }
    table
}

/// Appends the figures to a record, with the device as the machine.
pub(crate) fn record(rows: &[Row], device: &str, path: &Path) -> Result {
    let circumstances = Circumstances::now(Path::new(env!("CARGO_MANIFEST_DIR"))).on(device);
    let lines = rows.iter().filter_map(|row| match &row.outcome {
        Outcome::Measured(figure) => Some(Line::new(&circumstances, "gpu", &row.what, figure)),
        _ => None,
    });
    record::append(path, &lines.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use crossdock_measure::Unit;

    use super::*;

    fn measured(unit: Unit, ratio: f64, bound: f64) -> Row {
        let (ratios, reach) =
            (vec![(ratio, "the driver".to_owned())], Some(Reach::ratio(bound, "the driver")));
        Row::new("a copy", Outcome::Measured(Figure { value: 1.5, unit, ratios, reach }))
    }

    #[test]
    fn a_figure_says_whether_it_is_what_it_should_be() {
        for (unit, ratio, bound, end) in [
            (Unit::Gigabytes, 0.96, 0.95, ">= 0.95 yes"),
            (Unit::Gigabytes, 0.94, 0.95, ">= 0.95 no"),
            (Unit::Nanoseconds, 1.2, 1.2, "<= 1.2 yes"),
            (Unit::Nanoseconds, 1.3, 1.2, "<= 1.2 no"),
        ] {
            let text = draw(&[measured(unit, ratio, bound)]).to_string();
            let row = text.lines().find(|line| line.contains("a copy")).unwrap();
            let words = row.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.ends_with(end), "{row:?}");
        }
        assert!(!measured(Unit::Gigabytes, 0.1, 1.0).is_failed());
    }

    #[test]
    fn only_what_went_wrong_is_a_failure() {
        let rows =
            [Outcome::Passed("3".into()), Outcome::LeftOut("late".into()), Outcome::Failed("719".into())];
        let failed: Vec<_> = rows.into_iter().map(|outcome| Row::new("x", outcome).is_failed()).collect();
        assert_eq!(failed, [false, false, true]);
    }
}
