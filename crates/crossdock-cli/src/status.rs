//! Exit statuses that are not 0.

/// It was refused, or it failed.
pub(crate) const FAILED: u8 = 1;
/// The arguments do not go together.
pub(crate) const USAGE: u8 = 2;
/// A file shrank while it was mapped (`EX_IOERR` of sysexits).
pub(crate) const SHRANK: u8 = 74;
/// `lend`: the command is not executable.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// `lend`: there is no such command.
pub(crate) const NOT_FOUND: u8 = 127;
