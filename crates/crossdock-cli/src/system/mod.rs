//! What the command asks the system for beyond the standard library: a folder for POSIX systems,
//! and one for Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use self::unix::ends::{defer_signals, remove_when_ended};
#[cfg(unix)]
pub(crate) use self::unix::{check_stdout, is_ignored, is_same, is_stdout, signals};
#[cfg(windows)]
pub(crate) use self::windows::{check_stdout, defer_signals, is_same, is_stdout, remove_when_ended, signals};
