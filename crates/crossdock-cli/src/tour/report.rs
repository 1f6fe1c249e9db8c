//! What the tour found: rows, as a table and as JSON.

use std::io::{self, Write};

use anyhow::{Result, bail};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Attribute, Cell, CellAlignment, Table};
use crossdock::DArray;
use crossdock::memory::ledger;
use serde::{Deserialize, Serialize};

use crate::tour::sharing::Account;

/// What one consumer saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handover {
    pub dtype: String,
    pub shape: Vec<usize>,
    pub strides: Vec<isize>,
    /// The address of element 0, in the consumer's own process.
    pub address: u64,
    /// The sum of all bytes of all elements.
    pub checksum: u64,
    pub bytes_copied: u64,
    /// The median of one hand-over.
    pub ns: f64,
}

impl Handover {
    /// Compares what the consumer saw with what was lent.
    pub fn check(&self, array: &DArray, checksum: u64) -> Result<()> {
        if self.shape != array.shape() {
            bail!("shape {:?} was lent, and {:?} arrived", array.shape(), self.shape);
        }
        for (axis, &len) in self.shape.iter().enumerate() {
            // The stride of an axis that has no second index means nothing, and consumers are free to change it.
            if len > 1 && self.strides.get(axis) != array.strides().get(axis) {
                bail!("strides {:?} were lent, and {:?} arrived", array.strides(), self.strides);
            }
        }
        if self.checksum != checksum {
            bail!("the bytes lent add up to {checksum}, those that arrived to {}", self.checksum);
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

#[derive(Serialize)]
struct Declined {
    view: &'static str,
    to: &'static str,
    why: String,
}

/// Everything that the tour shows.
#[derive(Serialize)]
pub struct Report {
    file: String,
    dtype: String,
    shape: Vec<usize>,
    strides: Vec<isize>,
    nbytes: usize,
    handovers: Vec<Row>,
    declined: Vec<Declined>,
    sharing: Account,
    alive_after: usize,
    #[serde(skip)]
    survivors: Vec<String>,
}

impl Report {
    pub fn new(file: &str, array: &DArray) -> Self {
        Self {
            file: file.to_owned(),
            dtype: array.dtype().to_string(),
            shape: array.shape().to_vec(),
            strides: array.strides().to_vec(),
            nbytes: array.nbytes(),
            handovers: Vec::new(),
            declined: Vec::new(),
            sharing: Account::default(),
            alive_after: 0,
            survivors: Vec::new(),
        }
    }

    pub fn add(&mut self, view: &'static str, to: &'static str, handover: Handover, copy_ns: f64) {
        self.handovers.push(Row { view, to, handover, copy_ns });
    }

    pub fn decline(&mut self, view: &'static str, to: &'static str, why: String) {
        self.declined.push(Declined { view, to, why });
    }

    pub fn set_sharing(&mut self, account: Account) {
        self.sharing = account;
    }

    pub fn set_alive(&mut self, alive: Vec<ledger::Entry>) {
        self.alive_after = alive.len();
        self.survivors = alive
            .iter()
            .map(|entry| format!("{} bytes of {} at {:#x}", entry.nbytes, entry.backing, entry.address))
            .collect();
    }

    /// Fails where something was copied unasked, or stayed alive.
    pub fn check(&self) -> Result<()> {
        if let Some(row) = self.handovers.iter().find(|row| row.handover.bytes_copied > 0) {
            bail!("{} copied {} bytes of {}", row.to, row.handover.bytes_copied, row.view);
        }
        if self.handovers.is_empty() {
            bail!("no consumer took the array");
        }
        if !self.survivors.is_empty() {
            bail!("still alive after everything was dropped: {}", self.survivors.join(", "));
        }
        Ok(())
    }

    pub fn print_json(&self) -> Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)?;
        Ok(())
    }

    pub fn print_table(&self) -> Result<()> {
        let mut out = anstream::stdout().lock();
        writeln!(
            out,
            "{}\n{} {:?}, strides {:?} bytes, {} bytes, opened in place\n",
            self.file, self.dtype, self.shape, self.strides, self.nbytes
        )?;
        writeln!(out, "{}\n", self.table())?;
        for declined in &self.declined {
            writeln!(out, "not to {}, {}: {}", declined.to, declined.view, declined.why)?;
        }
        if !self.declined.is_empty() {
            writeln!(out)?;
        }
        for line in self.sharing.lines() {
            writeln!(out, "{line}")?;
        }
        let copied: u64 = self.handovers.iter().map(|row| row.handover.bytes_copied).sum();
        writeln!(
            out,
            "\n{} hand-overs, {copied} bytes copied; {} allocations alive after everything was dropped.",
            self.handovers.len(),
            self.alive_after
        )?;
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(UTF8_HORIZONTAL_ONLY);
        let titles = ["view", "to", "dtype", "shape", "strides", "its address", "copied", "hand-over", "a copy"];
        table.set_header(titles.map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
        let mut last = "";
        for Row { view, to, handover, copy_ns } in &self.handovers {
            let shown = if *view == last { "" } else { view };
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
