//! MemoryView: Ruby's protocol for lending memory, for everybody. Its pure half: what the C ABI and the bindings put their symbols on.
//!
//! ```text
//!   consumer ── get(object, &view, flags) ──> hub ── object's class ──> producer's get ──> a struct of the hub's
//!            <── view: checked, as the flags ask ──┘                                            │ checked
//!            ── release(&view) ──> hub's record ── claimed once ──> producer's release <────────┘
//! ```
//!
//! An object is a pointer to memory that begins with a pointer to its [`Class`]. The producer of a class is [`register`]ed, and inherited. Arrays of
//! this library are objects, too: [`ArrayObject`].
//!
//! What the hub answers for:
//!
//! - Producers fill in a struct of the hub's, which was empty before. Nothing of it reaches the consumer unchecked: lengths, sizes and formats
//!   that contradict each other are refused with both numbers, and the producer gets back, once, what it lent. The producer's word is
//!   taken for one thing: that what it points to is there.
//! - Flags are what a view has at least: see [`Flags`]. Shape, strides, format, item size and components are always filled in, and are the
//!   hub's.
//! - A view is released once, whatever happened to the struct meanwhile: the hub knows it by a number of its own. A copy is the same view.
//! - On refusal the consumer's struct is as it was, and the thread's last refusal says why.
//!
//! An object that lends another object's data keeps that one alive by means of its own, from its `get` to its `release`.

pub(crate) mod abi;
mod access;
mod classes;
pub(crate) mod contiguous;
mod flags;
mod foreign;
mod format;
pub(crate) mod hub;
pub(crate) mod import;
mod items;
pub(crate) mod last;
mod loan;
pub(crate) mod object;
mod records;
pub(crate) mod standing;
mod state;

pub use self::abi::{Class, Entry, ItemDesc, View};
pub use self::classes::{register, unregister};
pub use self::flags::Flags;
pub use self::import::import;
pub use self::object::ArrayObject;
