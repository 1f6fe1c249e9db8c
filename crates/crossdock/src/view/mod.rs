//! How arrays change hands: a consumer asks, a producer lends, and what is lent is held under a
//! lease.
//!
//! ```text
//!   consumer ── Request { lease, order, dtype, copy policy } ──> Producer::export
//!            <── MemoryView (an array under a lease, and the Grant) ── or Refusal (asked, offered, why not) ──
//! ```
//!
//! A request says the least that the consumer needs: what is lent may lie in any order, be of any
//! type and on any device that the processor can address, where the request does not say. The lease
//! is just the one asked for. Nothing is copied unless the request permits it, and a copy that was
//! made is in the grant, with the reason.

mod chunks;
mod copied;
mod copying;
pub(crate) mod flags;
mod grant;
pub(crate) mod loan;
pub(crate) mod located;
mod memory_view;
mod negotiation;
mod producer;
mod reason;
mod refusal;
mod registry;
mod request;
mod rows;
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
pub use request::Request;
pub(crate) use rows::{Key, Rows};
pub use source::Source;
pub use synchronization::Synchronization;
pub(crate) use terms::{Access, Copies, Reach, Strides, Terms};

pub use crate::array::CopyPolicy;
