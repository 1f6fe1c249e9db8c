//! Lease holders: what the ledger records about one, and how it is displayed.

use std::fmt;
use std::time::Duration;

use crate::memory::protocols::Protocols;
use crate::memory::word::LeaseKind;

/// A lease that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The access that it permits.
    pub kind: LeaseKind,
    /// The protocols by which it was exported. Empty for a guard, and while an element is read or
    /// written.
    pub protocols: Protocols,
    /// The time since it was taken.
    pub age: Duration,
}

impl fmt::Display for Holder {
    /// `share lease, DLPack, 3.2 s old`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lease, {}, {} old", self.kind, ProtocolNames(self.protocols), Age(self.age))
    }
}

/// The protocols by which a lease was exported, as text.
pub(crate) struct ProtocolNames(pub(crate) Protocols);

impl fmt::Display for ProtocolNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("a guard") } else { self.0.fmt(f) }
    }
}

/// A duration in a suitable unit, rounded. It uses integers only: every program that lends memory
/// links this, and few format floats.
pub(crate) struct Age(pub(crate) Duration);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX);
        let rounded = |unit: u64| micros.saturating_add(unit / 2) / unit;
        match self.0.as_secs() {
            _ if micros < 1_000 => write!(f, "{micros} µs"),
            0 => write!(f, "{} ms", micros / 1_000),
            1..120 => write!(f, "{}.{} s", rounded(100_000) / 10, rounded(100_000) % 10),
            120..7_200 => write!(f, "{} min", rounded(60_000_000)),
            7_200..172_800 => write!(f, "{} h", rounded(3_600_000_000)),
            _ => write!(f, "{} days", rounded(86_400_000_000)),
        }
    }
}
