//! A cell that every holder may write contains plain data, not a reference.

use crossdock::memory::Shared;

fn take(_: &Shared<&'static u8>) {}

fn main() {}
