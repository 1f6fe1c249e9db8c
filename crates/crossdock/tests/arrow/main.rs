//! The memory layer of Arrow C++ compared with this one: every row of `docs/evidence/arrow.md` has
//! a test, and every test here has a row there (`page.rs` checks it).

mod borrowed;
mod building;
#[cfg(feature = "allocator-api2-0_2")]
mod collections;
mod constructing;
mod devices;
mod page;
#[path = "../pages/mod.rs"]
mod pages;
mod pools;
mod queries;
mod readers;
mod slicing;
mod surprises;
mod theirs;

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device, MemoryManager};
use crossdock::memory::Place;

fn host() -> Arc<dyn MemoryManager> {
    device::memory(Place::CPU).unwrap()
}

fn numbers(nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|index| (index * 7 + index / 251) as u8).collect()
}

fn buffer(nbytes: usize) -> Buffer {
    Buffer::from_vec(numbers(nbytes)).unwrap()
}

/// The bytes of a buffer in any memory.
fn bytes(buffer: &Buffer) -> Vec<u8> {
    buffer.copy_to(&host()).unwrap().pin().unwrap().to_vec()
}

/// Memory that is not accessible from the CPU, with `numbers` in it.
fn fenced(nbytes: usize) -> (Arc<FencedDevice>, Buffer) {
    let device = FencedDevice::new(0);
    let there = buffer(nbytes).copy_to(&device.memory()).unwrap();
    (device, there)
}
