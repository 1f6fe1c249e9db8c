//! A measured figure: its unit, its ratios to peers, and its bound.

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The time of one operation: less is better.
    Nanoseconds,
    /// Gigabytes per second: more is better.
    Gigabytes,
    /// Terabytes per second: more is better.
    Terabytes,
    /// Less is better.
    Percent,
    /// Less is better.
    Times,
}

impl Unit {
    const ALL: [Self; 5] = [Self::Nanoseconds, Self::Gigabytes, Self::Terabytes, Self::Percent, Self::Times];

    /// The symbol in records and tables.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Gigabytes => "GB/s",
            Self::Terabytes => "TB/s",
            Self::Percent => "%",
            Self::Times => "times",
        }
    }

    /// The unit with this symbol.
    pub fn parse(symbol: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.symbol() == symbol)
    }

    /// The relation of a figure and its ratios to the bound: at least, or at most.
    pub fn sign(self) -> &'static str {
        if self.more_is_better() { ">=" } else { "<=" }
    }

    fn more_is_better(self) -> bool {
        matches!(self, Self::Gigabytes | Self::Terabytes)
    }
}

/// How the time of one operation becomes a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    unit: Unit,
    nbytes: usize,
}

impl Scale {
    /// The time itself.
    pub const NANOSECONDS: Self = Self { unit: Unit::Nanoseconds, nbytes: 0 };

    /// Gigabytes per second, if one operation processes `nbytes` bytes.
    pub const fn gigabytes(nbytes: usize) -> Self {
        Self { unit: Unit::Gigabytes, nbytes }
    }

    /// Terabytes per second, if one operation processes `nbytes` bytes.
    pub const fn terabytes(nbytes: usize) -> Self {
        Self { unit: Unit::Terabytes, nbytes }
    }

    /// The unit of the figures.
    pub fn unit(self) -> Unit {
        self.unit
    }

    /// The figure of an operation that takes this long.
    pub fn value(self, nanoseconds: f64) -> f64 {
        match self.unit {
            Unit::Gigabytes => self.nbytes as f64 / nanoseconds,
            Unit::Terabytes => self.nbytes as f64 / nanoseconds / 1e3,
            // No constructor has another unit.
            _ => nanoseconds,
        }
    }
}

/// What a figure should reach: at least or at most a bound, depending on its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// The bound.
    pub bound: f64,
    /// The peer whose ratio the bound is for; `None` if it is for the figure's value.
    pub peer: Option<String>,
}

impl Reach {
    /// A bound of the figure's value.
    pub fn value(bound: f64) -> Self {
        Self { bound, peer: None }
    }

    /// A bound of the ratio to a peer. If the peer is absent, it has no effect.
    pub fn ratio(bound: f64, peer: impl Into<String>) -> Self {
        Self { bound, peer: Some(peer.into()) }
    }
}

/// A measured value and its ratios to peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Ratios to peers that were measured in the same rounds, with the names of the peers.
    pub ratios: Vec<(f64, String)>,
    /// The bound to reach.
    pub reach: Option<Reach>,
}

impl Figure {
    /// A value without peers.
    pub fn alone(value: f64, unit: Unit) -> Self {
        Self { value, unit, ratios: Vec::new(), reach: None }
    }

    /// The same with a bound.
    #[must_use]
    pub fn reaching(self, reach: Option<Reach>) -> Self {
        Self { reach, ..self }
    }

    /// The ratio to a peer.
    pub fn ratio(&self, peer: &str) -> Option<f64> {
        self.ratios.iter().find(|(_, name)| name == peer).map(|&(ratio, _)| ratio)
    }

    /// Whether it reaches its bound. `None` if there is no bound, or if the peer is absent.
    pub fn met(&self) -> Option<bool> {
        let reach = self.reach.as_ref()?;
        let own = match &reach.peer {
            None => self.value,
            Some(peer) => self.ratio(peer)?,
        };
        Some(if self.unit.more_is_better() { own >= reach.bound } else { own <= reach.bound })
    }

    /// The bound in words: `<= 1.60 x malloc + free`. `None` as for [`met`](Self::met).
    pub fn reach_in_words(&self) -> Option<String> {
        self.met()?;
        let (sign, Reach { bound, peer }) = (self.unit.sign(), self.reach.as_ref()?);
        Some(match peer {
            None => format!("{sign} {bound} {}", self.unit.symbol()),
            Some(peer) => format!("{sign} {bound:.2} x {peer}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(unit: Unit, value: f64, ratio: f64, reach: Reach) -> Figure {
        Figure { value, unit, ratios: vec![(ratio, "peer".to_owned())], reach: Some(reach) }
    }

    #[test]
    fn time_is_missed_above_its_reach_and_throughput_below() {
        let met = |unit, value, ratio, reach| figure(unit, value, ratio, reach).met();
        let ratio = || Reach::ratio(1.5, "peer");
        assert_eq!(met(Unit::Nanoseconds, 10.0, 1.6, ratio()), Some(false));
        assert_eq!(met(Unit::Nanoseconds, 10.0, 1.4, ratio()), Some(true));
        assert_eq!(met(Unit::Gigabytes, 10.0, 1.4, ratio()), Some(false));
        assert_eq!(met(Unit::Terabytes, 10.0, 1.5, ratio()), Some(true));
        assert_eq!(met(Unit::Gigabytes, 4.0, 9.0, Reach::value(5.0)), Some(false));
        assert_eq!(met(Unit::Times, 1.0, 1.0, Reach::value(0.0)), Some(false));
        assert_eq!(met(Unit::Times, 0.0, 1.0, Reach::value(0.0)), Some(true));
    }

    #[test]
    fn an_absent_peer_leaves_nothing_to_reach() {
        let figure = figure(Unit::Nanoseconds, 10.0, 9.0, Reach::ratio(1.5, "absent"));
        assert_eq!((figure.met(), figure.reach_in_words()), (None, None));
        assert_eq!(Figure::alone(1.0, Unit::Percent).met(), None);
    }

    #[test]
    fn words_name_the_peer_or_the_unit() {
        let words = |unit, reach| figure(unit, 1.0, 1.0, reach).reach_in_words().unwrap();
        assert_eq!(words(Unit::Nanoseconds, Reach::ratio(1.6, "peer")), "<= 1.60 x peer");
        assert_eq!(words(Unit::Gigabytes, Reach::value(15.0)), ">= 15 GB/s");
    }

    #[test]
    fn times_become_figures_of_the_unit() {
        let values = [Scale::NANOSECONDS, Scale::gigabytes(200), Scale::terabytes(200_000)];
        assert_eq!(values.map(|scale| scale.value(50.0)), [50.0, 4.0, 4.0]);
        assert_eq!(values.map(|scale| Unit::parse(scale.unit().symbol())), values.map(|it| Some(it.unit())));
    }
}
