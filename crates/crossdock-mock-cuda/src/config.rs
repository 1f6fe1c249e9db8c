//! Properties of the driver and its devices, which tests can change.

use std::collections::BTreeMap;

/// Settings that tests can change.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) device_count: i32,
    pub(crate) driver_version: i32,
    /// The memory of each device, in bytes.
    pub(crate) memory: u64,
    /// Attributes that differ from [`attribute`], by device and number.
    attributes: BTreeMap<(i32, i32), i32>,
    /// Whether a copy between a device and pageable host memory is over when the call returns.
    pub(crate) pageable_waits: bool,
    /// Whether streams work only while a thread waits for one.
    pub(crate) waits_for_waiters: bool,
    /// Whether devices access each other's memory.
    pub(crate) reaches_peers: bool,
    /// Whether a process may open the handle of its own memory.
    pub(crate) opens_own: bool,
}

impl Config {
    pub(crate) const fn new() -> Self {
        Self {
            device_count: 2,
            driver_version: 12_040,
            memory: 16 << 30,
            attributes: BTreeMap::new(),
            pageable_waits: false,
            waits_for_waiters: false,
            reaches_peers: true,
            opens_own: false,
        }
    }

    pub(crate) fn set_attribute(&mut self, device: i32, attribute: i32, value: i32) {
        self.attributes.insert((device, attribute), value);
    }

    /// An attribute of a device; `None` for an unknown number.
    pub(crate) fn attribute(&self, device: i32, number: i32) -> Option<i32> {
        self.attributes.get(&(device, number)).copied().or_else(|| attribute(device, number))
    }
}

/// Attributes that the mock driver itself uses.
pub(crate) const MEMORY_POOLS_SUPPORTED: i32 = 115;
pub(crate) const MANAGED_MEMORY: i32 = 83;

/// The default attributes of devices.
fn attribute(device: i32, number: i32) -> Option<i32> {
    Some(match number {
        1..=2 => 1024,               // threads in a block, and along its first axis
        3 => 1024,                   // along its second
        4 => 64,                     // along its third
        5 => i32::MAX,               // blocks along the first axis of a grid
        6..=7 => 65_535,             // and the others
        8 | 81 => 49_152,            // shared memory of a block, and of a multiprocessor
        10 => 32,                    // threads in a warp
        12 | 82 => 65_536,           // registers of a block, and of a multiprocessor
        13 | 36 => 1_000_000,        // clock of the processors and the memory, in kHz
        16 => 4,                     // multiprocessors
        18 | 20 | 35 => 0,           // integrated, compute mode, TCC
        19 | 31 | 41 | 78 => 1,      // host maps, concurrent kernels, unified addresses, priorities
        33 => device,                // number of the bus
        34 | 50 => 0,                // of the slot, and the domain
        37 => 256,                   // width of the memory bus in bits
        38 => 1 << 20,               // second-level cache
        39 => 2048,                  // threads of a multiprocessor
        40 => 2,                     // copy engines
        75 => 9,                     // compute capability
        76 => 0,                     // its second number
        MANAGED_MEMORY | 89 => 1,    // managed memory, also while the device works
        88 | 100 | 101 => 0,         // pageable access, by page tables, managed from the host
        90 | 91 | 99 | 113 => 1,     // preemption, registered pointers, registering, read-only too
        97 => 101_376,               // shared memory of a block that asks for more
        102 | 103 => 1,              // virtual memory, exported as descriptors
        MEMORY_POOLS_SUPPORTED => 1, // pools
        119 => 0,                    // what pools can export
        125 => 1,                    // events across processes
        _ => return None,
    })
}
