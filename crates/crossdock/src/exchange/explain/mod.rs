//! Who can take an array in place, and why not.

mod formats;
mod profiles;
mod rule;
mod subject;

pub use profiles::all as profiles;
pub use rule::{Outcome, Profile, judge};
pub use subject::{Answer, ElementType, Protocol, Subject};
