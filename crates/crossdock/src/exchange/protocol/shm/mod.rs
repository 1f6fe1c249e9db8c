//! Arrays for other processes: a descriptor of a file or of shared memory, and where in it the elements lie.
//!
//! ```text
//!   this process                                                       another process
//!   DArray ── export ──> Exported { descriptor, Description } ── inherited, or sent ──> import ──> DArray
//!                            │ holds a lease until it is dropped                           (aliased memory)
//! ```
//!
//! - Nothing is copied: both processes map the same pages. Memory that no descriptor names (the heap) is refused, or copied into
//!   shared memory where the request permits it.
//! - A Pin lease goes out with a descriptor that is open for reading only, so that the system holds the other process to it; a
//!   Share lease with one that can be mapped for writing. Read and Write cannot be had: no lease reaches into another process.
//! - The descriptor leads to the whole file or memory, of which the array may be a part: the other process can map the rest of
//!   it, too.
//! - How the [`Description`] travels is up to the caller: it is plain numbers, and a dtype that has a spelling
//!   ([`typestr`](crate::element::dialect::typestr)).
//!
//! ```
//! use crossdock::exchange::protocol::shm;
//! use crossdock::layout::Order;
//! use crossdock::view::Request;
//! use crossdock::{Array, DArray};
//!
//! let array = DArray::from(Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?).to_shared(Order::RowMajor)?;
//! let exported = shm::export(&array.at(":, ::-1")?, &Request::share())?;
//! assert_eq!(exported.description().span(), 0..24);
//! assert_eq!(exported.description().offset(), 8); // where element [0, 0] lies
//!
//! // What the other process does with what it was given:
//! let theirs = shm::import(exported.fd().try_clone_to_owned()?, exported.description())?;
//! array.set(&[1, 0], &40.into())?;
//! assert_eq!(theirs.get(&[1, 2])?.as_i64(), Some(40));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ancillary;
mod description;
mod export;
mod import;
mod message;
mod socket;
mod text;

pub use description::Description;
pub use export::{Exported, export};
pub use import::import;
pub use socket::{receive, send};
