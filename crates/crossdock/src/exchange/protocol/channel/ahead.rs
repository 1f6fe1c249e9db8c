//! Requests for the cache lines of the next slot, so that several of them travel from one CPU to
//! the other at the same time, and while the program does something else.
//!
//! A line takes some 100 ns. Without this, a message waits for five, one after the other: the
//! sender's claim of the slot, its first write to the elements, the bell, the receiver's claim and
//! its first read of the elements.

use crate::exchange::protocol::channel::control::ControlMap;
use crate::memory::Handle;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use crate::memory::racy::vector;

/// A receiver that heard the bell will change the slot's word, and read its elements.
#[inline]
pub(super) fn receive(control: &ControlMap, data: &Handle, slot: usize) {
    to_write(record(control, slot));
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    vector::prefetch(elements(control, data, slot));
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = data;
}

/// A sender will claim the slot next, and write its elements.
#[inline]
pub(super) fn send(control: &ControlMap, data: &Handle, slot: usize) {
    to_write(record(control, slot));
    to_write(elements(control, data, slot));
}

fn record(control: &ControlMap, slot: usize) -> *const u8 {
    control.slot(slot).as_ptr().cast()
}

fn elements(control: &ControlMap, data: &Handle, slot: usize) -> *const u8 {
    data.header().ptr().as_ptr().wrapping_add(control.geometry().data(slot))
}

#[inline]
fn to_write(address: *const u8) {
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    vector::prefetch_to_write(address);
    #[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
    let _ = address;
}
