//! Counts the calls of each function, without the heap, so that a library which is unloaded leaves
//! nothing.

/// More than the driver has functions.
const MOST: usize = 128;

/// Names and counts, in the order of the first calls.
#[derive(Debug)]
pub(crate) struct Counts {
    rows: [(&'static str, u64); MOST],
    len: usize,
}

impl Counts {
    pub(crate) const fn new() -> Self {
        Self { rows: [("", 0); MOST], len: 0 }
    }

    pub(crate) fn count(&mut self, name: &'static str) {
        let place = self.rows[..self.len].iter().position(|&(known, _)| known == name);
        let place = place.unwrap_or_else(|| {
            self.rows[self.len].0 = name;
            self.len += 1;
            self.len - 1
        });
        self.rows[place].1 += 1;
    }

    pub(crate) fn of(&self, name: &str) -> u64 {
        self.rows().iter().find(|&&(known, _)| known == name).map_or(0, |&(_, count)| count)
    }

    pub(crate) fn rows(&self) -> &[(&'static str, u64)] {
        &self.rows[..self.len]
    }
}
