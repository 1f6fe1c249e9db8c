//! What runs for Windows here: programs of zig, which Wine starts.

mod command;
mod lend;
mod library;
mod wine;

pub(super) use command::command;
pub(super) use library::{library, takes_headers};
pub(super) use wine::runner;
pub(crate) use wine::{Wine, cc, empty_libraries, tools, windows_path};
