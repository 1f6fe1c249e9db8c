//! A cell that anyone may write holds plain data, not a reference.

use crossdock::memory::Shared;

fn take(_: &Shared<&'static u8>) {}

fn main() {}
