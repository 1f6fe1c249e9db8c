//! Crossdock for C and C++: every function of `include/crossdock.h`, and nothing else.
//!
//! The header is the documentation; what is said here is how the functions are made. They are thin: each translates its
//! arguments, calls the library, and translates the answer.
//!
//! - **Handles.** What C holds is a box ([`Handle`]): made by one function, borrowed by the others, freed by one. In Rust's
//!   signatures a pointer that may be null is an `Option` of a reference or of a box, so that the compiler knows who owns what.
//! - **One door.** Every function runs its body in `fallible`, `refusable` or `answer` of [`guard`]: no panic reaches C, and what goes
//!   wrong becomes an [`XdError`](error::XdError) or the nothing of the result's type. A test reads the sources for it.
//! - **Null.** Queries answer null with nothing (0, null, false). What can fail says which argument was null.
//! - **Bytes of others.** Strings, lists and values from C are looked at in one place each: `foreign.rs`, and `value.rs`.
//!
//! | module | what it exports |
//! |---|---|
//! | [`version`] | which version this is, how much was copied |
//! | [`error`] | errors as values |
//! | [`value`] | elements as values |
//! | [`dtype`] | what an element is |
//! | [`buffer`], [`lease`] | bytes, and the permission to touch them |
//! | [`array`](mod@array) | arrays, their views, elements, copies and files |
//! | [`memory_view`], [`item`] | the original's protocol: views of objects, and the items in them |
//! | [`dlpack`], [`arrow`] | tensors and columns that other libraries lend and borrow |
//!
//! [`Handle`]: handle::Handle

pub mod array;
pub mod arrow;
pub mod buffer;
pub mod dlpack;
pub mod dtype;
pub mod error;
pub mod export;
pub mod foreign;
pub mod guard;
pub mod handle;
pub mod item;
pub mod lease;
pub mod memory_view;
pub mod value;
pub mod version;
