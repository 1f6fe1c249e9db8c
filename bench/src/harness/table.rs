//! What was measured, as a table for people.

use std::fmt;

/// What the figures of a table are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// For each operation: less is better.
    Nanoseconds,
    /// More is better.
    Gigabytes {
        /// The bytes of one operation.
        nbytes: usize,
    },
    /// Less is better.
    Percent,
    /// Less is better.
    Times,
}

impl Unit {
    /// Gigabytes in a second, where one operation is about `nbytes` bytes.
    pub(crate) fn gigabytes(nbytes: usize) -> Self {
        Self::Gigabytes { nbytes }
    }

    /// The figure of an operation that took so many nanoseconds.
    ///
    /// # Panics
    ///
    /// Where the unit is not one of time.
    pub(super) fn figure(self, each: f64) -> f64 {
        match self {
            Self::Nanoseconds => each,
            Self::Gigabytes { nbytes } => nbytes as f64 / each,
            Self::Percent | Self::Times => panic!("what is counted is not timed"),
        }
    }

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Gigabytes { .. } => "GB/s",
            Self::Percent => "%",
            Self::Times => "times",
        }
    }

    fn more_is_better(self) -> bool {
        matches!(self, Self::Gigabytes { .. })
    }

    fn decimals(self) -> usize {
        if matches!(self, Self::Times) { 0 } else { 2 }
    }
}

/// What a case should reach: at most that, or at least, as its unit has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach {
    /// The figure itself.
    Figure(f64),
    /// The ratio to a peer. Without the peer there is nothing to reach.
    Ratio(f64, &'static str),
}

/// One case.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) figure: f64,
    /// One for each peer of the table.
    pub(crate) ratios: Vec<f64>,
    pub(crate) reach: Option<Reach>,
}

/// The figures of some cases, beside each other.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    /// The peers that the ratios are to.
    pub(crate) against: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
    /// Whether its ratios to the first peer are drawn, too.
    pub(crate) bars: bool,
}

/// So many letters of a bar are as much as the first peer.
const BAR: f64 = 20.0;
/// A bar ends here, whatever is left of it.
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

    /// What a row is held against, and whether it holds.
    pub(super) fn verdict(&self, row: &Row) -> Option<(f64, bool)> {
        let (bound, own) = match row.reach? {
            Reach::Figure(bound) => (bound, row.figure),
            Reach::Ratio(bound, peer) => {
                let column = self.against.iter().position(|name| *name == peer)?;
                (bound, row.ratios[column])
            }
        };
        Some((bound, if self.unit.more_is_better() { own >= bound } else { own <= bound }))
    }

    /// What a row should reach, in words: `<= 1.60 x malloc + free`.
    pub(super) fn reach(&self, row: &Row) -> Option<String> {
        self.verdict(row)?;
        let sign = if self.unit.more_is_better() { ">=" } else { "<=" };
        Some(match row.reach? {
            Reach::Figure(bound) => format!("{sign} {bound} {}", self.unit.symbol()),
            Reach::Ratio(bound, peer) => format!("{sign} {bound:.2} x {peer}"),
        })
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
        for row in &self.rows {
            write!(f, "  {:<44} {:>9.*}", row.name, self.unit.decimals(), row.figure)?;
            for (ratio, &width) in row.ratios.iter().zip(&widths) {
                write!(f, " {ratio:>width$.2}")?;
            }
            let mark = if self.verdict(row).is_some_and(|(_, met)| !met) { " missed" } else { "" };
            let reach = self.reach(row).unwrap_or_default() + mark;
            let end = match row.ratios.first() {
                Some(&ratio) if self.bars => format!("{:<30}  {reach}", Self::bar(ratio)),
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
    use super::*;

    fn table(unit: Unit, figure: f64, ratio: f64, reach: Reach) -> Table {
        let row = Row { name: "own", figure, ratios: vec![ratio], reach: Some(reach) };
        Table { title: "title", unit, against: vec!["peer"], rows: vec![row], bars: false }
    }

    #[test]
    fn time_is_missed_above_its_reach_and_throughput_below() {
        let missed =
            |unit, figure, ratio, reach| table(unit, figure, ratio, reach).to_string().contains(" missed");
        let ratio = Reach::Ratio(1.5, "peer");
        assert!(missed(Unit::Nanoseconds, 10.0, 1.6, ratio));
        assert!(!missed(Unit::Nanoseconds, 10.0, 1.4, ratio));
        assert!(missed(Unit::gigabytes(1), 10.0, 1.4, ratio));
        assert!(missed(Unit::gigabytes(1), 4.0, 9.0, Reach::Figure(5.0)));
        assert!(missed(Unit::Times, 1.0, 1.0, Reach::Figure(0.0)));
        assert!(!missed(Unit::Times, 0.0, 1.0, Reach::Figure(0.0)));
    }

    #[test]
    fn nothing_is_held_against_a_peer_that_is_not_there() {
        let table = table(Unit::Nanoseconds, 10.0, 9.0, Reach::Ratio(1.5, "absent"));
        assert!(table.verdict(&table.rows[0]).is_none() && table.reach(&table.rows[0]).is_none());
    }
}
