//! Exit statuses other than 0.

/// A failure or refusal.
pub(crate) const FAILED: u8 = 1;
/// The arguments are wrong or inconsistent.
pub(crate) const USAGE: u8 = 2;
/// A file shrank while it was mapped (`EX_IOERR` of sysexits).
pub(crate) const SHRANK: u8 = 74;
/// `lend`: the command is not executable.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// `lend`: the command does not exist.
pub(crate) const NOT_FOUND: u8 = 127;
/// `diff`: an array could not be compared.
pub(crate) const TROUBLE: u8 = 2;
