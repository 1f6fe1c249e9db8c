//! A cell that anyone may write holds plain data, not a reference.

use crossdock::memory::racy::Shared;

fn take(_: &Shared<&'static u8>) {}

fn main() {}
