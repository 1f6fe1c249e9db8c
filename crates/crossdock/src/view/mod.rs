//! Export of arrays: a consumer requests, a producer exports, and a lease covers the exported
//! memory.
//!
//! ```text
//!   consumer ── Request { lease, order, dtype, copy policy } ──> Producer::export
//!            <── MemoryView (an array under a lease, and the Grant) ── or Refusal (asked, offered, why not) ──
//! ```
//!
//! A request states the consumer's minimum needs. Where it is silent, the exported array may have
//! any order, any type and any device that the CPU can address. The lease is exactly the requested
//! one. Nothing is copied unless the request permits it, and the grant records a copy with its
//! reason.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `request.rs`, `refusal.rs`, `reason.rs` | the request, and why it is refused |
//! | `negotiation.rs` | in place or a copy, for all protocols; `producer.rs` has a fast path |
//! | `terms.rs` | what a protocol can describe, and the lease of its exports, as data |
//! | `copying.rs` | the copy that a request permits |
//! | `synchronization.rs` | stream numbers of protocols, and who waits |
//! | `located.rs` | checks of elements at an address that another library describes |
//! | `registry.rs`, `registry_table.rs` | producers of foreign Rust types, in a lock-free table |

mod chunks;
mod copied;
mod copying;
pub(crate) mod export_lease;
pub(crate) mod flags;
mod grant;
pub(crate) mod located;
mod memory_view;
mod negotiation;
mod producer;
mod reason;
mod refusal;
mod registry;
mod registry_table;
mod request;
mod source;
mod synchronization;
mod terms;

#[doc(hidden)]
pub use chunks::Chunks;
pub(crate) use copied::Copied;
pub use grant::Grant;
pub use memory_view::MemoryView;
pub(crate) use negotiation::{negotiate, negotiate_as};
pub use producer::{Producer, view};
pub use reason::Reason;
pub use refusal::{Offer, Refusal};
pub use registry::{ProducerFn, register, unregister, view_any};
pub(crate) use registry_table::{Key, RegistryTable};
pub use request::Request;
pub use source::Source;
pub use synchronization::Synchronization;
pub(crate) use terms::{Access, Copies, Reach, Strides, Terms};

pub use crate::array::CopyPolicy;
