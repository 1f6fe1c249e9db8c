//! Not every number is a `char`.

fn take(_letters: crossdock::Array<char, 1>) {}

fn main() {}
