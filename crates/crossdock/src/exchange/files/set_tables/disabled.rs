//! Without the feature `arrow-ipc`, no file is a table.

pub(super) use std::convert::Infallible as TableFile;
use std::io::Write;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::exchange::files::OpenOptions;
use crate::exchange::files::set_tables::HeldTable;
use crate::table::Checks;

pub(in crate::exchange::files) fn opened(
    _: &OpenOptions,
    _: &Buffer,
    _: Checks,
) -> Result<Option<HeldTable>> {
    Ok(None)
}

pub(in crate::exchange::files) fn write(_: &mut dyn Write, table: &HeldTable) -> Result<(usize, usize)> {
    match table.file {}
}
