//! Tables in the sets that one process holds for others: each is the bytes of an Arrow IPC file, or
//! a stream, in the memory of the set.

#[cfg(not(feature = "arrow-ipc"))]
mod disabled;
#[cfg(feature = "arrow-ipc")]
mod enabled;

#[cfg(not(feature = "arrow-ipc"))]
use disabled::TableFile;
#[cfg(feature = "arrow-ipc")]
use enabled::TableFile;

use crate::exchange::protocol::hold::TableExtent;

#[cfg(not(feature = "arrow-ipc"))]
pub(super) use disabled::{opened, write};
#[cfg(feature = "arrow-ipc")]
pub(super) use enabled::{opened, write, write_checked};

/// The table of a file.
pub(super) struct HeldTable {
    file: TableFile,
    pub(super) extent: TableExtent,
    /// Why the bytes of the file are not those of its columns, if they are not.
    pub(super) encoded_because: Option<&'static str>,
}
