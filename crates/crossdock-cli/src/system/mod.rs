//! What the command asks the system for beyond the standard library: a folder for POSIX systems,
//! and a file for the others, which lack it.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use self::other::{check_stdout, defer_signals, is_same, is_stdout, remove_when_ended};
#[cfg(unix)]
pub(crate) use self::unix::ends::{defer_signals, remove_when_ended};
#[cfg(unix)]
pub(crate) use self::unix::{check_stdout, is_ignored, is_same, is_stdout};
