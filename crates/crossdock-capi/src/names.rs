//! Names of the caller that the library keeps for ever.

use std::collections::BTreeSet;

use crossdock::device::driver::ForkLock;

use crate::error::{Failure, Result, XD_ERROR_EXHAUSTED};

/// The most names, so that a program that makes them up cannot fill the memory.
const MOST: usize = 4096;
/// The most bytes of a name.
const MOST_NBYTES: usize = 256;

/// A forked child can take it, too.
static NAMES: ForkLock<BTreeSet<&'static str>> = ForkLock::new(BTreeSet::new());

/// The name, as a text that lives for ever: one for all equal names.
///
/// # Errors
///
/// `argument` for a name of more than 256 bytes, `exhausted` beyond 4096 names.
pub(crate) fn lasting(name: &str) -> Result<&'static str> {
    if name.len() > MOST_NBYTES {
        let text = format!("the argument `name` has {} bytes; it may have {MOST_NBYTES}", name.len());
        return Err(Failure::argument(text));
    }
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    if names.len() == MOST {
        let text = format!("{MOST} different names are in use, which live for ever; use one of them");
        return Err(Failure::of_kind(XD_ERROR_EXHAUSTED, text));
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    Ok(kept)
}
