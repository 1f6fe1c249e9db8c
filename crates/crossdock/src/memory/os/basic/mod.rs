//! What systems without POSIX calls share: no seals, no forks, and no missing pages.

pub(crate) mod anonymous;
pub(crate) mod attributes;
pub(crate) mod errors;
pub(crate) mod faults;
pub(crate) mod process;
