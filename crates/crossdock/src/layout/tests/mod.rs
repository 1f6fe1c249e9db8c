//! Layouts of dynamic rank against the naive oracle, and those of static rank against them.

mod fixed;
mod oracle;
