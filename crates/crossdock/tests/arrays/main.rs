//! Typed and dynamic arrays: construction, views, indexing, comparison, printing and export, by
//! example and against oracles.

mod basics;
mod compare;
mod construct;
mod construct_oracle;
#[cfg(feature = "derive")]
mod derive;
#[cfg(feature = "derive")]
mod derive_element;
mod display;
mod elements;
mod indirect;
mod long_doubles;
mod oracle;
mod records;
mod records_oracle;
mod references;
mod view;
mod views;
mod visit;
mod zero_bytes;

use crossdock_testkit::cases;
