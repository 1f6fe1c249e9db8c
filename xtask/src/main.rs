//! `cargo xtask`: the one door.
fn main() {}
