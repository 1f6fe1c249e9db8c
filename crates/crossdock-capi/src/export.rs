//! The flags of an export: what the caller permits.

use crossdock::view::CopyPolicy;

use crate::error::Result;
use crate::foreign::known_bits;

/// `XD_EXPORT_IN_PLACE` of the header.
pub const XD_EXPORT_IN_PLACE: u32 = 0;
/// `XD_EXPORT_COPY_IF_NEEDED` of the header.
pub const XD_EXPORT_COPY_IF_NEEDED: u32 = 1;
/// `XD_EXPORT_COPY` of the header.
pub const XD_EXPORT_COPY: u32 = 2;
/// `XD_EXPORT_TRUST_READONLY` of the header.
pub const XD_EXPORT_TRUST_READONLY: u32 = 4;
/// `XD_EXPORT_WHOLE` of the header.
pub const XD_EXPORT_WHOLE: u32 = 8;

/// The copy policy of these flags. `others` are the further bits that a protocol defines.
///
/// # Errors
///
/// `argument` for undefined bits.
pub(crate) fn policy_of(flags: u32, others: u32) -> Result<CopyPolicy> {
    known_bits(flags, XD_EXPORT_COPY_IF_NEEDED | XD_EXPORT_COPY | others, "flags")?;
    Ok(match flags {
        flags if flags & XD_EXPORT_COPY != 0 => CopyPolicy::Always,
        flags if flags & XD_EXPORT_COPY_IF_NEEDED != 0 => CopyPolicy::IfNeeded,
        _ => CopyPolicy::Never,
    })
}
