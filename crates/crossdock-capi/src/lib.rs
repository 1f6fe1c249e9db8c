//! Crossdock for C and C++: every function of `include/crossdock.h`, and nothing else.
//!
//! The header is the reference documentation; this page describes the implementation. Each function
//! is thin: it translates its arguments, calls the library, and translates the result.
//!
//! - **Handles.** C holds boxes ([`Handle`]). One function creates a box, others borrow it, and one
//!   frees it. In Rust's signatures a pointer that may be null is an `Option` of a reference or of
//!   a box, so that the compiler knows who owns what.
//! - **One guard.** Every function runs its body in `fallible`, `refusable` or `answer` of
//!   [`guard`]: no panic reaches C, and a failure becomes an [`XdError`](error::XdError) or the
//!   zero value of the result's type. A test reads the sources to check this. (Plain numbers of
//!   items are read before the guard, where nothing can panic.)
//! - **Null.** Queries of null return zero (0, null, false). Functions that can fail name the
//!   argument that is null.
//! - **Memory of C.** Strings and lists are read in `foreign.rs`, values in `value.rs`.
//!
//! | module | what it exports |
//! |---|---|
//! | [`version`] | the version of the library, and how many bytes were copied |
//! | [`error`] | errors as values |
//! | [`value`] | elements as values |
//! | [`dtype`] | what an element is |
//! | [`buffer`], [`backing`], [`lease`] | bytes, and the permission to access them |
//! | [`array`](mod@array) | arrays, their views, elements and copies |
//! | [`open`], [`save`] | arrays in files |
//! | [`pool`], [`ledger`] | where memory comes from, and what keeps it alive |
//! | [`shared`] | memory that other processes map |
//! | `descriptors` | descriptors of such memory, and sockets (on POSIX systems) |
//! | [`device`], [`stream`], [`own_device`] | memory on devices, queues of work, devices of the caller |
//! | `set` | sets of arrays that another process holds (on POSIX systems) |
//! | `channel` | arrays as a stream between processes (on POSIX systems) |
//! | [`memory_view`], [`item`] | the original's protocol: views of objects, and their items |
//! | [`dlpack`], [`arrow`] | export and import of tensors and columns |
//! | [`table`] | columns of any type that Arrow describes, batches and readers |
//!
//! [`Handle`]: handle::Handle

pub mod array;
pub mod arrow;
pub mod backing;
pub mod buffer;
#[cfg(unix)]
pub mod channel;
#[cfg(unix)]
pub mod descriptors;
pub mod device;
pub mod dlpack;
pub mod dtype;
pub mod error;
pub mod export;
pub mod foreign;
pub mod guard;
pub mod handle;
pub mod item;
pub mod lease;
pub mod ledger;
pub mod memory_view;
mod names;
pub mod open;
pub mod own_device;
pub mod pool;
pub mod save;
#[cfg(unix)]
pub mod set;
pub mod shared;
pub mod stream;
pub mod table;
pub mod value;
pub mod version;
mod words;
