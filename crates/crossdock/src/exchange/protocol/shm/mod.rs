//! Arrays for other processes: a descriptor of a file or of shared memory, and the place of the
//! elements in it.
//!
//! ```text
//!   this process                                                       another process
//!   DArray ── export ──> Exported { descriptor, Description } ── send · receive ──────────────> DArray
//!                            │ holds a lease until it is dropped ── inherited ── import ──────> (the same pages)
//! ```
//!
//! Nothing is copied: both processes map the same pages. Memory without a descriptor (the heap) is
//! refused, or copied into shared memory if the request permits it. The descriptor leads to the
//! whole file or memory, of which the array may be a part: the other process can map the rest of
//! it, too. Bytes without a layout are an array of bytes, `Array::<u8, 1>::from_buffer`, and
//! [`DArray::buffer`](crate::DArray::buffer) of the received array.
//!
//! # Guarantees
//!
//! | exported under | the descriptor | the other process | this process |
//! |---|---|---|---|
//! | Share | can be mapped for writing | may write, at any time | may write, at any time |
//! | Pin | read-only | only reads, *by this descriptor* | may write, at any time |
//! | Pin, after [`Buffer::deny_new_writers`] | read-only | only reads | may write by its map |
//! | Read, after [`Buffer::into_sealed`] | read-only | only reads | only reads |
//!
//! The third row is for untrusted readers: through `/proc/self/fd`, any descriptor of shared memory
//! can be reopened for writing, and only a seal on the memory itself prevents writes after that.
//! Seals cannot be removed, and bind every process that has the memory: export it to writers before
//! sealing. Under the last row the memory is constant: the receiver checks the seal instead of
//! trusting the sender, and can take Read leases, `&[T]` among them. A receiver may rely on nothing
//! else: under the other rows the bytes can change, but never vanish, since the size is sealed.
//! (Memory of huge pages is refused: there, a hole faults in spite of the seal. On systems that
//! refuse to overcommit, `vm.overcommit_memory` 2, a page that was never written can fault, too,
//! when memory is exhausted.)
//!
//! # Transports
//!
//! - By a Unix stream socket: [`send`] and [`receive`], for shared memory. The receiver checks
//!   everything that the peer sends, and [`receive_with`] limits how much memory one message can
//!   cost. A message consists of 16 bytes, the text of the description, and one descriptor.
//! - Without shared memory (a pickle, a network): the bindings send the bytes that an array covers,
//!   and the text of its description.
//! - By inheritance, or by any other transport of descriptors: [`Exported::fd`] and
//!   [`Description::to_text`], `parse` and [`import`], for file maps as well. (The command
//!   `crossdock lend` passes the same description to programs in other languages, as JSON.)
//!
//! # Lifetime of the memory
//!
//! The kernel keeps the memory for as long as any process has it mapped or open, or a message in an
//! open socket carries it. So either process may exit, or be killed, at any moment. The other one
//! keeps what it has mapped, and gets an error or the end of the stream from the socket. Nothing is
//! left behind, since neither memory nor descriptor has a name. [`Exported`] only keeps a lease in
//! this process: while it lives, no code here can seal the memory or get exclusive access to it.
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
//! [`Buffer::deny_new_writers`]: crate::buffer::Buffer::deny_new_writers
//! [`Buffer::into_sealed`]: crate::buffer::Buffer::into_sealed

mod import;
mod message;
pub(crate) mod offer;
mod options;
mod socket;

pub use crate::exchange::description::Description;
pub use crate::exchange::exported::Exported;
pub use crate::exchange::exported::export;
pub use import::import;
pub use options::ReceiveOptions;
pub use socket::{receive, receive_text, receive_with, send, send_text};
