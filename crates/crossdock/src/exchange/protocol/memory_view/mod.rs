//! MemoryView: Ruby's protocol for exporting memory, for other languages, too. This is its pure
//! part, on which the C ABI and the bindings build.
//!
//! ```text
//!   consumer ── get(object, &view, flags) ──> hub ── object's class ──> producer's get ──> a struct of the hub's
//!            <── view: checked, as the flags ask ──┘                                            │ checked
//!            ── release(&view) ──> hub's record ── claimed once ──> producer's release <────────┘
//! ```
//!
//! An object is a pointer to memory that begins with a pointer to its [`Class`]. The producer of a
//! class is [`register`]ed, and inherited. Arrays of this library are objects, too:
//! [`ArrayObject`].
//!
//! The hub guarantees:
//!
//! - Producers fill in a struct of the hub's, which was empty before. The consumer sees only
//!   checked values: lengths, sizes and formats that contradict each other are refused with both
//!   numbers, and the producer's view is released once. The producer is trusted for one thing: that
//!   its pointers lead to what it describes.
//! - Flags are minimum requirements: see [`Flags`]. Shape, strides, format, item size and
//!   components are always filled in, and belong to the hub.
//! - A view is released once, whatever was written into the struct meanwhile: the hub recognises it
//!   by a number of its own. A copy is the same view.
//! - On refusal the consumer's struct is unchanged, and the thread's last refusal has the reason.
//!
//! An object that exports another object's data keeps that object alive itself, from its `get` to
//! its `release`.
//!
//! | file | contents |
//! |---|---|
//! | `foreign.rs` | the only check of what a producer of C filled in |
//! | `records.rs`, `state.rs` | the views in use, by number and generation; who releases one |
//! | `classes.rs` | producers by class of C, in a table that is read without a lock |
//! | `cached_export.rs`, `import.rs` | exports to, and imports from, another hub such as Ruby's |

pub(crate) mod abi;
mod access;
pub(crate) mod cached_export;
mod classes;
pub(crate) mod contiguous;
mod flags;
mod foreign;
mod format;
pub(crate) mod hub;
pub(crate) mod import;
mod items;
pub(crate) mod last;
pub(crate) mod object;
mod records;
mod state;
mod view_lease;

pub use self::abi::{Class, Entry, ItemDesc, View};
pub use self::classes::{register, unregister};
pub use self::flags::Flags;
pub use self::import::import;
pub use self::object::ArrayObject;
