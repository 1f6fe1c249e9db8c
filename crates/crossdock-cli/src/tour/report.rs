//! What the tour found: rows, as a table and as JSON.

use std::path::Path;

use crate::failure::{Failure, Result};
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crossdock::DArray;
use crossdock::memory::ledger;
use serde::{Deserialize, Serialize};

use crate::tour::Outcome;
use crate::tour::sharing::Account;

/// What the durations mean that were not measured in this process.
const ELSEWHERE: &str =
    "The hand-over to another process, python3 too, is the time of mapping the descriptor, measured there.\n";
/// What is summed on a device.
const ON_A_DEVICE: &str = "What was handed over is copied back to be summed, behind the clock; the copies beside are the device's.\n";

/// What one consumer saw.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Handover {
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    /// The address of element 0, in the consumer's own process.
    pub(crate) address: u64,
    /// The sum of all bytes of all elements.
    pub(crate) checksum: u64,
    pub(crate) bytes_copied: u64,
    /// The median of one hand-over.
    pub(crate) ns: f64,
}

impl Handover {
    /// Compares what the consumer saw with what was lent.
    pub(crate) fn check(&self, array: &DArray, checksum: u64) -> Result<()> {
        if self.shape != array.shape() {
            return Err(Failure::new(format_args!(
                "shape {:?} was lent, and {:?} arrived",
                array.shape(),
                self.shape
            )));
        }
        if self.dtype != array.dtype().to_string() {
            let text = format!("elements of {} were lent, and {} arrived", array.dtype(), self.dtype);
            return Err(Failure::new(text));
        }
        for (axis, &len) in self.shape.iter().enumerate() {
            // The stride of an axis that has no second index means nothing, and consumers are free to change it.
            if len > 1 && !array.is_empty() && self.strides.get(axis) != array.strides().get(axis) {
                return Err(Failure::new(format_args!(
                    "strides {:?} were lent, and {:?} arrived",
                    array.strides(),
                    self.strides
                )));
            }
        }
        if self.checksum != checksum {
            return Err(Failure::new(format_args!(
                "the bytes lent add up to {checksum}, those that arrived to {}",
                self.checksum
            )));
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Row {
    view: &'static str,
    to: &'static str,
    #[serde(flatten)]
    handover: Handover,
    /// What a copy of the view takes instead.
    copy_ns: f64,
}

/// A consumer that could not take these views, all for the same reason.
#[derive(Serialize)]
struct Declined {
    views: Vec<&'static str>,
    to: &'static str,
    why: String,
}

/// Everything that the tour shows.
#[derive(Serialize)]
pub(crate) struct Report {
    file: String,
    dtype: String,
    shape: Vec<usize>,
    strides: Vec<isize>,
    nbytes: usize,
    handovers: Vec<Row>,
    declined: Vec<Declined>,
    /// How it came to a device, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<Moved>,
    /// What several holders of host memory saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<Account>,
    alive_after: usize,
}

/// The copy to a device, which was asked for.
#[derive(Serialize)]
pub(crate) struct Moved {
    pub(crate) place: String,
    pub(crate) device: String,
    pub(crate) nbytes: u64,
    pub(crate) ns: f64,
}

impl Report {
    pub(crate) fn new(file: &Path, array: &DArray) -> Self {
        Self {
            file: file.display().to_string(),
            dtype: array.dtype().to_string(),
            shape: array.shape().to_vec(),
            strides: array.strides().to_vec(),
            nbytes: array.nbytes(),
            handovers: Vec::new(),
            declined: Vec::new(),
            moved: None,
            sharing: None,
            alive_after: 0,
        }
    }

    /// Notes what a consumer did with a view, and compares what it saw with what was lent.
    pub(crate) fn take(
        &mut self,
        view: &'static str,
        to: &'static str,
        outcome: Result<Outcome>,
        array: &DArray,
        checksum: u64,
        copy_ns: f64,
    ) -> Result<()> {
        let told = |failure: Failure| failure.within(format_args!("{view} to {to}"));
        match outcome.map_err(told)? {
            Outcome::Took(handover) => {
                handover.check(array, checksum).map_err(told)?;
                self.handovers.push(Row { view, to, handover, copy_ns });
            }
            Outcome::Declined(why) => self.decline(view, to, why),
        }
        Ok(())
    }

    fn decline(&mut self, view: &'static str, to: &'static str, why: String) {
        match self.declined.iter_mut().find(|known| known.to == to && known.why == why) {
            Some(known) => known.views.push(view),
            None => self.declined.push(Declined { views: vec![view], to, why }),
        }
    }

    pub(crate) fn set_moved(&mut self, moved: Moved) {
        self.moved = Some(moved);
    }

    pub(crate) fn set_sharing(&mut self, account: Account) {
        self.sharing = Some(account);
    }

    /// Ends the report, when everything has been dropped. Fails where something was copied unasked, nobody took the array, or
    /// something stayed alive.
    pub(crate) fn close(mut self, alive: Vec<ledger::Entry>) -> Result<Self> {
        self.alive_after = alive.len();
        if let Some(row) = self.handovers.iter().find(|row| row.handover.bytes_copied > 0) {
            let text = format!("{} copied {} bytes of {}", row.to, row.handover.bytes_copied, row.view);
            return Err(Failure::new(text));
        }
        if self.handovers.is_empty() {
            return Err(Failure::new("no consumer took the array"));
        }
        if let Some(entry) = alive.first() {
            let text = format!(
                "{} allocations are alive after everything was dropped, the first of {} bytes of {} at {:#x}, with {} handles{}",
                alive.len(),
                entry.nbytes,
                entry.backing,
                entry.address,
                entry.handles,
                entry.holders.iter().map(|holder| format!(" and a {holder}")).collect::<String>()
            );
            return Err(Failure::new(text));
        }
        Ok(self)
    }

    /// The report for people.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!(
            "{}\n{} {:?}, strides {:?} bytes, {} bytes, opened in place\n",
            self.file, self.dtype, self.shape, self.strides, self.nbytes
        );
        if let Some(Moved { place, device, nbytes, ns }) = &self.moved {
            text +=
                &format!("copied to {place}, {device}: {nbytes} bytes, on purpose, in {}\n", duration(*ns));
        }
        text += &format!("\n{}\n", self.table());
        text += match &self.moved {
            None => ELSEWHERE,
            Some(_) => ON_A_DEVICE,
        };
        for Declined { views, to, why } in &self.declined {
            text += &format!("not to {to} ({}): {why}\n", views.join(", "));
        }
        if let Some(sharing) = &self.sharing {
            text += &sharing.lines().iter().map(|line| format!("\n{line}")).collect::<String>();
        }
        let copied: u64 = self.handovers.iter().map(|row| row.handover.bytes_copied).sum();
        text.truncate(text.trim_end().len());
        text + &format!(
            "\n\n{} hand-overs, {copied} bytes copied. {} allocations alive after everything was dropped.\n",
            self.handovers.len(),
            self.alive_after
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        let line = LineStyle::none().fill('─').junction('─');
        table.load_style(TableStyle::new().top_border(line).header_separator(line).bottom_border(line));
        let titles =
            ["view", "to", "dtype", "shape", "strides", "its address", "copied", "hand-over", "a copy"];
        table.set_header(titles.map(Cell::new));
        let mut last = "";
        for Row { view, to, handover, copy_ns } in &self.handovers {
            let shown = if *view == last { "" } else { view };
            if !last.is_empty() && !shown.is_empty() {
                table.add_row([""]);
            }
            last = view;
            table.add_row([
                Cell::new(shown),
                Cell::new(to),
                Cell::new(&handover.dtype),
                Cell::new(numbers(&handover.shape)),
                Cell::new(numbers(&handover.strides)),
                Cell::new(format!("{:#x}", handover.address)),
                Cell::new(format!("{} B", handover.bytes_copied)).set_alignment(CellAlignment::Right),
                Cell::new(duration(handover.ns)).set_alignment(CellAlignment::Right),
                Cell::new(duration(*copy_ns)).set_alignment(CellAlignment::Right),
            ]);
        }
        table
    }
}

fn numbers<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}

/// Three digits and a unit.
fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 1 } else { 0 };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_few_digits_and_a_unit() {
        assert_eq!(
            [8.26, 17.4, 1_234.0, 45_600.0, 7_800_000.0, 2.5e9].map(duration),
            ["8.3 ns", "17 ns", "1.2 µs", "46 µs", "7.8 ms", "2.5 s"]
        );
    }
}
