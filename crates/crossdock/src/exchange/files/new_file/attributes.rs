//! The attributes that a file keeps when it is replaced: owner, mode, access control list, and
//! those that users set.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use crate::error::{Error, Kind, Result, system_text};
use crate::memory::os;

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
    if (from.uid(), from.gid()) != (to.uid(), to.gid()) {
        fchown(new, Some(from.uid()), Some(from.gid())).map_err(|error| {
            let text = format!(
                "it belongs to user {} and group {}, and a new file cannot be given that owner: {}; \
                remove it first, or write to another name",
                from.uid(),
                from.gid(),
                system_text(&error)
            );
            Error::caused(Kind::Io, text, error)
        })?;
    }
    new.set_permissions(Permissions::from_mode(from.mode() & 0o777)).map_err(failed)?;
    os::attributes::keep(old, new).map_err(failed)
}
