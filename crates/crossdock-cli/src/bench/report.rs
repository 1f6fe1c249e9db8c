//! What was found.

use serde::Serialize;

/// Everything that is shown.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: String,
    /// The device that was measured, where it was not the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<String>,
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
    /// By one thread, or by the device.
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
    /// What `memcpy` makes of as many, in gigabytes per second, by one thread; on a device, its own copy.
    pub(super) memcpy: f64,
    /// By one thread, or by the device.
    pub(super) one_thread: Figure,
    /// `None` where there is only one.
    pub(super) all_threads: Option<Figure>,
}

/// How fast it was.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figure {
    /// Of `nbytes` in each second.
    pub(super) gigabytes: f64,
    /// To `memcpy`, or the device's own copy, in the same rounds.
    pub(super) ratio: f64,
}

impl Report {
    pub(super) fn new(machine: String, threads: usize) -> Self {
        Self { machine, device: None, threads, memory: Vec::new(), works: Vec::new() }
    }

    /// Of a device, which is one worker.
    pub(super) fn of_device(machine: String, device: String) -> Self {
        Self { device: Some(device), ..Self::new(machine, 1) }
    }
}
