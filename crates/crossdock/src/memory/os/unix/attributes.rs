//! The owner and the mode of a file.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// The user and the group.
pub(crate) fn owner(found: &Metadata) -> Option<(u32, u32)> {
    Some((found.uid(), found.gid()))
}

pub(crate) fn set_owner(file: &File, (user, group): (u32, u32)) -> io::Result<()> {
    fchown(file, Some(user), Some(group))
}

/// Gives a file the permissions of another.
pub(crate) fn set_mode(file: &File, of: &Metadata) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(of.mode() & 0o777))
}
