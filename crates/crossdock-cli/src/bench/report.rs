//! The results.

use serde::Serialize;

/// All results that are printed.
#[derive(Debug, Serialize)]
pub(super) struct BenchReport {
    pub(super) machine: String,
    /// The device that was measured, unless it was the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<String>,
    /// The number of threads in "all threads".
    pub(super) threads: usize,
    /// The fastest memory first.
    pub(super) memory: Vec<Memory>,
    pub(super) works: Vec<Work>,
}

/// A cache, or main memory.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    pub(super) level: String,
    /// The number of bytes that one thread touched.
    pub(super) nbytes: usize,
    pub(super) traffic: Vec<Traffic>,
}

/// One kind of traffic, in gigabytes per second.
#[derive(Debug, Serialize)]
pub(super) struct Traffic {
    pub(super) name: &'static str,
    /// By one thread, or by the device.
    pub(super) one_thread: f64,
    /// `None` for a single thread.
    pub(super) all_threads: Option<f64>,
}

/// A work compared with `memcpy`.
#[derive(Debug, Serialize)]
pub(super) struct Work {
    pub(super) name: &'static str,
    pub(super) section: &'static str,
    /// The mean of the bytes read and written.
    pub(super) nbytes: usize,
    /// The speed of a `memcpy` of as many bytes, in gigabytes per second, by one thread; for a
    /// device, of its own copy.
    pub(super) memcpy: f64,
    /// By one thread, or by the device.
    pub(super) one_thread: Figure,
    /// `None` for a single thread.
    pub(super) all_threads: Option<Figure>,
}

/// A speed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figure {
    /// Gigabytes per second, of `nbytes`.
    pub(super) gigabytes: f64,
    /// Relative to `memcpy`, or to the device's own copy, in the same rounds.
    pub(super) ratio: f64,
}

impl BenchReport {
    pub(super) fn new(machine: String, threads: usize) -> Self {
        Self { machine, device: None, threads, memory: Vec::new(), works: Vec::new() }
    }

    /// The report of a device, which counts as one worker.
    pub(super) fn of_device(machine: String, device: String) -> Self {
        Self { device: Some(device), ..Self::new(machine, 1) }
    }
}
