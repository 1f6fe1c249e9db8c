//! Explains which protocols export an array in place, and what known consumers in other libraries
//! do with it.
//!
//! | file | |
//! |---|---|
//! | `offers.rs` | calls each exporter and reports its answer |
//! | `subject.rs` | the description of an object: its answer by each protocol |
//! | `python.rs` | the description of an array of this library, for Python's libraries |
//! | `profiles/` | tables: what each consumer requests, and how it handles the answers |
//! | `rule.rs` | evaluates a table over a description |
//!
//! A binding describes objects of other libraries, since only it can call them.
//!
//! Reasons: `DESIGN.md`, "Profiles of consumers are tables".
//! See also: `DESIGN.md`, "`offers` calls the exporters".

mod formats;
pub(crate) mod misread;
#[cfg(feature = "ndarray-0_17")]
mod ndarray;
mod offers;
mod profiles;
mod python;
mod rule;
mod subject;
mod text;

use crate::array::DArray;

pub use offers::{Offered, offers};
pub use profiles::all as profiles;
pub use python::subject as subject_of;
pub use rule::{Outcome, Profile, judge};
pub use subject::{Answer, ElementType, Protocol, Subject};
pub use text::text;

/// What a function of another library does with an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consumer {
    /// The function, such as `numpy.asarray`.
    pub name: &'static str,
    /// The distribution that it is part of, such as `numpy`.
    pub library: &'static str,
    /// The version whose behaviour this is.
    pub measured_on: &'static str,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason, or another remark; often empty for an outcome in place.
    pub reason: String,
}

/// What the known functions of one library, or of all, do with an array that Python has as a
/// `crossdock.Array`. The verdicts come from profiles, which state the behaviour measured on one
/// version of each library; no other library is called.
///
/// The description comes from calls of the exporters, as in [`offers`].
///
/// ```
/// use crossdock::exchange::{Outcome, explain};
/// use crossdock::{Array, s};
///
/// let image = Array::<u8, 3>::zeros([480, 640, 3])?.slice(s![.., ..;-1, ..])?;
/// let numpy = explain(&image.clone().into(), Some("numpy"));
/// assert_eq!((numpy[0].name, numpy[0].outcome), ("numpy.asarray", Outcome::InPlace));
/// let torch = explain(&image.into(), Some("torch"));
/// assert_eq!(torch[0].outcome, Outcome::Refuses);
/// assert_eq!(torch[0].reason, "negative strides (RuntimeError)");
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn explain(array: &DArray, library: Option<&str>) -> Vec<Consumer> {
    let subject = python::subject(array);
    let is_wanted = |profile: &&Profile| library.is_none_or(|library| profile.library == library);
    let judged = profiles().filter(is_wanted).map(|profile| {
        let (outcome, reason) = judge(profile, &subject);
        let Profile { name, library, measured_on, .. } = *profile;
        Consumer { name, library, measured_on, outcome, reason }
    });
    judged.collect()
}
