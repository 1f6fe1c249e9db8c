//! The measurements, as a table for people.

use std::fmt;

use crossdock_measure::record::{Circumstances, Line};
use crossdock_measure::{Figure, Unit};

/// One case.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The ratios to the peers of the table.
    pub(crate) figure: Figure,
}

/// The figures of several cases.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    /// The peers of the ratios.
    pub(crate) against: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
    /// Whether the ratios to the first peer are drawn as bars.
    pub(crate) bars: bool,
}

/// The letters of a bar for the first peer.
const BAR: f64 = 20.0;
/// The greatest length of a bar.
const LONGEST: f64 = 1.5 * BAR;

impl Table {
    /// With a bar in each line.
    pub(crate) fn with_bars(self) -> Self {
        Self { bars: true, ..self }
    }

    /// A ratio as a bar, with a mark where the peer's ends.
    fn bar(ratio: f64) -> String {
        let filled = (ratio * BAR).round().clamp(0.0, LONGEST) as usize;
        let letters = (0..LONGEST as usize).map(|at| match (at < filled, at == BAR as usize) {
            (true, _) => '#',
            (false, true) => '|',
            (false, false) => ' ',
        });
        letters.collect()
    }

    /// The lines of the table for a record, one for each case.
    pub(crate) fn to_lines(&self, circumstances: &Circumstances) -> Vec<Line> {
        let line = |row: &Row| Line::new(circumstances, self.title, row.name, &row.figure);
        self.rows.iter().map(line).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<46} {:>9}", self.title, self.unit.symbol())?;
        let widths: Vec<_> = self.against.iter().map(|peer| peer.chars().count().max(6) + 4).collect();
        for (peer, &width) in self.against.iter().zip(&widths) {
            write!(f, " {:>width$}", format!("x {peer}"))?;
        }
        writeln!(f, "  {}reach", if self.bars { format!("{:<32}", "") } else { String::new() })?;
        let decimals = if self.unit == Unit::Times { 0 } else { 2 };
        for Row { name, figure } in &self.rows {
            write!(f, "  {name:<44} {:>9.decimals$}", figure.value)?;
            for ((ratio, _), &width) in figure.ratios.iter().zip(&widths) {
                write!(f, " {ratio:>width$.2}")?;
            }
            let mark = if figure.met() == Some(false) { " missed" } else { "" };
            let reach = figure.reach_in_words().unwrap_or_default() + mark;
            let end = match figure.ratios.first() {
                Some(&(ratio, _)) if self.bars => format!("{:<30}  {reach}", Self::bar(ratio)),
                _ => reach,
            };
            match end.trim_end() {
                "" => writeln!(f)?,
                end => writeln!(f, "  {end}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crossdock_measure::Reach;

    use super::*;

    fn table(value: f64, reach: Reach) -> Table {
        let unit = Unit::Nanoseconds;
        let figure =
            Figure { value, unit, ratios: vec![(value / 10.0, "peer".to_owned())], reach: Some(reach) };
        Table {
            title: "title",
            unit,
            against: vec!["peer"],
            rows: vec![Row { name: "own", figure }],
            bars: false,
        }
    }

    #[test]
    fn a_missed_figure_is_marked() {
        let row = |value, reach| {
            let text = table(value, reach).to_string();
            text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row(16.0, Reach::ratio(1.5, "peer")), "own 16.00 1.60 <= 1.50 x peer missed");
        assert_eq!(row(14.0, Reach::ratio(1.5, "peer")), "own 14.00 1.40 <= 1.50 x peer");
        assert_eq!(row(90.0, Reach::ratio(1.5, "absent")), "own 90.00 9.00");
    }

    #[test]
    fn a_table_has_a_line_for_each_case_in_the_record() {
        let lines = table(12.0, Reach::value(10.0)).to_lines(&Circumstances::default());
        assert_eq!(lines.len(), 1);
        assert_eq!(
            (lines[0].table.as_str(), lines[0].case.as_str(), lines[0].met),
            ("title", "own", Some(false))
        );
    }
}
