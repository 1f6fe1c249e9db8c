//! What was found.

use serde::Serialize;

/// Everything that is shown.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: String,
    /// How many "all threads" are.
    pub(super) threads: usize,
    /// The nearest memory first.
    pub(super) memory: Vec<Memory>,
    pub(super) works: Vec<Work>,
}

/// A cache, or memory.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    pub(super) level: String,
    /// How many bytes one thread touched.
    pub(super) nbytes: usize,
    pub(super) traffic: Vec<Traffic>,
}

/// What is done with it, in gigabytes per second.
#[derive(Debug, Serialize)]
pub(super) struct Traffic {
    pub(super) name: &'static str,
    pub(super) one_thread: f64,
    /// `None` where there is only one.
    pub(super) all_threads: Option<f64>,
}

/// A work beside `memcpy`.
#[derive(Debug, Serialize)]
pub(super) struct Work {
    pub(super) name: &'static str,
    pub(super) section: &'static str,
    /// The mean of the bytes read and written.
    pub(super) nbytes: usize,
    /// What `memcpy` makes of as many, in gigabytes per second, by one thread.
    pub(super) memcpy: f64,
    pub(super) one_thread: Figure,
    /// `None` where there is only one.
    pub(super) all_threads: Option<Figure>,
}

/// How fast it was.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figure {
    /// Of `nbytes` in each second.
    pub(super) gigabytes: f64,
    /// To `memcpy`, in the same rounds.
    pub(super) ratio: f64,
}

impl Report {
    pub(super) fn new(machine: String, threads: usize) -> Self {
        Self { machine, threads, memory: Vec::new(), works: Vec::new() }
    }
}
