//! The command `crossdock`.
fn main() {}
