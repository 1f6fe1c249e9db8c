//! The ledger as text.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use crate::device::{Effect, UnderWay};
use crate::ledger::entry::{self, Entry};
use crate::memory::LeaseKind;
use crate::memory::holder::Age;

/// The content of the ledger as a table for people: [`report`](crate::ledger::report). "older"
/// means made before the ledger was switched on.
///
/// ```text
///   bytes           address     place  backing   pool        age  handles  leases          went out by
/// 1048576  1.0 MiB  0x7f000040  cpu    heap      default   3.2 s       12  1 Share, 1 Pin  MemoryView, DLPack
///                     Share lease, DLPack, 1.4 s old
///                     Pin lease, a guard, 20 ms old
///      12     12 B  0x5500      cpu    file map  -         older        1  1 Read          -
///                     1 lease that is not listed
/// 2 allocations, 1048588 bytes (1.0 MiB)
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    entries: Vec<Entry>,
    missed: u64,
    is_on: bool,
}

impl Report {
    pub(crate) fn new(mut entries: Vec<Entry>, missed: u64, is_on: bool) -> Self {
        // An allocation without a known age is older than the ledger, and so than any with one.
        entry::sort(&mut entries, |a, b| {
            let key = |entry: &Entry| {
                (Reverse(entry.nbytes), Reverse(entry.age.unwrap_or(Duration::MAX)), entry.address)
            };
            key(a).cmp(&key(b))
        });
        Self { entries, missed, is_on }
    }

    /// The allocations, the largest first; among those of one size, the oldest.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The bytes of all entries. (A part of a partition counts its own bytes, and the whole that it
    /// keeps alive counts all.)
    pub fn nbytes(&self) -> u128 {
        self.entries.iter().map(|entry| entry.nbytes as u128).sum()
    }
}

/// A title, and whether its column is numeric, which aligns it to the right.
const COLUMNS: [(&str, bool); 10] = [
    ("bytes", true),
    ("", true),
    ("address", false),
    ("place", false),
    ("backing", false),
    ("pool", false),
    ("age", true),
    ("handles", true),
    ("leases", false),
    ("went out by", false),
];

type Cells = [String; COLUMNS.len()];

impl Entry {
    fn cells(&self) -> Cells {
        let dash = || "-".to_owned();
        [
            self.nbytes.to_string(),
            Size(self.nbytes as u128).to_string(),
            format!("{:#x}", self.address),
            self.place.to_string(),
            self.backing.to_string(),
            self.pool.map_or_else(dash, str::to_owned),
            self.age.map_or_else(|| "older".to_owned(), |age| Age(age).to_string()),
            self.handles.to_string(),
            self.leases_text().unwrap_or_else(dash),
            if self.exported.is_empty() { dash() } else { self.exported.to_string() },
        ]
    }

    fn leases_text(&self) -> Option<String> {
        let pins = (self.pins > 0).then_some((LeaseKind::Pin, self.pins));
        let texts = self.leases.into_iter().chain(pins).map(|(kind, count)| format!("{count} {kind:?}"));
        texts.reduce(|text, more| format!("{text}, {more}"))
    }

    /// The number of its leases that are not listed.
    fn unlisted(&self) -> u64 {
        let leases = self.leases.map_or(0, |(_, count)| count) + self.pins;
        leases.saturating_sub(self.holders.len() as u64)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<Cells> = self.entries.iter().map(Entry::cells).collect();
        let mut widths = COLUMNS.map(|(title, _)| title.len());
        for cells in &rows {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        if !rows.is_empty() {
            write_row(f, COLUMNS.map(|(title, _)| title), &widths)?;
        }
        let indent = widths[0] + widths[1] + 6;
        for (entry, cells) in self.entries.iter().zip(&rows) {
            write_row(f, cells.each_ref().map(String::as_str), &widths)?;
            for holder in &entry.holders {
                writeln!(f, "{:indent$}{holder}", "")?;
            }
            for work in &entry.work {
                writeln!(f, "{:indent$}{}", "", Waits(work))?;
            }
            match entry.unlisted() {
                0 => {}
                1 => writeln!(f, "{:indent$}1 lease that is not listed", "")?,
                more => writeln!(f, "{:indent$}{more} leases that are not listed", "")?,
            }
        }
        let (count, nbytes) = (rows.len(), self.nbytes());
        let noun = if count == 1 { "allocation" } else { "allocations" };
        write!(f, "{count} {noun}, {nbytes} bytes ({})", Size(nbytes))?;
        if self.missed > 0 {
            write!(f, "; {} not listed for lack of memory", self.missed)?;
        }
        if !self.is_on {
            f.write_str("; the ledger is off")?;
        }
        writeln!(f)
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, cells: [&str; COLUMNS.len()], widths: &[usize]) -> fmt::Result {
    let mut line = String::new();
    for ((cell, (_, is_number)), &width) in cells.into_iter().zip(COLUMNS).zip(widths) {
        line += &if is_number { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
    }
    writeln!(f, "{}", line.trim_end())
}

/// `waits for work that writes: Signal(not yet), 3.2 s old`
struct Waits<'a>(&'a UnderWay);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(work) = self;
        let does = match work.effect {
            Effect::Reads => "reads",
            Effect::Writes => "writes",
        };
        write!(f, "waits for work that {does}: {:?}, {} old", work.event, Age(work.age))
    }
}

/// A number of bytes in a suitable unit.
struct Size(u128);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(nbytes) = *self;
        if nbytes < 1024 {
            return write!(f, "{nbytes} B");
        }
        let (mut value, mut unit) = (nbytes as f64 / 1024.0, "KiB");
        for larger in ["MiB", "GiB", "TiB", "PiB", "EiB"] {
            // A value that would be printed as 1024.0 belongs to the next unit.
            if value < 1023.95 {
                break;
            }
            (value, unit) = (value / 1024.0, larger);
        }
        write!(f, "{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::holder::Holder;
    use crate::memory::{Backing, Birth, Place, Protocols};

    fn entry(address: usize, nbytes: usize, age: Option<Duration>) -> Entry {
        Entry {
            address,
            nbytes,
            place: Place::CPU,
            backing: Backing::Heap,
            pool: None,
            birth: Birth::Sole,
            age,
            handles: 1,
            leases: None,
            pins: 0,
            exported: Protocols::NONE,
            holders: Vec::new(),
            work: Vec::new(),
        }
    }

    #[test]
    fn a_report_is_a_table_with_the_holders_below_what_they_hold() {
        let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
        let mut lent = entry(0x7f00_0040, 1 << 20, seconds(3.2));
        (lent.pool, lent.handles) = (Some("default"), 12);
        (lent.leases, lent.pins) = (Some((LeaseKind::Share, 1)), 3);
        lent.exported = Protocols(Protocols::DLPACK.0 | Protocols::MEMORY_VIEW.0);
        let holder = |kind, protocols, age| Holder { kind, protocols, age: Duration::from_millis(age) };
        lent.holders.push(holder(LeaseKind::Share, Protocols::DLPACK, 1400));
        lent.holders.push(holder(LeaseKind::Pin, Protocols::NONE, 20));
        let mut read = entry(0x5500, 12, None);
        (read.leases, read.backing) = (Some((LeaseKind::Read, 1)), Backing::File);
        let entries = vec![read, entry(0x9000, 12, seconds(90.0)), lent];
        assert_eq!(
            Report::new(entries, 2, false).to_string(),
            "  bytes           address     place  backing   pool        age  handles  leases          went out by
1048576  1.0 MiB  0x7f000040  cpu    heap      default   3.2 s       12  1 Share, 3 Pin  MemoryView, DLPack
                    share lease, DLPack, 1.4 s old
                    pin lease, a guard, 20 ms old
                    2 leases that are not listed
     12     12 B  0x5500      cpu    file map  -         older        1  1 Read          -
                    1 lease that is not listed
     12     12 B  0x9000      cpu    heap      -        90.0 s        1  -               -
3 allocations, 1048600 bytes (1.0 MiB); 2 not listed for lack of memory; the ledger is off
"
        );
        assert_eq!(Report::new(Vec::new(), 0, true).to_string(), "0 allocations, 0 bytes (0 B)\n");
    }

    #[test]
    fn sizes_and_ages_have_the_unit_that_suits_them() {
        let sizes = [0, 1023, 1024, 1536, 1_048_575, 1 << 20, 5 << 30, u128::from(u64::MAX), 1 << 70];
        assert_eq!(
            sizes.map(|nbytes| Size(nbytes).to_string()),
            [
                "0 B",
                "1023 B",
                "1.0 KiB",
                "1.5 KiB",
                "1.0 MiB",
                "1.0 MiB",
                "5.0 GiB",
                "16.0 EiB",
                "1024.0 EiB"
            ]
        );
        let ages = [0, 900_000, 20_000_000, 3_200_000_000, 119_000_000_000, 300_000_000_000];
        assert_eq!(
            ages.map(|nanos| Age(Duration::from_nanos(nanos)).to_string()),
            ["0 µs", "900 µs", "20 ms", "3.2 s", "119.0 s", "5 min"]
        );
        assert_eq!(Age(Duration::from_secs(4 * 3600)).to_string(), "4 h");
        assert_eq!(Age(Duration::from_secs(10 * 86_400)).to_string(), "10 days");
    }
}
