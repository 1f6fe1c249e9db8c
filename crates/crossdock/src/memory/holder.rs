//! Who holds a lease: what the ledger knows of it, and how that is written.

use std::fmt;
use std::time::Duration;

use crate::memory::protocols::Protocols;
use crate::memory::word::LeaseKind;

/// One lease that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// What it permits.
    pub kind: LeaseKind,
    /// The protocols by which it went out. None for a guard, and while an element is read or written.
    pub protocols: Protocols,
    /// How long ago it was taken.
    pub age: Duration,
}

impl fmt::Display for Holder {
    /// `Share lease, DLPack, 3.2 s old`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} lease, {}, {} old", self.kind, Way(self.protocols), Age(self.age))
    }
}

/// By what a lease went out.
pub(crate) struct Way(pub(crate) Protocols);

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("a guard") } else { self.0.fmt(f) }
    }
}

/// A duration in the unit that suits it.
pub(crate) struct Age(pub(crate) Duration);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match seconds {
            s if s < 1e-3 => write!(f, "{} µs", self.0.as_micros()),
            s if s < 1.0 => write!(f, "{} ms", self.0.as_millis()),
            s if s < 120.0 => write!(f, "{s:.1} s"),
            s if s < 7200.0 => write!(f, "{:.0} min", s / 60.0),
            s if s < 172_800.0 => write!(f, "{:.0} h", s / 3600.0),
            s => write!(f, "{:.0} days", s / 86_400.0),
        }
    }
}
