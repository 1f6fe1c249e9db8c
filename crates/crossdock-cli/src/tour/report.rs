//! The results of the tour: rows, as a table and as JSON.

use std::path::Path;

use crate::failure::{Failure, Result};
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use crossdock::DArray;
use crossdock::ledger;
use serde::{Deserialize, Serialize};

use crate::terminal;
use crate::terminal::shown;
use crate::tour::pages::Pages;
use crate::tour::sharing::Account;

/// Explains the rows of other processes.
const ELSEWHERE: &str = "\
The elements that each consumer saw were compared with those lent, in order, and so was the address of element 0. Another
process maps the same bytes of the same file at its own address, and measures how long mapping the descriptor takes.
– marks what a consumer cannot measure: python3's standard library has no views with strides.\n";
/// Explains the sums on a device.
const ON_A_DEVICE: &str = "Each consumer's array was copied back to compare its elements, outside of the measured time; `a copy` \
    is the device's.\n";

/// What a consumer did with an array.
pub(crate) enum Outcome {
    /// It took the array.
    Took(Handover),
    /// It declined the array, for this reason.
    Declined(String),
}

/// What one consumer saw; `None` for what it cannot measure.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Handover {
    pub(crate) dtype: Option<String>,
    pub(crate) shape: Option<Vec<usize>>,
    pub(crate) strides: Option<Vec<isize>>,
    /// The address of element 0, in the consumer's own process.
    pub(crate) address: u64,
    /// In another process: what the kernel has mapped at that address.
    pub(crate) pages: Option<Pages>,
    /// See [`Checksum`](crate::tour::checksum::Checksum).
    pub(crate) checksum: u64,
    /// Counted by the library in the consumer's own process.
    pub(crate) bytes_copied: Option<u64>,
    /// The median duration of one export.
    pub(crate) ns: f64,
}

impl Handover {
    /// Compares what the consumer saw with what was lent.
    pub(crate) fn check(&self, array: &DArray, checksum: u64) -> Result<()> {
        if let Some(shape) = &self.shape
            && shape != array.shape()
        {
            let text = format!("shape {:?} was lent, but the consumer saw {shape:?}", array.shape());
            return Err(Failure::new(text));
        }
        if let Some(dtype) = &self.dtype
            && *dtype != array.dtype().to_string()
        {
            let text = format!("elements of {} were lent, but the consumer saw {dtype}", array.dtype());
            return Err(Failure::new(text));
        }
        if let Some(strides) = &self.strides {
            // The stride of an axis with at most one index has no effect, and consumers may change
            // it.
            let means = |axis: usize| array.shape()[axis] > 1 && !array.is_empty();
            let differs = |axis| means(axis) && strides.get(axis) != array.strides().get(axis);
            if (0..array.rank()).any(differs) {
                let text =
                    format!("strides {:?} were lent, but the consumer saw {strides:?}", array.strides());
                return Err(Failure::new(text));
            }
        }
        if self.checksum != checksum {
            let text = format!(
                "the checksum of the lent elements is {checksum}, but the consumer's is {}",
                self.checksum
            );
            return Err(Failure::new(text));
        }
        self.check_address(array)
    }

    /// Compares addresses: in this process the numbers, in another process the mapped file and
    /// offset. An empty array has no address to compare, and consumers have their own names for
    /// device memory.
    fn check_address(&self, array: &DArray) -> Result<()> {
        if array.nbytes() == 0 || !array.place().is_host() {
            return Ok(());
        }
        let lent = array.as_ptr().addr() as u64;
        match &self.pages {
            None if self.address == lent => Ok(()),
            None => Err(Failure::new(format_args!(
                "element 0 was lent at {lent:#x}, but the consumer saw it at {:#x}",
                self.address
            ))),
            Some(pages) => match Pages::at(lent)? {
                Some(own) if own == *pages => Ok(()),
                own => Err(Failure::new(format_args!("{own:?} was lent, but the consumer saw {pages:?}"))),
            },
        }
    }
}

#[derive(Serialize)]
struct Row {
    view: &'static str,
    to: &'static str,
    #[serde(flatten)]
    handover: Handover,
    /// The duration of a copy of the view instead.
    copy_ns: f64,
}

/// A consumer that declined these views, all for the same reason.
#[derive(Serialize)]
struct Declined {
    views: Vec<&'static str>,
    to: &'static str,
    why: String,
}

/// Everything that the tour shows.
#[derive(Serialize)]
pub(crate) struct TourReport {
    file: String,
    dtype: String,
    shape: Vec<usize>,
    strides: Vec<isize>,
    nbytes: usize,
    handovers: Vec<Row>,
    declined: Vec<Declined>,
    /// The copy to a device, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<Moved>,
    /// What several holders of host memory saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<Account>,
    alive_after: usize,
}

/// The requested copy to a device.
#[derive(Serialize)]
pub(crate) struct Moved {
    pub(crate) place: String,
    pub(crate) device: String,
    pub(crate) nbytes: u64,
    pub(crate) ns: f64,
}

impl TourReport {
    pub(crate) fn new(file: &Path, array: &DArray) -> Self {
        Self {
            file: terminal::path(file),
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

    /// Records what a consumer did with a view, and compares what it saw with what was lent.
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

    /// Ends the report, after everything was dropped. Fails if bytes were copied without a request,
    /// no consumer imported the array, or an allocation is still alive.
    pub(crate) fn close(mut self, alive: Vec<ledger::Entry>) -> Result<Self> {
        self.alive_after = alive.len();
        if let Some(row) = self.handovers.iter().find(|row| row.handover.bytes_copied > Some(0)) {
            let nbytes = row.handover.bytes_copied.unwrap_or(0);
            let text = format!("{} copied {nbytes} bytes of {}", row.to, row.view);
            return Err(Failure::new(text));
        }
        if self.handovers.is_empty() {
            return Err(Failure::new("no consumer accepted the array"));
        }
        if let Some(entry) = alive.first() {
            let text = format!(
                "{} allocations are still alive after everything was dropped; the first has {} bytes of {} \
                at {:#x}, with {} handles{}",
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
            shown(&self.file),
            shown(&self.dtype),
            self.shape,
            self.strides,
            self.nbytes
        );
        if let Some(Moved { place, device, nbytes, ns }) = &self.moved {
            text +=
                &format!("copied to {place}, {device}: {nbytes} bytes in {}, as requested\n", duration(*ns));
        }
        text += &format!("\n{}\n", self.table());
        text += match &self.moved {
            None => ELSEWHERE,
            Some(_) => ON_A_DEVICE,
        };
        for Declined { views, to, why } in &self.declined {
            text += &format!("not to {to} ({}): {}\n", views.join(", "), shown(why));
        }
        if let Some(sharing) = &self.sharing {
            text += &sharing.lines().iter().map(|line| format!("\n{line}")).collect::<String>();
        }
        let copied: Vec<u64> = self.handovers.iter().filter_map(|row| row.handover.bytes_copied).collect();
        text.truncate(text.trim_end().len());
        text + &format!(
            "\n\n{} exports; {} of them counted copied bytes: {} in all. {} allocations are alive after \
            everything was dropped.\n",
            self.handovers.len(),
            copied.len(),
            copied.iter().sum::<u64>(),
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
            let title = if *view == last { "" } else { view };
            if !last.is_empty() && !title.is_empty() {
                table.add_row([""]);
            }
            last = view;
            table.add_row([
                Cell::new(title),
                Cell::new(to),
                Cell::new(measured(handover.dtype.as_deref(), shown)),
                Cell::new(measured(handover.shape.as_ref(), |shape| numbers(shape))),
                Cell::new(measured(handover.strides.as_ref(), |strides| numbers(strides))),
                Cell::new(format!("{:#x}", handover.address)),
                Cell::new(measured(handover.bytes_copied.as_ref(), |nbytes| format!("{nbytes} B")))
                    .set_alignment(CellAlignment::Right),
                Cell::new(duration(handover.ns)).set_alignment(CellAlignment::Right),
                Cell::new(duration(*copy_ns)).set_alignment(CellAlignment::Right),
            ]);
        }
        table
    }
}

/// A measurement, or a dash.
fn measured<T: ?Sized>(value: Option<&T>, show: impl Fn(&T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
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
    let digits = if value < 9.95 { 1 } else { 0 };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_few_digits_and_a_unit() {
        assert_eq!(
            [8.26, 9.97, 17.4, 1_234.0, 45_600.0, 7_800_000.0, 2.5e9].map(duration),
            ["8.3 ns", "10 ns", "17 ns", "1.2 µs", "46 µs", "7.8 ms", "2.5 s"]
        );
    }
}
