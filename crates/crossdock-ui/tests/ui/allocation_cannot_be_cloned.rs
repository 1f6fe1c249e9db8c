//! An allocation has one owner: it cannot be copied.

use crossdock::memory::{Allocation, Place};

fn twice<T: Clone>(_: T) {}

fn main() {
    twice(Allocation::new(8, Place::CPU).unwrap());
}
