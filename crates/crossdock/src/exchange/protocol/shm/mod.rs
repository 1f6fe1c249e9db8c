//! Arrays for other processes: a descriptor of a file or of shared memory, and where in it the elements lie.
//!
//! ```text
//!   this process                                                       another process
//!   DArray ── export ──> Exported { descriptor, Description } ── send · receive ──────────────> DArray
//!                            │ holds a lease until it is dropped ── inherited ── import ──────> (the same pages)
//! ```
//!
//! Nothing is copied: both processes map the same pages. Memory that no descriptor names (the heap) is refused, or copied into shared
//! memory where the request permits it. The descriptor leads to the whole file or memory, of which the array may be a part: the other
//! process can map the rest of it, too. Bytes without a layout are an array of bytes, `Array::<u8, 1>::from_buffer`, and
//! [`DArray::buffer`](crate::DArray::buffer) of what arrives.
//!
//! # What binds whom
//!
//! | lent under | the descriptor | the other process | this process |
//! |---|---|---|---|
//! | Share | can be mapped for writing | may write, at any time | may write, at any time |
//! | Pin | for reading only | is held to reading by the system, *if it keeps to the descriptor* | may write, at any time |
//! | Pin, after [`Buffer::deny_new_writers`] | for reading only | is held to reading by the system | may write through the map that it has |
//! | Read, after [`Buffer::into_sealed`] | for reading only | is held to reading by the system | as the other |
//!
//! The third row is for readers who are not trusted: by `/proc/self/fd`, any descriptor of shared memory can be opened anew for
//! writing, and only a seal on the memory itself forbids what comes then. Seals cannot be taken off, and are for all who have the memory:
//! where it is also lent to writers, they come first. Under the last row the memory is constant: the receiver finds the seal, not the
//! sender's word, and can take Read leases, `&[T]` among them. A receiver may rely on nothing else: under the other rows what it sees
//! can change, but never vanish, since the size is sealed.
//!
//! # How it travels
//!
//! - Through a Unix stream socket: [`send`] and [`receive`], for shared memory. Nothing that a peer sends is believed. A message is
//!   16 bytes, the text of the description, and beside them one descriptor.
//! - Where no memory can be shared (a pickle, a network): [`Frame`], the bytes that an array covers and the text of its description.
//! - By inheritance, or in whatever way descriptors travel: [`Exported::fd`] and [`Description::to_text`], `parse` and [`import`], for
//!   file maps as well. (The command `crossdock lend` hands the same description to programs in other languages, as JSON.)
//!
//! # Who keeps the memory
//!
//! The system, for as long as any process has it mapped or open, or it is on its way through a socket that is not closed. So either side
//! may end, or be killed, at any moment: the other one keeps what it has mapped, gets an error or the end of the stream from the
//! socket, and nothing is left behind, since neither memory nor descriptor has a name. [`Exported`] keeps a lease in this process,
//! and no more: while it lives, nobody here can seal the memory or have it alone.
//!
//! ```
//! use crossdock::exchange::protocol::shm;
//! use crossdock::layout::Order;
//! use crossdock::view::Request;
//! use crossdock::{Array, DArray};
//! use std::os::unix::net::UnixStream;
//!
//! let array = DArray::from(Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?).to_shared(Order::RowMajor)?;
//! let (ours, theirs) = UnixStream::pair()?; // one of them goes to the other process
//!
//! let exported = shm::export(&array.at(":, ::-1")?, &Request::share())?;
//! assert_eq!(exported.description().span(), 0..24);
//! assert_eq!(exported.description().offset(), 8); // where element [0, 0] lies
//! shm::send(&ours, &exported)?;
//!
//! // What the other process does:
//! let view = shm::receive(&theirs)?.expect("an array was sent");
//! array.set(&[1, 0], &40.into())?;
//! assert_eq!(view.get(&[1, 2])?.as_i64(), Some(40));
//!
//! // Or, with a descriptor that it inherited, and a text from its arguments or its environment:
//! let (fd, text) = (exported.fd().try_clone_to_owned()?, exported.description().to_text()?);
//! let view = shm::import(fd, &text.parse()?)?;
//! assert_eq!(view.get(&[1, 2])?.as_i64(), Some(40));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Buffer::deny_new_writers`]: crate::memory::Buffer::deny_new_writers
//! [`Buffer::into_sealed`]: crate::memory::Buffer::into_sealed

mod ancillary;
mod description;
mod export;
mod frame;
mod import;
mod message;
mod socket;
mod text;

pub use description::Description;
pub use export::{Exported, export};
pub use frame::Frame;
pub use import::import;
pub use socket::{receive, send};
