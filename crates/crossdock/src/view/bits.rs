//! Flags of several bits each, by names: for protocols whose requests are written so.

use std::ffi::c_int;
use std::fmt;

/// Writes the names of the flags that are contained, and the bits that have none. A flag is left out whose bits were all named before, so
/// the greatest ones come first. Without any bit it is `SIMPLE`, as both protocols that have such flags call it.
pub(crate) fn show(bits: c_int, names: &[(c_int, &str)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut named, mut separator) = (0, "");
    for &(flag, name) in names {
        if bits & flag == flag && flag & !named != 0 {
            write!(f, "{separator}{name}")?;
            named |= flag;
            separator = " | ";
        }
    }
    match bits & !named {
        0 if named == 0 => f.write_str("SIMPLE"),
        0 => Ok(()),
        rest => write!(f, "{separator}{rest:#x}"),
    }
}
