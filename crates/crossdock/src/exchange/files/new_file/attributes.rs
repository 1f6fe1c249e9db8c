//! The attributes that a file keeps when it is replaced: owner, mode, access control list, and
//! those that users set.

use std::fs::File;
use std::io;

use crate::error::{Error, Kind, Result, system_text};
use crate::memory::os::attributes;

/// Copies the attributes of `old` to `new`. The owner goes first, since changing it clears bits of
/// the mode.
pub(super) fn keep(old: &File, new: &File) -> Result<()> {
    let failed = |error: io::Error| {
        Error::caused(
            Kind::Io,
            format!("the mode and owner of the file cannot be kept: {}", system_text(&error)),
            error,
        )
    };
    let (from, to) = (old.metadata().map_err(failed)?, new.metadata().map_err(failed)?);
    let owner = attributes::owner(&from);
    if let Some((user, group)) = owner.filter(|_| owner != attributes::owner(&to)) {
        attributes::set_owner(new, (user, group)).map_err(|error| {
            let text = format!(
                "it belongs to user {user} and group {group}, and a new file cannot be given that owner: {}; \
                remove it first, or write to another name",
                system_text(&error)
            );
            Error::caused(Kind::Io, text, error)
        })?;
    }
    attributes::set_mode(new, &from).map_err(failed)?;
    attributes::keep(old, new).map_err(failed)
}
